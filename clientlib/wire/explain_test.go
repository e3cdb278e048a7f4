package wire

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestAnExplanationSaysSharesOfTheEligibleAndAges(t *testing.T) {
	x := route.Explanation{
		Version: route.CatalogVersion{Generation: 7, Revision: 3}, Err: errors.New("shed"),
		Candidates: []route.Candidate{
			{Endpoint: "a", Tier: "first", Inputs: route.Inputs{Share: 30}, Score: 2, Evidence: route.Evidence{RowAge: 5, SampleAge: route.Absent, Samples: 9}},
			{Endpoint: "b", Tier: "first", Inputs: route.Inputs{Share: 10}, Evidence: route.Evidence{RowAge: route.Absent}},
			{Endpoint: "c", Tier: "first", Inputs: route.Inputs{Share: 60}, Reason: route.ReasonBreakerOpen},
			{Endpoint: "d", Tier: "second", Inputs: route.Inputs{Share: 5}},
			{Endpoint: "e", Tier: "third"},
		},
	}
	want := &pb.ExplainResponse{
		Generation: 7, Revision: 3, Strategy: x.Strategy.String(), Shed: "shed",
		Candidates: []*pb.Candidate{
			{Endpoint: "a", Tier: "first", Share: 0.75, Score: 2, RowAgeUs: 5, SampleAgeUs: -1, Samples: 9},
			{Endpoint: "b", Tier: "first", Share: 0.25, RowAgeUs: -1},
			{Endpoint: "c", Tier: "first", Reason: route.ReasonBreakerOpen.String()},
			{Endpoint: "d", Tier: "second", Share: 1},
			{Endpoint: "e", Tier: "third"},
		},
	}
	if diff := cmp.Diff(want, EncodeExplained(&x), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestAQuestionsNumbersAreNoLessThanNothing(t *testing.T) {
	got := Asked(&pb.ExplainRequest{Tenant: "t", Api: "a", Needs: []string{"tools"}, InputTokens: -4, MaxOutputTokens: 9})
	want := route.Request{Tenant: "t", API: "a", Needs: []string{"tools"}, MaxOutput: 9}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
