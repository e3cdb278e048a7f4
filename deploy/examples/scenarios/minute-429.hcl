title   = "429 until the minute is over"
text    = <<-EOT
  Four accounts whose limits count from one full minute to the next, at nine tenths of what they allow together. Two allow
  three times as much as the others, which nobody has declared: whoever spreads work evenly meets 429 well before a minute
  is over, and everybody comes back in its first second.
EOT
catalog = "hosted"
catalog_variables = {
  apis = ["a", "b", "c", "d"]
}

variable "minute" { default = 60 } # seconds; fewer make a short run
variable "seeds" { default = 10 }
variable "load" { default = 0.9 }

# Windows are minutes, however short the run.
duration = "${max(2, var.minute / 10)}m"
seeds    = var.seeds

traffic "chat" {
  workload = "chat"
  load     = var.load
  cv       = 1.5
  deadline = "30s"
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
  requests_per_minute = 900
  refill              = "fixed"
  first               = "500ms"
  each                = "15ms"
}

server "api-[cd]" { requests_per_minute = 300 }

fleet {
  clients = 10
  delay   = "100ms"
}

policies {
  strategies = ["predictive", "p2c", "least_loaded", "weighted_least_latency", "latency_weighted", "weighted", "quota_aware", "round_robin"]
  rivals     = ["round_robin", "wrr", "wrr_wrong", "least_loaded", "p2c_local", "peak_ewma", "prequal", "jsq2", "clairvoyant", "clairvoyant_total"]
}

assert = [
  "predictive.sheds <= 15%",
  "predictive.errors <= 2%",
  "violations == 0",
]
