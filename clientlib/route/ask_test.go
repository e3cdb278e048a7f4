package route

import "testing"

func TestAsksDifferByEachOfTheirParts(t *testing.T) {
	var one ask
	if !one.is(&ask{}) {
		t.Error("an ask is not itself")
	}
	for part, other := range map[string]ask{
		"needs": {needs: set{0, 1}}, "first needs": {needs: set{1}}, "apis": {apis: set{0, 1}}, "first apis": {apis: set{1}},
		"window": {window: 1}, "output": {output: 1}, "policy": {policy: 1}, "classes": {classes: 1}, "from": {from: 1},
	} {
		if one.is(&other) || one == other {
			t.Errorf("%s makes no difference", part)
		}
	}
}
