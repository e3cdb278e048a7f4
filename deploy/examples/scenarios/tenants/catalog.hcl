# Eight equal servers that several tenants share. The tenant "bulk" may have eight requests under way at each client,
# so that it cannot take everything.

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

endpoint "gpu" {
  for_each = ["a", "b", "c", "d", "e", "f", "g", "h"]
  provider = provider.own
  model    = model.chat
  apis     = ["openai.chat"]
  capacity { slots = 32 }
}

policy "patient" {
  attempts { first_token = "2m" }
}

workload "chat" {
  use  = [policy.patient]
  apis = ["openai.chat"]
  tier "all" { endpoints = endpoints("gpu-*") }
}

tenant "people" {
  identities = ["spiffe://people.example/chat"]
  workloads  = ["chat"]
  priority   = "interactive"
}

tenant "code" {
  identities = ["spiffe://code.example/complete"]
  workloads  = ["chat"]
  priority   = "interactive"
}

tenant "bulk" {
  identities = ["spiffe://bulk.example/jobs"]
  workloads  = ["chat"]
  priority   = "batch"
  caps { concurrency = 8 }
}
