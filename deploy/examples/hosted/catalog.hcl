# Hosted models by the APIs that their own SDKs speak: chat and embeddings from OpenAI, with Azure to fall back on,
# and messages from Anthropic. Prices and windows are those of July 2026 (LiteLLM's price file); check them before
# money rests on them. Credentials are names: docs/library.md, "Credentials and hosts".

variable "azure_url" {
  description = "address of the Azure OpenAI resource"
  default     = "https://my-resource.openai.azure.com"
}

provider "openai" {
  dialect  = "openai"
  base_url = "https://api.openai.com/v1"
}

provider "azure" {
  dialect     = "azure-openai"
  base_url    = var.azure_url
  api_version = "2025-04-01-preview"
}

provider "anthropic" {
  dialect  = "anthropic"
  base_url = "https://api.anthropic.com"
}

model "gpt-41" {
  artifact          = "gpt-4.1@2025-04-14"
  capabilities      = ["stream", "tools", "json_schema", "vision"]
  context_window    = 1047576
  max_output_tokens = 32768
  price {
    input        = "2.00"
    cached_input = "0.50"
    output       = "8.00"
  }
}

model "claude-sonnet-45" {
  artifact          = "claude-sonnet-4-5@20250929"
  capabilities      = ["stream", "tools", "json_schema", "vision"]
  context_window    = 200000
  max_output_tokens = 64000
  price {
    input        = "3.00"
    cached_input = "0.30"
    cache_write  = "3.75"
    output       = "15.00"
  }
}

model "embedding-3-small" {
  artifact          = "text-embedding-3-small@1"
  context_window    = 300000 # of all inputs of a request together; each may have 8191
  max_output_tokens = 1      # at least: embeddings are no tokens
  price {
    input  = "0.02"
    output = "0"
  }
}

quota "openai" {
  requests_per_minute = 5000
  tokens_per_minute   = 800000
}

quota "anthropic" { # input and output are limited apart
  requests_per_minute      = 1000
  input_tokens_per_minute  = 450000
  output_tokens_per_minute = 90000
}

endpoint "openai-gpt-41" {
  provider    = provider.openai
  model       = model.gpt-41
  wire_model  = "gpt-4.1-2025-04-14"
  apis        = ["openai.chat", "openai.responses"]
  quotas      = [quota.openai]
  credential  = "openai"
  concurrency = 200
}

endpoint "azure-gpt-41" {
  provider    = provider.azure
  model       = model.gpt-41
  wire_model  = "gpt-41" # the deployment
  apis        = ["openai.chat", "openai.responses"]
  credential  = "azure"
  concurrency = 100
}

endpoint "openai-embedding" {
  provider    = provider.openai
  model       = model.embedding-3-small
  wire_model  = "text-embedding-3-small"
  apis        = ["openai.embeddings"]
  credential  = "openai"
  concurrency = 200
}

endpoint "anthropic-sonnet" {
  provider    = provider.anthropic
  model       = model.claude-sonnet-45
  wire_model  = "claude-sonnet-4-5-20250929"
  apis        = ["anthropic.messages"]
  quotas      = [quota.anthropic]
  credential  = "anthropic"
  concurrency = 100
}

workload "assistant" { # of any SDK of OpenAI's: its model is "assistant"
  apis = ["openai.chat", "openai.responses"]
  tier "own" { endpoints = [endpoint.openai-gpt-41] }
  tier "fallback" { endpoints = [endpoint.azure-gpt-41] }
}

workload "writer" { # of Anthropic's SDKs
  apis = ["anthropic.messages"]
  tier "all" { endpoints = [endpoint.anthropic-sonnet] }
}

workload "search" {
  apis = ["openai.embeddings"]
  tier "all" { endpoints = [endpoint.openai-embedding] }
}
