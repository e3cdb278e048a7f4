// Command bite breaks the code on purpose. For rows of test/scenarios.tsv, taken at random, it
// makes the row's break in a copy of the file, which an overlay puts in its place, and runs the
// row's test: a test that stays green does not test its rule. Run it at the root of the module.
//
//	BITE_SEED  which rows: a number; without it, another one each time
//	BITE_N     how many rows: a number, or all; 10 without it
//	BITE_ROWS  of which rows: a pattern that the whole name of the scenario matches
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"time"
)

const someRows = 10

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := bite(ctx, ".")
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bite:", err)
		os.Exit(1)
	}
}

func bite(ctx context.Context, root string) error {
	rows, err := read(root)
	if err != nil {
		return err
	}
	if rows, err = matching(breakable(rows), os.Getenv("BITE_ROWS")); err != nil {
		return err
	}
	seed, n, err := chosen(rows)
	if err != nil {
		return err
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	rows = rows[:min(n, len(rows))]
	fmt.Printf("BITE_SEED=%d, %d rows\n", seed, len(rows))
	harmless := 0
	for _, r := range rows {
		start := time.Now()
		says := "red"
		if err := r.bite(ctx, root); err != nil {
			harmless++
			says = err.Error()
		}
		fmt.Printf("%-4s %-60s %5.1fs  %s\n", r.scenario, r.test, time.Since(start).Seconds(), says)
	}
	if harmless > 0 {
		return fmt.Errorf("%d of %d breaks did not turn their tests red", harmless, len(rows))
	}
	return nil
}

// matching leaves the rows whose scenario's whole name matches the pattern; all without one.
func matching(rows []row, pattern string) ([]row, error) {
	if pattern == "" {
		return rows, nil
	}
	name, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("BITE_ROWS: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return !name.MatchString(r.scenario) })
	if len(rows) == 0 {
		return nil, fmt.Errorf("BITE_ROWS: %q matches no row with a break", pattern)
	}
	return rows, nil
}

// chosen says which rows, and how many.
func chosen(rows []row) (seed uint64, n int, err error) {
	seed, n = rand.Uint64N(1_000_000), someRows
	if v := os.Getenv("BITE_SEED"); v != "" {
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			return 0, 0, fmt.Errorf("BITE_SEED: %w", err)
		}
	}
	switch v := os.Getenv("BITE_N"); v {
	case "":
	case "all":
		n = len(rows)
	default:
		if n, err = strconv.Atoi(v); err != nil || n < 1 {
			return 0, 0, fmt.Errorf("BITE_N: %q, want a number above 0, or all", v)
		}
	}
	return seed, n, nil
}
