title   = "A server with the wrong weights"
text    = <<-EOT
  After a deployment one server of eight gives nonsense half of the time, fast and with status 200. Only the callers'
  validator sees it.
EOT
catalog = "tenants"

variable "minute" { default = 60 } # seconds; fewer make a short run
variable "seeds" { default = 10 }

warmup   = "${var.minute}s"
duration = "${6 * var.minute}s"
seeds    = var.seeds

traffic "chat" {
  workload = "chat"
  tenant   = "people"
  load     = 0.5
  cv       = 1.5
  input {
    median = 1000
    sigma  = 1
  }
  output {
    median = 200
    sigma  = 1
  }
}

server "gpu-*" {}

fleet {
  clients = 10
  delay   = "100ms"
}

callers {
  validate = true
}

fault "wrong build" {
  kind      = "wrong"
  endpoints = ["gpu-c"]
  at        = "${2 * var.minute}s"
  for       = "${2 * var.minute}s"
  part      = 0.5
}

policies {
  strategies = ["predictive", "p2c", "least_loaded", "weighted_least_latency", "latency_weighted", "weighted", "round_robin"]
  rivals     = ["round_robin", "wrr", "wrr_wrong", "least_loaded", "p2c_local", "peak_ewma", "prequal", "jsq2", "clairvoyant", "clairvoyant_total"]
}

assert = [
  "predictive.wrong == 0",
  "predictive.invalid >= 1",
  "predictive.errors <= 8%",
  "predictive.ttft_p99 < 3s",
  "violations == 0",
]
