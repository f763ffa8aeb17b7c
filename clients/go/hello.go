package ergon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"ergon-client/internal/dial"
	"ergon-client/internal/rpc"
)

// drainingNumber is that of the server's own DRAINING.
const drainingNumber = 9

// session is a connection of a client.
type session struct {
	*rpc.Session
	notified  func(s *session, method string, params []any)
	drained   func(reason string) // called once, if the server tells that it is stopping
	draining  atomic.Bool
	begun     sync.Once // the server has been told what we serve
	beginning error     // how that went
}

// broken is an error of a session.
func broken(isBroken bool, format string, args ...any) error {
	return fail(map[bool]*Error{true: ErrBroken, false: ErrTooLarge}[isBroken], format, args...)
}

// open connects, says how we want to be answered, and who we are: ErrUnreachable, ErrRefused, or the context's error.
func open(ctx context.Context, a *dial.Address, o *Options, asked asker, told func(*session, string, []any),
	drained func(string)) (*session, error) {
	conn, err := a.Dial(ctx)
	if err != nil {
		return nil, fail(ErrUnreachable, "%s: %v", a.URL, err)
	}
	s := &session{notified: told, drained: drained}
	s.Session = rpc.New(conn, rpc.Peer{MessageMax: o.MessageMax, Notified: s.hear, Failure: s.failure, Error: broken,
		Asked: func(id any, method string, params any) error { return asked(s, id, method, params) }})
	s.Begin()
	if err = s.introduce(ctx, o.Token); err == nil {
		return s, nil
	}
	if errors.Is(err, ErrBroken) || errors.Is(err, rpc.ErrUnsent) || ctx.Err() != nil {
		err = s.unreachable(ctx, a, err)
	}
	s.End(rpc.ClosedByUs)
	return nil, err
}

// introduce says how we want to be answered, and who we are.
func (s *session) introduce(ctx context.Context, token string) error {
	hello := map[string]any{"errors": "map", "half_close": false, "push": true} // so it tells why it closes
	var result any
	var failed error
	told := make(chan struct{})
	go func() {
		result, failed = s.Request(ctx, "server.hello", []any{hello})
		close(told)
	}()
	if token != "" {
		_, err := s.Request(ctx, "server.auth", []any{token})
		if e := (*Error)(nil); errors.As(err, &e) && !errors.Is(err, ErrBroken) {
			return fail(ErrRefused, "the server refused the token: %v", err)
		} else if err != nil {
			return err
		}
	}
	<-told
	if e := (*Error)(nil); errors.As(failed, &e) && !errors.Is(failed, ErrBroken) {
		return nil // another server of MessagePack-RPC need not know server.hello
	}
	if said, ok := result.(map[string]any); ok {
		limits, _ := said["limits"].(map[string]any)
		s.Limit, _ = limits["message"].(int64)
	}
	return failed
}

// unreachable is why no connection came about.
func (s *session) unreachable(ctx context.Context, a *dial.Address, err error) *Error {
	why := err.Error()
	if ended, reason := s.HasEnded(); ended {
		why = reason
	} else if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "the server did not answer in time"
	}
	return fail(ErrUnreachable, "%s: %s", a.URL, why)
}

// failure is the error of an answer, which may say that the server is stopping; a queue that is drained does not.
func (s *session) failure(value any) error {
	e := remoteError(value)
	if e.Code == "DRAINING" && e.Number == drainingNumber && !strings.Contains(e.Text, "queue") {
		s.drain(e.Error())
	}
	return e
}

func (s *session) drain(reason string) {
	if s.draining.CompareAndSwap(false, true) {
		s.drained(reason)
	}
}

// hear takes what the server tells: server.closing is why it is about to end the connection, at once, or, while it
// drains, when what it has read is answered.
func (s *session) hear(method string, params []any) {
	if method == "server.closing" && len(params) > 0 {
		why := strings.TrimSuffix(fmt.Sprintln(params...), "\n")
		if len(params) == 2 {
			why = fmt.Sprintf("%v: %v", params[0], params[1])
		}
		if params[0] == "DRAINING" {
			s.drain(why)
		} else {
			s.Closing = why
		}
	}
	s.notified(s, method, params)
}
