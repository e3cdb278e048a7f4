# Three models of one family, of which each costs several times the next. Prices are list prices of 24 July 2026, from
# LiteLLM's model_prices_and_context_window.json (MIT licence): gpt-5.6, gpt-5.4-mini and gpt-5.4-nano. That they may
# stand in for each other is an assumption; the scenario says of which answers.

provider "openai" {
  dialect  = "openai"
  base_url = "https://api.openai.example/v1"
}

model "large" {
  artifact          = "gpt-5.6/1"
  capabilities      = ["chat", "stream"]
  context_window    = 1050000
  max_output_tokens = 128000
  price {
    input        = "5.00"
    cached_input = "0.50"
    output       = "30.00"
  }
}

model "middle" {
  artifact          = "gpt-5.4-mini/1"
  capabilities      = ["chat", "stream"]
  context_window    = 1050000
  max_output_tokens = 128000
  price {
    input        = "0.75"
    cached_input = "0.075"
    output       = "4.50"
  }
}

model "small" {
  artifact          = "gpt-5.4-nano/1"
  capabilities      = ["chat", "stream"]
  context_window    = 1050000
  max_output_tokens = 128000
  price {
    input        = "0.20"
    cached_input = "0.02"
    output       = "1.25"
  }
}

endpoint "large" {
  for_each    = ["a", "b"]
  provider    = provider.openai
  model       = model.large
  apis        = ["openai.chat"]
  credential  = "openai"
  concurrency = 1000
}

endpoint "middle" {
  for_each    = ["a", "b"]
  provider    = provider.openai
  model       = model.middle
  apis        = ["openai.chat"]
  credential  = "openai"
  concurrency = 1000
}

endpoint "small" {
  for_each    = ["a", "b"]
  provider    = provider.openai
  model       = model.small
  apis        = ["openai.chat"]
  credential  = "openai"
  concurrency = 1000
}

workload "mixed" {
  apis = ["openai.chat"]
  contract {
    equivalent {
      models   = [model.large, model.middle, model.small]
      evidence = "evals/mixed.json"
    }
  }
  balance "p2c" {
    money_per_ms = "0.000002"
  }
  tier "all" { endpoints = endpoints("*") }
  escalate_on = ["quality"]
}
