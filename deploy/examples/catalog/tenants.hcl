tenant "acme" {
  identities = ["spiffe://acme.example/chat"]
  workloads  = ["support-chat"]
  tools      = ["fx-rates"]
  regions    = [var.region] # residency: narrows every contract
  compliance = ["hipaa"]
  priority   = "interactive" # interactive | standard | batch
  caps {
    concurrency       = 50
    tokens_per_minute = 400000
  }
  budget {
    usd          = "250.00"
    per          = "day" # day | month, UTC
    warn         = 0.8
    on_exhausted = "shed" # shed | cheapest
  }
  reserve "azure-weu" { tokens_per_minute = 100000 }
}
