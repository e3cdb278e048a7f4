provider "openai" {
  dialect  = "openai" # openai | openai-compatible | azure-openai | anthropic | gemini | vertex | bedrock | vllm | grpc | http
  base_url = "https://api.openai.example/v1"
}

provider "azure-weu" {
  dialect     = "azure-openai"
  base_url    = "https://weu.azure.example"
  api_version = "2025-04-01"
}

provider "own-vllm" {
  dialect = "vllm"
}

quota "openai-org" {
  requests_per_minute = 10000
  tokens_per_minute   = 2000000      # or input_tokens_per_minute and output_tokens_per_minute, requests_per_day
  refill              = "continuous" # continuous | fixed (a window that resets)
  on_cutoff           = "safe"       # safe | hold: what a leaf does with its lease when cut off for long
}

quota "azure-weu" { tokens_per_minute = 450000 }
