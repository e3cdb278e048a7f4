# One model at several hosted APIs. What each does is measured: LLMPerf's leaderboard of December 2023, of which the
# shapes hold longer than the levels.

variable "apis" {
  default = ["a", "b", "c", "d", "e"]
}

provider "api" {
  dialect  = "openai"
  base_url = "https://api.example/v1"
}

model "llama-70b" {
  artifact          = "llama-2-70b-chat/1"
  capabilities      = ["chat", "stream"]
  context_window    = 131072
  max_output_tokens = 8192
  price {
    input  = "0"
    output = "0"
  }
}

endpoint "api" {
  for_each    = var.apis
  provider    = provider.api
  model       = model.llama-70b
  apis        = ["openai.chat"]
  credential  = "api"
  concurrency = 1000
}

workload "chat" {
  apis = ["openai.chat"]
  tier "all" { endpoints = endpoints("api-*") }
}
