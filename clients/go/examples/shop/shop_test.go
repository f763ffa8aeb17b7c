package shop

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"

	ergon "ergon-client"
	"ergon-client/ergontest"
	"ergon-client/examples/middleware"
)

// application is what each test has, with a client of its own.
type application struct {
	*Shop
	client  *ergon.Client
	mu      sync.Mutex
	reports []middleware.Report
	metrics middleware.Metrics
}

// both runs a test without a server, and with one.
func both(t *testing.T, test func(t *testing.T, ctx context.Context, a *application)) {
	made := func() *application {
		a := &application{Shop: New()}
		a.Mux.Use(middleware.Trace(), a.metrics.Middleware())
		a.Mux.Use(middleware.Reports(a.report))
		return a
	}
	t.Run("immediate", func(t *testing.T) {
		a := made()
		a.client = ergontest.Immediate(a.Mux)
		test(t, context.Background(), a)
	})
	t.Run("server", func(t *testing.T) {
		a := made()
		a.client = ergontest.Work(t, a.Mux, ergontest.Server(t), ergon.WorkOptions{Slots: 2})
		test(t, context.Background(), a)
	})
}

func (a *application) report(r middleware.Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reports = append(a.reports, r)
}

func (a *application) reported() []middleware.Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reports
}

var order = Order{ID: "7", Customer: "ann", Items: []Item{{"apple", 120}, {"pear", 80}}}

// same fails the test unless what was seen is what was wanted.
func same(t *testing.T, seen, wanted any) {
	t.Helper()
	if err, is := seen.(error); is {
		seen = err.Error()
	}
	if !reflect.DeepEqual(seen, wanted) {
		t.Errorf("%#v instead of %#v", seen, wanted)
	}
}

func TestAnOrderIsChargedOnce(t *testing.T) {
	both(t, func(t *testing.T, ctx context.Context, a *application) {
		once := a.Charge.With(ergon.With{"key": "7"})
		first, err := once.Submit(ctx, a.client, order)
		if err != nil {
			t.Fatal(err)
		}
		receipt, err := first.Wait(ctx)
		same(t, receipt, Receipt{"7", 200})
		same(t, err, nil)
		second, _ := once.Submit(ctx, a.client, order)
		same(t, []any{second.ID, second.Said["duplicate"]}, []any{first.ID, true})
		called, err := a.Charge.Call(ctx, a.client, order)
		same(t, called, Receipt{"7", 200})
		same(t, err, nil)
	})
}

func TestWhatIsWrongIsRefusedForGood(t *testing.T) {
	both(t, func(t *testing.T, ctx context.Context, a *application) {
		task, _ := a.Charge.Submit(ctx, a.client, Order{ID: "8"})
		_, err := task.Wait(ctx)
		same(t, err, "PERMANENT: there is nothing to pay")
		failed := err.(*ergon.Error).Data.(map[string]any)
		same(t, []any{failed["state"], failed["attempt"]}, []any{"failed", int64(1)})
		_, err = a.client.Call(ctx, "task.call", "shop.mail", []any{"ann", 5}, map[string]any{"retries": 3})
		same(t, err, "BAD_PARAMS: shop.mail: the parameter text must be a text, not the integer 5")
		same(t, len(a.reported()), 1)
		same(t, []string{a.reported()[0].Tags["method"], a.reported()[0].Tags["task"]}, []string{"shop.charge", task.ID})
	})
}

func TestALetterIsTriedAgain(t *testing.T) {
	both(t, func(t *testing.T, ctx context.Context, a *application) {
		a.busy.Store(2)
		task, _ := a.Mail.Submit(ctx, a.client, Letter{To: "ann", Text: "hello"})
		sent, err := task.Wait(ctx)
		same(t, []any{sent, err}, []any{true, nil})
		shown, _ := task.Get(ctx)
		same(t, shown.(map[string]any)["attempt"], int64(3))
		same(t, len(a.reported()), 2)
		text := bytes.Buffer{}
		a.metrics.WriteTo(&text)
		for _, line := range []string{`{method="shop.mail",outcome="done"} 1`, `{method="shop.mail",outcome="failed"} 2`} {
			same(t, strings.Contains(text.String(), line), true)
		}
	})
}

func TestAnOrderIsPlacedStepByStep(t *testing.T) {
	both(t, func(t *testing.T, ctx context.Context, a *application) {
		steps, err := a.Place.Call(ctx, a.client, order)
		same(t, err, nil)
		ended, open, err := a.client.Wait(ctx, false, steps)
		same(t, []any{len(ended), len(open), err}, []any{2, 0, nil})
		for _, task := range ended {
			same(t, task["state"], "done")
		}
		steps, _ = a.Place.Call(ctx, a.client, Order{ID: "9", Customer: "bob"})
		_, err = a.client.Task(steps[1]).Wait(ctx)
		same(t, ergon.Code(err), "AFTER")
		same(t, len(a.reported()[0].Breadcrumbs), 0) // of the charge
	})
}

func TestManyOrdersAndAChain(t *testing.T) {
	both(t, func(t *testing.T, ctx context.Context, a *application) {
		receipts, err := a.Charge.Map(ctx, a.client, []Order{order, {ID: "8", Items: order.Items[:1]}})
		same(t, []any{receipts, err}, []any{[]Receipt{{"7", 200}, {"8", 120}}, nil})
		_, err = a.Charge.Map(ctx, a.client, []Order{order, {ID: "9"}})
		same(t, err, "PERMANENT: there is nothing to pay")
		last, err := a.Mux.Chain(ctx, a.client, a.Charge.Order(order), a.Mail.Order(Letter{To: "ann", Text: "hello"}))
		same(t, err, nil)
		sent, err := last.Wait(ctx)
		same(t, []any{sent, err}, []any{true, nil})
	})
}

func TestACartKeepsWhatIsInIt(t *testing.T) {
	both(t, func(t *testing.T, ctx context.Context, a *application) {
		cart := a.client.Actor("cart/42")
		for i, item := range order.Items {
			count, err := cart.Call(ctx, "add", item.SKU, item.Cents)
			same(t, []any{count, err}, []any{int64(i + 1), nil})
		}
		sum, err := Total(ctx, a.client, "cart/42")
		same(t, []any{sum, err}, []any{int64(200), nil})
		shown, err := cart.Get(ctx)
		same(t, []any{shown["version"], shown["stage"], err}, []any{int64(2), "sleeping", nil})
	})
}
