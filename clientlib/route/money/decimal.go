package money

import (
	"fmt"
	"math"
	"strings"
)

const (
	priceDecimals = 6 // USD per million tokens → pico-dollars a token
	usdDecimals   = 9 // USD → nano-dollars
)

// ParsePrice reads USD per million tokens, an exact decimal such as "2.50".
func ParsePrice(usdPerMillion string) (Pico, error) {
	n, err := parse(usdPerMillion, priceDecimals)
	if err != nil {
		return 0, fmt.Errorf("price %q in USD per million tokens: %w", usdPerMillion, err)
	}
	return Pico(n), nil
}

// ParseUSD reads an amount in USD, an exact decimal such as "250.00".
func ParseUSD(usd string) (Nano, error) {
	n, err := parse(usd, usdDecimals)
	if err != nil {
		return 0, fmt.Errorf("amount %q in USD: %w", usd, err)
	}
	return Nano(n), nil
}

// String is the price in USD per million tokens, exactly, as ParsePrice reads it.
func (p Pico) String() string { return format(int64(p), priceDecimals) }

// String is the amount in USD, exactly, as ParseUSD reads it.
func (n Nano) String() string { return format(int64(n), usdDecimals) }

// parse reads digits, and after a point at most so many more, as an integer of the last one.
func parse(s string, decimals int) (int64, error) {
	whole, part, point := strings.Cut(s, ".")
	if whole == "" || point && part == "" {
		return 0, fmt.Errorf("want digits, and digits after a point")
	}
	if len(part) > decimals {
		return 0, fmt.Errorf("%d decimals, at most %d count", len(part), decimals)
	}
	var n int64
	for _, c := range whole + part + strings.Repeat("0", decimals-len(part)) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%q is no digit", c)
		}
		digit := int64(c - '0')
		if n > (math.MaxInt64-digit)/10 {
			return 0, fmt.Errorf("too large")
		}
		n = n*10 + digit
	}
	return n, nil
}

// format writes n units of the last decimal, with two decimals at least.
func format(n int64, decimals int) string {
	sign, size := "", uint64(n)
	if n < 0 {
		sign, size = "-", -size
	}
	digits := fmt.Sprintf("%0*d", decimals+1, size)
	point := len(digits) - decimals
	part := strings.TrimRight(digits[point:], "0")
	return sign + digits[:point] + "." + part + strings.Repeat("0", max(2-len(part), 0))
}
