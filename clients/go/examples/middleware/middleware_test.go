package middleware

import (
	"context"
	"errors"
	"strings"
	"testing"

	ergon "ergon-client"
	"ergon-client/ergontest"
)

func TestATraceAndBreadcrumbsFollowWhatIsSubmitted(t *testing.T) {
	mux, traces, reports := ergon.NewMux(), []string{}, []Report{}
	var client *ergon.Client
	inner := ergon.Handle(mux, "inner", func(c *ergon.Context, _ struct{}) (any, error) {
		traces = append(traces, c.Traceparent)
		return nil, nil
	})
	outer := ergon.Handle(mux, "outer", func(c *ergon.Context, _ struct{}) (any, error) {
		traces = append(traces, c.Traceparent)
		inner.Submit(c, client, struct{}{})
		return nil, errors.New("no luck")
	})
	fall := ergon.Handle(mux, "fall", func(*ergon.Context, struct{}) (any, error) { panic("down") })
	mux.Use(Trace(), Reports(func(r Report) { reports = append(reports, r) }))
	client = ergontest.Immediate(mux)
	outer.Submit(context.Background(), client, struct{}{})
	fall.Submit(context.Background(), client, struct{}{})
	if len(traces) != 2 || traces[0] != traces[1] || len(traces[0]) != 55 {
		t.Errorf("traces %q", traces)
	}
	if len(reports) != 2 || len(reports[0].Breadcrumbs) != 1 || !strings.HasSuffix(reports[0].Breadcrumbs[0], " inner") {
		t.Fatalf("reports %v", reports)
	}
	if reports[0].Err.(error).Error() != "no luck" || reports[0].Tags["method"] != "outer" || reports[1].Err != "down" {
		t.Errorf("reports %v", reports)
	}
}
