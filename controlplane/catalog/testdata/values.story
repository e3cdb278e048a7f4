base
provider "p" {
  dialect  = "openai"
  base_url = "https://p.example/v1"
}
model "m" {
  artifact          = "m@1"
  capabilities      = ["stream", "chat", "chat"]
  context_window    = 32000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2.5"
    above "200000" { input = "2" }
    above "100000" {
      output       = "9"
      cached_input = "0"
    }
  }
}
----

# What is absent has one value. Without a price of their own, cached input and cache writes cost what input costs.
show model.m
----
artifact = m@1
capabilities = chat, stream
context_window = 32000
max_output_tokens = 4096
price.input = $1.00/M
price.cached_input = $1.00/M
price.cache_write = $1.00/M
price.output = $2.50/M
price.above.100000.input = $1.00/M
price.above.100000.cached_input = $0.00/M
price.above.100000.cache_write = $1.00/M
price.above.100000.output = $9.00/M
price.above.200000.input = $2.00/M
price.above.200000.cached_input = $2.00/M
price.above.200000.cache_write = $2.00/M
price.above.200000.output = $2.50/M

show endpoint.e
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
----
identity = 7767a4f8c4011b54
provider = p
model = m
wire_model = m
apis = openai.chat
weight = 100 × learned speed
concurrency = unlimited
breaker.window = 5s
breaker.slow_window = 1m
breaker.min_samples = 20
breaker.consecutive = 5
breaker.failure_ratio = 0.5
breaker.ttft_limit = off
breaker.cooldown = 5s
breaker.cooldown_max = 2m
breaker.probes = 3
breaker.ramp = 30s
breaker.max_ejected = 0.5

show workload.w
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
----
apis = openai.chat
contract.needs_context = 0
contract.needs_output_tokens = 0
contract.max_ttft = none
contract.regions = any
tier.t.endpoints = e
balance.strategy = predictive
balance.money_per_ms = pure latency
balance.prefer_quality = false
attempts.max = 3
attempts.retry_ratio = 0.1
attempts.retry_reserve = 10
attempts.same_endpoint = 0
attempts.connect = 2s
attempts.first_token = 10s
attempts.answer = 3m
attempts.stall = 20s
attempts.total = 10m
deliver = live
on_filter = return
guard.success_drop = 0.02
guard.shed_rise = 0.02
guard.ttft_p95 = 1.25
guard.cost = 1.2
guard.window = 1m
guard.min_samples = 200

show quota.q
quota "q" { requests_per_minute = 60 }
----
requests_per_minute = 60
tokens_per_minute = unlimited
input_tokens_per_minute = unlimited
output_tokens_per_minute = unlimited
requests_per_day = unlimited
refill = continuous
on_cutoff = safe

# Nobody who declares no priority is throttled.
show tenant.t
tenant "t" {
  budget { usd = "0.000000001" }
  caps { concurrency = 0 }
}
----
regions = any
priority = interactive
caps.concurrency = 0
caps.requests_per_minute = unlimited
caps.tokens_per_minute = unlimited
budget.usd = $0.000000001
budget.per = day
budget.warn = 0.8
budget.on_exhausted = shed

# An explicit zero is a value.
show endpoint.e weight concurrency breaker.consecutive breaker.failure_ratio breaker.ttft_limit breaker.ramp breaker.max_ejected
policy "hard" {
  breaker {
    ttft_limit = "3s"
  }
}
endpoint "e" {
  use         = [policy.hard]
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  weight      = 0
  concurrency = 0
  breaker {
    consecutive   = 0
    failure_ratio = 0
    ttft_limit    = "0s"
    ramp          = "0s"
    max_ejected   = 0
  }
}
----
weight = 0
concurrency = 0
breaker.consecutive = off
breaker.failure_ratio = 0
breaker.ttft_limit = off
breaker.ramp = 0s
breaker.max_ejected = 0

# What is null is absent, not zero.
show endpoint.e weight concurrency
variable "n" {
  default = null
}
endpoint "e" {
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  weight      = var.n
  concurrency = null
}
----
weight = 100 × learned speed
concurrency = unlimited

# Policies: later ones win per attribute, the block's own attributes win over all.
show workload.w attempts deliver balance affinity guard
policy "a" {
  attempts {
    max   = 5
    total = "1m"
    stall = "1s"
  }
  stream { deliver = "whole" }
  balance "weighted" {}
  affinity { on = "session" }
  guard {
    cost   = 2
    window = "5m"
  }
}
policy "b" {
  attempts {
    max   = 2
    stall = "2s"
  }
  balance { money_per_ms = "0.001" }
  affinity { rule = "score" }
  guard { cost = 3 }
}
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
workload "w" {
  use  = [policy.a, policy.b]
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
  attempts { stall = "3s" }
  balance "least_loaded" {}
  guard { window = "2m" }
}
----
balance.strategy = least_loaded
balance.money_per_ms = $0.001
balance.prefer_quality = false
affinity.on = session
affinity.rule = score
affinity.slack = 1.25
attempts.max = 2
attempts.retry_ratio = 0.1
attempts.retry_reserve = 10
attempts.same_endpoint = 0
attempts.connect = 2s
attempts.first_token = 10s
attempts.answer = 3m
attempts.stall = 3s
attempts.total = 1m
deliver = whole
guard.success_drop = 0.02
guard.shed_rise = 0.02
guard.ttft_p95 = 1.25
guard.cost = 3
guard.window = 2m
guard.min_samples = 200

# The breaker is that of the first of endpoint, model and provider whose policies have one.
show endpoint.e breaker.window breaker.cooldown breaker.probes
policy "of-model" {
  breaker {
    window = "2s"
    probes = 7
  }
}
policy "of-provider" {
  breaker {
    window   = "3s"
    cooldown = "9s"
  }
}
policy "no-breaker" {
  attempts { max = 1 }
}
provider "q" {
  use      = [policy.of-provider]
  dialect  = "openai"
  base_url = "https://q.example"
}
model "n" {
  use               = [policy.of-model]
  artifact          = "n@1"
  context_window    = 10
  max_output_tokens = 10
  price {
    input  = "0"
    output = "0"
  }
}
endpoint "e" {
  use      = [policy.no-breaker]
  provider = provider.q
  model    = model.n
  apis     = ["openai.chat"]
  breaker { probes = 1 }
}
endpoint "f" {
  provider = provider.q
  model    = model.m
  apis     = ["openai.chat"]
}
----
breaker.window = 2s
breaker.cooldown = 5s
breaker.cooldown_max = 2m
breaker.probes = 1

show endpoint.f breaker.window breaker.cooldown breaker.probes
policy "of-provider" {
  breaker {
    window   = "3s"
    cooldown = "9s"
  }
}
provider "q" {
  use      = [policy.of-provider]
  dialect  = "openai"
  base_url = "https://q.example"
}
endpoint "f" {
  provider = provider.q
  model    = model.m
  apis     = ["openai.chat"]
}
----
breaker.window = 3s
breaker.cooldown = 9s
breaker.cooldown_max = 2m
breaker.probes = 3

# for_each over a list and over a map; locals that depend on each other in any order.
show endpoint.e-eu-1 region credential weight concurrency
locals {
  sites = { for name in local.names : name => { region = split("-", name)[0], weight = local.base * 2 } }
  names = ["eu-1", "us-1"]
  base  = 50
}
endpoint "e" {
  for_each    = local.sites
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  region      = each.value.region
  credential  = "key-${each.key}"
  weight      = each.value.weight
  concurrency = max(1, 2, 3)
}
----
region = eu
credential = key-eu-1
weight = 100
concurrency = 3

show workload.w tier tiers
locals {
  all = concat([endpoint.e-b], endpoints("e-b"))
}
endpoint "e" {
  for_each = ["b", "a"]
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
endpoint "other" {
  provider = provider.p
  model    = model.m
  apis     = ["x"]
}
workload "w" {
  apis = ["openai.chat"]
  tier "named" { endpoints = [for e in local.all : e] }
  tier "spare" { endpoints = endpoints("*") }
}
----
tier.named.endpoints = e-b
tier.spare.endpoints = e-a
tiers = named, spare

# Variables.
validate var.region=eu var.weights=[1,2] var.size=3 var.nmae=x
variable "region" { default = "us" }
variable "weights" {
  type        = list(number)
  description = "of the endpoints"
}
variable "size" { type = number }
variable "name" {}
variable "flag" {
  type    = bool
  default = "perhaps"
}
variable "odd" { type = text }
----
:0:0: error: variable "nmae" is given, but not declared (did you mean "name"?) @var.nmae
a.hcl:7:1: error: variable "name" has no value (give it a default, -var name=…, or POINTSMAN_VAR_name) @variable.name
a.hcl:10:13: error: the default is text: it must be bool @variable.flag.default
a.hcl:12:1: error: variable "odd" has no value (give it a default, -var odd=…, or POINTSMAN_VAR_odd) @variable.odd
a.hcl:12:25: error: invalid type specification (The keyword "text" is not a valid type specification.) @variable.odd.type

show endpoint.e region weight concurrency
variable "region" { default = "us" }
variable "weights" { default = [1, 20] }
variable "size" {
  type    = number
  default = "7"
}
endpoint "e" {
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  region      = var.region
  weight      = var.weights[1]
  concurrency = var.size
}
----
region = us
weight = 20
concurrency = 7

# A plan shows every attribute that changes, and none that does not.
diff
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
  weight   = 5
}
endpoint "gone" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
quota "q" { tokens_per_minute = 5 }
workload "w" {
  apis = ["openai.chat"]
  tier "a" { endpoints = [endpoint.e] }
  tier "b" { endpoints = [endpoint.gone] }
  affinity {}
}
====
endpoint "e" {
  provider   = provider.p
  model      = model.m
  apis       = ["openai.chat"]
  wire_model = "m-2"
  breaker { window = "10s" }
}
endpoint "new" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
quota "q" { tokens_per_minute = 5 }
workload "w" {
  apis = ["openai.chat"]
  tier "b" { endpoints = [endpoint.new] }
  tier "a" { endpoints = [endpoint.e] }
  balance "p2c" { money_per_ms = "0.000002" }
}
----
changed endpoint e identity: 7767a4f8c4011b54 -> 5b7f7a65e6f33ba2
changed endpoint e wire_model: m -> m-2
changed endpoint e weight: 5 -> 100 × learned speed
changed endpoint e breaker.window: 5s -> 10s
removed endpoint gone
added endpoint new
changed workload w tier.b.endpoints: gone -> new
changed workload w tiers: a, b -> b, a
changed workload w balance.strategy: predictive -> p2c
changed workload w balance.money_per_ms: pure latency -> $0.000002
changed workload w affinity.on: prefix -> 
changed workload w affinity.rule: score -> 
changed workload w affinity.slack: 1.25 -> 

# The order of blocks means nothing.
diff
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
quota "q" { tokens_per_minute = 5 }
====
quota "q" { tokens_per_minute = 5 }
endpoint "e" {
  apis     = ["openai.chat"]
  model    = model.m
  provider = provider.p
}
----

# Equal settings written in another way are no change.
diff
policy "a" {
  attempts { stall = "60s" }
}
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
workload "w" {
  use  = [policy.a]
  apis = ["openai.chat"]
  tier "a" { endpoints = [endpoint.e] }
}
====
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
workload "w" {
  apis = ["openai.chat"]
  tier "a" { endpoints = [endpoint.e] }
  attempts { stall = "1m" }
}
----

# Format is canonical, and reports what it cannot read.
format
\
\
quota "q" {
tokens_per_minute=5   # five
   requests_per_minute    =     10
}
  endpoint   "e"   {
for_each=["a","b"]
}
----
quota "q" {
  tokens_per_minute   = 5 # five
  requests_per_minute = 10
}
endpoint "e" {
  for_each = ["a", "b"]
}

format
quota "q" {
----
a.hcl:1:11: error: unclosed configuration block (There is no closing brace for this block before the end of the file. This may be caused by incorrect brace nesting elsewhere in this file.)
