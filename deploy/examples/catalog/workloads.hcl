workload "support-chat" {
  use  = [policy.interactive]
  apis = ["openai.chat"] # what callers send; an endpoint must speak one of them

  contract {
    requires            = ["stream", "tools"] # joined with what each request needs
    needs_context       = 32000               # endpoints with less are not in the pool
    needs_output_tokens = 4096
    max_ttft            = "12s" # slower ones are out (too_slow)
    regions             = ["eu", "us"]
    compliance          = ["zero-retention"]
    equivalent { # A2: these may stand in for each other here
      models    = [model.gpt-41, model.qwen-72b-fp8]
      behaviour = ["json_schema:strict", "parallel_tools"]
      evidence  = "evals/support-chat/2026-11-02.json"
      expires   = "2027-05-01"
    }
  }

  tier "primary" { endpoints = [endpoint.azure-gpt41-weu, endpoint.openai-gpt41-a, endpoint.openai-gpt41-b] }
  tier "overflow" { endpoints = [endpoint.qwen-own] }

  balance "p2c" {
    money_per_ms = "0.000002" # USD that a millisecond is worth; absent: pure latency
  }
  affinity {
    on    = "prefix" # prefix | session | tenant
    rule  = "median" # score | median
    slack = 2.5      # of the pool's median, at which home is left; score: 1.25
  }
  on_filter   = "return" # return | another: a content filter's refusal
  escalate_on = []       # quality, context: one tier further, once
  guard {                # what aborts a canary of this workload
    success_drop = 0.02
    shed_rise    = 0.02
    ttft_p95     = 1.25 # × stable's
    cost         = 1.20
    window       = "1m"
    min_samples  = 200
  }
}

workload "batch-labels" {
  use  = [policy.interactive]
  apis = ["openai.chat"]
  balance "cost_tiered" {
    band "simple" {     # cheapest first
      upto_tokens = 800 # predicted input + output; absent: any
      models      = [model.qwen-72b-fp8]
    }
    band "complex" { models = [model.gpt-41] }
    prefer_quality = false
  }
  contract {
    requires = ["json_schema"]
    equivalent {
      models   = [model.gpt-41, model.qwen-72b-fp8]
      evidence = "evals/batch-labels.json"
    }
  }
  tier "all" { endpoints = endpoints("*") }
}
