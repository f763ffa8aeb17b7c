package middleware

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	ergon "ergon-client"
)

type trace struct{}

// Trace hands the trace of a handler on to what it submits with its context, and begins one otherwise. A tracer of your own makes
// the spans.
func Trace() ergon.Middleware {
	handler := func(next ergon.Handler) ergon.Handler {
		return func(c *ergon.Context, params []any) (any, error) {
			c.Context = context.WithValue(c.Context, trace{}, c.Traceparent)
			return next(c, params)
		}
	}
	submit := func(next ergon.Submitter) ergon.Submitter {
		return func(ctx context.Context, o ergon.Order) (*ergon.Task, error) {
			parent, _ := ctx.Value(trace{}).(string)
			if parent == "" {
				parent = "00-" + random(16) + "-" + random(8) + "-01"
			}
			with := ergon.With{"traceparent": parent}
			for name, value := range o.With {
				with[name] = value
			}
			o.With = with
			return next(ctx, o)
		}
	}
	return ergon.Middleware{Handler: handler, Submit: submit}
}

func random(size int) string {
	data := make([]byte, size)
	rand.Read(data)
	return hex.EncodeToString(data)
}
