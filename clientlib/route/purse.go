package route

import (
	"time"

	"github.com/pointsman/pointsman/clientlib/route/limit"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// purse is a tenant's budget in one day or month.
type purse struct {
	spent    money.Nano
	reserved money.Nano // by attempts of this period in flight
	from     int64      // of the period, on the core's clock
	until    int64
	warned   bool
}

// pays is the budget's gate for one endpoint.
func (r *Router) pays(now int64, p *pool, place int32, c *Call) Reason {
	n := &r.need
	if n.tab == nil || !n.tab.spec.Budget.Has {
		return Pass
	}
	cost := n.price(r.current[place].facts.endpoint)
	if cost == 0 || cost <= n.left {
		return Pass
	}
	if !n.tab.spec.Budget.Cheapest {
		return ReasonBudget
	}
	if n.least < 0 {
		n.least = r.cheapest(now, p, c)
	}
	if cost > n.least {
		return ReasonBudget
	}
	return Pass
}

// cheapest is the least price of this call over all that pass the other gates.
func (r *Router) cheapest(now int64, p *pool, c *Call) money.Nano {
	least := money.Nano(forever)
	for _, place := range p.places {
		if r.passes(now, p, place, c) == Pass {
			least = min(least, r.need.price(r.current[place].facts.endpoint))
		}
	}
	return least
}

// settle puts a cost in place of what was reserved, in the period that the attempt began
// in, and tells whether the budget's warning is due.
func (p *purse) settle(s *slot, o *Outcome, used *limit.Use, b *Budget) (warn bool) {
	if s.started < p.from {
		return false // a period that is over
	}
	cost := s.cost(money.Usage{Input: used[limit.Input], Output: used[limit.Output]})
	if o.HasUsage {
		cost = s.cost(o.Usage)
	}
	p.reserved = max(p.reserved-s.taken.cost, 0)
	p.spent = p.spent.Plus(cost)
	warn = b.Has && !p.warned && p.spent > 0 && float64(p.spent) >= float64(float64(b.Limit)*b.Warn)
	p.warned = p.warned || warn
	return warn
}

// roll begins the day or month, UTC, that time has come to.
func (p *purse) roll(now, wall int64, month bool) {
	if now >= p.from && now < p.until {
		return
	}
	t := time.UnixMicro(wall + now).UTC()
	from := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	until := from.AddDate(0, 0, 1)
	if month {
		from = from.AddDate(0, 0, 1-t.Day())
		until = from.AddDate(0, 1, 0)
	}
	*p = purse{from: from.UnixMicro() - wall, until: until.UnixMicro() - wall}
}
