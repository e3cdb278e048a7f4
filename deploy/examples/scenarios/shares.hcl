title   = "Shares that are not speeds"
text    = <<-EOT
  Two equal servers of which an operator wants nine tenths of the work at one: does it come out so when there is little
  to do? Weights are what is drawn, not how fast somebody is.
EOT
catalog = "tenants"

variable "minute" { default = 60 } # seconds; fewer make a short run
variable "seeds" { default = 10 }

warmup   = "${var.minute}s"
duration = "${60 * var.minute}s"
seeds    = var.seeds

traffic "chat" {
  workload = "chat"
  tenant   = "people"
  rate     = 0.5
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
  clients = 4
  delay   = "100ms"
}

locals {
  ninety_ten = {
    "gpu-a"     = 90
    "gpu-b"     = 10
    "gpu-[c-h]" = 0
  }
}

policies {
  strategies = ["predictive", "p2c", "least_loaded", "weighted_least_latency", "latency_weighted", "weighted", "round_robin"]
  rivals     = ["wrr", "prequal", "clairvoyant", "clairvoyant_total"]
  weights    = local.ninety_ten
}

assert = [
  "weighted.endpoint.gpu-a.share >= 84%",
  "predictive.endpoint.gpu-a.share >= 80%",
  "predictive.endpoint.gpu-b.share >= 3%",
  "violations == 0",
]
