package ergon

import (
	"context"
	"fmt"
	"sync/atomic"

	"ergon-client/internal/rpc"
	"ergon-client/msgpack"
)

// Handler runs a method. What it returns is the answer; an *Error is a failure of its code, another error and a panic one of
// the code FAILED; Again hands the task back for so long, Permanent is not tried again.
type Handler func(ctx *Context, params []any) (any, error)

// Context is that of one run of a handler. It ends when nobody waits for the result any more, and at the deadline, if there is
// one.
type Context struct {
	context.Context
	Method  string
	Task    string // its id, and its tenant; "" for a plain call
	Tenant  string
	Attempt int64 // from 1 on
	// The trace that it belongs to, as W3C Trace Context writes it; "": none
	Traceparent string
	Tracestate  string
	// The ids of the batch of which it is a member, and of the one that has submitted it at its end; "": none
	Batch      string
	CallbackOf string
	Client     *Client // of the worker, to call and submit with

	base    context.Context // as the server gave it, whatever middleware makes of Context; nil: of a test
	session *session
	id      any
	call    any             // a number, as a rule
	turn    map[string]any  // what a message to an actor says of it; nil: it is none
	changed *map[string]any // what the turn changes
	cancel  context.CancelFunc
	of      *serving
	worker  func(method string, params []any) error // in place of the server, in a test
	mux     *Mux                                    // whose middleware is round what it submits, or nil
	last    any                                     // checkpoint
	changes map[string]any                          // of a turn, once it runs
	calls   int                                     // that its turn made to actors
	calling atomic.Bool                             // one of them is out
	ask     asks                                    // in place of actors, in a test

	why      string // of's mu guards these
	answered bool
}

// contextOf is what the server says of a run, without a connection.
func contextOf(method string, told map[string]any) *Context {
	c := &Context{Method: method, Attempt: 1, call: told["call"]}
	c.Task, _ = told["task"].(string)
	if attempt, ok := told["attempt"].(int64); ok {
		c.Attempt = attempt
	}
	c.Tenant, _ = told["tenant"].(string)
	c.Traceparent, _ = told["traceparent"].(string)
	c.Tracestate, _ = told["tracestate"].(string)
	c.Batch, _ = told["batch"].(string)
	c.CallbackOf, _ = told["callback_of"].(string)
	if told["actor"] != nil {
		c.turn = told
	}
	c.ask, _ = told["ask"].(asks)
	c.worker, _ = told["worker"].(func(string, []any) error)
	c.last = told["checkpoint"]
	c.Client, _ = told["client"].(*Client)
	return c
}

// asks answers a call of a turn.
type asks = func(to, method string, params []any) (any, error)

// Cancelled says why nobody waits for the result any more, or "": "cancelled", "deadline", "gone" (the caller), "draining" (the
// server ends), "lost" (the connection), "stopping" (this worker ends).
func (c *Context) Cancelled() string {
	if c.of == nil { // of a test
		return map[bool]string{true: "cancelled"}[c.Err() != nil]
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	switch {
	case c.why != "":
		return c.why
	case c.session.Base.Err() != nil:
		return "lost"
	case c.base.Err() == context.DeadlineExceeded:
		return "deadline"
	}
	return ""
}

// Progress tells how far it is; whoever watches the task sees it. A total of 0 is not known.
func (c *Context) Progress(done, total int64, text string) error {
	return c.tell("worker.progress", done, total, text)
}

// Partial gives a part of the result to whoever watches the task. ErrTooLarge: it is larger than the server takes.
func (c *Context) Partial(value any) error {
	return c.tell("worker.partial", value)
}

// callActor makes a call of this turn. The next attempt of the message makes it with the same key, and so gets the same answer.
func (c *Context) callActor(to, method string, params []any, options map[string]any) (any, error) {
	if c.session == nil {
		if c.ask == nil {
			return nil, bad("the turn calls %s %s, and nothing answers it", to, method)
		}
		return c.ask(to, method, params)
	}
	if !c.calling.CompareAndSwap(false, true) {
		return nil, &Error{Code: "BUSY", Text: "a turn has one call out at a time: wait for its result before the next call"}
	}
	defer c.calling.Store(false)
	c.calls++
	if options["turn"] = c.call; options["key"] == nil {
		of, is := c.turn["calls"].(string)
		if !is { // of a server that does not know it
			of = c.Task
		}
		options["key"] = fmt.Sprintf("%s/%d", of, c.calls)
	}
	return c.request("actor.call", to, method, params, options)
}

func (c *Context) request(method string, params ...any) (any, error) {
	if c.session == nil {
		if c.worker == nil {
			return nil, bad("nothing takes %s of this run: use ergontest", method)
		}
		return nil, c.worker(method, params)
	}
	result, err := c.session.Request(c, method, params)
	if err == rpc.ErrUnsent {
		err = fail(ErrBroken, "the connection of the run has ended")
	}
	return result, err
}

// Submit submits a task when this attempt ends well: all that it submits, with its end, or nothing. Options are those of
// Client.Submit, but after. An error: the server refuses it; then the attempt fails, whatever its handler returns.
func (c *Context) Submit(with With, method string, params ...any) error {
	return c.SubmitMany(Order{method, params, with})
}

// SubmitMany is Submit of many, such as Method.Order makes.
func (c *Context) SubmitMany(orders ...Order) error {
	wires := []any{}
	submit := func(_ context.Context, o Order) (*Task, error) {
		wire, _, err := o.wire("Submit", taskOptions)
		wires = append(wires, wire)
		return nil, err
	}
	for _, o := range orders {
		var err error
		if c.mux == nil {
			_, err = submit(c, o)
		} else {
			_, err = c.mux.submit(c, o, submit)
		}
		if err != nil {
			return err
		}
	}
	return c.send("task", wires)
}

// Tell sends a message to an actor, as Submit does.
func (c *Context) Tell(with With, to, method string, params ...any) error {
	wire, _, err := Order{method, params, with}.wire("Tell", messageOptions)
	if err != nil {
		return err
	}
	return c.send("tell", []any{append([]any{to}, wire...)})
}

func (c *Context) send(kind string, orders []any) error {
	if c.changes != nil {
		plain, err := msgpack.Copy(orders)
		sent, _ := c.changes[kind].([]any)
		c.changes[kind] = append(sent, plain.([]any)...)
		return err
	}
	_, err := c.request("worker.submit", c.call, map[string]any{kind: orders})
	return err
}

// Save keeps a value of at most 64 KiB with the task, for Checkpoint in its next attempts; nil: there is none any more. BUSY: too
// much is on its way to the server, and the one before stays.
func (c *Context) Save(value any) error {
	value, err := msgpack.Copy(value)
	var saved any
	if err == nil {
		saved, err = c.request("worker.checkpoint", c.call, value)
	}
	if err == nil && saved == false {
		err = &Error{Code: "BUSY", Text: "too much is on its way to the server: the checkpoint before stays", Retryable: true}
	}
	if err == nil {
		c.last = value
	}
	return err
}

// Checkpoint is what Save was last given, also by an attempt before; the zero value: nothing.
func Checkpoint[T any](c *Context) (value T, err error) {
	if c.last == nil {
		return value, nil
	}
	return decoded[T](c.last, nil)
}

func (c *Context) tell(method string, params ...any) error {
	if c.session == nil {
		return nil // of ActorType.Turn
	}
	err := c.session.Send(c, []any{rpc.Notification, method, append([]any{c.call}, params...)})
	if err == rpc.ErrUnsent || c.Err() != nil {
		return nil // nobody waits for it
	}
	return err
}

// end is called under the lock.
func (c *Context) end(why string) {
	if c.why == "" {
		c.why = why
		c.cancel()
	}
}
