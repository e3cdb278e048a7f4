title   = "Three APIs and a request a second"
text    = <<-EOT
  What most people have: two processes, a few hosted APIs (2 to 5: -var 'apis=["a","b"]'), one request a second. There
  is little to learn from, and one of the APIs is slow for a while.
EOT
catalog = "hosted"
catalog_variables = {
  apis = var.apis
}
latencies = "../traces/llmperf.csv.gz"

variable "minute" { default = 60 } # seconds; fewer make a short run
variable "seeds" { default = 10 }
variable "apis" {
  default = ["a", "b", "c"]
}

warmup   = "${2 * var.minute}s"
duration = "${20 * var.minute}s"
seeds    = var.seeds

traffic "chat" {
  workload = "chat"
  rate     = 1
  input {
    median = 550
    sigma  = 0.5
  }
  output {
    median = 150
    sigma  = 0.5
  }
}

server "api-*" {
  requests_per_minute = 600
  latency             = "fireworks/70b"
}

server "api-a" { latency = "anyscale/70b" }
server "api-b" { latency = "together/70b" }

fleet {
  clients = 2
  delay   = "100ms"
}

fault "a crawls" {
  kind      = "slow"
  endpoints = ["api-a"]
  at        = "${8 * var.minute}s"
  for       = "${6 * var.minute}s"
  factor    = 0.1
}

policies {
  strategies = ["predictive", "p2c", "least_loaded", "weighted_least_latency", "latency_weighted", "weighted", "round_robin"]
  rivals     = ["round_robin", "wrr", "wrr_wrong", "least_loaded", "p2c_local", "peak_ewma", "prequal", "jsq2", "clairvoyant", "clairvoyant_total"]
}

assert = [
  "predictive.ttft_mean < 2s",
  "predictive.errors <= 0.5%",
  "violations == 0",
]
