# Two servers with the same model, each as good as the other: what a first catalog needs and no more.
# docs/catalog.md says what else there is.

variable "server_a" {
  description = "address of the first server"
  default     = "http://127.0.0.1:8001/v1"
}

variable "server_b" {
  description = "address of the second server"
  default     = "http://127.0.0.1:8002/v1"
}

provider "server-a" {
  dialect  = "openai-compatible"
  base_url = var.server_a
}

provider "server-b" {
  dialect  = "openai-compatible"
  base_url = var.server_b
}

model "small" {
  artifact          = "small/bf16/1"
  capabilities      = ["chat", "stream"]
  context_window    = 32768
  max_output_tokens = 4096
  price {
    input  = "0"
    output = "0"
  }
}

endpoint "server-a" {
  provider    = provider.server-a
  model       = model.small
  apis        = ["openai.chat"]
  concurrency = 64
}

endpoint "server-b" {
  provider    = provider.server-b
  model       = model.small
  apis        = ["openai.chat"]
  concurrency = 64
}

workload "chat" {
  apis = ["openai.chat"]
  tier "all" { endpoints = [endpoint.server-a, endpoint.server-b] }
}
