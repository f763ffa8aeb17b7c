package ergontest_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	ergon "ergon-client"
	"ergon-client/ergontest"
)

var ctx = context.Background()

func same(t *testing.T, seen, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(seen, wanted) {
		t.Errorf("%#v instead of %#v", seen, wanted)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// machine has methods that fail in their ways.
func machine() *ergon.Mux {
	mux, again := ergon.NewMux(), 0
	ergon.Handle(mux, "again", func(ctx *ergon.Context, _ struct{}) (int, error) {
		if again++; again < 5 {
			return 0, ergon.Again(time.Hour)
		}
		return again, nil
	})
	ergon.Handle(mux, "fails", func(ctx *ergon.Context, code string) (any, error) {
		return nil, &ergon.Error{Code: code, Text: "x"}
	})
	ergon.Handle(mux, "falls", func(*ergon.Context, struct{}) (any, error) { panic(errors.New("down")) })
	ergon.Handle(mux, "sleeps", func(ctx *ergon.Context, _ struct{}) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	count := func(a *ergon.Actor, params []any) (any, error) {
		n, _ := a.State["n"].(int64)
		a.State["n"] = n + params[0].(int64)
		if len(params) > 1 {
			a.Tell(nil, params[1].(string), "count", params[0])
		}
		return a.State["n"], nil
	}
	ask := func(a *ergon.Actor, params []any) (any, error) { return a.Call(params[0].(string), "count", 1) }
	stop := func(a *ergon.Actor, params []any) (any, error) { a.Stop("enough"); return nil, nil }
	drop := func(a *ergon.Actor, params []any) (any, error) { a.Drop(); return nil, nil }
	back := func(a *ergon.Actor, params []any) (any, error) {
		if len(params) == 0 {
			return a.Call("m/b", "back", a.Name)
		}
		a.Tell(nil, params[0].(string), "count", 1)
		return "told", nil
	}
	tries := 0
	fails := func(a *ergon.Actor, params []any) (any, error) {
		if tries++; tries < 3 {
			return nil, errors.New("no luck")
		}
		return tries, nil
	}
	upgrade := func(state any, schema int64) (any, error) { return nil, errors.New("no state is older") }
	mux.Actor("m", ergon.ActorType{Methods: map[string]ergon.ActorMethod{"back": back, "count": count, "fails": fails}, Schema: 2,
		Upgrade: upgrade, Policy: ergon.With{"retries": 2}})
	mux.Actor("n", ergon.ActorType{Methods: map[string]ergon.ActorMethod{"count": count, "ask": ask, "stop": stop, "drop": drop}})
	return mux
}

func TestImmediateTasks(t *testing.T) {
	client := ergontest.Immediate(machine())
	for _, c := range []struct {
		with           ergon.With
		method         string
		param          []any
		state, failure string
		attempt        int64
	}{
		{ergon.With{"delay": "1h"}, "again", nil, "done", "", 5},
		{nil, "fails", []any{"NO_SPACE"}, "failed", "NO_SPACE: x", 1},
		{ergon.With{"retries": 2}, "fails", []any{"NO_SPACE"}, "dead", "NO_SPACE: x", 3},
		{ergon.With{"retries": 2}, "fails", []any{"PERMANENT_LOSS"}, "failed", "PERMANENT_LOSS: x", 1},
		{ergon.With{"retries": 2}, "fails", []any{5}, "failed",
			"BAD_PARAMS: fails: the parameter must be a text, not the integer 5", 1},
		{nil, "falls", nil, "failed", "FAILED: panic: down", 1},
		{ergon.With{"attempt_timeout": "1ms"}, "sleeps", nil, "failed",
			"DEADLINE: attempt 1 took longer than its timeout of 1 ms", 1},
		{ergon.With{"retries": 2}, "fails", []any{"CANCELLED"}, "dead", "CANCELLED: x", 3},
	} {
		task, err := client.Submit(ctx, c.with, c.method, c.param...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = task.Wait(ctx)
		shown, _ := task.Get(ctx)
		got := shown.(map[string]any)
		same(t, []any{got["state"], text(err), got["attempt"]}, []any{c.state, c.failure, c.attempt})
	}
	for wanted, with := range map[string]ergon.With{
		`NO_METHOD: the Mux has no method "other"`:          nil,
		"BAD_PARAMS: key is a text, not 5":                  {"key": 5},
		"BAD_PARAMS: retries is a number from 0 on, not -1": {"retries": -1},
	} {
		_, err := client.Submit(ctx, with, "other")
		same(t, text(err), wanted)
	}
	_, err := client.Submit(ctx, ergon.With{"after": "t99"}, "again")
	same(t, text(err), "NOT_FOUND: there is no task t99")
	_, err = client.Call(ctx, "server.info")
	same(t, text(err), "NO_METHOD: ergontest.Immediate does not know server.info: use ergontest.Server")
	_, err = client.Task("t99").Wait(ctx)
	same(t, text(err), "NOT_FOUND: there is no task t99")
	tasks, errs, err := client.SubmitMany(ctx, ergon.With{"retries": 1}, ergon.Order{Method: "fails", Params: []any{"A"}},
		ergon.Order{Method: "again"})
	same(t, []any{len(tasks), errs, err}, []any{2, []error{nil, nil}, nil})
	same(t, []any{tasks[0].Said["state"], tasks[1].Said["state"]}, []any{"dead", "done"})
}

func TestImmediateActors(t *testing.T) {
	client := ergontest.Immediate(machine())
	a := client.Actor("n/a")
	n, err := a.Call(ctx, "count", 2, "n/b")
	same(t, []any{n, err}, []any{int64(2), nil})
	b, _ := client.Actor("n/b").Get(ctx)
	same(t, b["state"], map[string]any{"n": int64(2)})
	n, err = a.Call(ctx, "ask", "n/b")
	same(t, []any{n, err}, []any{int64(3), nil})
	_, err = a.Call(ctx, "ask", "n/a")
	same(t, text(err), "DEADLOCK: a turn of n/a waits for this call")
	m := client.Actor("m/a")
	said, err := m.Call(ctx, "back")
	same(t, []any{said, err}, []any{"told", nil})
	n, err = m.Call(ctx, "count", 1)
	same(t, []any{n, err}, []any{int64(2), nil})
	n, err = m.Call(ctx, "fails")
	same(t, []any{n, err}, []any{int64(3), nil})
	told, _ := a.Tell(ctx, ergon.With{"key": "k"}, "count", 1)
	again, _ := a.Tell(ctx, ergon.With{"key": "k"}, "count", 1)
	same(t, again.ID, told.ID)
	a.Call(ctx, "drop")
	n, _ = a.Call(ctx, "count", 1)
	same(t, n, int64(1))
	a.Call(ctx, "stop")
	_, err = a.Call(ctx, "count", 1)
	same(t, text(err), "STOPPED: n/a is stopped: enough")
}

// refusing is a test that Server ends.
type refusing struct {
	testing.TB
	text string
}

func (r *refusing) Helper() {}
func (r *refusing) Fatal(args ...any) {
	r.text = args[0].(string)
	panic(r)
}

func TestAMissingServerIsSaid(t *testing.T) {
	t.Setenv("ERGOND", "")
	t.Setenv("PATH", t.TempDir())
	r := &refusing{TB: t}
	func() {
		defer func() { recover() }()
		ergontest.Server(r)
	}()
	same(t, r.text, "ergontest.Server: there is no ergond: set ERGOND to the program, or put it on PATH")
}
