// Package ergontest runs the methods of a Mux in tests: at once in the process of the test, or by a server of its own.
package ergontest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	ergon "ergon-client"
	"ergon-client/msgpack"
)

const againMost = 1000 // how often a handler may put itself off

// immediate is what a client of Immediate talks to, in place of a server.
type immediate struct {
	mux     *ergon.Mux
	client  *ergon.Client
	answers map[string]func(ctx context.Context, params []any) (any, error)

	mu     sync.Mutex
	last   int
	ends   map[string]chan struct{}  // by id, closed when the task has ended
	tasks  map[string]map[string]any // by id, as task.get shows them
	keys   map[string]string         // the id of the task with a key
	actors map[string]*actor
}

type actor struct {
	turn    sync.Mutex // held while a message runs
	state   any
	version int64
	stopped string
}

// Immediate is a client that runs what is submitted or called at once, in this process, through middleware, conversions and
// retries, without a wait; results are as a server gives them. It knows tasks (key, after, after_any, attempt_timeout, retries;
// other options change nothing), messages to actors with what their turns send, and crons, which do not fire. Any other
// request is an error (NO_METHOD): use Server.
func Immediate(mux *ergon.Mux) *ergon.Client {
	i := &immediate{mux: mux, tasks: map[string]map[string]any{}, keys: map[string]string{}}
	i.actors, i.ends = map[string]*actor{}, map[string]chan struct{}{}
	i.answers = map[string]func(context.Context, []any) (any, error){
		"task.submit": i.submit, "task.submit_many": i.submitMany, "task.call": i.call, "task.wait": i.wait, "task.get": i.get,
		"task.cancel": i.cancel, "cron.put": i.cronPut,
		"actor.call": i.actorCall, "actor.tell": i.actorTell, "actor.get": i.actorGet,
	}
	i.client = ergon.Local(i.answer)
	return i.client
}

func (i *immediate) answer(ctx context.Context, method string, params []any) (any, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	answer := i.answers[method]
	if answer == nil {
		return nil, fault("NO_METHOD", "ergontest.Immediate does not know %s: use ergontest.Server", method)
	}
	plain, err := msgpack.Copy(params)
	if err != nil {
		return nil, err
	}
	result, err := answer(ctx, plain.([]any))
	if err != nil {
		return nil, err
	}
	return msgpack.Copy(result)
}

func fault(code, format string, args ...any) *ergon.Error {
	return &ergon.Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// at is a parameter, or nil.
func at(params []any, i int) any {
	if i < len(params) {
		return params[i]
	}
	return nil
}

// order is the method, the parameters and the options of a submission.
func order(params []any) (method string, list []any, options map[string]any) {
	method, _ = at(params, 0).(string)
	list, _ = at(params, 1).([]any)
	options, _ = at(params, 2).(map[string]any)
	return method, list, options
}

// ---- tasks ----

func (i *immediate) submit(ctx context.Context, params []any) (any, error) {
	method, list, options := order(params)
	return i.do(ctx, method, list, options, nil)
}

func (i *immediate) submitMany(ctx context.Context, params []any) (any, error) {
	defaults, _ := at(params, 1).(map[string]any)
	orders, _ := at(params, 0).([]any)
	answers := []any{}
	for _, one := range orders {
		method, list, own := order(one.([]any))
		options := map[string]any{}
		for _, some := range []map[string]any{defaults, own} {
			for name, value := range some {
				options[name] = value
			}
		}
		answer, err := i.do(ctx, method, list, options, nil)
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// do makes a task and runs it to its end, unless there is one with its key; the answer is that of task.submit.
func (i *immediate) do(ctx context.Context, method string, params []any, options map[string]any, to *message) (any, error) {
	key, isText := options["key"].(string)
	if options["key"] != nil && !isText {
		return nil, fault("BAD_PARAMS", "key is a text, not %v", options["key"])
	}
	if err := eachResult(params, func(id string) (any, error) { return nil, namedBy(options, id) }, false); err != nil {
		return nil, err
	}
	if to != nil && key != "" {
		key = to.name + " " + key
	}
	retries := options["retries"]
	if to != nil && retries == nil {
		kind, _, _ := strings.Cut(method, ".")
		plain, err := msgpack.Copy(i.mux.ActorType(kind).Policy["retries"])
		if err != nil {
			return nil, err
		}
		retries = plain
	}
	if err := i.check(method, map[string]any{"timeout": options["timeout"], "retries": retries}); err != nil {
		return nil, err
	}
	i.mu.Lock()
	if id := i.keys[key]; id != "" {
		defer i.mu.Unlock()
		return submitted(i.tasks[id], true), nil
	}
	failure := i.before(options)
	if ergon.Code(failure) == "NOT_FOUND" {
		i.mu.Unlock()
		return nil, failure
	}
	i.last++
	id := fmt.Sprintf("t%d", i.last)
	task := map[string]any{"id": id, "method": method, "state": "running", "attempt": int64(0), "error": nil, "result": nil,
		"cut": false, "key": options["key"]}
	i.tasks[id], i.ends[id] = task, make(chan struct{})
	defer close(i.ends[id])
	if key != "" {
		i.keys[key] = id
	}
	i.mu.Unlock()
	var result any
	attempts, state, sent := int64(0), "failed", &sends{}
	if failure == nil {
		most, _ := retries.(int64)
		result, attempts, state, failure = i.attempts(detached{ctx}, id, method, params, options, most, to, sent)
	}
	i.mu.Lock()
	task["state"], task["attempt"], task["result"] = state, attempts, result
	if failure != nil {
		task["error"] = failure.Error()
	}
	said := submitted(task, false)
	i.mu.Unlock()
	if state == "done" {
		i.send(detached{ctx}, sent)
	}
	return said, nil
}

// check says what is wrong with a submission.
func (i *immediate) check(method string, options map[string]any) error {
	if n, is := options["timeout"].(int64); options["timeout"] != nil && (!is || n < 0) {
		return fault("BAD_PARAMS", "timeout is in milliseconds, not %v", options["timeout"])
	}
	if n, is := options["retries"].(int64); options["retries"] != nil && (!is || n < 0) {
		return fault("BAD_PARAMS", "retries is a number from 0 on, not %v", options["retries"])
	}
	if !i.mux.Has(method) {
		return fault("NO_METHOD", "the Mux has no method %q", method)
	}
	return nil
}

// submitted is the answer to a submission. The caller holds the lock.
func submitted(task map[string]any, duplicate bool) map[string]any {
	return map[string]any{"id": task["id"], "state": task["state"], "durable": "none", "duplicate": duplicate, "coalesced": false}
}

// before says whether the tasks of after and after_any let this one run. The caller holds the lock.
func (i *immediate) before(options map[string]any) error {
	for name, mayFail := range map[string]bool{"after": false, "after_any": true} {
		ids, _ := options[name].([]any)
		for _, one := range ids {
			id, _ := one.(string)
			task := i.tasks[id]
			if task == nil {
				return fault("NOT_FOUND", "there is no task %s", id)
			}
			if task["state"] != "done" && !mayFail {
				return fault("AFTER", "task %s is %s", id, task["state"])
			}
		}
	}
	return nil
}

// detached ends with the context of a caller, and has nothing else of it but the turns that wait.
type detached struct{ context.Context }

func (d detached) Deadline() (time.Time, bool) { return time.Time{}, false }

func (d detached) Value(key any) any {
	if key == (turns{}) {
		return d.Context.Value(key)
	}
	return nil
}

// attempts runs a task as often as its policy says.
func (i *immediate) attempts(ctx context.Context, id, method string, params []any, options map[string]any, retries int64,
	to *message, sent *sends) (result any, attempt int64, state string, err error) {
	failures, again := int64(0), 0
	for attempt = 1; ; attempt++ {
		*sent = sends{checkpoint: sent.checkpoint}
		told := map[string]any{"task": id, "attempt": attempt, "tenant": "", "traceparent": options["traceparent"],
			"tracestate": options["tracestate"], "batch": options["batch"], "client": i.client, "checkpoint": sent.checkpoint,
			"worker": sent.take}
		result, err := i.attempt(ctx, method, params, options, told, to)
		if err == nil {
			err = i.possible(sent)
		}
		switch code := ergon.Code(err); {
		case err == nil:
			return result, attempt, "done", nil
		case code == "AGAIN" && again < againMost:
			again++
		case code == "CANCELLED" && ctx.Err() != nil:
			return nil, attempt, "cancelled", err
		case failures >= retries && retries > 0 && !permanent(code):
			return nil, attempt, "dead", err
		case failures >= retries || permanent(code):
			return nil, attempt, "failed", err
		default:
			failures++
		}
	}
}

func permanent(code string) bool {
	switch code {
	case "BAD_PARAMS", "NO_METHOD", "NO_EXECUTOR", "DENIED", "TOO_LARGE", "TOO_DEEP":
		return true
	}
	return strings.HasPrefix(code, "PERMANENT")
}

func (i *immediate) attempt(ctx context.Context, method string, params []any, options, told map[string]any, to *message) (
	any, error) {
	ctx, cancel := context.WithCancel(ctx)
	limit, limited := options["timeout"].(int64)
	if limited && limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(limit)*time.Millisecond)
	}
	defer cancel()
	own, err := msgpack.Copy(params) // which the handler may change
	if err == nil {
		err = eachResult(own, func(id string) (any, error) { return i.resultOf(map[string]any{"id": id}, nil) }, true)
	}
	if err != nil {
		return nil, err
	}
	var result any
	if to != nil {
		result, err = i.turn(ctx, to, method, own.([]any), told)
	} else {
		result, err = i.mux.Run(ctx, method, own.([]any), told)
	}
	if limited && ctx.Err() == context.DeadlineExceeded {
		return nil, fault("DEADLINE", "attempt %d took longer than its timeout of %d ms", told["attempt"], limit)
	}
	if err != nil {
		return nil, err
	}
	return msgpack.Copy(result)
}

func (i *immediate) call(ctx context.Context, params []any) (any, error) {
	method, list, options := order(params)
	return i.resultOf(i.do(ctx, method, list, options, nil))
}

// resultOf is the result or the error of a task that was submitted.
func (i *immediate) resultOf(answer any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	task := i.tasks[answer.(map[string]any)["id"].(string)]
	if text, failed := task["error"].(string); failed {
		code, rest, _ := strings.Cut(text, ": ")
		return nil, &ergon.Error{Code: code, Text: rest}
	}
	return task["result"], nil
}

func (i *immediate) find(id any) (map[string]any, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	name, _ := id.(string)
	if task := i.tasks[name]; task != nil {
		copy := map[string]any{}
		for name, value := range task {
			copy[name] = value
		}
		return copy, nil
	}
	return nil, fault("NOT_FOUND", "there is no task %s", name)
}

func (i *immediate) get(ctx context.Context, params []any) (any, error) { return i.find(at(params, 0)) }

// wait has all tasks: those that a goroutine beside still runs end first.
func (i *immediate) wait(ctx context.Context, params []any) (any, error) {
	ended := []any{}
	ids, _ := at(params, 0).([]any)
	for _, id := range ids {
		task, err := i.find(id)
		if err == nil && task["state"] == "running" {
			i.mu.Lock()
			end := i.ends[task["id"].(string)]
			i.mu.Unlock()
			select {
			case <-end:
				task, err = i.find(id)
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			return nil, err
		}
		ended = append(ended, task)
	}
	return map[string]any{"ended": ended, "open": []any{}}, nil
}

func (i *immediate) cancel(ctx context.Context, params []any) (any, error) {
	task, err := i.find(at(params, 0))
	if err != nil {
		return nil, err
	}
	return map[string]any{"id": task["id"], "state": task["state"], "cancelled": false}, nil
}

func (i *immediate) cronPut(ctx context.Context, params []any) (any, error) {
	return map[string]any{"name": at(params, 0), "next": nil}, nil
}
