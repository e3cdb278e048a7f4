base
provider "p" {
  dialect  = "openai"
  base_url = "https://p.example/v1"
}
----

# A pinned workload keeps its contract and all it reaches; the rest is the catalog's.
compose w
model "m" {
  artifact          = "m@2"
  context_window    = 64000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
model "n" {
  artifact          = "n@2"
  context_window    = 64000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
endpoint "e" {
  provider   = provider.p
  model      = model.m
  apis       = ["openai.chat"]
  credential = "new"
}
endpoint "f" {
  provider = provider.p
  model    = model.n
  apis     = ["openai.chat"]
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
  attempts { max = 1 }
}
workload "v" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.f] }
  attempts { max = 1 }
}
====
model "m" {
  artifact          = "m@1"
  context_window    = 32000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
model "n" {
  artifact          = "n@1"
  context_window    = 32000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
quota "q" { tokens_per_minute = 5 }
endpoint "e" {
  provider   = provider.p
  model      = model.m
  apis       = ["openai.chat"]
  quotas     = [quota.q]
  credential = "old"
}
endpoint "f" {
  provider = provider.p
  model    = model.n
  apis     = ["openai.chat"]
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
workload "v" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.f] }
}
----
changed model m artifact: m@2 -> m@1
changed model m context_window: 64000 -> 32000
added quota q
changed endpoint e identity: 5120bec434dd65a4 -> 7767a4f8c4011b54
changed endpoint e quotas:  -> q
changed workload w attempts.max: 1 -> 3

# What another workload reaches too cannot be both; a difference in the credential alone is none.
compose w
model "m" {
  artifact          = "m@1"
  context_window    = 64000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
endpoint "e" {
  provider   = provider.p
  model      = model.m
  apis       = ["openai.chat"]
  credential = "new"
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
workload "v" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
====
model "m" {
  artifact          = "m@1"
  context_window    = 32000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
endpoint "e" {
  provider   = provider.p
  model      = model.m
  apis       = ["openai.chat"]
  credential = "old"
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
----
compose: model "m": another workload reaches it, and the pinned revision has it otherwise: context_window is "32000" there and "64000" here (1 differ in all)
changed model m context_window: 64000 -> 32000

# Two workloads pinned to the same revision share what they reach.
compose w v
model "m" {
  artifact          = "m@1"
  context_window    = 64000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
workload "v" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
====
model "m" {
  artifact          = "m@1"
  context_window    = 32000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
workload "v" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
----
changed model m context_window: 64000 -> 32000

# The whole is validated: today's tenant must still be served.
compose w
model "m" {
  artifact          = "m@1"
  context_window    = 64000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
  region   = "eu"
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
tenant "t" {
  workloads = ["w"]
  regions   = ["eu"]
}
====
model "m" {
  artifact          = "m@1"
  context_window    = 64000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
  region   = "us"
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
----
compose: none of the workloads of tenant "t" has an endpoint that its regions and compliance allow (1 findings)
:0:0: error: none of the workloads of tenant "t" has an endpoint that its regions and compliance allow (let it use more regions, or give one of its workloads an endpoint where it may be) @tenant.t.regions

# A workload that the pinned revision does not have.
compose v
model "m" {
  artifact          = "m@1"
  context_window    = 64000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = ["openai.chat"]
}
workload "v" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
====
quota "q" { tokens_per_minute = 1 }
----
compose: the revision that workload "v" is pinned to has no such workload (1 findings)
:0:0: error: the revision that workload "v" is pinned to has no such workload
