endpoint "openai-gpt41" {
  for_each    = ["a", "b"] # openai-gpt41-a and openai-gpt41-b
  provider    = provider.openai
  model       = model.gpt-41
  wire_model  = "gpt-4.1-2025-04-14"                # what is sent
  apis        = ["openai.chat", "openai.responses"] # `adapters`: further ones, translated
  region      = "us"                                # a path: eu covers eu/west
  quotas      = [quota.openai-org]
  credential  = "openai-${each.value}" # a name: docs/catalog.md, "Credentials are names"
  compliance  = ["zero-retention"]
  weight      = 100 # absent: 100 × learned speed; 0 drains
  concurrency = 200 # for the whole fleet; absent: unlimited, with a warning
}

endpoint "azure-gpt41-weu" {
  provider   = provider.azure-weu
  model      = model.gpt-41
  wire_model = "gpt41-prod" # Azure: the deployment
  apis       = ["openai.chat"]
  region     = "eu/west"
  quotas     = [quota.azure-weu]
  credential = "azure-weu"
  compliance = ["zero-retention", "hipaa"]
}

endpoint "qwen-own" {
  provider   = provider.own-vllm
  model      = model.qwen-72b-fp8
  wire_model = "qwen"
  apis       = ["openai.chat"]
  region     = "eu/west"
  instances  = dns("vllm.inference.svc:8000") # or a list; each is scored, broken and limited by itself
  compliance = ["zero-retention", "hipaa"]
  capacity { # cold values; learned ones replace them
    slots       = 64
    prefill_tps = 12000
    tpot        = "18ms"
  }
  metrics = "vllm" # the agent reads /metrics of each instance: vllm | sglang | triton | tgi
  breaker {        # how it is judged
    ttft_limit = "8s"
  }
}
