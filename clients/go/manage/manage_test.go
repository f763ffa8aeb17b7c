package manage_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	ergon "ergon-client"
	"ergon-client/ergontest"
	"ergon-client/manage"
)

func same(t *testing.T, seen, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(seen, wanted) {
		t.Errorf("%#v instead of %#v", seen, wanted)
	}
}

func good[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func all[T any](t *testing.T, ctx context.Context, pages *manage.Pages[T]) (values []T) {
	t.Helper()
	for pages.Next(ctx) {
		values = append(values, pages.Value)
	}
	if err := pages.Err(); err != nil {
		t.Error(err)
	}
	return values
}

type none struct{}

// TestAll works on one server, since each begins for some milliseconds.
func TestAll(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	mux := ergon.NewMux()
	add := ergon.Handle(mux, "add", func(_ *ergon.Context, n int) (int, error) { return n + 1, nil })
	belongs := ergon.Handle(mux, "belongs", func(ctx *ergon.Context, _ none) ([]string, error) {
		return []string{ctx.Batch, ctx.CallbackOf}, nil
	})
	add.With(ergon.With{"priority": 7}).Cron("nightly", "@daily", 5, ergon.With{"zone": "Europe/Berlin"})
	mux.Actor("cart", ergon.ActorType{Methods: map[string]ergon.ActorMethod{
		"add": func(a *ergon.Actor, params []any) (any, error) { a.State["n"] = params[0]; return nil, nil }}})
	c := ergontest.Work(t, mux, ergontest.Server(t), ergon.WorkOptions{Name: "tester"})

	crons := good(c.Crons(ctx))
	same(t, []any{len(crons), crons[0].Name, crons[0].Schedule, crons[0].Zone, crons[0].Params, crons[0].Next > 0},
		[]any{1, "nightly", "@daily", "Europe/Berlin", []any{int64(5)}, true})
	same(t, crons[0].Options["priority"], int64(7))
	same(t, c.CronPause(ctx, "nightly"), nil)
	same(t, good(c.Crons(ctx))[0].Paused, true)
	same(t, c.CronResume(ctx, "nightly"), nil)
	run := good(c.CronRun(ctx, "nightly"))
	same(t, good(run.Wait(ctx)), int64(6))
	same(t, good(c.CronDelete(ctx, "nightly")), true)
	same(t, good(c.CronDelete(ctx, "nightly")), false)

	same(t, c.QueuePause(ctx, "add"), nil)
	waiting := good(add.Submit(ctx, c, 1))
	queue := good(c.QueueExplain(ctx, "add"))
	same(t, []any{queue.Method, queue.Paused, queue.Waiting + queue.Queued, queue.Done, queue.Reason},
		[]any{"add", true, int64(1), int64(1), "paused"})
	same(t, c.QueueResume(ctx, "add"), nil)
	same(t, good(waiting.Wait(ctx)), 2)
	same(t, c.QueueDrain(ctx, "add"), nil)
	_, err := add.Submit(ctx, c, 1)
	same(t, ergon.Code(err), "DRAINING")
	same(t, c.QueueResume(ctx, "add"), nil)
	same(t, len(good(c.Queues(ctx))), 3) // cart.add and belongs, too

	same(t, c.SemCreate(ctx, "gpu", 3), nil)
	hold := good(c.Acquire(ctx, "gpu", ergon.SemOptions{Permits: 2}))
	sem := good(c.SemExplain(ctx, "gpu"))
	same(t, []any{sem.Name, sem.Permits, sem.Free, sem.Held, len(sem.Holders)}, []any{"gpu", int64(3), int64(1), int64(1), 1})
	same(t, c.SemRevoke(ctx, "gpu", hold.Fence), nil)
	same(t, good(c.Sems(ctx))[0].Free, int64(3))
	hold.Release()
	same(t, good(c.SemDelete(ctx, "gpu")), true)

	for n := 0; n < 5; n++ {
		good(good(add.Submit(ctx, c, n)).Wait(ctx))
	}
	tasks := all(t, ctx, c.Tasks(ergon.With{"method": "add", "newer": "1h", "limit": 3}))
	same(t, []any{len(tasks), tasks[0].State, tasks[0].Method, tasks[0].Created > 0}, []any{7, "done", "add", true})
	same(t, all(t, ctx, c.Tasks(ergon.With{"state": "failed"})), []manage.TaskInfo(nil))
	changed := good(c.ForgetMany(ctx, ergon.With{"state": "done", "dry_run": true}))
	same(t, []any{changed.Matched, changed.DryRun}, []any{int64(7), true})
	same(t, good(c.CancelMany(ctx, ergon.With{"method": "add"})).Cancelled, int64(0))
	same(t, good(c.RetryMany(ctx, ergon.With{"all": true})).Retried, int64(0))
	_, err = c.CancelMany(ctx, ergon.With{"stat": "done"})
	same(t, err.Error(), `BAD_PARAMS: task.cancel has no option "stat"; did you mean "state"?`)

	c.Actor("cart/1").Call(ctx, "add", 1)
	actors := all(t, ctx, c.Actors(ergon.With{"type": "cart"}))
	same(t, []any{len(actors), actors[0]["actor"]}, []any{1, "cart/1"})
	workers := all(t, ctx, c.Workers(nil))
	same(t, []any{len(workers), workers[0]["name"]}, []any{1, "tester"})
	same(t, good(c.Info(ctx))["server"], "ergon")

	batch := good(c.BatchCreate(ctx, ergon.With{"on_end": []any{"add", []any{4}, ergon.With{"delay": "1h"}}, "keep": "2h"}))
	good(add.With(ergon.With{"batch": batch.ID, "delay": "1h"}).Submit(ctx, c, 1))
	same(t, good(c.BatchClose(ctx, batch.ID)).Total, int64(1))
	same(t, good(c.BatchCancel(ctx, batch.ID)).State, "cancelling")
	batch = good(c.BatchGet(ctx, batch.ID, "30s"))
	same(t, []any{batch.State, batch.Outcome, batch.Cancelled}, []any{"ended", "cancelled", int64(1)})

	batch = good(c.BatchCreate(ctx, ergon.With{"on_end": []any{"belongs"}}))
	same(t, good(good(belongs.With(ergon.With{"batch": batch.ID}).Submit(ctx, c, none{})).Wait(ctx)), []string{batch.ID, ""})
	short, enough := context.WithTimeout(ctx, 100*time.Millisecond)
	_, err = c.BatchWait(short, batch.ID)
	enough()
	same(t, errors.Is(err, context.DeadlineExceeded), true)
	good(c.BatchClose(ctx, batch.ID))
	batch = good(c.BatchWait(ctx, batch.ID))
	same(t, []any{batch.State, batch.Outcome}, []any{"ended", "done"})
	same(t, good(c.Task(batch.OnEnd["task"].(string)).Wait(ctx)), []any{"", batch.ID})
	_, err = c.BatchWait(ctx, "b0000000000001")
	same(t, ergon.Code(err), "NOT_FOUND")

	feed := c.Events(ergon.With{"after": "oldest", "event": "done", "method": "add"})
	for n := 0; n < 7; n++ {
		same(t, []any{feed.Next(ctx), feed.Value.Event, feed.Value.Method}, []any{true, "done", "add"})
	}
	cancel()
	same(t, []any{feed.Next(ctx), errors.Is(feed.Err(), context.Canceled)}, []any{false, true})
}
