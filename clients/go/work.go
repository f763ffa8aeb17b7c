package ergon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"ergon-client/internal/rpc"
)

const (
	leave   = 5 * time.Second // that handlers which are cancelled have to end
	hostMax = 64              // bytes of the name of a machine
)

// WorkOptions of Work; the zero value means the defaults.
type WorkOptions struct {
	Slots         int           // how many handlers run at a time; 1
	Name, Version string        // as worker.list shows them
	Share         int           // percent of the method's tasks that workers of this version get at most; 100
	Host          string        // this machine, as tasks show it that ran here; os.Hostname()
	Lease         time.Duration // in which the server must hear of this process, and not of its kernel alone; none
	Grace         time.Duration // that handlers have in the end; 30 s; below 0: none

	Actors map[string]ActorType // by the names of the types

	// Secret is true, or a []string of methods, whose parameters are shown to nobody; false takes it back; nil changes nothing.
	// Older servers refuse it.
	Secret any

	// OnTrouble is told of registrations that failed, and of handlers that panic, with the stack; it may be called from several
	// goroutines at once. nil: the client's Log has a line of either.
	OnTrouble func(error)

	OnReady func() // the server has taken the registration, for the first time; it must not block

	round func(Handler) Handler // the middleware of a Mux, or nil
}

// worker is a registration: it is told to the server first on each connection, and ended in good order.
type worker struct {
	serving    *serving
	client     *Client
	options    WorkOptions
	registered atomic.Bool    // once, ever
	refused    chan error     // what the server has against us
	over       atomic.Bool    // it has something, which Work returns
	actors     map[string]any // as the server is told of them
	ending     context.Context
}

// Work offers the server methods, and runs them, until the context ends; each connection is told first what we offer. A client
// does so once at a time. In the end nothing more is taken, and handlers have the grace; what still runs then is
// cancelled, and its task handed back for another worker.
//
//	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
//	defer stop()
//	err := client.Work(ctx, ergon.WorkOptions{Slots: 4}, map[string]ergon.Handler{"double": double})
//
// An error: the server does not want what is offered (DENIED: who may offer what); ErrRefused; ErrClosed. Whatever is wrong
// later it goes on.
func (c *Client) Work(ctx context.Context, o WorkOptions, handlers map[string]Handler) error {
	withDefault(&o.Slots, 1)
	withDefault(&o.Grace, 30*time.Second)
	if o.round == nil {
		o.round = func(h Handler) Handler { return h }
	}
	if err := o.wrong(handlers); err != nil {
		return err
	}
	actors, err := policies(o.Actors)
	if err != nil {
		return err
	}
	panics := o.OnTrouble
	if panics == nil {
		panics = func(err error) { c.options.Log("ergon: %v", err) }
		o.OnTrouble = func(error) {} // a refusal has its line
	}
	w := &worker{client: c, options: o, refused: make(chan error, 1), ending: ctx, actors: actors}
	w.serving = newServing(withActors(handlers, o.Actors, o.round), o.Slots, w.register, panics)
	w.serving.client = c
	if !c.employ(w) {
		return errors.New("ergon: this client works already: another registration needs a client of its own")
	}
	defer c.dismiss(w)
	err = w.run(ctx)
	w.finish(err == nil)
	return err
}

func (o *WorkOptions) wrong(handlers map[string]Handler) error {
	if o.Slots < 0 {
		return bad("Slots must be 1 or more, not %d", o.Slots)
	}
	switch o.Secret.(type) {
	case nil, bool, []string:
	default:
		return bad("Secret is true, false, or a []string of methods, not %T", o.Secret)
	}
	for name, handler := range handlers {
		if handler == nil {
			return bad("the handler of %s is nil", name)
		}
	}
	return nil
}

// withActors are the handlers of plain methods and those of the types, each with what goes round it.
func withActors(handlers map[string]Handler, actors map[string]ActorType, round func(Handler) Handler) map[string]Handler {
	all := map[string]Handler{}
	for name, handler := range handlers {
		all[name] = round(handler)
	}
	for name, t := range actors {
		for method := range t.Methods {
			all[name+"."+method] = t.handler(method, round)
		}
	}
	return all
}

// handler is that of a method. What goes round it sees the result without the changes.
func (t ActorType) handler(method string, round func(Handler) Handler) Handler {
	run := round(func(c *Context, params []any) (any, error) {
		done, err := t.run(c, method, params)
		*c.changed = done.Changes
		return done.Result, err
	})
	return func(c *Context, params []any) (any, error) {
		var changes map[string]any
		c.changed = &changes
		result, err := run(c, params)
		return []any{result, changes}, err
	}
}

// ourHost is the name of this machine, as much of it as the server takes; "": it is not known.
func ourHost() string {
	name, _ := os.Hostname()
	if len(name) > hostMax {
		name = strings.ToValidUTF8(name[:hostMax], "")
	}
	return name
}

// employ is false if somebody works already.
func (c *Client) employ(w *worker) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worker != nil {
		return false
	}
	c.worker = w
	return true
}

func (c *Client) dismiss(w *worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worker, c.spent = nil, w.serving
}

// registration has the options of worker.register.
type registration struct {
	Slots   int
	Context bool
	Message int
	Name    string         `msgpack:",omitempty"`
	Version string         `msgpack:",omitempty"`
	Host    string         `msgpack:",omitempty"`
	Share   int            `msgpack:",omitempty"`
	Lease   time.Duration  `msgpack:",omitempty"`
	Secret  any            `msgpack:",omitempty"`
	Actors  map[string]any `msgpack:",omitempty"`
}

var namesHost = regexp.MustCompile(`\bhost\b`)

func (w *worker) register(ctx context.Context, s *session) error {
	if w.ending.Err() != nil || w.over.Load() {
		return nil
	}
	methods := []any{}
	for name := range w.serving.handlers {
		methods = append(methods, name)
	}
	o := &w.options
	with := registration{Slots: o.Slots, Context: true, Message: w.client.options.MessageMax, Name: o.Name, Version: o.Version,
		Host: o.Host, Share: o.Share, Lease: o.Lease, Secret: o.Secret, Actors: w.actors}
	if with.Host == "" {
		with.Host = ourHost()
	}
	_, err := s.Request(ctx, "worker.register", []any{methods, with})
	var e *Error
	if errors.As(err, &e) && !e.own && e.Code == "BAD_PARAMS" && w.options.Host == "" && namesHost.MatchString(e.Text) {
		with.Host = "" // which the server does not know yet, and nobody asked for
		_, err = s.Request(ctx, "worker.register", []any{methods, with})
	}
	if errors.As(err, &e) && !e.own && !e.Retryable && !w.registered.Load() {
		w.over.Store(true)
		w.refused <- err
	} else if err != nil && w.ending.Err() == nil {
		w.options.OnTrouble(fmt.Errorf("not registered: %w", err))
	}
	if err == nil && !w.registered.Swap(true) && w.options.OnReady != nil {
		w.options.OnReady()
	}
	return err
}

// run returns when the context or the client ends, or with what prevents the registration.
func (w *worker) run(ctx context.Context) error {
	c := w.client
	first := make(chan error, 1)
	go func() {
		first <- c.with(ctx, func(s *session) error {
			if c.isSpent(s) {
				s.End(rpc.ClosedByUs)
				return rpc.ErrUnsent
			}
			return w.serving.start(ctx, s, func(err error) {
				if e := (*Error)(nil); errors.As(err, &e) && !e.own {
					c.refused(err, w.over.Load())
				}
			})
		})
	}()
	for {
		select {
		case err := <-first:
			if errors.Is(err, ErrRefused) || errors.Is(err, ErrClosed) {
				return err
			}
			first = nil // whatever it was, the next connection is told
		case err := <-w.refused:
			return err
		case <-c.stop.Done():
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Client) isSpent(s *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spent != nil && c.spent.session() == s
}

// finish tells the server that we take no more, waits for what runs, and hands the rest back.
func (w *worker) finish(inGoodOrder bool) {
	v := w.serving
	grace, cancel := context.WithTimeout(context.Background(), w.options.Grace)
	defer cancel()
	if s := v.session(); inGoodOrder && s != nil {
		quiet := make(chan struct{})
		go func() {
			defer close(quiet)
			within, cancel := context.WithTimeout(context.Background(), leave) // there may be no grace
			defer cancel()
			s.Request(within, "worker.quiet", nil)
		}()
		defer func() { <-quiet }()
		w.await(grace, quiet)
		w.await(grace, v.over())
	}
	left := v.close()
	select {
	case <-v.over():
		return
	case <-time.After(leave):
	}
	for _, c := range left {
		v.answer(c, nil, Again(0))
	}
}

func (w *worker) await(grace context.Context, over <-chan struct{}) {
	select {
	case <-over:
	case <-grace.Done():
	case <-w.client.stop.Done():
	}
}

// ---- what the server asks and tells ----

func (c *Client) asked(s *session, id any, method string, params any) error {
	if v := c.servingOf(s); v != nil {
		return v.take(s, id, method, params)
	}
	return s.Refuse(id, fmt.Sprintf("NO_METHOD: a client has no method %.80s", method))
}

func (c *Client) servingOf(s *session) *serving {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.spent != nil && c.spent.session() == s:
		return c.spent
	case c.worker != nil:
		return c.worker.serving
	}
	return nil
}

func (c *Client) told(s *session, method string, params []any) {
	w := c.working()
	if w != nil && method == "worker.cancel" && len(params) >= 2 {
		call, _ := params[0].(int64)
		why, _ := params[1].(string)
		if why == "draining" {
			s.drain("the server hands back what its workers have")
		}
		w.serving.told(s, call, why)
	} else if c.options.OnNotification != nil {
		c.options.OnNotification(method, params)
	}
}

func (c *Client) working() *worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.worker
}
