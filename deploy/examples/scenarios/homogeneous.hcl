title   = "Forty equal servers"
text    = <<-EOT
  With nothing to learn, what does it cost to be clever? Any balancer that counts well is good here.
EOT
catalog = "pool"
catalog_variables = {
  slow  = 0
  usual = var.endpoints
  fast  = 0
}

variable "minute" { default = 60 } # seconds; fewer make a short run
variable "seeds" { default = 10 }
variable "endpoints" { default = 40 }
variable "clients" { default = 50 }
variable "cv" { default = 1.5 }
variable "push" { default = "1s" }
variable "load" { default = 0.85 }

warmup   = "${var.minute}s"
duration = "${6 * var.minute}s"
seeds    = var.seeds

traffic "chat" {
  workload = "chat"
  load     = var.load
  cv       = var.cv
  zipf     = 0.8
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
  clients = var.clients
  push    = var.push
  delay   = "400ms"
  jitter  = "100ms"
}

policies {
  strategies = ["predictive", "p2c", "least_loaded", "weighted_least_latency", "latency_weighted", "weighted", "round_robin"]
  rivals     = ["round_robin", "wrr", "wrr_wrong", "least_loaded", "p2c_local", "peak_ewma", "prequal", "jsq2", "clairvoyant", "clairvoyant_total"]
}

assert = [
  "predictive.ttft_p99 < 4s",
  "predictive.ttft_p99 / prequal.ttft_p99 <= 1.5",
  "predictive.errors <= 0.1%",
  "violations == 0",
]
