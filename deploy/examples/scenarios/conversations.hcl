title   = "Conversations, as Mooncake saw them"
text    = <<-EOT
  Twenty minutes of real conversations with long prompts, of which a third was said before. The first block is in every
  request, so that whoever follows the longest prefix sends all of them to one server.
EOT
catalog = "pool"
catalog_variables = {
  slow  = 2
  usual = 5
  fast  = 1
}

variable "minute" { default = 60 } # seconds; fewer make a short run
variable "seeds" { default = 10 }
variable "clients" { default = 8 }
variable "push" { default = "1s" }
variable "load" { default = 0.6 }

warmup   = "${2 * var.minute}s"
duration = "${20 * var.minute}s"
seeds    = var.seeds

traffic "conversations" {
  workload = "chat"
  trace    = "../traces/mooncake-conversation.jsonl.gz"
  format   = "mooncake"
  load     = var.load
  sticky   = true
}

server "gpu-*" { cache_tokens = 1024000 }
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
  "score_125.hit_rate / predictive.hit_rate >= 1.1",
  "score_125.errors <= 0.5%",
  "violations == 0",
]
