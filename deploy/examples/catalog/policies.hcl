policy "interactive" {
  breaker {
    window        = "5s"  # fast: a hard failure shows in seconds
    slow_window   = "60s" # slow: a partial one, or little traffic; either opens
    min_samples   = 20
    consecutive   = 5 # hard failures in a row, below min_samples too; 0: off
    failure_ratio = 0.5
    ttft_limit    = "10s" # p90; absent: off
    cooldown      = "5s"  # doubles on each repeat, to cooldown_max
    cooldown_max  = "2m"
    probes        = 3 # in flight, over the whole fleet
    ramp          = "30s"
    max_ejected   = 0.5 # of a pool's weight, by soft trips
  }
  attempts {
    max           = 3
    retry_ratio   = 0.1 # retry tokens earned per success
    retry_reserve = 10  # tokens at the start and at most; refilled at 0.1 a second
    same_endpoint = 0   # tries of the same endpoint first (5xx, reset, short Retry-After): for warm caches
    connect       = "2s"
    first_token   = "10s" # streamed answers
    answer        = "3m"  # whole answers that are not streamed
    stall         = "20s"
    total         = "10m"
  }
  stream {
    deliver = "live" # live | whole: held to its end, so that a cut can be answered elsewhere
  }
}
