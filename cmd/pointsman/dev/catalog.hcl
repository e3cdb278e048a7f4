# What `pointsman dev` publishes: three servers of one's own, and a hosted one that
# serves when they cannot. Their addresses, local.urls, are in addresses.hcl: those of the
# fakes that it starts.


model "open-70b" {
  use               = [policy.quick]
  artifact          = "open-70b/fp8/1"
  capabilities      = ["chat", "stream"]
  context_window    = 32768
  max_output_tokens = 4096
  price {
    input  = "0.20"
    output = "0.60"
  }
}

model "open-70b-tools" {
  use               = [policy.quick]
  artifact          = "open-70b/fp8/1+tools"
  capabilities      = ["chat", "stream", "tools"]
  context_window    = 32768
  max_output_tokens = 4096
  price {
    input  = "0.20"
    output = "0.60"
  }
}

model "hosted-xl" {
  use               = [policy.quick]
  artifact          = "hosted-xl@2026-06-01"
  capabilities      = ["chat", "stream", "tools", "json_schema"]
  context_window    = 131072
  max_output_tokens = 8192
  price {
    input  = "2.00"
    output = "8.00"
  }
}

provider "rack-a" {
  dialect  = "vllm"
  base_url = local.urls["gpu-a"]
}

provider "rack-b" {
  dialect  = "vllm"
  base_url = local.urls["gpu-b"]
}

provider "rack-c" {
  dialect  = "vllm"
  base_url = local.urls["gpu-c"]
}

provider "cloud" {
  dialect  = "openai"
  base_url = local.urls["cloud"]
}

endpoint "gpu-a" {
  provider    = provider.rack-a
  model       = model.open-70b
  wire_model  = "open-70b"
  apis        = ["openai.chat"]
  region      = "eu/west"
  concurrency = 256
}

endpoint "gpu-b" {
  provider    = provider.rack-b
  model       = model.open-70b-tools
  wire_model  = "open-70b"
  apis        = ["openai.chat"]
  region      = "eu/west"
  concurrency = 256
}

endpoint "gpu-c" {
  provider    = provider.rack-c
  model       = model.open-70b-tools
  wire_model  = "open-70b"
  apis        = ["openai.chat"]
  region      = "eu/west"
  concurrency = 256
}

endpoint "cloud" {
  provider    = provider.cloud
  model       = model.hosted-xl
  wire_model  = "xl-2026-06-01"
  apis        = ["openai.chat"]
  region      = "eu/central"
  credential  = "cloud"
  concurrency = 512
}

policy "quick" {
  breaker {
    window        = "3s"
    slow_window   = "20s"
    min_samples   = 10
    consecutive   = 4
    failure_ratio = 0.5
    ttft_limit    = "800ms"
    cooldown      = "2s"
    cooldown_max  = "3s"
    probes        = 3
    ramp          = "3s"
    max_ejected   = 0.5
  }
  attempts {
    max           = 3
    retry_reserve = 30
    connect       = "1s"
    first_token   = "5s"
    answer        = "20s"
    stall         = "5s"
    total         = "30s"
  }
}

workload "chat" {
  use  = [policy.quick]
  apis = ["openai.chat"]
  contract {
    requires = ["chat", "stream"]
    regions  = ["eu"]
    equivalent {
      models   = [model.open-70b, model.open-70b-tools, model.hosted-xl]
      evidence = "evals/chat/2026-11-02.json"
      expires  = "2027-11-02"
    }
  }
  tier "rack" { endpoints = [endpoint.gpu-a, endpoint.gpu-b, endpoint.gpu-c] }
  tier "cloud" { endpoints = [endpoint.cloud] }
  balance "p2c" {}
}
