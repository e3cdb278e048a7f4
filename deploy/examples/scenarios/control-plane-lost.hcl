title   = "The control plane goes, and then a server"
text    = <<-EOT
  Nobody reports, judges or pushes for half of the run, and a while into it one server in ten slows down. Clients have
  what they were told last, which ages, and what they see themselves.
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
variable "load" { default = 0.7 }

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

fault "no control plane" {
  kind = "away"
  at   = "${1.5 * var.minute}s"
  for  = "${3 * var.minute}s"
}

fault "one in ten" {
  kind      = "slow"
  endpoints = ["gpu-slow-000", "gpu-usual-000", "gpu-usual-001", "gpu-fast-000"]
  at        = "${2.5 * var.minute}s"
  for       = "${2.5 * var.minute}s"
  factor    = 0.3
}

policies {
  strategies = ["predictive", "p2c", "least_loaded", "weighted_least_latency", "latency_weighted", "weighted", "round_robin"]
  rivals     = ["round_robin", "wrr", "wrr_wrong", "least_loaded", "p2c_local", "peak_ewma", "prequal", "jsq2", "clairvoyant", "clairvoyant_total"]
}

assert = [
  "predictive.ttft_p99 < 15s",
  "predictive.ttft_p99 / round_robin.ttft_p99 <= 0.8",
  "predictive.errors <= 0.1%",
  "violations == 0",
]
