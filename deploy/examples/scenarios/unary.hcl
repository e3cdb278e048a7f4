title   = "Whole answers"
text    = <<-EOT
  Answers that are not streamed: the first that a client sees of one is its end, so that time to first token and total
  are the same, and only lengths explain them.
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
  stream   = false
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

policies {
  strategies = ["predictive", "p2c", "least_loaded", "weighted_least_latency", "latency_weighted", "weighted", "round_robin"]
  rivals     = ["round_robin", "wrr", "wrr_wrong", "least_loaded", "p2c_local", "peak_ewma", "prequal", "jsq2", "clairvoyant", "clairvoyant_total"]
}

assert = [
  "predictive.total_p99 < 60s",
  "predictive.total_p99 / rival_least_loaded.total_p99 <= 1",
  "predictive.errors <= 1%",
  "violations == 0",
]
