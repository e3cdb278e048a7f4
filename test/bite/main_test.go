package main

import "testing"

func TestRowsAreChosenByTheirWholeNames(t *testing.T) {
	all := []row{{scenario: "A1"}, {scenario: "A10"}, {scenario: "CP1"}, {scenario: "CP1b"}}
	for pattern, want := range map[string]string{"": "A1 A10 CP1 CP1b ", "A1": "A1 ", "A1|CP1.*": "A1 CP1 CP1b ", "B1": "", "(": ""} {
		rows, err := matching(append([]row{}, all...), pattern)
		got := ""
		for _, r := range rows {
			got += r.scenario + " "
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q chooses %q, error %v; want %q", pattern, got, err, want)
		}
	}
}
