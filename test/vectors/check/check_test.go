// Package check has the vectors computed a second time, in Python.
package check

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// check runs the checker over a folder of vectors.
func check(t *testing.T, folder string) (out string, agrees bool) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here: the vectors are not computed a second time")
	}
	b, err := exec.Command(python, "check.py", folder).CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return string(b), err == nil
}

func TestTheVectorsAreWhatTheirRulesSay(t *testing.T) {
	if out, agrees := check(t, ".."); !agrees {
		t.Error(out)
	}
}

// A checker that cannot fail checks nothing: one digit is changed in an answer of each kind.
func TestEveryChangedDigitIsFound(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("..")); err != nil {
		t.Fatal(err)
	}
	var changed []string
	for file, answers := range map[string][]string{
		"decay.txt": {
			`(?m)^97 0\.7690203869158284(\d)$`,
			`(?m)^1234567 3500000 0\.783734819982776(\d)$`,
		},
		"draw.txt": {
			`(?m)^draw 12345 7 = 97731441(\d)$`,
			`(?m)^index 429496730 10 = (\d)$`,
			`(?m)^alias 0.1 0.2 .* 2:429496729(\d):2`,
			`(?m)^alias 1 2 3 .* 0:780903144:(\d)`,
		},
		"hash.txt": {
			`(?m)^key abcd = 57257085(\d)$`,
			`(?m)^maglev a:1 b:1 = 131 1110(\d)`,
			`(?m)^many 16 100 = 1031 35668486(\d)$`,
			`(?m)^stride 210 = 13(\d)$`,
		},
		"limit.txt": {
			`(?m)^cost 1 60000000 7 = 857142(\d)$`,
			`(?m)^settle 600000 s .* tokens:550000(\d)/0/0$`,
			`(?m)^until 4000000 a 1 0 = 20100100(\d)$`,
		},
		"predictive.txt": {
			`(?m)^span 100 15000 32 .* = 2\.19662499999999(\d)e\+06$`,
			`(?m)^mix 3 0\.8203125 .* = 6\.4789062(\d)$`,
			`(?m)^eighths 0\.3 5 = 0\.471195120250290(\d)$`,
			`(?m)^fitness 1\.7 .* = 1\.577393336691611(\d)$`,
		},
		"stories/strategy-predictive.txt": {`score 1\.040961094373848(\d)e\+06 row`},
		"stories/shares.txt":              {`(?m)^b 820(\d)$`},
		"stories/strategies.txt":          {`score 1\.006666666666666(\d)\n`},
		"stories/strategy-latency_weighted.txt": {
			`(?m)^a 300(\d)$`,
			`(?m)^b 100(\d)$`,
		},
		"stories/strategy-quota_aware.txt": {`(?m)^d 81(\d)$`},
		"stories/strategy-cost_tiered.txt": {`(?m)^  m1 .* price 300000 share 0 score 55000(\d)$`},
		"stories/records.txt": {
			`(?m)^  a .* load 0 time 300000 price 60000 share 0 score 36000(\d)$`,
			`(?m)^  b .* load 0 time 300000 price 16800(\d) share 0 score 468000$`,
			`(?m)^  tie 257756075(\d)$`,
		},
	} {
		for _, answer := range answers {
			changed = append(changed, file+":"+change(t, filepath.Join(folder, file), regexp.MustCompile(answer)))
		}
	}
	out, agrees := check(t, folder)
	for _, at := range changed {
		if agrees || !strings.Contains(out, at+": says ") {
			t.Errorf("%s is not told:\n%s", at, out)
		}
	}
}

// change makes another digit of the one that is marked, and returns its line.
func change(t *testing.T, file string, answer *regexp.Regexp) (line string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := answer.FindSubmatchIndex(text)
	if at == nil {
		t.Fatalf("%s: nothing matches %s", file, answer)
	}
	text[at[2]] ^= 1 // 4 and 5, 0 and 1
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(strings.Count(string(text[:at[2]]), "\n") + 1)
}
