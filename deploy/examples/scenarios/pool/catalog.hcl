# Servers of one's own of three speeds, in five zones: 40, unless a scenario says otherwise. Their speeds are not
# declared: the fleet learns them.

variable "slow" { default = 10 }
variable "usual" { default = 24 }
variable "fast" { default = 6 }

locals {
  digits  = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
  numbers = flatten([for a in ["0", "1", "2", "3"] : [for b in local.digits : [for c in local.digits : "${a}${b}${c}"]]])
  zones   = ["eu/a", "eu/b", "eu/c", "eu/d", "eu/e"]
}

provider "own" {
  dialect  = "vllm"
  base_url = "http://gpu.example:8000/v1"
}

model "chat" {
  artifact          = "chat/fp8/1"
  capabilities      = ["chat", "stream"]
  context_window    = 262144
  max_output_tokens = 65536
  price {
    input  = "0"
    output = "0"
  }
}

endpoint "gpu-slow" {
  for_each = { for i, n in slice(local.numbers, 0, var.slow) : n => element(local.zones, i) }
  provider = provider.own
  model    = model.chat
  apis     = ["openai.chat"]
  region   = each.value
  capacity { slots = 32 }
}

endpoint "gpu-usual" {
  for_each = { for i, n in slice(local.numbers, 0, var.usual) : n => element(local.zones, i) }
  provider = provider.own
  model    = model.chat
  apis     = ["openai.chat"]
  region   = each.value
  capacity { slots = 32 }
}

endpoint "gpu-fast" {
  for_each = { for i, n in slice(local.numbers, 0, var.fast) : n => element(local.zones, i) }
  provider = provider.own
  model    = model.chat
  apis     = ["openai.chat"]
  region   = each.value
  capacity { slots = 32 }
}

policy "patient" {
  attempts { first_token = "2m" } # a call that waits is seen to wait, not seen to fail
}

workload "chat" {
  use  = [policy.patient]
  apis = ["openai.chat"]
  tier "all" { endpoints = endpoints("gpu-*") }
}
