title   = "Two tenants of Azure"
text    = <<-EOT
  Conversations and code completion as Azure saw them on one afternoon, merged by their times and played twice as fast: code
  comes in bursts of long prompts, which are more than the servers can do for some seconds.
EOT
catalog = "tenants"

variable "minute" { default = 60 } # seconds; fewer make a short run
variable "seeds" { default = 10 }
variable "clients" { default = 20 }
variable "speed" { default = 2 }

warmup   = "${var.minute}s"
duration = "${6 * var.minute}s"
seeds    = var.seeds

traffic "conversation" {
  workload = "chat"
  tenant   = "people"
  trace    = "../traces/azure-conversation.csv.gz"
  format   = "azure"
  speed    = var.speed
}

traffic "code" {
  workload = "chat"
  tenant   = "code"
  trace    = "../traces/azure-code.csv.gz"
  format   = "azure"
  speed    = var.speed
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
  "predictive.ttft_p99 < 12s",
  "predictive.ttft_p99 / wrr.ttft_p99 <= 1.5",
  "predictive.fairness >= 0.7",
  "violations == 0",
]
