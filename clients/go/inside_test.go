package ergon

import (
	"context"
	"testing"
	"time"

	"ergon-client/internal/rpc"
)

func TestACronIsPutAgainWhereTheServerMayTakeItLater(t *testing.T) {
	mux, asked := NewMux(), 0
	Handle[struct{}, any](mux, "hello", nil).Cron("often", "@daily", struct{}{})
	failures := []error{fail(ErrBroken, "x"), remoteError("STORE: x"), nil}
	client := Local(func(context.Context, string, []any) (any, error) {
		asked++
		return nil, failures[asked-1]
	})
	if err := mux.put(context.Background(), client); err != nil || asked != 3 {
		t.Errorf("%v after %d", err, asked)
	}
	failures = append(failures, remoteError("DENIED: x"))
	if err := mux.put(context.Background(), client); Code(err) != "DENIED" {
		t.Errorf("%v", err)
	}
}

func TestATimeoutOfMiddlewareIsNoCancel(t *testing.T) {
	base, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &Context{Context: base, base: base, session: &session{Session: &rpc.Session{}}, of: newServing(nil, 1, nil, nil)}
	c.session.Base = base
	within, stop := context.WithTimeout(base, time.Nanosecond)
	defer stop()
	<-within.Done()
	c.Context = within
	if err := c.meaning(within.Err()); err != context.DeadlineExceeded {
		t.Errorf("%v", err)
	}
}
