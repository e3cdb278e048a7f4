base
title     = "t"
duration  = "2m"
catalog   = "CATALOGS/cat"
latencies = "CATALOGS/latencies.csv"
traffic "chat" {
  workload = "chat"
  rate     = 1
  input    { median = 1000 }
  output   { median = 100 }
}
server "gpu-*" {
  latency = "anyscale/13b"
  scale   = 2
  refill  = "fixed"
  valid   = 0.9
}
policies { rivals = ["wrr"] }
----

# Latencies come from a file, by provider and model.
show servers
server "api-a" {
  latency             = "anyscale/13b"
  requests_per_minute = 60
  tokens_per_minute   = 90000
  concurrency         = 5
  burst               = 0.5
  valid_upto_tokens   = 1000
  valid_beyond        = 0.5
}
----
api-a hosted {Latency:<nil> Scale:0 RequestsPerMinute:60 TokensPerMinute:90000 Concurrency:5 Fixed:false Burst:0.5 Phase:0} latency [{557560.0349999946 6470.609240000158} {384849.95799996116 6725.7232000000995} {235644.75300003096 6501.363160000059}] quality {Valid:0 UptoTokens:1000 Beyond:0.5}
gpu-a hosted {Latency:<nil> Scale:2 RequestsPerMinute:0 TokensPerMinute:0 Concurrency:0 Fixed:true Burst:0 Phase:0} latency [{557560.0349999946 6470.609240000158} {384849.95799996116 6725.7232000000995} {235644.75300003096 6501.363160000059}] quality {Valid:0.9 UptoTokens:0 Beyond:0}
gpu-b hosted {Latency:<nil> Scale:2 RequestsPerMinute:0 TokensPerMinute:0 Concurrency:0 Fixed:true Burst:0 Phase:0} latency [{557560.0349999946 6470.609240000158} {384849.95799996116 6725.7232000000995} {235644.75300003096 6501.363160000059}] quality {Valid:0.9 UptoTokens:0 Beyond:0}

errors
server "api-a" { latency = "anyscale/70b" }
----
a.hcl:1:28: latency is "anyscale/70b" (did you mean "anyscale/13b"?)

# Every attribute of a server of one's own.
show servers
server "api-a" {
  speed        = 1.5
  prefill_tps  = 9000
  slots        = 16
  step         = "18ms"
  step_each    = "500us"
  prefill_pace = 0.5
  kv_tokens    = 400000
  cache_tokens = 100000
}
----
api-a own {PrefillTPS:9000 Speed:1.5 Slots:16 Step:18000 StepEach:500 PrefillPace:0.5 KVTokens:400000 CacheTokens:100000} quality {Valid:0 UptoTokens:0 Beyond:0}
gpu-a hosted {Latency:<nil> Scale:2 RequestsPerMinute:0 TokensPerMinute:0 Concurrency:0 Fixed:true Burst:0 Phase:0} latency [{557560.0349999946 6470.609240000158} {384849.95799996116 6725.7232000000995} {235644.75300003096 6501.363160000059}] quality {Valid:0.9 UptoTokens:0 Beyond:0}
gpu-b hosted {Latency:<nil> Scale:2 RequestsPerMinute:0 TokensPerMinute:0 Concurrency:0 Fixed:true Burst:0 Phase:0} latency [{557560.0349999946 6470.609240000158} {384849.95799996116 6725.7232000000995} {235644.75300003096 6501.363160000059}] quality {Valid:0.9 UptoTokens:0 Beyond:0}
