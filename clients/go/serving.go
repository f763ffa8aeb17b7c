package ergon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ergon-client/internal/fault"
	"ergon-client/internal/rpc"
)

// serving answers requests that come the other way: the server asks, over whichever connection is up. A connection on which
// more than the slots are open is answered BUSY; what comes while handlers of a connection that was lost still hold
// their slots waits for these.
type serving struct {
	handlers map[string]Handler
	client   *Client // for the handlers

	// begin is called first on each connection, to tell the server what we serve. An error ends the connection, and the
	// next one is tried after a pause.
	begin func(ctx context.Context, s *session) error

	free    chan struct{} // a place for each handler that runs
	trouble func(error)   // is told of handlers that panic

	mu      sync.Mutex
	open    map[*session]map[*Context]bool // requests that are not answered
	running int                            // handlers, and what waits for a slot
	idle    []chan struct{}                // closed when none is
	closed  bool
	last    *session // that was told
}

// asker takes a request of the server, answers or refuses it; an error ends the session.
type asker func(s *session, id any, method string, params any) error

func newServing(handlers map[string]Handler, slots int, begin func(context.Context, *session) error,
	trouble func(error)) *serving {
	return &serving{handlers: handlers, begin: begin, free: make(chan struct{}, slots), trouble: trouble,
		open: map[*session]map[*Context]bool{}}
}

// start registers the worker once for each session, at the first call. If the server refuses it, start calls refused,
// unless that is nil, before the session ends.
func (v *serving) start(ctx context.Context, s *session, refused func(error)) error {
	s.begun.Do(func() {
		v.mu.Lock()
		v.last = s
		v.mu.Unlock()
		if s.beginning = v.begin(ctx, s); s.beginning != nil {
			if refused != nil {
				refused(s.beginning)
			}
			s.End(fmt.Sprintf("the server was not told what we serve: %v", s.beginning))
		}
	})
	return s.beginning
}

// session is the last one that was told.
func (v *serving) session() *session {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

// take answers a request, from the goroutine that reads, which does not wait for it.
func (v *serving) take(s *session, id any, method string, params any) error {
	if method == "worker.ping" {
		return s.Refuse(id, nil)
	}
	handler := v.handlers[method]
	if handler == nil {
		return s.Refuse(id, fmt.Sprintf("NO_METHOD: this worker does not offer %.80s", method))
	}
	list, ok := params.([]any)
	if !ok && params != nil {
		list = []any{params}
	}
	told := map[string]any{}
	if last, ok := lastOf(list).(map[string]any); ok && last["call"] != nil {
		told, list = last, list[:len(list)-1]
	}
	c, why := v.add(s, id, method, told)
	if c == nil {
		return s.Refuse(id, why)
	}
	go v.run(c, handler, append([]any{}, list...))
	return nil
}

func lastOf(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// add makes a context, or says why not.
func (v *serving) add(s *session, id any, method string, told map[string]any) (*Context, string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, errorText(Again(0))
	}
	if len(v.open[s]) >= cap(v.free) {
		return nil, "BUSY: all slots of this worker are taken"
	}
	c := contextOf(method, told)
	c.session, c.id, c.of, c.Client = s, id, v, v.client
	if c.call == nil {
		c.call = id
	}
	if left, ok := told["left"].(int64); ok {
		c.Context, c.cancel = context.WithTimeout(s.Base, time.Duration(left)*time.Millisecond)
	} else {
		c.Context, c.cancel = context.WithCancel(s.Base)
	}
	c.base = c.Context
	if v.open[s] == nil {
		v.open[s] = map[*Context]bool{}
	}
	v.open[s][c] = true
	v.running++
	return c, ""
}

func (v *serving) run(c *Context, handler Handler, params []any) {
	v.free <- struct{}{}
	var result any
	err := errors.New("the handler ended its goroutine") // by runtime.Goexit
	defer func() { v.finish(c, result, err) }()
	result, err = v.call(c, handler, params)
}

// finish answers, and frees the slot.
func (v *serving) finish(c *Context, result any, err error) {
	v.answer(c, result, err)
	<-v.free
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running--; v.running == 0 {
		for _, waiting := range v.idle {
			close(waiting)
		}
		v.idle = nil
	}
}

func (v *serving) call(c *Context, handler Handler, params []any) (result any, err error) {
	if err = c.Err(); err == nil {
		result, err = protected(c, handler, params)
	}
	if p, is := err.(*fault.Panicked); is {
		v.trouble(fmt.Errorf("%s %s: %w\n\n%s", c.Method, c.Task, p, p.Stack))
	}
	return result, c.meaning(err)
}

// protected makes an error of a panic.
func protected(c *Context, handler Handler, params []any) (result any, err error) {
	returned := false
	defer func() {
		if why := recover(); !returned { // nil of panic(nil), too
			result, err = nil, &fault.Panicked{Value: why, Stack: fault.Stack()}
		}
	}()
	result, err = handler(c, params)
	returned = true
	return result, err
}

// meaning is what a handler's error says of a context that has ended.
func (c *Context) meaning(err error) error {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch why := c.Cancelled(); why {
	case "":
		return err
	case "draining", "stopping":
		return Again(0) // for another worker
	default:
		return &Error{Code: "CANCELLED", Text: why}
	}
}

// answer answers a request, unless that has been done, and returns when the goroutine that writes has taken that.
func (v *serving) answer(c *Context, result any, failure error) {
	v.mu.Lock()
	answered := c.answered
	c.answered = true
	if delete(v.open[c.session], c); len(v.open[c.session]) == 0 { // now: the server may ask as soon as it has the answer
		delete(v.open, c.session)
	}
	v.mu.Unlock()
	if answered {
		return
	}
	c.session.answer(c.id, result, failure)
	c.cancel()
}

// told: the server says that nobody waits for a call.
func (v *serving) told(s *session, call int64, why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for c := range v.open[s] {
		if c.call == call {
			c.end(why)
		}
	}
}

// over is closed when no handler runs.
func (v *serving) over() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	over := make(chan struct{})
	if v.running == 0 {
		close(over)
	} else {
		v.idle = append(v.idle, over)
	}
	return over
}

// close cancels what still runs, and returns it.
func (v *serving) close() (left []*Context) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	for _, open := range v.open {
		for c := range open {
			c.end("stopping")
			left = append(left, c)
		}
	}
	return left
}

// answer answers a request of the server, and returns when the goroutine that writes has taken that.
func (s *session) answer(id, result any, failure error) {
	var err error
	if failure == nil {
		err = s.Send(s.Base, []any{rpc.Response, id, nil, result})
	} else {
		err = s.Send(s.Base, []any{rpc.Response, id, errorValue(failure, s.Limit), nil})
	}
	if err == nil || err == rpc.ErrUnsent || s.Base.Err() != nil {
		return // or nobody waits for it
	}
	if !errors.Is(err, ErrTooLarge) {
		err = fmt.Errorf("INTERNAL: the result is not for MessagePack: %w", err)
	}
	s.Send(s.Base, []any{rpc.Response, id, cut(err.Error()), nil})
}
