base
title    = "t"
duration = "2m"
catalog  = "CATALOGS/cat"
traffic "chat" {
  workload = "chat"
  rate     = 5
  input    { median = 1000 }
  output   { median = 100 }
}
server "gpu-*" {}
server "api-a" {
  first = "500ms"
  each  = "20ms"
}
policies { strategies = ["p2c"] }
----

errors
----
none

# Everything that is wrong is said at once.
errors
colour = "red"
seeds  = 0
fault "f" {
  kind      = "slwo"
  endpoints = ["gpu-x", "cpu-*"]
  at        = "soon"
}
policy "p" { strategy = "predicitve" }
policy "q" {
  rival    = "prequel"
  quantile = 0.5
}
policies {
  strategies = ["p2c2"]
  rivals     = ["wr"]
  suffix     = "_x"
}
assert = ["ttft_p98 < 2s", "p3c.ttft_p99 < 2s", "endpoint.gpu-z.errors < 1%"]
----
a.hcl:1:1: unknown attribute "colour" in scenario
a.hcl:2:10: seeds is 0 (a whole number from 1 to 1000)
a.hcl:4:15: kind is "slwo" (did you mean "slow"?)
a.hcl:5:16: no endpoint's name matches "gpu-x" (did you mean "gpu-a"?)
a.hcl:5:25: no endpoint's name matches "cpu-*" (the catalog has api-a, gpu-a, gpu-b)
a.hcl:6:15: at is "soon", which is no duration (a number with ms, s, m or h: "1.5s")
a.hcl:8:25: strategy is "predicitve" (did you mean "predictive"?)
a.hcl:10:14: rival is "prequel" (did you mean "prequal"?)
a.hcl:14:17: there is no strategy "p2c2" (did you mean "p2c"?)
a.hcl:15:17: there is no rival "wr" (did you mean "wrr"?)
a.hcl:18:11: assertion "ttft_p98 < 2s": no metric "ttft_p98": did you mean ttft_p90?
a.hcl:18:28: there is no policy "p3c" (did you mean "p2c"?)
a.hcl:18:49: there is no endpoint "gpu-z" (did you mean "gpu-a"?)

# What a scenario must have.
errors
fault "f" {}
traffic "t" {}
----
a.hcl:1:1: fault without at (add at)
a.hcl:1:1: fault without kind (add kind)
a.hcl:2:1: traffic without a rate (add load, as a part of what the servers can do, or rate, in requests a second)
a.hcl:2:1: traffic without input (add input { median = …  sigma = … })
a.hcl:2:1: traffic without output (add output { median = …  sigma = … })
a.hcl:2:1: traffic without workload (add workload)

# Variables.
errors lod=1
variable "load" { default = 0.5 }
----
variable "lod" is given, but not declared (did you mean "load"?)

errors load=much
variable "load" { default = 0.5 }
----
a.hcl:1:1: the value given for variable "load" is not right: it must be number

errors nothing
warmup = "${var.gone}s"
----
a.hcl:1:13: variable "gone" is not declared (none is declared)

errors
locals { a = model.small }
----
a.hcl:1:14: nothing is called "model" (text is written in quotes; names are var.x, local.x)

# Faults.
errors
fault "plane" {
  kind   = "away"
  at     = "1m"
  region = "eu"
}
fault "nobody" {
  kind = "hang"
  at   = "1m"
}
fault "nowhere" {
  kind     = "cut"
  at       = "1m"
  region   = "us"
  provider = "own"
}
fault "late" {
  kind   = "hang"
  region = "us"
  at     = "2m"
}
fault "short" {
  kind   = "hang"
  region = "us"
  at     = "1m"
  for    = "0s"
}
fault "cold" {
  kind   = "cold"
  region = "us"
  at     = "1m"
  for    = "1m"
}
fault "factor" {
  kind   = "hang"
  region = "us"
  at     = "1m"
  factor = 2
}
fault "slow" {
  kind   = "slow"
  region = "us"
  at     = "1m"
}
fault "pattern" {
  kind      = "hang"
  endpoints = ["gpu-["]
  at        = "1m"
}
fault "quota" {
  kind  = "exhausted"
  quota = "acount"
  at    = "1m"
}
----
a.hcl:1:1: away befalls the control plane, not endpoints (leave out endpoints, region, provider and quota)
a.hcl:6:1: a fault without endpoints (add endpoints = ["…"], region, provider or quota)
a.hcl:10:1: the fault befalls no endpoint (what is given must fit one and the same endpoint)
a.hcl:19:12: at is not before the end of the traffic
a.hcl:21:1: the fault takes no time
a.hcl:31:12: for has no effect on cold (at is when the endpoint joins)
a.hcl:33:1: factor has no effect on hang (it is of the speed, for slow)
a.hcl:39:1: fault without factor (add factor)
a.hcl:44:1: the fault befalls no endpoint (what is given must fit one and the same endpoint)
a.hcl:46:16: "gpu-[" is no pattern (a pattern is of names, *, ? and [a-c])
a.hcl:51:11: quota is "acount" (did you mean "account"?)

# Servers.
errors
server "cpu-*" {}
server "gpu-[" {}
server "gpu-a" {
  speed               = 2
  requests_per_minute = 60
}
server "gpu-b" { requests_per_minute = 60 }
----
a.hcl:1:1: no endpoint's name matches "cpu-*" (the catalog has api-a, gpu-a, gpu-b)
a.hcl:2:1: "gpu-[" is no pattern (a pattern is of names, *, ? and [a-c])
a.hcl:17:1: endpoint "gpu-a" is made both a server of one's own and a hosted one (of one's own: speed, prefill_tps, slots, step, step_each, prefill_pace, kv_tokens, cache_tokens; hosted: latency, first, each, scale, requests_per_minute, tokens_per_minute, concurrency, refill, burst)
a.hcl:17:1: the hosted endpoint "gpu-b" has no latency (latency = "provider/model" of a file of latencies, or first and each)

errors
server "api-?" {
  latency = "openai/large"
  first   = "1s"
}
----
a.hcl:1:1: both latency, and first and each (take the one or the others)
a.hcl:2:13: latency is "openai/large" (none is declared)

errors
latencies = "nowhere.csv"
----
a.hcl:1:13: latencies cannot be read: open nowhere.csv: no such file or directory (a path from the scenario's folder on)

# Traffic.
errors
fleet { clients = 10 }
traffic "a" {
  workload = "chta"
  rate     = 1
}
traffic "b" {
  workload = "chat"
  load     = 0.5
  rate     = 1
  clients  = 11
  input    { median = 10 }
  output   { median = 10 }
}
traffic "c" {
  workload = "chat"
  tenant   = "acme"
  input    { median = 10 }
}
traffic "d" {
  workload = "chat"
  trace    = "nowhere.csv"
  format   = "azur"
}
----
a.hcl:2:1: traffic without input (add input { median = …  sigma = … })
a.hcl:2:1: traffic without output (add output { median = …  sigma = … })
a.hcl:3:14: workload is "chta" (did you mean "chat"?)
a.hcl:6:1: both rate and load (take one of them)
a.hcl:6:1: clients 0 to 10 ask (the fleet has 10: raise clients in fleet)
a.hcl:14:1: traffic without a rate (add load, as a part of what the servers can do, or rate, in requests a second)
a.hcl:14:1: traffic without output (add output { median = …  sigma = … })
a.hcl:16:14: tenant is "acme" (one of: default)
a.hcl:22:14: format is "azur" (did you mean "azure"?)

errors
traffic "d" {
  workload = "chat"
  trace    = "nowhere.csv"
  format   = "azure"
}
----
a.hcl:1:1: the trace cannot be played: open trace nowhere.csv: open nowhere.csv: no such file or directory

# Every endpoint that a workload may reach needs a model.
errors
traffic "rest" {
  workload = "rest"
  rate     = 1
  input  { median = 10 }
  output { median = 10 }
}
----
a.hcl:2:14: workload uses endpoint "idle@instance-1:80", which no server block models (add server "idle@instance-1:80" { … }, or widen a pattern)

# Policies.
errors
policy "a b" {}
policy "both" {
  strategy = "p2c"
  rival    = "wrr"
}
policy "p2c" {}
policy "quantile" {
  rival    = "prequal"
  quantile = 7
}
policy "c" {
  strategy  = "cost_tiered"
  workloads = ["chatt"]
  weights   = { "cpu-*" = 1, "gpu-a" = -1 }
  band "b" { models = ["smal"] }
  affinity { rule = "scores" }
}
----
a.hcl:1:1: "a b" is no name for a policy (a letter, then letters, digits, _ and -, 64 at most: assertions name it)
a.hcl:2:1: both strategy and rival (take one of them)
a.hcl:6:1: policy "p2c" is there twice (give it another name, or the others a suffix)
a.hcl:7:1: rival "prequal": quantile = 7: give 0 to 1
a.hcl:13:16: no traffic asks for workload "chatt" (did you mean "chat"?)
a.hcl:14:15: weights has "cpu-*", which matches no endpoint's name (the catalog has api-a, gpu-a, gpu-b)
a.hcl:14:15: weights has for "gpu-a" -1 (a number from 0 to 1e+09)
a.hcl:15:24: no endpoint has model "smal" (did you mean "small"?)
a.hcl:16:21: rule is "scores" (did you mean "score"?)

# The language refuses what nobody can play.
errors
fleet { clients = 10001 }
seeds  = 1001
warmup = "2m"
start  = "yesterday"
bins   = 100000
----
a.hcl:1:19: clients is 10001 (a whole number from 1 to 10000)
a.hcl:2:10: seeds is 1001 (a whole number from 1 to 1000)
a.hcl:3:10: warmup is not before the duration's end (nothing would be measured)
a.hcl:4:10: start is "yesterday", which is no time ("2026-01-05T09:00:00Z")
a.hcl:5:10: bins is 100000 (a whole number from 1 to 10000)

errors
instances = { "gpu" = 3 }
----
a.hcl:1:13: instances has "gpu", which is no endpoint whose instances a name resolves to (one of: idle)

# A catalog that is wrong is shown as itself.
errors
catalog_variables = { none = 1 }
----
CATALOGS/cat:1:1: variable "none" is given, but not declared (one of: idle)

# Traces.
errors
traffic "speed" {
  workload = "chat"
  trace    = "CATALOGS/trace.csv"
  format   = "azure"
  speed    = 2
  load     = 1
}
traffic "both" {
  workload = "chat"
  bodies   = "CATALOGS/trace.csv"
  format   = "azure"
  rate     = 1
  input { median = 10 }
}
traffic "broken" {
  workload = "chat"
  trace    = "CATALOGS/cat/catalog.hcl"
  format   = "azure"
}
----
a.hcl:5:14: speed is given beside another scale (one of load, rate and speed scales a trace)
a.hcl:8:1: both bodies and input (take the one or the other)
a.hcl:15:1: the trace cannot be played: CATALOGS/cat/catalog.hcl:1: begins with "# What the stories stand on: two servers of one's own, and o", want "TIMESTAMP,ContextTokens,GeneratedTokens": is the format azure?

# Where nothing would mean something else, it is refused.
errors
callers { sdk_pause = "0s" }
fault "f" {
  kind      = "fail"
  endpoints = ["gpu-a"]
  at        = "1m"
  part      = 0
}
----
a.hcl:1:23: sdk_pause is "0s" (from 1ms to 1m)
a.hcl:6:15: part is 0 (a number from 1e-06 to 1)

# A trace that cannot be opened again.
errors
traffic "other" {
  workload = "chat"
  trace    = "/dev/null"
  format   = "azure"
}
----
a.hcl:1:1: the trace cannot be played: open trace /dev/null: /dev/null is no regular file: each run reads it anew

# What befalls all has no part.
errors
fault "half" {
  kind      = "blackout"
  endpoints = ["gpu-a"]
  at        = "1m"
  part      = 0.5
}
----
a.hcl:1:1: part has no effect on blackout (it befalls all there is)

# Many clients, or endpoints, or parts of time; not all of them.
errors
bins      = 10000
instances = { idle = 600 }
traffic "rest" {
  workload = "rest"
  rate     = 1
  input  { median = 10 }
  output { median = 10 }
}
server "idle@*" {}
fleet { clients = 2000 }
----
a.hcl:1:1: 2000 clients and 603 endpoints are 1206000 pairs; 1000000 at most (take fewer of either)
a.hcl:1:13: bins is 10000, for each of 603 endpoints (1658 at most)

# An empty list of endpoints is none of them, not all.
errors
fault "f" {
  kind      = "fail"
  endpoints = []
  at        = "1m"
}
----
a.hcl:1:1: the fault befalls no endpoint (what is given must fit one and the same endpoint)
