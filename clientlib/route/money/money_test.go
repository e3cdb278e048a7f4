package money

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCost(t *testing.T) {
	price := Price{
		Input: 2_000_000, CachedInput: 500_000, CacheWrite: 0, Output: 8_000_000,
		Above: []Above{
			{Tokens: 200_000, Input: 4_000_000, CachedInput: 1_000_000, Output: 16_000_000},
			{Tokens: 500_000, Input: 5_000_000},
		},
	}
	tests := []struct {
		name string
		u    Usage
		want Nano
	}{
		{"nothing is free", Usage{}, 0},
		{"input and output", Usage{Input: 1000, Output: 100}, 2_800_000},
		{"cached input is cheaper", Usage{Input: 1000, Cached: 400}, 1_400_000},
		{"written input has its own price, here zero", Usage{Input: 1000, Written: 1000}, 0},
		{"at the limit the lower price", Usage{Input: 200_000}, 400_000_000},
		{"above it the whole request costs the higher price", Usage{Input: 200_001, Output: 1}, 800_020_000},
		{"the last price that is reached", Usage{Input: 500_001, Output: 1}, 2_500_005_000},
		{"parts never exceed the input", Usage{Input: 10, Cached: 20, Written: 20}, 5_000},
		{"negative counts are zero", Usage{Input: -10, Cached: -1, Written: -1, Output: -5}, 0},
		{"what does not fit is the largest", Usage{Input: math.MaxInt64, Output: math.MaxInt64}, math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := price.Cost(tt.u); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

func TestCostRoundsUpOnce(t *testing.T) {
	p := Price{Input: 1, CachedInput: 1, CacheWrite: 1, Output: 1}
	for _, tt := range []struct {
		u    Usage
		want Nano
	}{
		{Usage{Input: 1}, 1}, {Usage{Input: 3, Cached: 1, Written: 1, Output: 1}, 1},
		{Usage{Input: 999, Output: 1}, 1}, {Usage{Input: 1000, Output: 1}, 2},
	} {
		if got := p.Cost(tt.u); got != tt.want {
			t.Errorf("%+v costs %d, want %d", tt.u, got, tt.want)
		}
	}
}

func TestCostIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		shift := rng.IntN(63)
		n := func() int64 { return rng.Int64() >> shift }
		p := Price{Input: Pico(n()), CachedInput: Pico(n()), CacheWrite: Pico(n()), Output: Pico(n())}
		input := n()
		cached := rng.Int64N(input + 1)
		written := rng.Int64N(input - cached + 1)
		u := Usage{Input: input, Cached: cached, Written: written, Output: n()}

		sum := big.NewInt(999)
		for _, part := range [][2]int64{{input - cached - written, int64(p.Input)}, {cached, int64(p.CachedInput)}, {written, int64(p.CacheWrite)}, {u.Output, int64(p.Output)}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(part[0]), big.NewInt(part[1])))
		}
		sum.Div(sum, big.NewInt(1000))
		want := Nano(math.MaxInt64)
		if sum.IsInt64() {
			want = Nano(sum.Int64())
		}
		if got := p.Cost(u); got != want {
			t.Fatalf("%+v at %+v costs %d, want %d", u, p, got, want)
		}
	}
}

func TestPlusNeverWraps(t *testing.T) {
	for _, tt := range []struct{ a, b, want Nano }{
		{1, 2, 3}, {5, -7, -2}, {math.MaxInt64, 1, math.MaxInt64}, {math.MinInt64, -1, math.MinInt64},
		{math.MaxInt64, math.MinInt64, -1}, {-3, -4, -7},
	} {
		if got := tt.a.Plus(tt.b); got != tt.want {
			t.Errorf("%d + %d = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestParsePrice(t *testing.T) {
	for s, want := range map[string]Pico{
		"0": 0, "2": 2_000_000, "2.00": 2_000_000, "0.5": 500_000, "0.000001": 1, "00.10": 100_000,
		"9223372036854.775807": math.MaxInt64,
	} {
		if got, err := ParsePrice(s); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", s, got, err, want)
		}
	}
	for s, why := range map[string]string{
		"": "want digits", ".5": "want digits", "1.": "want digits", ".": "want digits",
		"0.0000001": "7 decimals, at most 6", "2.0000000": "7 decimals, at most 6", // never rounded
		"-1": `'-' is no digit`, "+1": `'+' is no digit`, "1e3": `'e' is no digit`, "1,5": `',' is no digit`,
		"1_000": `'_' is no digit`, " 1": `' ' is no digit`, "1.2.3": `'.' is no digit`, "٣": `'٣' is no digit`,
		"9223372036854.775808": "too large", "99999999999999999999": "too large",
	} {
		if got, err := ParsePrice(s); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %d, %v, want an error with %q", s, got, err, why)
		}
	}
}

func TestParseUSD(t *testing.T) {
	if got, err := ParseUSD("250.00"); err != nil || got != 250_000_000_000 {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := ParseUSD("0.0000000001"); err == nil || !strings.Contains(err.Error(), `amount "0.0000000001" in USD: 10 decimals`) {
		t.Error(err)
	}
}

func TestStringIsExact(t *testing.T) {
	for n, want := range map[Nano]string{
		0: "0.00", 1: "0.000000001", 1_500_000_000: "1.50", -1: "-0.000000001", 123_456_789_012: "123.456789012",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808",
	} {
		if got := n.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(n), got, want)
		}
	}
	if got := Pico(2_500_000).String(); got != "2.50" {
		t.Error(got)
	}
}

func FuzzParseReadsWhatStringWrites(f *testing.F) {
	f.Add("2.50")
	f.Add("0.000001")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePrice(s)
		if err != nil {
			return
		}
		if again, err := ParsePrice(p.String()); err != nil || again != p {
			t.Errorf("%q is %d, written %q, read %d, %v", s, p, p.String(), again, err)
		}
	})
}
