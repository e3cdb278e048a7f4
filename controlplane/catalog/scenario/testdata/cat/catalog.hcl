# What the stories stand on: two servers of one's own, and one hosted API behind them.

provider "own" {
  dialect  = "vllm"
  base_url = "http://gpu.example:8000/v1"
}

provider "openai" {
  dialect  = "openai"
  base_url = "https://api.example/v1"
}

model "small" {
  artifact          = "small/1"
  capabilities      = ["chat", "stream"]
  context_window    = 32000
  max_output_tokens = 4096
  price {
    input  = "0"
    output = "0"
  }
}

model "large" {
  artifact          = "large/1"
  capabilities      = ["chat", "stream"]
  context_window    = 128000
  max_output_tokens = 8192
  price {
    input  = "2"
    output = "8"
  }
}

quota "account" { requests_per_minute = 600 }

variable "idle" { default = "0" }

endpoint "gpu" {
  for_each = { a = "eu/west", b = "eu/east" }
  provider = provider.own
  model    = model.small
  apis     = ["openai.chat"]
  region   = each.value
}

endpoint "api-a" {
  provider   = provider.openai
  model      = model.large
  apis       = ["openai.chat"]
  region     = "us"
  quotas     = [quota.account]
  credential = "openai"
}

endpoint "idle" { # no traffic asks for it, so that no server models it
  provider = provider.own
  model    = model.small
  apis     = ["openai.chat"]
  weight    = var.idle
  instances = dns("idle.example:80")
}

workload "chat" {
  apis = ["openai.chat"]
  contract {
    equivalent {
      models   = [model.small, model.large]
      evidence = "evals/chat.json"
    }
  }
  tier "own" { endpoints = endpoints("gpu-*") }
  tier "hosted" { endpoints = [endpoint.api-a] }
}

workload "rest" {
  apis = ["openai.chat"]
  tier "all" { endpoints = [endpoint.idle] }
}
