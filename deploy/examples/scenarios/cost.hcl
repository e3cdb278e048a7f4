title     = "The dearest model, or bands"
text      = <<-EOT
  Mixed work of which most is simple: everything on the dearest model, against bands that send what is small to what is
  cheap and let a validator send it on. Assumed: each model answers 98 % of what fits its band well, and the smaller ones
  far fewer beyond.
EOT
catalog   = "prices"
latencies = "../traces/llmperf.csv.gz"

variable "minute" { default = 60 } # seconds; fewer make a short run
variable "seeds" { default = 10 }

warmup   = "${var.minute}s"
duration = "${6 * var.minute}s"
seeds    = var.seeds

traffic "simple" {
  workload = "mixed"
  rate     = 18
  cv       = 1.5
  input {
    median = 400
    sigma  = 0.5
  }
  output {
    median = 100
    sigma  = 0.5
  }
}

traffic "complex" {
  workload = "mixed"
  rate     = 2
  cv       = 1.5
  input {
    median = 3000
    sigma  = 0.7
  }
  output {
    median = 600
    sigma  = 0.7
  }
}

server "large-*" {
  latency = "bedrock/70b"
  valid   = 0.98
}

server "middle-*" {
  latency           = "anyscale/70b"
  valid             = 0.98
  valid_upto_tokens = 4096
  valid_beyond      = 0.9
}

server "small-*" {
  latency           = "anyscale/13b"
  valid             = 0.98
  valid_upto_tokens = 1000
  valid_beyond      = 0.8
}

fleet {
  clients = 10
  delay   = "100ms"
}

callers {
  validate = true
}

policy "dearest" {
  strategy = "p2c"
  weights = {
    "middle-*" = 0
    "small-*"  = 0
  }
}

policy "bands" {
  strategy = "cost_tiered"
  band "simple" {
    upto_tokens = 1000
    models      = ["small"]
  }
  band "usual" {
    upto_tokens = 4096
    models      = ["middle"]
  }
  band "complex" { models = ["large"] }
}

policy "bands_quality" {
  strategy       = "cost_tiered"
  prefer_quality = true
  band "simple" {
    upto_tokens = 1000
    models      = ["small"]
  }
  band "usual" {
    upto_tokens = 4096
    models      = ["middle"]
  }
  band "complex" { models = ["large"] }
}

policy "p2c" { strategy = "p2c" }
policy "predictive" { strategy = "predictive" }
policy "round_robin" { strategy = "round_robin" }

assert = [
  "bands.cost_per_1000 / dearest.cost_per_1000 <= 0.4",
  "bands.errors / dearest.errors <= 1.5",
  "violations == 0",
]
