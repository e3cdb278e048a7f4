package catalog

import (
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

var priorities = map[string]pb.Priority{
	"interactive": pb.Priority_PRIORITY_INTERACTIVE, "standard": pb.Priority_PRIORITY_STANDARD, "batch": pb.Priority_PRIORITY_BATCH,
}

var periods = map[string]pb.BudgetPeriod{"day": pb.BudgetPeriod_BUDGET_PERIOD_DAY, "month": pb.BudgetPeriod_BUDGET_PERIOD_MONTH}

var exhausted = map[string]pb.OnExhausted{"shed": pb.OnExhausted_ON_EXHAUSTED_SHED, "cheapest": pb.OnExhausted_ON_EXHAUSTED_CHEAPEST}

func (c *compiler) readTenant(b *block) {
	t := &pb.Tenant{Name: b.name, Priority: defaultPriority}
	b.texts("identities", &t.Identities)
	b.entitlements("workloads", "workload", &t.Workloads)
	b.entitlements("tools", "tool", &t.Tools)
	b.texts("regions", &t.Regions)
	b.texts("compliance", &t.Compliance)
	oneOf(b, "priority", priorities, &t.Priority)
	t.Caps = readCaps(b.one("caps"))
	t.Budget = readBudget(b.one("budget"))
	for _, in := range b.all("reserve", 1) {
		t.Reservations = append(t.Reservations, c.readReservation(in))
	}
	c.catalog.tenants[b.name] = t
}

// everything is an entitlement to all workloads or tools.
const everything = "*"

// entitlements reads names of workloads or tools; "*" is all.
func (b *block) entitlements(name, kind string, dst *[]string) {
	if !b.texts(name, dst) {
		return
	}
	for _, s := range *dst {
		if s != everything && !b.c.known[kind][s] {
			b.wrong(name, meant(s, keys(b.c.known[kind])), "has %s, which is not declared", quote(s))
		}
	}
}

func readCaps(b *block) *pb.Caps {
	if b == nil {
		return nil
	}
	c := &pb.Caps{}
	b.optional("concurrency", 0, maxCount, &c.Concurrency)
	b.limit("requests_per_minute", &c.RequestsPerMinute)
	b.limit("tokens_per_minute", &c.TokensPerMinute)
	b.close()
	return c
}

func readBudget(b *block) *pb.Budget {
	if b == nil {
		return nil
	}
	m := &pb.Budget{Per: defaultPer, Warn: defaultWarn, OnExhausted: defaultOnExhausted}
	b.need("usd")
	b.usd("usd", &m.NanoUsd)
	oneOf(b, "per", periods, &m.Per)
	b.ratio("warn", 0, 1, &m.Warn)
	oneOf(b, "on_exhausted", exhausted, &m.OnExhausted)
	b.close()
	return m
}

func (c *compiler) readReservation(b *block) *pb.Reservation {
	r := &pb.Reservation{Quota: b.name}
	if !c.known["quota"][b.name] {
		c.fail(b.path, meant(b.name, keys(c.known["quota"])), "quota %s is not declared", quote(b.name))
	}
	b.limit("requests_per_minute", &r.RequestsPerMinute)
	b.limit("tokens_per_minute", &r.TokensPerMinute)
	b.close()
	return r
}
