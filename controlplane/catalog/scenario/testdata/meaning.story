base
title    = "t"
duration = "2m"
catalog  = "CATALOGS/cat"
traffic "chat" {
  workload = "chat"
  load     = var.load
  input    { median = 1000 }
  output   { median = 100 }
}
server "gpu-*" {}
server "api-a" {
  requests_per_minute = 600
  first               = "500ms"
  each                = "20ms"
}
variable "load" { default = 0.5 }
policies { strategies = ["p2c"] }
----

# A load is of what the first tier's servers can do together; the API behind them does not count.
show rates
----
chat 8.613

# A variable is given as text and has its default's type.
show rates load=1
----
chat 17.226

show variables load=1
----
load = 1

# Twice the speed of one of two servers: three times of one.
show rates
server "gpu-a" { speed = 2 }
----
chat 12.919

# Of several patterns that match the later one holds, attribute by attribute. The same pattern twice is an error.
show servers
server "gpu-b" {
  slots = 8
  speed = 0.5
}
server "*-b" { speed = 4 }
----
api-a hosted {Latency:<nil> Scale:0 RequestsPerMinute:600 TokensPerMinute:0 Concurrency:0 Fixed:false Burst:0 Phase:0} latency [{500000 20000}] quality {Valid:0 UptoTokens:0 Beyond:0}
gpu-a own {PrefillTPS:0 Speed:0 Slots:0 Step:0 StepEach:0 PrefillPace:0 KVTokens:0 CacheTokens:0} quality {Valid:0 UptoTokens:0 Beyond:0}
gpu-b own {PrefillTPS:0 Speed:4 Slots:8 Step:0 StepEach:0 PrefillPace:0 KVTokens:0 CacheTokens:0} quality {Valid:0 UptoTokens:0 Beyond:0}

# The later one also takes a limit's windows back.
show servers
server "api-*" { refill = "fixed" }
server "ap*" { refill = "continuous" }
----
api-a hosted {Latency:<nil> Scale:0 RequestsPerMinute:600 TokensPerMinute:0 Concurrency:0 Fixed:false Burst:0 Phase:0} latency [{500000 20000}] quality {Valid:0 UptoTokens:0 Beyond:0}
gpu-a own {PrefillTPS:0 Speed:0 Slots:0 Step:0 StepEach:0 PrefillPace:0 KVTokens:0 CacheTokens:0} quality {Valid:0 UptoTokens:0 Beyond:0}
gpu-b own {PrefillTPS:0 Speed:0 Slots:0 Step:0 StepEach:0 PrefillPace:0 KVTokens:0 CacheTokens:0} quality {Valid:0 UptoTokens:0 Beyond:0}

# Times, with what is not said.
show times
----
wall 1767571200000000 warmup 0 duration 120000000 bins 60 seeds 10

show times
warmup = "30s"
start  = "2026-02-01T10:00:30Z"
bins   = 12
seeds  = 3
----
wall 1769940030000000 warmup 30000000 duration 120000000 bins 12 seeds 3

# A run that begins within a minute tells hosted limits where in it.
show servers
start = "2026-02-01T10:00:30Z"
----
api-a hosted {Latency:<nil> Scale:0 RequestsPerMinute:600 TokensPerMinute:0 Concurrency:0 Fixed:false Burst:0 Phase:30000000} latency [{500000 20000}] quality {Valid:0 UptoTokens:0 Beyond:0}
gpu-a own {PrefillTPS:0 Speed:0 Slots:0 Step:0 StepEach:0 PrefillPace:0 KVTokens:0 CacheTokens:0} quality {Valid:0 UptoTokens:0 Beyond:0}
gpu-b own {PrefillTPS:0 Speed:0 Slots:0 Step:0 StepEach:0 PrefillPace:0 KVTokens:0 CacheTokens:0} quality {Valid:0 UptoTokens:0 Beyond:0}

show fleet
----
{Clients:1 Localities:[] Report:1000000 Push:1000000 Delay:50000 Jitter:0 Lost:0}
{SDKRetries:0 SDKPause:500000 Validate:false Estimate:0}

show fleet
fleet {
  clients    = 50
  report     = "2s"
  push       = "20s"
  delay      = "400ms"
  jitter     = "100ms"
  lost       = 0.1
  localities = ["eu/west", "eu/east"]
}
callers {
  sdk_retries = 2
  sdk_pause   = "250ms"
  validate    = true
  estimate    = 0.1
}
----
{Clients:50 Localities:[eu/west eu/east] Report:2000000 Push:20000000 Delay:400000 Jitter:100000 Lost:0.1}
{SDKRetries:2 SDKPause:250000 Validate:true Estimate:0.1}

# Faults befall what all of patterns, region, provider and quota fit; without for they last as long as the traffic, and
# who joins cold is not there before.
show faults
fault "one" {
  kind      = "slow"
  endpoints = ["gpu-a", "gpu-[bc]"]
  at        = "30s"
  for       = "30s"
  factor    = 0.3
}
fault "region" {
  kind   = "blackout"
  region = "eu"
  at     = "1m"
}
fault "both" {
  kind      = "fail"
  region    = "eu/west"
  endpoints = ["*"]
  at        = "1m"
  part      = 0.8
}
fault "account" {
  kind  = "exhausted"
  quota = "account"
  at    = "1m"
}
fault "vendor" {
  kind     = "hang"
  provider = "openai"
  at       = "0s"
}
fault "join" {
  kind      = "cold"
  endpoints = ["gpu-b"]
  at        = "1m"
}
fault "gone" {
  kind = "away"
  at   = "1m"
  for  = "10s"
}
----
one: [gpu-a gpu-b] {Kind:1 From:30000000 To:60000000 Part:0 Factor:0.3}
region: [gpu-a gpu-b] {Kind:7 From:60000000 To:120000000 Part:0 Factor:1}
both: [gpu-a] {Kind:2 From:60000000 To:120000000 Part:0.8 Factor:1}
account: [api-a] {Kind:6 From:60000000 To:120000000 Part:0 Factor:1}
vendor: [api-a] {Kind:3 From:0 To:120000000 Part:0 Factor:1}
join: [gpu-b] {Kind:8 From:0 To:60000000 Part:0 Factor:1}
gone: [] {Kind:11 From:60000000 To:70000000 Part:0 Factor:1}

# Policies by name, and rivals that are called as a strategy of ours with rival_ before it.
show policies
policies {
  suffix     = "_off"
  breaker    = "off"
  strategies = ["p2c", "round_robin"]
  rivals     = ["round_robin", "wrr", "prequal"]
}
policy "as-it-is" {}
policy "sharp" {
  rival    = "prequal"
  quantile = 0.7
}
----
p2c_off rival=false
round_robin_off rival=false
rival_round_robin_off rival=true
wrr_off rival=true
prequal_off rival=true
p2c rival=false
as-it-is rival=false
sharp rival=true

# What a policy may change, whoever chooses.
show policy p2c_off
policies {
  suffix     = "_off"
  breaker    = "off"
  attempts   = 1
  strategies = ["p2c"]
}
----
api-a weight -1 breaker 1000000000/0/1
gpu-a weight -1 breaker 1000000000/0/1
gpu-b weight -1 breaker 1000000000/0/1
chat p2c money 0 affinity {On:0 Rule:0 Slack:0} attempts 1 bands [] false

show policy a
policy "a" {
  strategy     = "cost_tiered"
  money_per_ms = "0.000002"
  weights      = { "gpu-*" = 50, "gpu-b" = 7 }
  affinity {
    on   = "session"
    rule = "score"
  }
  band "simple" {
    upto_tokens = 500
    models      = ["small"]
  }
  band "rest" { models = ["large"] }
  prefer_quality = true
}
----
api-a weight -1 breaker 20/5/0.5
gpu-a weight 50 breaker 20/5/0.5
gpu-b weight 7 breaker 20/5/0.5
chat cost_tiered money 2000 affinity {On:2 Rule:1 Slack:1.25} attempts 3 bands [{Name:simple UptoTokens:500 Models:[small]} {Name:rest UptoTokens:-1 Models:[large]}] true

# Shares may be those of the servers' true speeds.
show policy a
server "gpu-b" { speed = 0.25 }
policy "a" {
  strategy = "weighted"
  shares   = "speeds"
}
----
api-a weight 100 breaker 20/5/0.5
gpu-a weight 100 breaker 20/5/0.5
gpu-b weight 25 breaker 20/5/0.5
chat weighted money 0 affinity {On:0 Rule:0 Slack:0} attempts 3 bands [] false

show policy a
policy "a" {
  strategy = "weighted"
  shares   = "equal"
  affinity { on = "off" }
}
----
api-a weight 100 breaker 20/5/0.5
gpu-a weight 100 breaker 20/5/0.5
gpu-b weight 100 breaker 20/5/0.5
chat weighted money 0 affinity {On:0 Rule:0 Slack:0} attempts 3 bands [] false

# What is not of the workloads named stays.
show policy a
policy "a" {
  strategy  = "round_robin"
  workloads = ["chat"]
}
----
api-a weight -1 breaker 20/5/0.5
gpu-a weight -1 breaker 20/5/0.5
gpu-b weight -1 breaker 20/5/0.5
chat round_robin money 0 affinity {On:0 Rule:0 Slack:0} attempts 3 bands [] false

# What is said of traffic is said of every request.
show arrivals
traffic "more" {
  workload   = "chat"
  rate       = 50
  stream     = false
  max_output = 77
  deadline   = "9s"
  needs      = ["stream"]
  until      = "1s"
  input      { median = 10 }
  output     { median = 10 }
}
----
chat tenant="" needs=[stream] stream=false max=77 deadline=9000000 input>0=true
chat tenant="" needs=[stream] stream=false max=77 deadline=9000000 input>0=true
chat tenant="" needs=[] stream=true max=0 deadline=0 input>0=true
chat tenant="" needs=[stream] stream=false max=77 deadline=9000000 input>0=true

show assertions
assert = ["p2c.ttft_p99 < 2s", "errors <= 1%"]
----
p2c.ttft_p99 < 2s
errors <= 1%

# A catalog has variables of its own.
show rates
catalog_variables = { idle = 7 }
----
chat 8.613

# What a name resolves to, the scenario says.
show servers
instances = { idle = 2 }
traffic "rest" {
  workload = "rest"
  rate     = 1
  input  { median = 10 }
  output { median = 10 }
}
server "idle@*" {}
----
api-a hosted {Latency:<nil> Scale:0 RequestsPerMinute:600 TokensPerMinute:0 Concurrency:0 Fixed:false Burst:0 Phase:0} latency [{500000 20000}] quality {Valid:0 UptoTokens:0 Beyond:0}
gpu-a own {PrefillTPS:0 Speed:0 Slots:0 Step:0 StepEach:0 PrefillPace:0 KVTokens:0 CacheTokens:0} quality {Valid:0 UptoTokens:0 Beyond:0}
gpu-b own {PrefillTPS:0 Speed:0 Slots:0 Step:0 StepEach:0 PrefillPace:0 KVTokens:0 CacheTokens:0} quality {Valid:0 UptoTokens:0 Beyond:0}
idle@instance-1:80 own {PrefillTPS:0 Speed:0 Slots:0 Step:0 StepEach:0 PrefillPace:0 KVTokens:0 CacheTokens:0} quality {Valid:0 UptoTokens:0 Beyond:0}
idle@instance-2:80 own {PrefillTPS:0 Speed:0 Slots:0 Step:0 StepEach:0 PrefillPace:0 KVTokens:0 CacheTokens:0} quality {Valid:0 UptoTokens:0 Beyond:0}

# Prompts from a trace.
show arrivals
traffic "t" {
  workload = "chat"
  trace    = "CATALOGS/trace.csv"
  format   = "azure"
  tenant   = "default"
  window { until = "10s" }
  tick     = "0s"
  rate     = 100
}
----
chat tenant="default" needs=[] stream=true max=0 deadline=0 input>0=true
chat tenant="default" needs=[] stream=true max=0 deadline=0 input>0=true
chat tenant="default" needs=[] stream=true max=0 deadline=0 input>0=true
chat tenant="default" needs=[] stream=true max=0 deadline=0 input>0=true

# A trace has a rate of its own, unless something scales it.
show rates
traffic "as it was" {
  workload = "chat"
  trace    = "CATALOGS/trace.csv"
  format   = "azure"
}
traffic "twice" {
  workload = "chat"
  trace    = "CATALOGS/trace.csv"
  format   = "azure"
  speed    = 2
}
traffic "bodies" {
  workload = "chat"
  bodies   = "CATALOGS/trace.csv"
  format   = "azure"
  rate     = 3
}
traffic "load" {
  workload = "chat"
  bodies   = "CATALOGS/trace.csv"
  format   = "azure"
  load     = 1
}
----
as it was 0.500
bodies 3.000
chat 8.613
load 33.511
twice 1.000

# Keys and conversations.
show arrivals
traffic "k" {
  workload = "chat"
  rate     = 9
  input    { median = 10 }
  output   { median = 10 }
  sessions { turns = 4 }
}
traffic "s" {
  workload = "chat"
  rate     = 9
  input    { median = 10 }
  output   { median = 10 }
  keys {
    count  = 3
    tokens = 100
  }
}
----
chat tenant="" needs=[] stream=true max=0 deadline=0 input>0=true
chat tenant="" needs=[] stream=true max=0 deadline=0 input>0=true
chat tenant="" needs=[] stream=true max=0 deadline=0 input>0=true
chat tenant="" needs=[] stream=true max=0 deadline=0 input>0=true
