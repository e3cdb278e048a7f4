package traffic

import "testing"

func benchmarkTrace(b *testing.B, name, format string) {
	tr := shipped(name, format)
	tr.Crowd.Clients = 50
	var a Arrival
	rows := 0
	b.ReportAllocs()
	for b.Loop() {
		s, err := tr.Open(1)
		if err != nil {
			b.Fatal(err)
		}
		for {
			more, err := s.Next(&a)
			if err != nil {
				b.Fatal(err)
			}
			if !more {
				break
			}
			rows++
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkAzureHour(b *testing.B) { benchmarkTrace(b, "azure-conversation.csv.gz", "azure") }

func BenchmarkMooncakeHour(b *testing.B) {
	benchmarkTrace(b, "mooncake-conversation.jsonl.gz", "mooncake")
}

func benchmarkGenerator(b *testing.B, g *Generator) {
	s, err := g.Open(1)
	if err != nil {
		b.Fatal(err)
	}
	var a Arrival
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Next(&a); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGenerator(b *testing.B) { benchmarkGenerator(b, chat(1.5)) }

func BenchmarkGeneratorKeys(b *testing.B) {
	g := chat(1.5)
	g.Keys = Keys{Count: 400, Tokens: 4000, Zipf: 1}
	benchmarkGenerator(b, g)
}

func BenchmarkGeneratorSessions(b *testing.B) {
	g := chat(4)
	g.Sessions = Sessions{Turns: 5}
	benchmarkGenerator(b, g)
}
