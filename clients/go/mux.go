package ergon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"ergon-client/internal/options"
	"ergon-client/internal/pause"
	"ergon-client/msgpack"
)

// Mux is a registry: methods with the types of their parameters and results, types of actors, crons, and the middleware round
// them. It is filled before it works; wrong names of options, and types that cannot be converted, panic then.
//
//	mux := ergon.NewMux()
//	func pay(ctx *ergon.Context, p ChargeParams) (Receipt, error) { … }
//
//	charge := ergon.Handle(mux, "charge", pay, ergon.With{"retries": 3})
//	task, err := charge.Submit(ctx, client, ChargeParams{…})
//	receipt, err := task.Wait(ctx)
//	err = mux.Work(ctx, client, ergon.WorkOptions{Slots: 8})
type Mux struct {
	handlers map[string]Handler
	actors   map[string]ActorType
	crons    []func(context.Context, *Client) error
	around   []Middleware

	mu      sync.Mutex
	wrapped map[string]Handler // for Run: all, with the middleware; nil: not made since something was added
}

// NewMux is an empty Mux.
func NewMux() *Mux { return &Mux{handlers: map[string]Handler{}, actors: map[string]ActorType{}} }

// Submitter leaves a task with the server. For Method.Call and Map it returns no task.
type Submitter func(ctx context.Context, o Order) (*Task, error)

// Middleware goes round all handlers of a Mux, methods of actors among them, and round what its methods submit; either may be
// nil.
type Middleware struct {
	Handler func(next Handler) Handler
	Submit  func(next Submitter) Submitter
}

// Use adds middleware: the first one is the outermost.
func (m *Mux) Use(all ...Middleware) { m.around, m.wrapped = append(m.around, all...), nil }

// Actor adds a type of actors.
func (m *Mux) Actor(name string, t ActorType) { m.actors[name], m.wrapped = t, nil }

// ActorType is the type of actors of a name; without methods if there is none.
func (m *Mux) ActorType(name string) ActorType { return m.actors[name] }

// Has says whether there is a handler of a method, also of one of actors, such as "cart.add".
func (m *Mux) Has(method string) bool {
	kind, rest, _ := strings.Cut(method, ".")
	return m.handlers[method] != nil || m.actors[kind].Methods[rest] != nil
}

// Work offers all methods, as Client.Work does, and then puts the crons; it ends with the error if one is refused for good.
func (m *Mux) Work(ctx context.Context, c *Client, o WorkOptions) error {
	actors := map[string]ActorType{}
	for _, some := range []map[string]ActorType{m.actors, o.Actors} {
		for name, t := range some {
			actors[name] = t
		}
	}
	within, stop := context.WithCancel(ctx)
	defer stop()
	refused, ready := make(chan error, 1), o.OnReady
	o.Actors, o.round, o.OnReady = actors, m.round, func() {
		go func() {
			if err := m.put(within, c); err != nil {
				refused <- err
				stop()
			} else if ready != nil {
				ready()
			}
		}()
	}
	err := c.Work(within, o, m.handlers)
	select {
	case why := <-refused:
		if ctx.Err() == nil {
			return why
		}
	default:
	}
	return err
}

func (m *Mux) put(ctx context.Context, c *Client) error {
	for i, attempt := 0, 0; i < len(m.crons); attempt++ {
		err, e := m.crons[i](ctx, c), (*Error)(nil)
		switch {
		case err == nil:
			i, attempt = i+1, -1
		case errors.Is(err, ErrBroken) || errors.As(err, &e) && e.Retryable: // it replaces what an attempt before has put
			if err = pause.Sleep(ctx, pause.For(attempt, pauseMin, pauseMax)); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return nil
}

// Run runs a method as a worker does, without a server, for tests: told is the map that the server adds to the parameters. Its
// "ask" is a func(to, method string, params []any) (any, error) that answers the calls of a turn, its "worker" a
// func(method string, params []any) error that takes what the run asks the server, its "client" is that of the Context. The
// error is an *Error, as callers get it.
func (m *Mux) Run(ctx context.Context, method string, params []any, told map[string]any) (any, error) {
	m.mu.Lock()
	if m.wrapped == nil {
		m.wrapped = withActors(m.handlers, m.actors, m.round)
	}
	run := m.wrapped[method]
	m.mu.Unlock()
	if run == nil {
		return nil, &Error{Code: "NO_METHOD", Text: fmt.Sprintf("the Mux has no method %q", method)}
	}
	c := contextOf(method, told)
	c.Context = ctx
	result, err := protected(c, run, params)
	if err != nil {
		code, text := codeOf(err)
		return nil, &Error{Code: code, Text: text}
	}
	return result, nil
}

func (m *Mux) round(h Handler) Handler {
	for i := len(m.around) - 1; i >= 0; i-- {
		if m.around[i].Handler != nil {
			h = m.around[i].Handler(h)
		}
	}
	if len(m.around) == 0 {
		return h
	}
	return func(c *Context, params []any) (any, error) {
		c.mux = m
		return h(c, params)
	}
}

func (m *Mux) submit(ctx context.Context, o Order, s Submitter) (*Task, error) {
	for i := len(m.around) - 1; i >= 0; i-- {
		if m.around[i].Submit != nil {
			s = m.around[i].Submit(s)
		}
	}
	return s(ctx, o)
}

// Chain submits tasks each of which begins when the one before is done, and those of its own "after", and returns the last one.
// Result among the parameters is the result of the one before.
func (m *Mux) Chain(ctx context.Context, c *Client, orders ...Order) (last *Task, err error) {
	for _, o := range orders {
		if last != nil {
			o.With = o.With.and(With{"after": []any{last, own(o.With["after"])}})
			o.Params, err = named(o.Params, func(id string) (string, error) {
				if id == "" {
					id = last.ID
				}
				return id, nil
			})
			if err != nil {
				return nil, err
			}
		}
		last, err = m.submit(ctx, o, func(ctx context.Context, o Order) (*Task, error) {
			return c.Submit(ctx, o.With, o.Method, o.Params...)
		})
		if err != nil {
			return nil, err
		}
	}
	return last, nil
}

// own are the tasks that an order names itself.
func own(after any) any {
	if after == nil {
		return []string{}
	}
	return after
}

const group = 1000 // tasks of Map in a request

// Method is a method of a Mux with parameters P, a result R, and a policy. A P that is a struct is one parameter, a map; with the
// tag `msgpack:",array"` of a field struct{} its fields are the parameters, in their order; struct{} is none. Package msgpack has
// the rules.
type Method[P, R any] struct {
	Name   string
	mux    *Mux
	with   With
	result msgpack.Decoder[R]
}

// Handle adds a method, and says how to submit it: the policy has options of a task, such as retries. Parameters that do not fit
// P fail the task for good, before run is called. A nil run is that of another program: the method can only be submitted.
func Handle[P, R any](m *Mux, name string, run func(*Context, P) (R, error), policy ...With) *Method[P, R] {
	t := &Method[P, R]{Name: name, mux: m, result: must(msgpack.For[R]())}
	for _, one := range policy {
		t.with = t.with.and(one)
	}
	must(t.with.told("the policy of "+name, common))
	if m.handlers[name] != nil {
		panic("ergon: two handlers have the name " + name)
	}
	if params := paramsOf[P](name); run != nil {
		m.wrapped = nil
		m.handlers[name] = func(c *Context, given []any) (any, error) {
			p, err := params(given)
			if err != nil {
				return nil, err
			}
			return run(c, p)
		}
	}
	return t
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Errorf("ergon: %w", err))
	}
	return value
}

// paramsOf makes what checks and converts the parameters of a method.
func paramsOf[P any](name string) func([]any) (P, error) {
	decoder, isArray := must(msgpack.For[P]()), msgpack.IsArray(reflect.TypeOf((*P)(nil)).Elem())
	return func(given []any) (p P, err error) {
		if isArray {
			p, err = decoder.Decode(given)
		} else if len(given) == 1 {
			p, err = decoder.Decode(given[0])
		} else {
			return p, bad("%s has 1 parameter, not %d", name, len(given))
		}
		switch m, _ := err.(*msgpack.Mismatch); {
		case m == nil:
			return p, nil
		case isArray && m.Path == "":
			return p, bad("%s: the list of parameters %s", name, m.Text)
		case m.Path == "":
			return p, bad("%s: the parameter %s", name, m.Text)
		default:
			return p, bad("%s: the parameter %s %s", name, m.Path, m.Text)
		}
	}
}

// With is the method with more options, such as those of one submission.
func (t *Method[P, R]) With(more With) *Method[P, R] {
	other := *t
	other.with = t.with.and(more)
	return &other
}

// Params are the parameters as they go.
func (t *Method[P, R]) Params(p P) []any {
	if msgpack.IsArray(reflect.TypeOf(&p).Elem()) {
		return msgpack.Elements(p)
	}
	return []any{p}
}

// Order is a task that is not submitted yet, for Mux.Chain and Client.SubmitMany.
func (t *Method[P, R]) Order(p P) Order { return t.OrderOf(t.Params(p)...) }

// OrderOf is an Order of parameters as they go, among them results of tasks; they are checked when it runs.
func (t *Method[P, R]) OrderOf(params ...any) Order { return Order{t.Name, params, t.with} }

// Submit leaves a task with the server: Client.Submit.
func (t *Method[P, R]) Submit(ctx context.Context, c *Client, p P) (*TaskOf[R], error) {
	return t.SubmitOf(ctx, c, t.Params(p)...)
}

// SubmitOf is Submit of the parameters as of OrderOf.
func (t *Method[P, R]) SubmitOf(ctx context.Context, c *Client, params ...any) (*TaskOf[R], error) {
	task, err := t.mux.submit(ctx, t.OrderOf(params...), func(ctx context.Context, o Order) (*Task, error) {
		return c.Submit(ctx, o.With, o.Method, o.Params...)
	})
	if err != nil {
		return nil, err
	}
	return &TaskOf[R]{task, t.result}, nil
}

// Call returns the result: Client.CallWith.
func (t *Method[P, R]) Call(ctx context.Context, c *Client, p P) (R, error) {
	var result any
	_, err := t.mux.submit(ctx, t.Order(p), func(ctx context.Context, o Order) (_ *Task, err error) {
		result, err = c.CallWith(ctx, o.With, o.Method, o.Params...)
		return nil, err
	})
	return converted(t.result, result, err)
}

// Map submits a task for each of these, in groups, and returns their results in this order when all have ended, or one error.
// When the server refuses one task, others of its group, and of the groups before, may run.
func (t *Method[P, R]) Map(ctx context.Context, c *Client, all []P) ([]R, error) {
	orders, results := make([]Order, 0, len(all)), make([]R, len(all))
	for i, p := range all {
		_, err := t.mux.submit(ctx, t.Order(p), func(_ context.Context, o Order) (*Task, error) {
			orders = append(orders, o)
			return nil, nil
		})
		if times := len(orders) - i; err == nil && times != 1 {
			err = bad("middleware submitted task %d of Map %d times, not once", i, times)
		}
		if err != nil {
			return nil, err
		}
	}
	places := map[any][]int{} // several of one id, which has a key
	for i := 0; i < len(orders); i += group {
		tasks, errs, err := c.SubmitMany(ctx, nil, orders[i:min(i+group, len(orders))]...)
		for j := range tasks {
			if err = errs[j]; err != nil {
				break
			}
			places[tasks[j].ID] = append(places[tasks[j].ID], i+j)
		}
		if err != nil {
			return nil, err
		}
	}
	ids := make([]string, 0, len(places))
	for id := range places {
		ids = append(ids, id.(string))
	}
	ended, _, err := c.Wait(ctx, false, ids)
	for _, task := range ended {
		said, failure := resultOf(task)
		result, failure := converted(t.result, said, failure)
		if failure != nil {
			return nil, failure
		}
		for _, place := range places[task["id"]] {
			results[place] = result
		}
	}
	return results, err
}

// Cron has Work put a cron: the schedule is that of CronPut, and more has options of crons.
func (t *Method[P, R]) Cron(name string, schedule any, p P, more ...With) {
	with := t.with
	for _, one := range more {
		with = with.and(one)
	}
	must(with.told("the cron "+name, cronOptions))
	must(options.Schedule(schedule))
	t.mux.crons = append(t.mux.crons, func(ctx context.Context, c *Client) error {
		_, err := c.CronPut(ctx, name, schedule, with, t.Name, t.Params(p)...)
		return err
	})
}

// TaskOf is a task whose result is an R.
type TaskOf[R any] struct {
	*Task
	result msgpack.Decoder[R]
}

// Wait is Task.Wait. ErrProtocol: the result is no R.
func (t *TaskOf[R]) Wait(ctx context.Context) (R, error) {
	result, err := t.Task.Wait(ctx)
	return converted(t.result, result, err)
}

func converted[R any](d msgpack.Decoder[R], result any, err error) (R, error) {
	if err != nil {
		var none R
		return none, err
	}
	r, err := d.Decode(result)
	if err != nil {
		err = fail(ErrProtocol, "the answer is of another type: %v", err)
	}
	return r, err
}

func decoded[R any](answer any, err error) (R, error) {
	return converted(must(msgpack.For[R]()), answer, err)
}
