base
provider "p" {
  dialect  = "openai"
  base_url = "https://p.example/v1"
}
model "m" {
  artifact          = "m@1"
  capabilities      = ["chat", "stream"]
  context_window    = 32000
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
model "n" {
  artifact          = "n@1"
  capabilities      = ["chat"]
  context_window    = 8000
  max_output_tokens = 1024
  price {
    input  = "0.1"
    output = "0.2"
  }
}
endpoint "e" {
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  region      = "eu/west"
  concurrency = 10
  compliance  = ["hipaa"]
}
endpoint "f" {
  provider    = provider.p
  model       = model.n
  apis        = ["openai.chat"]
  region      = "us"
  concurrency = 10
}
----

# What is right has no finding.
validate
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
----

# Unknown blocks and attributes, with what was meant.
validate
worklaod "w" {}
colour = "red"
workload "w" {
  apis  = ["openai.chat"]
  colur = "red"
  tier "t" {
    endpoints = [endpoint.e]
    endpoint  = endpoint.e
  }
  contrct {}
  on_fliter = "return"
  affinity  = "prefix"
}
model "x" {
  artifact          = "x@1"
  context_window    = 1
  max_output_tokens = 1
  price             = "1"
}
----
a.hcl:1:1: error: unknown block "worklaod" (did you mean "workload"?) @worklaod
a.hcl:2:1: error: attribute "colour" is outside of any block (attributes are written inside blocks; a value of your own belongs in locals) @colour
a.hcl:5:3: error: unknown attribute "colur" in workload (one of: affinity, apis, attempts, balance, contract, escalate_on, guard, on_filter, stream, tier, use) @workload.w.colur
a.hcl:8:5: error: unknown attribute "endpoint" in tier (did you mean "endpoints"?) @workload.w.tier.t.endpoint
a.hcl:10:3: error: unknown block "contrct" in workload (did you mean "contract"?) @workload.w.contrct
a.hcl:11:3: error: unknown attribute "on_fliter" in workload (did you mean "on_filter"?) @workload.w.on_fliter
a.hcl:12:3: error: unknown attribute "affinity" in workload (write it as a block: affinity { … }) @workload.w.affinity
a.hcl:14:1: error: model without price (add price { input = "…" output = "…" }; what costs nothing costs "0") @model.x
a.hcl:18:3: error: unknown attribute "price" in model (write it as a block: price { … }) @model.x.price

# A wrong type, each with what would be right.
validate
provider "q" {
  dialect  = "opnai"
  base_url = ["https://x"]
}
quota "q" {
  requests_per_minute = "many"
  tokens_per_minute   = 1.5
  refill              = "fixd"
}
tool "t" {
  apis    = "http"
  effects = "maybe"
  tier "t" { endpoints = endpoint.e }
}
endpoint "g" {
  provider = "p"
  model    = provider.p
  apis     = ["openai.chat"]
  weight   = "heavy"
}
workload "w" {
  use  = [model.m]
  apis = ["openai.chat"]
  tier "t" { endpoints = ["e"] }
}
----
a.hcl:2:14: error: dialect is "opnai" (did you mean "openai"?) @provider.q.dialect
a.hcl:3:14: error: base_url must be text, not a list (text is written in quotes) @provider.q.base_url
a.hcl:6:25: error: requests_per_minute must be a number, not text (a number is written without quotes) @quota.q.requests_per_minute
a.hcl:7:25: error: tokens_per_minute is 1.5 (a whole number from 1 to 1000000000000) @quota.q.tokens_per_minute
a.hcl:8:25: error: refill is "fixd" (did you mean "fixed"?) @quota.q.refill
a.hcl:11:13: error: apis must be a list, not text (a list is written in brackets: […]) @tool.t.apis
a.hcl:12:13: error: effects must be true or false (without quotes) @tool.t.effects
a.hcl:13:26: error: endpoints must be a list, not endpoint.e (a list is written in brackets: […]) @tool.t.tier.t.endpoints
a.hcl:16:14: error: provider is text (write provider.p) @endpoint.g.provider
a.hcl:17:14: error: model is provider.p (write model.name) @endpoint.g.model
a.hcl:19:14: error: weight must be a number, not text (a number is written without quotes) @endpoint.g.weight
a.hcl:22:11: error: use holds model.m (write policy.name) @workload.w.use
a.hcl:24:27: error: endpoints holds text (write endpoint.e) @workload.w.tier.t.endpoints

# A duplicate name: the first one holds.
validate
quota "q" { tokens_per_minute = 1000 }
quota "q" { tokens_per_minute = 2000 }
endpoint "e" {
  provider = provider.p
  apis     = ["x"]
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
  tier "t" { endpoints = [endpoint.f] }
  contract {}
  contract {}
}
locals { a = 1 }
locals { a = 2 }
----
a.hcl:2:7: error: quota "q" is declared twice (the first one is at a.hcl:1) @quota.q
a.hcl:3:1: error: endpoint without model (add model) @endpoint.e
a.hcl:10:8: error: tier "t" is there twice (the first one is at a.hcl:9) @workload.w.tier.t
a.hcl:12:12: error: contract is there twice (the first one is at a.hcl:11) @workload.w.contract
a.hcl:15:10: error: local "a" is declared twice (the first one is at a.hcl:14) @local.a
base.hcl:25:10: error: endpoint "e" is declared twice (the first one is at a.hcl:3) @endpoint.e

# Names.
validate
quota "Q_1" { tokens_per_minute = 1 }
quota "-q" { tokens_per_minute = 1 }
quota { tokens_per_minute = 1 }
quota "a" "b" { tokens_per_minute = 1 }
variable "under_score" { default = 1 }
----
a.hcl:1:7: error: "Q_1" is not a name, as this quota needs (a name is a lower-case letter, then lower-case letters, digits and dashes, 128 at most) @quota.Q_1
a.hcl:2:7: error: "-q" is not a name, as this quota needs (a name is a lower-case letter, then lower-case letters, digits and dashes, 128 at most) @quota.-q
a.hcl:3:1: error: quota with 0 labels (quota takes 1) @quota
a.hcl:4:1: error: quota with 2 labels (quota takes 1) @quota

# A dangling reference is one finding.
validate
endpoint "g" {
  provider    = provider.pp
  model       = model.gpt-41
  apis        = ["openai.chat"]
  quotas      = [quota.q]
  concurrency = 1
}
workload "w" {
  use  = [policy.fast]
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e, endpoint.ee, endpoint.g] }
  contract {
    equivalent {
      models   = [model.m, model.o]
      evidence = "x"
    }
  }
}
tenant "t" {
  workloads = ["w", "v"]
  tools     = ["hammer"]
  reserve "q" { tokens_per_minute = 1 }
}
----
a.hcl:2:17: error: provider "pp" is not declared (one of: p) @endpoint.g.provider
a.hcl:3:17: error: model "gpt-41" is not declared (one of: m, n) @endpoint.g.model
a.hcl:5:18: error: quota "q" is not declared (none is declared) @endpoint.g.quotas
a.hcl:9:11: error: policy "fast" is not declared (none is declared) @workload.w.use
a.hcl:11:39: error: endpoint "ee" is not declared (one of: e, f, g) @workload.w.tier.t.endpoints
a.hcl:14:28: error: model "o" is not declared (one of: m, n) @workload.w.contract.equivalent.1.models
a.hcl:20:15: error: workloads has "v", which is not declared (one of: w) @tenant.t.workloads
a.hcl:21:15: error: tools has "hammer", which is not declared (none is declared) @tenant.t.tools
a.hcl:22:3: error: quota "q" is not declared (none is declared) @tenant.t.reserve.q

# Neither a name without quotes nor a block's attribute is a reference.
validate
endpoint "g" {
  provider    = p
  model       = model.m.artifact
  apis        = [chat]
  region      = each.key
  concurrency = local.n
  weight      = var.w
}
----
a.hcl:2:17: error: nothing is called "p" (text is written in quotes; names are var.x, local.x, model.x, provider.x, quota.x, endpoint.x, policy.x) @endpoint.g.provider
a.hcl:3:24: error: unsupported attribute (This value does not have any attributes.) @endpoint.g.model
a.hcl:4:18: error: nothing is called "chat" (text is written in quotes; names are var.x, local.x, model.x, provider.x, quota.x, endpoint.x, policy.x) @endpoint.g.apis
a.hcl:5:17: error: nothing is called "each.key" here (an endpoint with for_each has each.key and each.value) @endpoint.g.region
a.hcl:6:17: error: local "n" is not declared (none is declared) @endpoint.g.concurrency
a.hcl:7:17: error: variable "w" is not declared (none is declared) @endpoint.g.weight

# What is missing.
validate
provider "q" {}
model "x" {}
endpoint "g" {}
workload "w" {}
workload "v" {
  apis = ["openai.chat"]
  tier "t" {}
  balance "cost_tiered" {
    band "b" {}
  }
  contract {
    equivalent {}
  }
}
tenant "t" {
  budget {}
}
----
a.hcl:1:1: error: provider without dialect (add dialect) @provider.q
a.hcl:2:1: error: model without artifact (add artifact) @model.x
a.hcl:2:1: error: model without context_window (add context_window) @model.x
a.hcl:2:1: error: model without max_output_tokens (add max_output_tokens) @model.x
a.hcl:2:1: error: model without price (add price { input = "…" output = "…" }; what costs nothing costs "0") @model.x
a.hcl:3:1: error: endpoint without apis (add apis) @endpoint.g
a.hcl:3:1: error: endpoint without provider (add provider) @endpoint.g
a.hcl:4:1: error: workload without apis (add apis) @workload.w
a.hcl:4:1: error: workload without tier (add tier "primary" { endpoints = […] }) @workload.w
a.hcl:7:3: error: tier without endpoints (add endpoints) @workload.v.tier.t
a.hcl:9:5: error: band without models (add models) @workload.v.balance.cost_tiered.band.b
a.hcl:12:16: error: equivalent without evidence (add evidence) @workload.v.contract.equivalent.1
a.hcl:12:16: error: equivalent without models (add models) @workload.v.contract.equivalent.1
a.hcl:16:3: error: budget without usd (add usd) @tenant.t.budget

# An endpoint that speaks another API, and one without the model that its dialect needs.
validate
endpoint "g" {
  provider    = provider.p
  apis        = ["openai.chat"]
  concurrency = 1
}
workload "w" {
  apis = ["openai.responses"]
  tier "t" { endpoints = [endpoint.e] }
}
----
a.hcl:1:1: error: endpoint without model (add model) @endpoint.g
a.hcl:8:27: error: endpoint "e" fails the contract of workload "w": api (it speaks openai.chat; the workload takes openai.responses) @workload.w.tier.t.endpoints.e

# Every static gate is named.
validate
workload "w" {
  apis = ["openai.chat"]
  contract {
    requires            = ["chat", "vision", "audio"]
    needs_context       = 9000
    needs_output_tokens = 2000
    regions             = ["eu"]
    compliance          = ["hipaa", "iso"]
  }
  tier "t" { endpoints = [endpoint.e, endpoint.f] }
}
workload "context" {
  apis = ["openai.chat"]
  contract { needs_context = 9000 }
  tier "t" { endpoints = [endpoint.f] }
}
workload "output" {
  apis = ["openai.chat"]
  contract { needs_output_tokens = 5000 }
  tier "t" { endpoints = [endpoint.e] }
}
workload "region" {
  apis = ["openai.chat"]
  contract { regions = ["eu"] }
  tier "t" { endpoints = [endpoint.e, endpoint.f] }
}
workload "compliance" {
  apis = ["openai.chat"]
  contract { compliance = ["hipaa"] }
  tier "t" { endpoints = [endpoint.f] }
}
----
a.hcl:10:27: error: endpoint "e" fails the contract of workload "w": capability (model "m" lacks audio, vision) @workload.w.tier.t.endpoints.e
a.hcl:10:39: error: endpoint "f" fails the contract of workload "w": capability (model "n" lacks audio, vision) @workload.w.tier.t.endpoints.f
a.hcl:15:27: error: endpoint "f" fails the contract of workload "context": context_window (model "n" has a context window of 8000; the contract needs 9000) @workload.context.tier.t.endpoints.f
a.hcl:20:27: error: endpoint "e" fails the contract of workload "output": output_cap (model "m" gives up to 4096 tokens; the contract needs 5000) @workload.output.tier.t.endpoints.e
a.hcl:25:39: error: endpoint "f" fails the contract of workload "region": region (it is in region "us"; the contract allows eu) @workload.region.tier.t.endpoints.f
a.hcl:30:27: error: endpoint "f" fails the contract of workload "compliance": compliance (it lacks hipaa) @workload.compliance.tier.t.endpoints.f

# A pattern takes what passes; when nothing does, it says why.
validate
workload "some" {
  apis = ["openai.chat"]
  contract { regions = ["eu"] }
  tier "t" { endpoints = endpoints("*") }
}
workload "none" {
  apis = ["openai.chat"]
  contract { requires = ["telepathy"] }
  tier "t" { endpoints = endpoints("*") }
}
workload "spare" {
  apis = ["openai.chat"]
  contract { regions = ["eu"] }
  tier "t" { endpoints = [endpoint.e] }
  tier "u" { endpoints = endpoints("f*") }
}
workload "named" {
  apis = ["openai.chat"]
  contract { regions = ["eu"] }
  tier "t" { endpoints = concat(endpoints("*"), [endpoint.f]) }
}
workload "empty" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [] }
}
workload "nothing" {
  apis = ["openai.chat"]
  tier "t" { endpoints = endpoints("g*") }
}
workload "bad" {
  apis = ["openai.chat"]
  tier "t" { endpoints = endpoints("[") }
}
----
a.hcl:6:1: error: workload "none" has no endpoint that passes: 2 capability (an endpoint must pass every gate of the contract) @workload.none
a.hcl:15:3: error: tier "u" has no endpoint that passes (take the tier out, or widen its pattern) @workload.spare.tier.u
a.hcl:20:26: error: endpoint "f" fails the contract of workload "named": region (it is in region "us"; the contract allows eu) @workload.named.tier.t.endpoints.f
a.hcl:22:1: error: workload "empty" has no endpoint that passes (an endpoint must pass every gate of the contract) @workload.empty
a.hcl:28:37: error: invalid function argument (Invalid value for "pattern" parameter: no endpoint's name matches "g*".) @workload.nothing.tier.t.endpoints
a.hcl:32:37: error: invalid function argument (Invalid value for "pattern" parameter: "[" is not a pattern of *, ? and names.) @workload.bad.tier.t.endpoints

# One endpoint is in one tier.
validate
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
  tier "u" { endpoints = [endpoint.e] }
}
----
a.hcl:4:27: error: endpoint "e" is in tier "t" already (an endpoint is in one tier only) @workload.w.tier.u.endpoints.e

# A pool that mixes artifacts needs one statement for all of them.
validate
workload "none" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
  tier "u" { endpoints = [endpoint.f] }
}
workload "half" {
  apis = ["openai.chat"]
  contract {
    equivalent {
      models   = [model.m]
      evidence = "x"
    }
    equivalent {
      models   = [model.n]
      evidence = "y"
    }
  }
  tier "t" { endpoints = [endpoint.e, endpoint.f] }
}
workload "covered" {
  apis = ["openai.chat"]
  contract {
    equivalent {
      models   = [model.m, model.n]
      evidence = "x"
    }
  }
  tier "t" { endpoints = [endpoint.e, endpoint.f] }
}
----
a.hcl:1:1: error: the pool of workload "none" mixes models that no equivalent block covers: m, n (one equivalent block must name all of them, with evidence) @workload.none.contract.equivalent
a.hcl:9:5: error: the pool of workload "half" mixes models that no equivalent block covers: m, n (one equivalent block must name all of them, with evidence) @workload.half.contract.equivalent

# Every model of a cost-tiered pool is in a band.
errors
workload "w" {
  apis = ["openai.chat"]
  balance "cost_tiered" {
    band "simple" { models = [model.n] }
  }
  contract {
    equivalent {
      models   = [model.m, model.n]
      evidence = "x"
    }
  }
  tier "t" { endpoints = [endpoint.e, endpoint.f] }
}
workload "v" {
  apis = ["openai.chat"]
  balance "cost_tiered" {}
  tier "t" { endpoints = [endpoint.e] }
}
workload "u" {
  apis = ["openai.chat"]
  balance "cheapest" {}
  tier "t" { endpoints = [endpoint.e] }
}
----
a.hcl:3:3: error: in no band: m (put each into a band, or its endpoints out of the tiers) @workload.w.balance.cost_tiered
a.hcl:16:3: error: cost_tiered without a band (add band "simple" { upto_tokens = … models = […] }, the cheapest first) @workload.v.balance.cost_tiered
a.hcl:21:3: error: there is no strategy "cheapest" (one of: cost_tiered, hash, latency_weighted, least_loaded, least_tokens, p2c, predictive, quota_aware, round_robin, weighted, weighted_least_latency) @workload.u.balance.cheapest

# Bands go from small and cheap to large and dear.
validate
model "dear" {
  artifact          = "dear@1"
  capabilities      = ["chat"]
  context_window    = 1000
  max_output_tokens = 100
  price {
    input  = "9"
    output = "9"
  }
}
model "cheap" {
  artifact          = "cheap@1"
  capabilities      = ["chat"]
  context_window    = 1000
  max_output_tokens = 100
  price {
    input  = "1"
    output = "9"
  }
}
model "mixed" {
  artifact          = "mixed@1"
  capabilities      = ["chat"]
  context_window    = 1000
  max_output_tokens = 100
  price {
    input  = "0.5"
    output = "10"
  }
}
endpoint "g" {
  for_each    = ["dear", "cheap", "mixed"]
  provider    = provider.p
  model       = each.value == "dear" ? model.dear : each.value == "cheap" ? model.cheap : model.mixed
  apis        = ["openai.chat"]
  concurrency = 1
}
workload "w" {
  apis = ["openai.chat"]
  balance "cost_tiered" {
    band "dearer" {
      upto_tokens = 500
      models      = [model.dear]
    }
    band "cheap" {
      upto_tokens = 500
      models      = [model.cheap]
    }
    band "mixed" { models = [model.mixed, model.dear] }
    band "none" { models = [model.m] }
  }
  contract {
    equivalent {
      models   = [model.cheap, model.dear, model.mixed]
      evidence = "x"
    }
  }
  tier "t" { endpoints = endpoints("g-*") }
}
workload "smaller" {
  apis = ["openai.chat"]
  balance "cost_tiered" {
    band "a" {
      upto_tokens = 500
      models      = [model.cheap]
    }
    band "b" {
      upto_tokens = 499
      models      = [model.cheap]
    }
  }
  tier "t" { endpoints = [endpoint.g-cheap] }
}
workload "any" {
  apis = ["openai.chat"]
  balance "cost_tiered" {
    band "a" { models = [model.cheap] }
    band "b" {
      upto_tokens = 499
      models      = [model.cheap]
    }
  }
  tier "t" { endpoints = [endpoint.g-cheap] }
}
----
a.hcl:45:5: warning: every model of band "cheap" is cheaper than any of band "dearer", before it (the cheapest comes first; prefer_quality = true turns the order round) @workload.w.balance.cost_tiered.band.cheap
a.hcl:50:5: warning: band "none": no endpoint of a tier has m (put an endpoint of it into a tier, or take it out of the band) @workload.w.balance.cost_tiered.band.none
a.hcl:67:5: error: band "b" takes up to 499 tokens, and "a", before it, up to 500 (put the bands in order: each takes requests up to more tokens than the one before) @workload.smaller.balance.cost_tiered.band.b
a.hcl:78:5: error: band "a", before it, takes requests of any size, and this one up to 499 tokens (the band that takes requests of any size comes last) @workload.any.balance.cost_tiered.band.b

# Affinity by rule score wants a strategy with scores; the default is one that the strategy has.
validate
workload "w" {
  apis = ["openai.chat"]
  affinity { rule = "score" }
  balance "weighted" {}
  tier "t" { endpoints = [endpoint.e] }
}
workload "v" {
  apis = ["openai.chat"]
  affinity {}
  balance "weighted" {}
  tier "t" { endpoints = [endpoint.e] }
}
workload "u" {
  use  = [policy.score]
  apis = ["openai.chat"]
  balance "hash" {}
  tier "t" { endpoints = [endpoint.e] }
}
workload "t" {
  use  = [policy.score]
  apis = ["openai.chat"]
  balance "predictive" {}
  tier "t" { endpoints = [endpoint.e] }
}
policy "score" {
  affinity { rule = "score" }
}
----
a.hcl:3:21: error: affinity by rule score, and strategy weighted has no scores (rule = "median", or a strategy with scores) @workload.w.affinity.rule
a.hcl:13:1: error: affinity by rule score, and strategy hash has no scores (rule = "median", or a strategy with scores) @workload.u.affinity.rule

# A model server under predictive says how many requests it takes at once.
validate
provider "v" { dialect = "vllm" }
endpoint "blind" {
  provider  = provider.v
  model     = model.m
  apis      = ["openai.chat"]
  instances = ["a:1"]
  quotas    = [quota.q]
  capacity { tpot = "18ms" }
}
endpoint "seen" {
  provider  = provider.v
  model     = model.m
  apis      = ["openai.chat"]
  instances = ["b:1"]
  quotas    = [quota.q]
  capacity { slots = 8 }
}
quota "q" { requests_per_minute = 600 }
workload "w" {
  apis = ["openai.chat"]
  balance "predictive" {}
  tier "t" { endpoints = [endpoint.blind, endpoint.e, endpoint.seen] }
}
----
a.hcl:18:1: warning: quotas, caps and budgets bind each process alone in this version (so many processes take so many times as much: write each one's part) @quota.q
a.hcl:21:3: warning: predictive takes it that 1 of the endpoints of workload "w" answer 32 requests at once, as "blind" (say how many requests it takes at once: capacity { slots = … }, or concurrency) @workload.w.balance.predictive

# A literal that looks like a secret is refused and not repeated.
errors
# the old key was sk-proj-abcdefghijklmnop1234567890
endpoint "g" {
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = 1
  credential  = "sk-abcdefghijklmnop1234567890"
  region      = "AKIAIOSFODNN7EXAMPLE"
  wire_model  = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
}
provider "q" {
  dialect  = "sk-abcdefghijklmnop1234567890"
  base_url = "https://user:pass@host.example/?key=1"
}
model "x" {
  artifact          = "x@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
  context_window    = 10
  max_output_tokens = 10
  price {
    input  = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    output = "0"
  }
}
locals {
  pem = <<-PEM
    -----BEGIN RSA PRIVATE KEY-----
    x
  PEM
}
----
a.hcl:1:1: error: this looks like an API key (the catalog holds names of credentials only; the calling process maps a name to a secret)
a.hcl:7:18: error: this looks like an API key (the catalog holds names of credentials only; the calling process maps a name to a secret)
a.hcl:8:18: error: this looks like an AWS access key (the catalog holds names of credentials only; the calling process maps a name to a secret)
a.hcl:9:18: error: this looks like a random key (the catalog holds names of credentials only; the calling process maps a name to a secret)
a.hcl:12:14: error: dialect is "…" (one of: anthropic, azure-openai, bedrock, gemini, grpc, http, openai, openai-compatible, vertex, vllm) @provider.q.dialect
a.hcl:12:15: error: this looks like an API key (the catalog holds names of credentials only; the calling process maps a name to a secret)
a.hcl:13:14: error: base_url holds a user, a query or a fragment (scheme, host and path only) @provider.q.base_url
a.hcl:20:14: error: input is "…": 'g' is no digit (USD per million tokens, an exact decimal of up to 6 places: "2.50") @model.x.price.input
a.hcl:20:15: error: this looks like a GitHub token (the catalog holds names of credentials only; the calling process maps a name to a secret)
a.hcl:26:1: error: this looks like a key or certificate (the catalog holds names of credentials only; the calling process maps a name to a secret)

# Prices are exact decimals.
errors
model "x" {
  artifact          = "x@1"
  context_window    = 10
  max_output_tokens = 10
  price {
    input        = "1e-3"
    output       = "0.0000001"
    cached_input = "-1"
    cache_write  = "99999999999"
    above "many" { input = "$4" }
  }
}
tenant "t" {
  budget { usd = "lots" }
}
tenant "u" {
  budget { usd = "0.1234567891" }
}
tenant "v" {
  budget { usd = "1000000000.01" }
}
tenant "w" {
  budget { usd = "1e3" }
}
tenant "x" {
  budget { usd = "-1" }
}
----
a.hcl:6:20: error: input is "1e-3": 'e' is no digit (USD per million tokens, an exact decimal of up to 6 places: "2.50") @model.x.price.input
a.hcl:7:20: error: output is "0.0000001": 7 decimals, at most 6 count (USD per million tokens, an exact decimal of up to 6 places: "2.50") @model.x.price.output
a.hcl:8:20: error: cached_input is "-1": '-' is no digit (USD per million tokens, an exact decimal of up to 6 places: "2.50") @model.x.price.cached_input
a.hcl:9:20: error: cache_write is "99999999999" (USD per million tokens, an exact decimal of up to 6 places: "2.50") @model.x.price.cache_write
a.hcl:10:5: error: above "many" (a whole number of tokens: above "200000") @model.x.price.above.many
a.hcl:10:28: error: input is "$4": '$' is no digit (USD per million tokens, an exact decimal of up to 6 places: "2.50") @model.x.price.above.many.input
a.hcl:14:18: error: usd is "lots": 'l' is no digit (USD up to a billion, an exact decimal of up to 9 places: "250.00") @tenant.t.budget.usd
a.hcl:17:18: error: usd is "0.1234567891": 10 decimals, at most 9 count (USD up to a billion, an exact decimal of up to 9 places: "250.00") @tenant.u.budget.usd
a.hcl:20:18: error: usd is "1000000000.01" (USD up to a billion, an exact decimal of up to 9 places: "250.00") @tenant.v.budget.usd
a.hcl:23:18: error: usd is "1e3": 'e' is no digit (USD up to a billion, an exact decimal of up to 9 places: "250.00") @tenant.w.budget.usd
a.hcl:26:18: error: usd is "-1": '-' is no digit (USD up to a billion, an exact decimal of up to 9 places: "250.00") @tenant.x.budget.usd

# Limits, durations, dates and ratios in range.
errors
model "x" {
  artifact          = "x@1"
  context_window    = 0
  max_output_tokens = 1.5
  retires           = "soon"
  price {
    input  = "0"
    output = "0"
  }
}
model "y" {
  artifact          = "y@1"
  context_window    = 10
  max_output_tokens = 11
  price {
    input  = "0"
    output = "0"
  }
}
quota "q" { tokens_per_minute = 0 }
quota "r" {
  tokens_per_minute       = 5
  input_tokens_per_minute = 5
}
endpoint "g" {
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = -1
  weight      = 1000000000001
  instances   = ["host", "host:99999"]
  breaker {
    window        = "5"
    slow_window   = "1ns"
    failure_ratio = 1.1
    cooldown      = "-1s"
    min_samples   = 0
    ttft_limit    = "1.0000005s"
  }
}
endpoint "h" {
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = 1
  breaker {
    window       = "2m"
    cooldown     = "10m"
    cooldown_max = "1m"
  }
}
endpoint "i" {
  provider    = provider.q
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = 1
}
provider "q" { dialect = "vllm" }
provider "r" {
  dialect  = "openai"
  base_url = "ftp://x"
}
tenant "t" {
  budget {
    usd  = "1"
    warn = 80
  }
}
----
a.hcl:3:23: error: context_window is 0 (a whole number from 1 to 1000000000000) @model.x.context_window
a.hcl:4:23: error: max_output_tokens is 1.5 (a whole number from 1 to 1000000000000) @model.x.max_output_tokens
a.hcl:5:23: error: retires is "soon", which is no date (YYYY-MM-DD) @model.x.retires
a.hcl:14:23: error: max_output_tokens 11 is above context_window 10 (the context window is input and output together) @model.y.max_output_tokens
a.hcl:20:33: error: tokens_per_minute is 0 (a whole number from 1 to 1000000000000) @quota.q.tokens_per_minute
a.hcl:22:29: error: tokens_per_minute is there beside a limit of input or output tokens (either tokens_per_minute, or input_tokens_per_minute and output_tokens_per_minute) @quota.r.tokens_per_minute
a.hcl:29:17: error: concurrency is -1 (a whole number from 0 to 1000000000000) @endpoint.g.concurrency
a.hcl:30:17: error: weight is 1000000000001 (a whole number from 0 to 1000000000) @endpoint.g.weight
a.hcl:31:17: error: instances has "host", which is no address (host:port) @endpoint.g.instances
a.hcl:31:17: error: instances has "host:99999", which is no address (host:port) @endpoint.g.instances
a.hcl:33:21: error: window is "5", which is no duration (a number with ms, s, m or h: "1.5s") @endpoint.g.breaker.window
a.hcl:34:21: error: slow_window is "1ns" (from 1s to 24h) @endpoint.g.breaker.slow_window
a.hcl:35:21: error: failure_ratio is 1.1 (a number from 0 to 1) @endpoint.g.breaker.failure_ratio
a.hcl:36:21: error: cooldown is "-1s" (from 100ms to 24h) @endpoint.g.breaker.cooldown
a.hcl:37:21: error: min_samples is 0 (a whole number from 1 to 1000000) @endpoint.g.breaker.min_samples
a.hcl:38:21: error: ttft_limit is "1.0000005s" (whole microseconds) @endpoint.g.breaker.ttft_limit
a.hcl:46:3: error: cooldown 10m is longer than cooldown_max 1m (cooldown doubles up to cooldown_max) @endpoint.h.breaker
a.hcl:46:3: error: window 2m is longer than slow_window 1m (the slow window sees what the fast one is too short for) @endpoint.h.breaker
a.hcl:52:1: error: endpoint "i" has no address (add instances here, or base_url to the provider) @endpoint.i
a.hcl:61:14: error: base_url is not an address ("https://host/path") @provider.r.base_url
a.hcl:66:12: error: warn is 80 (a number from 0 to 1) @tenant.t.budget.warn

# A tenant that may be nowhere its workloads are.
errors
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e] }
}
tenant "right" {
  workloads = ["w"]
  regions   = ["eu"]
}
tenant "wrong" {
  workloads = ["*"]
  regions   = ["us"]
}
tenant "strict" {
  workloads  = ["w"]
  compliance = ["iso"]
}
----
a.hcl:11:15: error: none of the workloads of tenant "wrong" has an endpoint that its regions and compliance allow (let it use more regions, or give one of its workloads an endpoint where it may be) @tenant.wrong.regions
a.hcl:13:1: error: none of the workloads of tenant "strict" has an endpoint that its regions and compliance allow (let it use more regions, or give one of its workloads an endpoint where it may be) @tenant.strict.regions

# A reservation, or the sum of them, is within its quota.
errors
quota "q" {
  tokens_per_minute   = 100
  requests_per_minute = 10
}
tenant "a" {
  reserve "q" {
    tokens_per_minute   = 60
    requests_per_minute = 11
  }
}
tenant "b" {
  reserve "q" { tokens_per_minute = 60 }
}
tenant "c" {
  reserve "q" { requests_per_minute = 1 }
  reserve "q" { requests_per_minute = 1 }
}
----
a.hcl:2:25: error: tenants reserve 120 of the tokens_per_minute of quota "q" (together 100 at most) @quota.q.tokens_per_minute
a.hcl:8:27: error: a reservation of 11 is above the requests_per_minute of quota "q" (10 at most) @tenant.a.reserve.q.requests_per_minute
a.hcl:16:11: error: reserve "q" is there twice (the first one is at a.hcl:15) @tenant.c.reserve.q

# Every other strategy of the language is run, and affinity by rule median with it; only hash leaves
# homes by a rule of its own.
validate
workload "a" {
  apis = ["openai.chat"]
  balance "least_loaded" {}
  affinity { on = "session" }
  tier "t" { endpoints = [endpoint.e] }
}
workload "b" {
  apis = ["openai.chat"]
  balance "least_tokens" {}
  affinity { on = "tenant" }
  tier "t" { endpoints = [endpoint.e] }
}
workload "c" {
  apis = ["openai.chat"]
  balance "weighted_least_latency" {}
  affinity {}
  tier "t" { endpoints = [endpoint.e] }
}
workload "d" {
  apis = ["openai.chat"]
  balance "latency_weighted" {}
  affinity { slack = 2 }
  tier "t" { endpoints = [endpoint.e] }
}
workload "e" {
  apis = ["openai.chat"]
  balance "quota_aware" {}
  tier "t" { endpoints = [endpoint.e] }
}
workload "f" {
  apis = ["openai.chat"]
  balance "round_robin" {}
  tier "t" { endpoints = [endpoint.e] }
}
workload "g" {
  apis = ["openai.chat"]
  balance "hash" {}
  affinity { slack = 3 }
  escalate_on = ["quality", "context"]
  tier "t" { endpoints = [endpoint.e] }
}
----
a.hcl:38:22: warning: slack has no effect (strategy hash leaves a home by its load alone) @workload.g.affinity.slack

# Where there is no quota, it is said of the first cap, or budget, that each process keeps it alone.
validate
tenant "a" {
  budget { usd = "1" }
}
tenant "b" {
  caps { concurrency = 1 }
}
----
a.hcl:1:1: warning: no tenant names identities: whoever may subscribe sees every workload, and acts for any tenant (identities = ["spiffe://…"], those of its programs' connections; "*" is everybody who may subscribe) @tenant.a
a.hcl:5:3: warning: quotas, caps and budgets bind each process alone in this version (so many processes take so many times as much: write each one's part) @tenant.b.caps

# A tenant is acted for by whom it names, once any names somebody.
validate
tenant "a" { identities = ["cn/a"] }
tenant "b" {}
tenant "c" { identities = ["*"] }
----
a.hcl:2:1: warning: tenant "b" names no identities, and others do: nobody may act for it (identities = ["spiffe://…"], those of its programs' connections; "*" is everybody who may subscribe) @tenant.b

# Warnings.
validate now=2027-03-01
model "x" {
  artifact          = "x@1"
  context_window    = 10
  max_output_tokens = 10
  retires           = "2027-04-14"
  price {
    input  = "0"
    output = "0"
  }
}
model "y" {
  artifact          = "y@1"
  context_window    = 10
  max_output_tokens = 10
  retires           = "2027-02-14"
  price {
    input  = "0"
    output = "0"
  }
}
model "z" {
  artifact          = "z@1"
  context_window    = 10
  max_output_tokens = 10
  retires           = "2027-05-14"
  price {
    input  = "0"
    output = "0"
  }
}
provider "q" {
  dialect     = "openai"
  base_url    = "https://q.example"
  api_version = "1"
}
endpoint "g" {
  provider = provider.q
  model    = model.m
  apis     = ["openai.chat"]
  metrics  = "vllm"
}
quota "q" {}
quota "r" { requests_per_minute = 1 }
policy "idle" {
  breaker { window = "1s" }
}
workload "w" {
  apis = ["openai.chat"]
  contract {
    equivalent {
      models   = [model.m, model.n]
      evidence = "x"
      expires  = "2027-03-31"
    }
    equivalent {
      models   = [model.m]
      evidence = "x"
      expires  = "2027-01-31"
    }
  }
  tier "t" { endpoints = [endpoint.e] }
  balance "weighted" {
    money_per_ms   = "0.1"
    prefer_quality = true
    band "b" { models = [model.m] }
  }
  attempts { same_endpoint = 3 }
}
tenant "t" {
  workloads = ["w"]
  reserve "r" { tokens_per_minute = 1 }
}
----
a.hcl:5:23: warning: the model retires on 2027-04-14, in 44 days (move its endpoints to a successor) @model.x.retires
a.hcl:15:23: warning: the model retired on 2027-02-14 (move its endpoints to a successor) @model.y.retires
a.hcl:34:17: warning: api_version has no effect (dialect openai has no versions) @provider.q.api_version
a.hcl:36:1: warning: endpoint "g" has no limit at all (add concurrency or quotas) @endpoint.g
a.hcl:40:14: warning: metrics has no effect (it is read from instances) @endpoint.g.metrics
a.hcl:42:1: warning: quota "q" has no limit at all (add tokens_per_minute or requests_per_minute) @quota.q
a.hcl:43:1: warning: quotas, caps and budgets bind each process alone in this version (so many processes take so many times as much: write each one's part) @quota.r
a.hcl:44:1: warning: nobody uses policy "idle" (use = [policy.idle], or take it out) @policy.idle
a.hcl:53:18: warning: the evidence expires on 2027-03-31, in 30 days (evaluate again, and move expires) @workload.w.contract.equivalent.1.expires
a.hcl:58:18: warning: the evidence expired on 2027-01-31 (evaluate again, and move expires) @workload.w.contract.equivalent.2.expires
a.hcl:63:22: warning: money_per_ms has no effect (strategy weighted weighs no money) @workload.w.balance.weighted.money_per_ms
a.hcl:64:22: warning: prefer_quality has no effect (it is for cost_tiered) @workload.w.balance.weighted.prefer_quality
a.hcl:65:5: warning: b has no effect (bands are for cost_tiered) @workload.w.balance.weighted.band.b
a.hcl:67:30: warning: same_endpoint has no effect (there are fewer attempts than that) @workload.w.attempts.same_endpoint
a.hcl:69:1: warning: no tenant names identities: whoever may subscribe sees every workload, and acts for any tenant (identities = ["spiffe://…"], those of its programs' connections; "*" is everybody who may subscribe) @tenant.t
a.hcl:71:37: warning: tokens_per_minute of a reservation has no effect (the quota has no such limit) @tenant.t.reserve.r.tokens_per_minute

# What this version's libraries do not run is said once, and by whom it matters.
validate
endpoint "g" {
  provider  = provider.a
  model     = model.m
  apis      = ["openai.chat"]
  quotas    = [quota.q]
  adapters  = ["openai.responses"]
  instances = ["a:1", "b:2"] # which is run, as the next two are
  metrics   = "vllm"
  capacity {
    prefill_tps = 12000
    tpot        = "18ms"
  }
}
endpoint "h" {
  capacity { slots = 1 } # no limit yet
  provider  = provider.a
  apis      = ["http"]
  region    = "eu"
  instances = ["c:1"]
  metrics   = "tgi"
}
provider "a" { dialect = "grpc" }
quota "q" {
  requests_per_minute = 1
  refill              = "fixed"
  on_cutoff           = "hold"
}
workload "w" {
  apis = ["openai.chat"]
  balance "predictive" {}
  guard { cost = 2 }
  escalate_on = ["context"]
  affinity {}
  tier "t" { endpoints = [endpoint.e] }
}
workload "x" {
  apis = ["openai.chat"]
  balance "cost_tiered" {
    band "b" { models = [model.m] }
  }
  tier "t" { endpoints = [endpoint.e] }
}
workload "y" {
  apis = ["openai.chat"]
  affinity { rule = "score" }
  tier "t" { endpoints = [endpoint.e] }
}
tool "t" {
  apis = ["http"]
  tier "t" { endpoints = [endpoint.h] }
}
tenant "t" {
  workloads  = ["w"]
  identities = ["spiffe://t.example/chat"]
  priority   = "batch"
  caps { requests_per_minute = 1 }
  budget { usd = "1" }
  reserve "q" { requests_per_minute = 1 }
}
----
a.hcl:6:15: warning: adapters: not run by this version (it is checked and stored, and has no effect yet) @endpoint.g.adapters
a.hcl:14:1: warning: endpoint "h" has no limit at all (add concurrency or quotas) @endpoint.h
a.hcl:20:15: warning: metrics of triton and tgi: not run by this version (it is checked and stored, and has no effect yet) @endpoint.h.metrics
a.hcl:22:26: warning: dialect "grpc" is not spoken by this version's libraries (its endpoints are out by the gate unsupported) @provider.a.dialect
a.hcl:23:1: warning: quotas, caps and budgets bind each process alone in this version (so many processes take so many times as much: write each one's part) @quota.q
a.hcl:26:25: warning: on_cutoff: not run by this version (it is checked and stored, and has no effect yet) @quota.q.on_cutoff
a.hcl:31:3: warning: guard: not run by this version (it is checked and stored, and has no effect yet) @workload.w.guard
a.hcl:48:1: warning: tool: not run by this version (it is checked and stored, and has no effect yet) @tool.t

# An API that its dialect is not spoken with.
validate
provider "b" {
  dialect  = "anthropic"
  base_url = "https://api.example"
}
endpoint "k" {
  provider    = provider.b
  model       = model.m
  apis        = ["anthropic.messages", "openai.chat"]
  concurrency = 1
}
----
a.hcl:8:17: warning: api "openai.chat" is not spoken by this version's libraries with dialect "anthropic" (no request of it can be sent there; dialect anthropic has anthropic.messages) @endpoint.k.apis

# What does not parse is reported with its place, and nothing that would follow from it.
validate
workload "w" {
  apis = ["openai.chat"
}
----
a.hcl:3:1: error: missing item separator (Expected a comma to mark the beginning of the next item.)

# Functions compute; none reads anything, and a wrong one is one finding.
validate
locals {
  a = file("secret.txt")
  b = local.a
  c = local.d
  d = local.c
}
endpoint "g" {
  provider    = provider.p
  model       = model.m
  apis        = [local.a, local.b]
  concurrency = local.c
}
----
a.hcl:2:7: error: call to unknown function (There is no function named "file".) @local.a
a.hcl:4:7: error: the local depends on itself (take one of them out of the circle) @local.c

# Locals cannot double each other without end.
errors
locals {
  a = "0123456789012345678901234567890 12345678901234567890123456789"
  b = "${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}"
  c = "${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}"
  d = "${local.c}${local.c}${local.c}${local.c}${local.c}${local.c}${local.c}${local.c}${local.c}${local.c}${local.c}${local.c}"
  e = "${local.d}${local.d}${local.d}${local.d}${local.d}${local.d}${local.d}${local.d}${local.d}${local.d}${local.d}${local.d}"
  f = "${local.e}${local.e}${local.e}${local.e}${local.e}${local.e}${local.e}${local.e}${local.e}${local.e}${local.e}${local.e}"
}
----
a.hcl:6:7: error: the local is too large (a local holds up to 1 MiB) @local.e

# A for_each that cannot be evaluated is one finding; what it could have made is not missed.
validate
endpoint "g" {
  for_each    = local.missing
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = 1
}
endpoint "h" {
  for_each    = endpoints("*")
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = 1
}
endpoint "i" {
  for_each    = ["Upper", 1, "ok"]
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = 1
}
endpoint "j" {
  for_each    = "a"
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = 1
}
endpoint "k" {
  for_each    = [endpoint.e]
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = 1
}
workload "w" {
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.g-a, endpoint.i-ok, endpoint.i-no] }
  tier "u" { endpoints = endpoints("*") }
}
----
a.hcl:2:17: error: local "missing" is not declared (none is declared) @endpoint.g.for_each
a.hcl:9:17: error: call to unknown function (There is no function named "endpoints".) @endpoint.h.for_each
a.hcl:16:17: error: for_each has "Upper", which cannot be a part of a name (a name is a lower-case letter, then lower-case letters, digits and dashes, 128 at most; for_each's keys are added to it after a dash) @endpoint.i.for_each
a.hcl:16:17: error: for_each has a number, which cannot be a part of a name (a name is a lower-case letter, then lower-case letters, digits and dashes, 128 at most; for_each's keys are added to it after a dash) @endpoint.i.for_each
a.hcl:23:17: error: for_each must be a list or a map, not text (a list of names, or a map: ["a", "b"]) @endpoint.j.for_each
a.hcl:30:18: error: for_each depends on endpoints (endpoints are named after for_each; it may use variables, locals and other blocks) @endpoint.k.for_each
a.hcl:38:56: error: endpoint "i-no" is not declared (did you mean "i-ok"?) @workload.w.tier.t.endpoints

# Numbers that nobody could write out.
errors
endpoint "g" {
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = 1e999999999
}
----
a.hcl:5:17: error: the expression is too deep or its number too long (name its parts with locals)

errors var.big=1e999999999
variable "big" { type = number }
locals {
  a = 1e999
  b = local.a * local.a * local.a * local.a * local.a * local.a * local.a * local.a
  c = local.b * local.b * local.b * local.b * local.b * local.b * local.b * local.b
  d = local.c * local.c * local.c * local.c * local.c * local.c * local.c * local.c
  e = local.d * local.d * local.d * local.d * local.d * local.d * local.d * local.d
  f = local.e * local.e * local.e * local.e * local.e * local.e * local.e * local.e
  g = local.f * local.f * local.f * local.f * local.f * local.f * local.f * local.f
}
endpoint "g" {
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  region      = local.d
  concurrency = local.d
  wire_model  = local.g
  weight      = "1e99999999"
}
----
a.hcl:7:7: error: the local is too large (a local holds up to 1 MiB) @local.e
a.hcl:15:17: error: region is a number too long to write (up to 1000 digits) @endpoint.g.region
a.hcl:16:17: error: concurrency is a number too long to write (up to 1000 digits) @endpoint.g.concurrency
a.hcl:18:17: error: weight is a number too long to write (up to 1000 digits) @endpoint.g.weight

# A list that has something twice; a for_each that has a key twice, or null.
validate
endpoint "g" {
  for_each    = ["a", "b", "a", null, "é"]
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  concurrency = 1
}
endpoint "h" {
  for_each = null
  provider = provider.p
}
policy "x" {
  attempts { max = 2 }
}
workload "w" {
  use  = [policy.x, policy.x]
  apis = ["openai.chat"]
  tier "t" { endpoints = [endpoint.e, endpoint.e] }
}
----
a.hcl:2:17: error: for_each has "a" twice (take one out) @endpoint.g.for_each
a.hcl:2:17: error: for_each has "é", which cannot be a part of a name (a name is a lower-case letter, then lower-case letters, digits and dashes, 128 at most; for_each's keys are added to it after a dash) @endpoint.g.for_each
a.hcl:2:17: error: for_each has null, which cannot be a part of a name (a name is a lower-case letter, then lower-case letters, digits and dashes, 128 at most; for_each's keys are added to it after a dash) @endpoint.g.for_each
a.hcl:9:14: error: for_each must be a list or a map, not null (a list of names, or a map: ["a", "b"]) @endpoint.h.for_each
a.hcl:16:21: warning: policy.x is in the list twice, which has no effect (take one out) @workload.w.use
a.hcl:18:39: warning: endpoint.e is in the list twice, which has no effect (take one out) @workload.w.tier.t.endpoints

# A variable's value is wrong in one part.
errors var.o={a=1,b=["x"]}
variable "o" { type = object({ a = number, b = list(number) }) }
variable "p" {
  type    = object({ a = number })
  default = { a = "x" }
}
----
a.hcl:1:1: error: the value given for variable "o" is not right: it must be object, in .b[…]: a number is required @variable.o
a.hcl:4:13: error: the default is a map: it must be object, in .a: a number is required @variable.p.default

# What is wrong with a name is said once, dots or not.
validate
provider "a.b" { dialect = "http" }
----
a.hcl:1:10: error: "a.b" is not a name, as this provider needs (a name is a lower-case letter, then lower-case letters, digits and dashes, 128 at most) @provider.a.b
