title   = "Prompts that begin alike"
text    = <<-EOT
  Four hundred system prompts of 4,096 tokens, some asked for much more often than others, and caches that hold a few
  dozen each. How much of the hits does a policy get, and what do they cost in waiting, along slack? Of all tokens 71 % are
  of such beginnings: no policy can hit more. Load is of what the servers could do without caches.
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
  keys {
    count  = 400
    tokens = 4096
    zipf   = 1
  }
}

server "gpu-*" { cache_tokens = 131072 }
server "gpu-slow-*" { speed = 0.5 }
server "gpu-fast-*" { speed = 2 }

fleet {
  clients = var.clients
  push    = var.push
  delay   = "400ms"
  jitter  = "100ms"
}

policies {
  strategies = ["predictive", "p2c", "hash"]
  rivals     = ["prequal", "jsq2", "clairvoyant", "clairvoyant_total"]
}

policy "median_150" {
  strategy = "predictive"
  affinity {
    rule  = "median"
    slack = 1.5
  }
}

policy "median_250" {
  strategy = "predictive"
  affinity {
    rule  = "median"
    slack = 2.5
  }
}

policy "score_110" {
  strategy = "predictive"
  affinity {
    rule  = "score"
    slack = 1.1
  }
}

policy "score_125" {
  strategy = "predictive"
  affinity {
    rule  = "score"
    slack = 1.25
  }
}

policy "score_150" {
  strategy = "predictive"
  affinity {
    rule  = "score"
    slack = 1.5
  }
}

policy "score_200" {
  strategy = "predictive"
  affinity {
    rule  = "score"
    slack = 2
  }
}

policy "score_400" {
  strategy = "predictive"
  affinity {
    rule  = "score"
    slack = 4
  }
}

assert = [
  "score_125.hit_rate >= 30%",
  "score_125.hit_rate / predictive.hit_rate >= 1.2",
  "score_125.ttft_p99 / predictive.ttft_p99 <= 1.1",
  "violations == 0",
]
