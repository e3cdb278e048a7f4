tool "fx-rates" {
  use         = [policy.interactive]
  apis        = ["http"]
  freshness   = "60s"             # a verified result is reused for so long; absent: never
  effects     = false             # true: an action; repeated only with an idempotency key
  idempotency = "Idempotency-Key" # the header that carries the action's id; absent: none
  tier "all" { endpoints = [endpoint.fx-a] }
}

provider "fx" {
  dialect  = "http"
  base_url = "https://fx.example/v1"
}

endpoint "fx-a" {
  provider   = provider.fx
  apis       = ["http"]
  credential = "fx"
  breaker { consecutive = 3 }
}
