package main

import "testing"

const root = "../.."

func TestEveryFaultHasATestThatExistsAndABreakThatFits(t *testing.T) {
	rows, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(root, rows); err != nil {
		t.Error(err)
	}
}
