package ergon

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// A server asks, and the connection is lost under two requests, and once more; at last one is open when the client closes.
func Test_serve(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	release, lost, quit := make(chan bool), make(chan bool, 5), make(chan bool, 1)
	handle := func(ctx context.Context, method string, params []any) (any, error) {
		switch method {
		case "echo":
			return params, nil
		case "fail":
			return nil, &Error{Code: params[0].(string), Text: params[1].(string)}
		case "raise":
			panic("no luck")
		case "odd":
			return make(chan bool), nil
		case "hold":
			select {
			case <-release:
				return "held", nil
			case <-ctx.Done():
				lost <- true
				return nil, ctx.Err()
			}
		case "lost":
			for i := 0; i < 4; i++ {
				<-lost
			}
			return 4, nil
		case "quit":
			quit <- true
			return nil, nil
		}
		return nil, errors.New("what is " + method)
	}
	told := func(method string, params []any) {
		if method != "release" || len(params) != 0 {
			t.Error(method, params)
		}
		for i := 0; i < 2; i++ {
			release <- true
		}
	}
	register := func(ctx context.Context, s *session) error {
		_, err := s.request(ctx, "worker.register", []any{[]any{"echo"}, map[string]any{"slots": 2}})
		return err
	}
	c, err := Dial(ctx, os.Getenv("ERGON_URL"), Options{BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond, OnNotification: told})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.serve(ctx, &serving{handle: handle, begin: register, slots: make(chan struct{}, 2)})
	if Code(err) != "BUSY" { // and it goes on by itself
		t.Fatal(err)
	}
	for _, end := range []chan bool{quit, lost} {
		select {
		case <-end:
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
		c.Close()
	}
}
