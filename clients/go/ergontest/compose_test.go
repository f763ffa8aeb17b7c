package ergontest_test

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"

	ergon "ergon-client"
	"ergon-client/ergontest"
)

type letter struct {
	To    string
	Pages []string
}

type write struct {
	_      struct{} `msgpack:",array"`
	Letter letter
	Copies map[string]string
}

type composed struct {
	mux    *ergon.Mux
	client *ergon.Client
	mu     sync.Mutex
	noted  []string
}

func (c *composed) note(_ *ergon.Context, text string) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noted = append(c.noted, text)
	return nil, nil
}

// ended are all notes, when those that were submitted have ended.
func (c *composed) ended(t *testing.T) []string {
	t.Helper()
	ids := []string{}
	tasks := c.client.Tasks(ergon.With{"method": "note"})
	for tasks.Next(ctx) {
		ids = append(ids, tasks.Value.ID)
	}
	if tasks.Err() == nil { // a server
		if _, _, err := c.client.Wait(ctx, false, ids); err != nil {
			t.Error(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sort.Strings(c.noted)
	return c.noted
}

// both runs a test without a server, and with one.
func both(t *testing.T, use func(t *testing.T, c *composed), around ...ergon.Middleware) {
	t.Run("immediate", func(t *testing.T) {
		c := &composed{mux: ergon.NewMux()}
		c.handle(around)
		c.client = ergontest.Immediate(c.mux)
		use(t, c)
	})
	t.Run("server", func(t *testing.T) {
		c := &composed{mux: ergon.NewMux()}
		c.handle(around)
		c.client = ergontest.Work(t, c.mux, ergontest.Server(t), ergon.WorkOptions{Slots: 4})
		use(t, c)
	})
}

var (
	upper, parent *ergon.Method[string, string]
	writes        *ergon.Method[write, string]
	late, unknown *ergon.Method[struct{}, any]
	crawl         *ergon.Method[struct{}, []int64]
)

func (c *composed) handle(around []ergon.Middleware) {
	mux := c.mux
	mux.Use(around...)
	upper = ergon.Handle(mux, "upper", func(_ *ergon.Context, text string) (string, error) { return strings.ToUpper(text), nil })
	writes = ergon.Handle(mux, "write", func(_ *ergon.Context, w write) (string, error) {
		return fmt.Sprint(w.Letter.To, ": ", w.Letter.Pages, " ", w.Copies), nil
	})
	ergon.Handle(mux, "note", c.note)
	policy := ergon.With{"retries": 2, "backoff": "1ms"}
	parent = ergon.Handle(mux, "parent", func(ctx *ergon.Context, name string) (string, error) {
		note := ergon.Order{Method: "note", Params: []any{name + " 1"}, With: ergon.With{"delay": "1ms"}}
		err := ctx.SubmitMany(note, upper.Order("nothing"))
		if err == nil {
			err = ctx.Submit(nil, "note", name+" 2")
		}
		if err == nil {
			err = ctx.Tell(nil, "till/1", "take", 5)
		}
		if err == nil && ctx.Attempt < 3 {
			err = errors.New("not yet")
		}
		return name, err
	}, policy)
	late = ergon.Handle(mux, "late", func(ctx *ergon.Context, _ struct{}) (any, error) {
		err := ctx.Submit(nil, "note", "never")
		_ = ctx.Submit(ergon.With{"after": "t1"}, "note", "never")
		return nil, err
	})
	unknown = ergon.Handle(mux, "unknown", func(ctx *ergon.Context, _ struct{}) (any, error) {
		return nil, ctx.SubmitMany(ergon.Order{Method: "note", Params: []any{"never"}}, ergon.Order{Method: "gone"})
	})
	crawl = ergon.Handle(mux, "crawl", func(ctx *ergon.Context, _ struct{}) ([]int64, error) {
		seen, err := ergon.Checkpoint[[]int64](ctx)
		if err == nil {
			err = ctx.Save(append(seen, ctx.Attempt))
		}
		if err == nil && ctx.Attempt < 3 {
			err = errors.New("not yet")
		}
		return seen, err
	}, policy)
	take := func(a *ergon.Actor, params []any) (any, error) { return nil, a.Context.Submit(nil, "note", "till") }
	mux.Actor("till", ergon.ActorType{Methods: map[string]ergon.ActorMethod{"take": take}})
}

func TestResultsAreParameters(t *testing.T) {
	both(t, func(t *testing.T, c *composed) {
		ann, err := upper.Submit(ctx, c.client, "ann")
		if err != nil {
			t.Fatal(err)
		}
		task, err := writes.SubmitOf(ctx, c.client, map[string]any{"to": ann.Result(), "pages": []any{"1", ann.Result()}},
			map[string]any{"to": ann.Result()})
		if err != nil {
			t.Fatal(err)
		}
		said, err := task.Wait(ctx)
		same(t, []string{said, text(err)}, []string{"ANN: [1 ANN] map[to:ANN]", ""})
		ben, err := c.client.CallWith(ctx, nil, "upper", ann.Result())
		same(t, []any{ben, err}, []any{"ANN", nil})
		tasks, _, err := c.client.SubmitMany(ctx, ergon.With{"after": ann}, upper.OrderOf(ann.Result()), upper.Order("x"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = tasks[0].Wait(ctx)
		same(t, err, nil)
		_, err = upper.SubmitOf(ctx, c.client, ergon.Result)
		same(t, text(err),
			"BAD_PARAMS: ergon.Result is the result of the order before, and belongs to the later orders of a Chain")
		last, err := c.mux.Chain(ctx, c.client, upper.Order("ann"),
			writes.OrderOf(
				map[string]any{"to": ergon.Result, "pages": []any{ergon.Result}}, map[string]string{}),
			upper.OrderOf(ergon.Result))
		if err != nil {
			t.Fatal(err)
		}
		result, err := last.Wait(ctx)
		same(t, []any{result, err}, []any{"ANN: [ANN] MAP[]", nil})
	})
}

func TestAChainKeepsWhatAnOrderComesAfter(t *testing.T) {
	both(t, func(t *testing.T, c *composed) {
		ann, err := upper.Submit(ctx, c.client, "ann")
		if err != nil {
			t.Fatal(err)
		}
		gone, _ := unknown.Submit(ctx, c.client, struct{}{}) // it fails
		for _, after := range []any{gone, []any{gone, ann}, gone.ID} {
			last, err := c.mux.Chain(ctx, c.client, upper.Order("a"), upper.With(ergon.With{"after": after}).Order("b"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = last.Wait(ctx)
			same(t, ergon.Code(err), "AFTER")
		}
		last, err := c.mux.Chain(ctx, c.client, upper.Order("a"), upper.With(ergon.With{"after": ann}).OrderOf(ergon.Result))
		if err != nil {
			t.Fatal(err)
		}
		result, err := last.Wait(ctx)
		same(t, []any{result, err}, []any{"A", nil})
	})
}

func TestWhatAnAttemptSubmitsComesWithItsEnd(t *testing.T) {
	both(t, func(t *testing.T, c *composed) {
		task, err := parent.Submit(ctx, c.client, "a")
		if err != nil {
			t.Fatal(err)
		}
		_, err = task.Wait(ctx)
		same(t, text(err), "")
		_, err = c.client.Actor("till/1").Call(ctx, "take", 1)
		same(t, text(err), "")
		same(t, c.ended(t), []string{"a 1", "a 2", "till", "till"})
	})
}

func TestAllOrNothing(t *testing.T) {
	both(t, func(t *testing.T, c *composed) {
		for code, method := range map[string]*ergon.Method[struct{}, any]{"BAD_CHANGES": late, "NO_METHOD": unknown} {
			task, err := method.Submit(ctx, c.client, struct{}{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = task.Wait(ctx)
			same(t, ergon.Code(err), code)
		}
		same(t, len(c.ended(t)), 0)
	})
}

func TestMiddlewareGoesRoundWhatAnAttemptSubmits(t *testing.T) {
	louder := ergon.Middleware{Submit: func(next ergon.Submitter) ergon.Submitter {
		return func(within context.Context, o ergon.Order) (*ergon.Task, error) {
			if o.Method == "note" {
				o.Params = []any{o.Params[0].(string) + "!"}
			}
			return next(within, o)
		}
	}}
	both(t, func(t *testing.T, c *composed) {
		task, err := parent.Submit(ctx, c.client, "a")
		if err != nil {
			t.Fatal(err)
		}
		_, err = task.Wait(ctx)
		same(t, text(err), "")
		same(t, c.ended(t), []string{"a 1!", "a 2!", "till!"})
	}, louder)
}

func TestTheNextAttemptHasTheCheckpoint(t *testing.T) {
	both(t, func(t *testing.T, c *composed) {
		task, err := crawl.Submit(ctx, c.client, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		seen, err := task.Wait(ctx)
		same(t, text(err), "")
		same(t, seen, []int64{1, 2})
	})
}
