package ergon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// drainingNumber is that of the server's own DRAINING.
const drainingNumber = 9

// introduce says how we want to be answered, and who we are.
func (s *session) introduce(ctx context.Context, token string) error {
	hello := map[string]any{"errors": "map", "half_close": false, "push": true} // so it tells why it closes
	told := make(chan answer, 1)
	go func() {
		result, err := s.request(ctx, "server.hello", []any{hello})
		told <- answer{result, err}
	}()
	if token != "" {
		_, err := s.request(ctx, "server.auth", []any{token})
		if e := (*Error)(nil); errors.As(err, &e) && !errors.Is(err, ErrBroken) {
			return fail(ErrRefused, "the server refused the token: %v", err)
		} else if err != nil {
			return err
		}
	}
	said := <-told
	if e := (*Error)(nil); errors.As(said.err, &e) && !errors.Is(said.err, ErrBroken) {
		return nil // another server of MessagePack-RPC need not know server.hello
	}
	if result, ok := said.result.(map[string]any); ok {
		limits, _ := result["limits"].(map[string]any)
		s.limit, _ = limits["message"].(int64)
	}
	return said.err
}

// unreachable is why no connection came about.
func (s *session) unreachable(ctx context.Context, a *address, err error) *Error {
	why := err.Error()
	if s.mu.Lock(); s.calls == nil {
		why = s.why
	} else if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "the server did not answer in time"
	}
	s.mu.Unlock()
	return fail(ErrUnreachable, "%s: %s", a.url, why)
}

// reasonOf is an error without our port, which is another one each time.
func reasonOf(err error) string {
	if e := (*net.OpError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// failure is the error of an answer, which may say that the server is stopping; a queue that is drained does not.
func (s *session) failure(value any) *Error {
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
			s.closing = why
		}
	}
	s.notified(s, method, params)
}

// endLater ends it when it could not be written to, but lets what the server has sent before be read first.
func (s *session) endLater(why string) {
	select {
	case <-s.over:
	case <-time.After(time.Second):
		s.end(why)
	}
}

// rubbish is what the server sent that is no message.
type rubbish string

func (r rubbish) Error() string { return "the server does not speak MessagePack-RPC: " + string(r) }
