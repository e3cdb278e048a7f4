model "gpt-41" {
  use               = [policy.interactive] # its breaker
  artifact          = "gpt-4.1@2025-04-14" # what is served: version, precision, build
  capabilities      = ["chat", "stream", "tools", "json_schema", "vision"]
  context_window    = 1047576 # tokens, input and output together
  max_output_tokens = 32768
  retires           = "2027-04-14" # out from then on; validate warns 60 days before
  price {                          # USD per million tokens, exact decimals
    input        = "2.00"
    cached_input = "0.50"
    cache_write  = "0"
    output       = "8.00"
    above "200000" { # when the input is longer than this
      input  = "4.00"
      output = "16.00"
    }
  }
}

model "qwen-72b-fp8" {
  artifact          = "qwen2.5-72b-instruct/fp8/a1b2c3"
  capabilities      = ["chat", "stream", "tools", "json_schema"]
  context_window    = 131072
  max_output_tokens = 8192
  price {
    input  = "0"
    output = "0"
  }
}
