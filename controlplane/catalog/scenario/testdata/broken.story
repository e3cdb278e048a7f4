errors
title = "t"
----
a.hcl:1:1: scenario without catalog (add catalog)

errors
title    = "t"
duration = "1m"
catalog  = "CATALOGS/broken"
----
CATALOGS/broken/catalog.hcl:3:3: unknown attribute "colur" in workload (one of: affinity, apis, attempts, balance, contract, escalate_on, guard, on_filter, stream, tier, use)
CATALOGS/broken/catalog.hcl:4:29: endpoint "gone" is not declared (none is declared)

errors
catalog = "CATALOGS/gone"
----
a.hcl:1:11: catalog cannot be read: stat CATALOGS/gone: no such file or directory (a folder of *.hcl files, or one such file, from the scenario's folder on)

# A catalog may be one file.
errors
title    = "t"
duration = "1m"
catalog  = "CATALOGS/broken/catalog.hcl"
----
CATALOGS/broken/catalog.hcl:3:3: unknown attribute "colur" in workload (one of: affinity, apis, attempts, balance, contract, escalate_on, guard, on_filter, stream, tier, use)
CATALOGS/broken/catalog.hcl:4:29: endpoint "gone" is not declared (none is declared)

errors
title = 
----
a.hcl:1:9: invalid expression (Expected the start of an expression, but found an invalid expression token.)

errors
title    = "t"
duration = "1m"
catalog  = "CATALOGS/cat"
traffic "a" {
  workload = "chat"
  load     = 0.5
  input    { median = 10 }
  output   { median = 10 }
}
server "gpu-*" {
  first = "1s"
  each  = "1ms"
}
server "api-a" { slots = 4 }
----
a.hcl:6:14: load is of servers without a limit (write rate, in requests a second)
