package route

import "testing"

func TestARequestDrawsOneForEachMeanInputInItsOwn(t *testing.T) {
	var m inputs
	if got := m.candidates(1 << 30); got != 2 {
		t.Errorf("%d before any request", got)
	}
	for range 2 * lastInputs {
		m.learn(500)
		m.learn(1500)
	}
	for tokens, want := range map[int64]int{0: 2, 1000: 2, 2900: 2, 3100: 3, 5100: 5, 1 << 40: maxDraws} {
		if got := m.candidates(tokens); got != want {
			t.Errorf("%d tokens: %d, want %d", tokens, got, want)
		}
	}
}

func TestOnlyAQuickerOneTakesTheSlowersPlace(t *testing.T) {
	f := foresight{manners: []manner{{quick: 1}, {quick: 0.5}, {quick: 0.62}, {quick: 0.63}, {quick: 2}}}
	for _, v := range []struct{ a, b, third, wantA, wantB int32 }{
		{0, 1, 2, 0, 1}, {0, 1, 3, 0, 3}, {1, 0, 3, 3, 0}, {4, 0, 3, 4, 0}, {0, 0, 4, 0, 4}, {0, 1, 4, 0, 4},
	} {
		a, b := v.a, v.b
		if f.replace(&a, &b, v.third); a != v.wantA || b != v.wantB {
			t.Errorf("%+v: %d and %d", v, a, b)
		}
	}
}

// What fails most of the time is not quick, whatever it says of its speed.
func TestFailuresMakeNobodyQuick(t *testing.T) {
	x, p, _ := predicting(t)
	for _, l := range x.router.current {
		l.word = &word{at: x.now, speed: 1, ok: 100, n: 100}
	}
	x.router.current[0].word.speed, x.router.current[0].word.ok = 4, 20
	var f foresight
	x.router.foresee(&f, p.places)
	if places := p.places; len(places) < 2 || f.manners[places[0]].quick > f.manners[places[1]].quick {
		t.Errorf("%+v", f.manners)
	}
}
