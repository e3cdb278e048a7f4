title   = "One tenant wants everything"
text    = <<-EOT
  Batch jobs ask for more than all servers can do, for two minutes, next to people who chat. What do the people notice?
  The jobs' tenant may have eight requests under way at each client, and is shed beyond.
EOT
catalog = "tenants"

variable "minute" { default = 60 } # seconds; fewer make a short run
variable "seeds" { default = 10 }
variable "clients" { default = 8 }

warmup   = "${var.minute}s"
duration = "${6 * var.minute}s"
seeds    = var.seeds

traffic "people" {
  workload = "chat"
  tenant   = "people"
  load     = 0.4
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

traffic "jobs" {
  workload = "chat"
  tenant   = "bulk"
  load     = 1.2
  from     = "${2 * var.minute}s"
  until    = "${4 * var.minute}s"
  input {
    median = 2000
    sigma  = 0.5
  }
  output {
    median = 400
    sigma  = 0.5
  }
}

server "gpu-*" {}

fleet {
  clients = var.clients
  delay   = "100ms"
}

policies {
  strategies = ["predictive", "p2c", "least_loaded", "weighted_least_latency", "latency_weighted", "weighted", "round_robin"]
  rivals     = ["round_robin", "wrr", "wrr_wrong", "least_loaded", "p2c_local", "peak_ewma", "prequal", "jsq2", "clairvoyant", "clairvoyant_total"]
}

assert = [
  "predictive.tenant.people.ttft_p99 < 4s",
  "predictive.tenant.people.sheds <= 0.1%",
  "violations == 0",
]
