package ergon

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

const errorMax = 4000 // bytes of the text of an error

// serving answers requests that come the other way: the server asks, over whichever connection is up.
type serving struct {
	// handle answers a request, as many at a time as there are slots; further ones are answered BUSY. What it returns is
	// the answer, and a panic is an error. The context ends when the connection of the request is lost, or the client is
	// closed; the slot is taken until the handler has returned.
	handle func(ctx context.Context, method string, params []any) (any, error)

	// begin is called first on each connection, to tell the server what we serve. An error ends the connection, and the
	// next one is tried after a pause.
	begin func(ctx context.Context, s *session) error

	slots chan struct{} // a place for each request
}

// asker takes a request of the server, answers or refuses it; an error ends the session.
type asker func(s *session, id any, method string, params any) error

// start begins, once for each session, whoever comes first.
func (v *serving) start(ctx context.Context, s *session) error {
	s.begun.Do(func() {
		if s.beginning = v.begin(ctx, s); s.beginning != nil {
			s.end(fmt.Sprintf("the server was not told what we serve: %v", s.beginning))
		}
	})
	return s.beginning
}

// take answers a request, from the goroutine that reads, which does not wait for it.
func (v *serving) take(s *session, id any, method string, params any) error {
	select {
	case v.slots <- struct{}{}:
	default:
		return s.refuse(id, "BUSY: all slots of this client are taken")
	}
	list, ok := params.([]any)
	if !ok {
		list = []any{}
		if params != nil {
			list = append(list, params)
		}
	}
	go func() {
		defer func() { <-v.slots }()
		result, err := v.call(s.base, method, list)
		s.answer(id, result, err)
	}()
	return nil
}

func (v *serving) call(ctx context.Context, method string, params []any) (result any, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("panic: %v", why)
		}
	}()
	return v.handle(ctx, method, params)
}

// answer answers a request of the server, and returns when the goroutine that writes has taken that.
func (s *session) answer(id, result any, failure error) {
	var err error
	if failure == nil {
		err = s.send(s.base, []any{messageResponse, id, nil, result})
	} else {
		err = s.send(s.base, []any{messageResponse, id, errorText(failure), nil})
	}
	if err == nil || err == errUnsent || s.base.Err() != nil {
		return // or nobody waits for it
	}
	if !errors.Is(err, ErrTooLarge) {
		err = fmt.Errorf("INTERNAL: the result is not for MessagePack: %w", err)
	}
	s.send(s.base, []any{messageResponse, id, cut(err.Error()), nil})
}

var code = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,31}$`)

// errorText is what a handler failed with, as an error of MessagePack-RPC: "CODE: text".
func errorText(err error) string {
	var e *Error
	if errors.As(err, &e) && code.MatchString(e.Code) {
		return cut(e.Error())
	}
	return cut("FAILED: " + err.Error())
}

func cut(text string) string {
	if len(text) > errorMax {
		return text[:errorMax]
	}
	return text
}

// ---- the client's side ----

// serve answers requests of the server from now on, on this connection and those that follow. It returns when the server
// has been told so; an error is what prevents that on this connection, and then it is tried on the next.
func (c *Client) serve(ctx context.Context, v *serving) error {
	c.mu.Lock()
	c.serving = v
	c.mu.Unlock()
	return c.with(ctx, func(s *session) error { return v.start(ctx, s) })
}

func (c *Client) asked(s *session, id any, method string, params any) error {
	if v := c.served(); v != nil {
		return v.take(s, id, method, params)
	}
	return s.refuse(id, fmt.Sprintf("NO_METHOD: a client has no method %.80s", method))
}

func (c *Client) served() *serving {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.serving
}
