package ergon_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	ergon "ergon-client"
)

type charge struct {
	Customer string
	Cents    int64
}

type receipt struct {
	Number string
}

type add struct {
	_    struct{} `msgpack:",array"`
	A, B int
}

var ctx = context.Background()

func pay(ctx *ergon.Context, p charge) (receipt, error) {
	return receipt{fmt.Sprintf("%s-%d-%d", p.Customer, p.Cents, ctx.Attempt)}, nil
}

// panics gives the text of a panic.
func panics(run func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	run()
	return ""
}

func TestParametersAreConvertedBeforeTheHandler(t *testing.T) {
	mux := ergon.NewMux()
	ergon.Handle(mux, "charge", pay)
	ergon.Handle(mux, "add", func(_ *ergon.Context, p add) (int, error) { return p.A + p.B, nil })
	ergon.Handle(mux, "hello", func(_ *ergon.Context, name string) (string, error) { return "hello " + name, nil })
	ergon.Handle(mux, "none", func(*ergon.Context, struct{}) (any, error) { return nil, errors.New("no luck") })
	ergon.Handle(mux, "fall", func(*ergon.Context, struct{}) (any, error) { panic("down") })
	cases := []struct {
		method string
		params []any
		wanted any
	}{
		{"charge", []any{map[string]any{"customer": "ann", "cents": int64(5)}}, receipt{"ann-5-2"}},
		{"add", []any{int64(1), int64(2)}, 3},
		{"hello", []any{"ann"}, "hello ann"},
		{"charge", []any{map[string]any{"customer": "ann", "cents": "5"}},
			"BAD_PARAMS: charge: the parameter cents must be an integer, not a text"},
		{"charge", []any{map[string]any{"customer": "ann"}}, "BAD_PARAMS: charge: the parameter cents is missing"},
		{"charge", []any{"ann", int64(5)}, "BAD_PARAMS: charge has 1 parameter, not 2"},
		{"add", []any{int64(1)}, "BAD_PARAMS: add: the parameter b is missing"},
		{"add", []any{int64(1), int64(1), int64(1)},
			"BAD_PARAMS: add: the list of parameters must be a list of at most 2: a, b, not a list of 3"},
		{"hello", []any{nil}, "BAD_PARAMS: hello: the parameter must be a text, not nil"},
		{"none", []any{}, "FAILED: no luck"},
		{"fall", []any{}, "FAILED: panic: down"},
		{"other", []any{}, `NO_METHOD: the Mux has no method "other"`},
	}
	for _, c := range cases {
		result, err := mux.Run(ctx, c.method, c.params, map[string]any{"attempt": int64(2)})
		if err != nil {
			result = err.Error()
		}
		if !reflect.DeepEqual(result, c.wanted) {
			t.Errorf("%s%v: %v instead of %v", c.method, c.params, result, c.wanted)
		}
	}
}

func TestSubmissionsHaveThePolicyAndResultsTheType(t *testing.T) {
	mux := ergon.NewMux()
	pays := ergon.Handle(mux, "charge", pay, ergon.With{"retries": 3, "attempt_timeout": time.Second})
	sums := ergon.Handle[add, int](mux, "add", nil) // of another program
	asked, answers := []any{}, []any{}
	client := ergon.Local(func(_ context.Context, method string, params []any) (any, error) {
		asked, answers = append(asked, append([]any{method}, params...)), answers[1:]
		return answers[0], nil
	})
	told := map[string]any{"retries": 3, "timeout": int64(1000), "delay": int64(5000)}
	ended := map[string]any{"id": "7", "state": "done", "result": map[string]any{"number": "x"}}
	answers = []any{0, map[string]any{"id": "7"}, map[string]any{"ended": []any{ended}, "open": []any{}}, int64(3), "3"}
	task, err := pays.With(ergon.With{"delay": "5s"}).Submit(ctx, client, charge{"ann", 5})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := task.Wait(ctx); err != nil || r.Number != "x" {
		t.Errorf("%v, %v", r, err)
	}
	if sum, err := sums.Call(ctx, client, add{A: 1, B: 2}); err != nil || sum != 3 {
		t.Errorf("%v, %v", sum, err)
	}
	if _, err := sums.Call(ctx, client, add{}); !errors.Is(err, ergon.ErrProtocol) {
		t.Errorf("%v", err)
	}
	wanted := []any{"task.submit", "charge", []any{charge{"ann", 5}}, told}
	if !reflect.DeepEqual(asked[0], wanted) || !reflect.DeepEqual(asked[2].([]any)[:3], []any{"task.call", "add", []any{1, 2}}) {
		t.Errorf("%v", asked)
	}
	if err := client.Work(ctx, ergon.WorkOptions{}, nil); !errors.Is(err, ergon.ErrClosed) {
		t.Errorf("a client without a server works: %v", err)
	}
	client.Close()
}

func TestMiddlewareGoesRoundSubmissionsAndHandlers(t *testing.T) {
	mux, seen := ergon.NewMux(), []string{}
	layer := func(name string) ergon.Middleware {
		return ergon.Middleware{
			Handler: func(next ergon.Handler) ergon.Handler {
				return func(c *ergon.Context, params []any) (any, error) {
					seen = append(seen, name+" begins "+c.Method)
					result, err := next(c, params)
					seen = append(seen, fmt.Sprintf("%s %v %v", name, result, err))
					return result, err
				}
			},
			Submit: func(next ergon.Submitter) ergon.Submitter {
				return func(ctx context.Context, o ergon.Order) (*ergon.Task, error) {
					seen = append(seen, name+" submits "+o.Method)
					o.With = ergon.With{"priority": 9}
					return next(ctx, o)
				}
			},
		}
	}
	hello := ergon.Handle(mux, "hello", func(_ *ergon.Context, name string) (string, error) { return "hello " + name, nil })
	add := func(a *ergon.Actor, params []any) (any, error) {
		a.State["sku"] = params[0]
		return len(a.State), nil
	}
	mux.Actor("cart", ergon.ActorType{Methods: map[string]ergon.ActorMethod{"add": add}})
	mux.Use(layer("outer"), ergon.Middleware{})
	mux.Use(layer("inner"))
	mux.Run(ctx, "hello", []any{int64(1)}, nil)
	turn, err := mux.Run(ctx, "cart.add", []any{"apple"}, map[string]any{"actor": "cart/1", "state": nil})
	wantedTurn := []any{1, map[string]any{"state": map[string]any{"sku": "apple"}}}
	if err != nil || !reflect.DeepEqual(turn, wantedTurn) {
		t.Errorf("%v, %v", turn, err)
	}
	client := ergon.Local(func(_ context.Context, method string, params []any) (any, error) {
		seen = append(seen, fmt.Sprint(method, params))
		return map[string]any{"id": "7"}, nil
	})
	hello.Submit(ctx, client, "ann")
	wrong := "<nil> BAD_PARAMS: hello: the parameter must be a text, not the integer 1"
	wanted := []string{"outer begins hello", "inner begins hello", "inner " + wrong, "outer " + wrong,
		"outer begins cart.add", "inner begins cart.add", "inner 1 <nil>", "outer 1 <nil>",
		"outer submits hello", "inner submits hello", "task.submit[hello [ann] map[priority:9]]"}
	if !reflect.DeepEqual(seen, wanted) {
		t.Errorf("%s", strings.Join(seen, "\n"))
	}
}

func TestMiddlewareIsMadeOnceForAMethod(t *testing.T) {
	mux, made := ergon.NewMux(), 0
	mux.Use(ergon.Middleware{Handler: func(next ergon.Handler) ergon.Handler { made++; return next }})
	size := func(a *ergon.Actor, params []any) (any, error) { return len(a.State), nil }
	mux.Actor("cart", ergon.ActorType{Methods: map[string]ergon.ActorMethod{"size": size}})
	for i := 0; i < 2; i++ {
		if _, err := mux.Run(ctx, "cart.size", nil, map[string]any{"actor": "cart/1"}); err != nil || made != 1 {
			t.Errorf("%v, made %d times", err, made)
		}
	}
}

func TestMapGivesEachInputItsResult(t *testing.T) {
	mux, times := ergon.NewMux(), 1
	mux.Use(ergon.Middleware{Submit: func(next ergon.Submitter) ergon.Submitter {
		return func(ctx context.Context, o ergon.Order) (task *ergon.Task, err error) {
			for i := 0; i < times; i++ {
				task, err = next(ctx, o)
			}
			return task, err
		}
	}})
	double := ergon.Handle[int, int](mux, "double", nil)
	client := ergon.Local(func(_ context.Context, method string, params []any) (any, error) {
		if method == "task.submit_many" { // with a key: the second is the first
			return []any{map[string]any{"id": "1"}, map[string]any{"id": "1"}, map[string]any{"id": "2"}}, nil
		}
		ended := []any{map[string]any{"id": "2", "state": "done", "result": int64(6)},
			map[string]any{"id": "1", "state": "done", "result": int64(2)}}
		return map[string]any{"ended": ended, "open": []any{}}, nil
	})
	if all, err := double.Map(ctx, client, []int{1, 1, 3}); err != nil || !reflect.DeepEqual(all, []int{2, 2, 6}) {
		t.Errorf("%v, %v", all, err)
	}
	for _, times = range []int{0, 2} {
		_, err := double.Map(ctx, client, []int{1})
		wanted := fmt.Sprintf("task 0 of Map %d times, not once", times)
		if err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%v instead of %s", err, wanted)
		}
	}
}

func TestRegistrationsThatAreWrongPanic(t *testing.T) {
	mux := ergon.NewMux()
	hello := ergon.Handle(mux, "hello", func(*ergon.Context, string) (any, error) { return nil, nil })
	cases := map[string]func(){
		`"retires"; did you mean "retries"?`:  func() { ergon.Handle[int, int](mux, "x", nil, ergon.With{"retires": 1}) },
		`no option "delay"`:                   func() { ergon.Handle[int, int](mux, "x", nil, ergon.With{"delay": "1s"}) },
		"two handlers have the name hello":    func() { ergon.Handle(mux, "hello", pay) },
		"nothing can be converted to a func(": func() { ergon.Handle[func(), int](mux, "x", nil) },
		"a schedule is a text":                func() { hello.Cron("often", 5, "ann") },
		`the cron often has no option "key"`:  func() { hello.Cron("often", "@daily", "ann", ergon.With{"key": "x"}) },
	}
	for wanted, run := range cases {
		if text := panics(run); !strings.Contains(text, wanted) {
			t.Errorf("%s instead of %s", text, wanted)
		}
	}
}
