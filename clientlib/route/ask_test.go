package route

import "testing"

func TestAsksAreEqualInEverythingOrNotAtAll(t *testing.T) {
	var one ask
	if !one.is(&ask{}) {
		t.Error("an ask is not itself")
	}
	for what, change := range map[string]func(*ask){
		"needs":       func(a *ask) { a.needs.add(70) },
		"first needs": func(a *ask) { a.needs.add(1) },
		"apis":        func(a *ask) { a.apis.add(70) },
		"first apis":  func(a *ask) { a.apis.add(1) },
		"window":      func(a *ask) { a.window = 1 },
		"output":      func(a *ask) { a.output = 1 },
		"policy":      func(a *ask) { a.policy = 1 },
		"classes":     func(a *ask) { a.classes = 1 },
		"from":        func(a *ask) { a.from = 1 },
		"band":        func(a *ask) { a.band = 1 },
	} {
		var a, b ask
		if change(&b); a.is(&b) || !b.is(&b) || a.hash() == b.hash() {
			t.Errorf("%s makes no difference", what)
		}
	}
}
