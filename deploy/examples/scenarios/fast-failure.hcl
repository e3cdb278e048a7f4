title   = "A server that fails fast"
text    = <<-EOT
  One server refuses four requests of five after 50 ms, so that it looks free and quick. The second time around all
  breakers are off and no call is made twice: what is left is whether the strategy itself falls for it.
EOT
catalog = "pool"
catalog_variables = { # a quarter at half speed, three in twenty at twice
  slow  = floor(var.endpoints / 4)
  usual = var.endpoints - floor(var.endpoints / 4) - floor(var.endpoints * 3 / 20)
  fast  = floor(var.endpoints * 3 / 20)
}

variable "minute" { default = 60 } # seconds; fewer make a short run
variable "seeds" { default = 10 }
variable "endpoints" { default = 40 }
variable "clients" { default = 50 }
variable "cv" { default = 1.5 }
variable "push" { default = "1s" }
variable "load" { default = 0.6 }

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
server "gpu-slow-*" { speed = 0.5 }
server "gpu-fast-*" { speed = 2 }

fleet {
  clients = var.clients
  push    = var.push
  delay   = "400ms"
  jitter  = "100ms"
}

fault "fails fast" {
  kind      = "fail"
  endpoints = ["gpu-usual-000"]
  at        = "${1.5 * var.minute}s"
  for       = "${3 * var.minute}s"
  part      = 0.8
}

policies {
  strategies = ["predictive", "p2c", "least_loaded", "weighted_least_latency", "latency_weighted", "weighted", "round_robin"]
  rivals     = ["round_robin", "wrr", "wrr_wrong", "least_loaded", "p2c_local", "peak_ewma", "prequal", "jsq2", "clairvoyant", "clairvoyant_total"]
}

policies {
  suffix     = "_bare"
  breaker    = "off"
  attempts   = 1
  strategies = ["predictive", "p2c", "least_loaded", "weighted_least_latency", "latency_weighted", "weighted", "round_robin"]
  rivals     = ["round_robin", "wrr", "wrr_wrong", "least_loaded", "p2c_local", "peak_ewma", "prequal", "jsq2", "clairvoyant", "clairvoyant_total"]
}

assert = [
  "predictive.errors <= 0.1%",
  "predictive.ttft_p99 < 4s",
  "predictive_bare.errors <= 0.8%",
  "predictive_bare.errors / p2c_local_bare.errors <= 0.5",
  "violations == 0",
]
