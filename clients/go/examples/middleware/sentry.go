package middleware

import (
	"context"
	"fmt"
	"time"

	ergon "ergon-client"
)

// Report is what a service such as Sentry gets of a failure.
type Report struct {
	Err         any // an error, or what was the panic
	Tags        map[string]string
	Breadcrumbs []string // what was submitted in this attempt, in its order
}

type crumbs struct{}

// Reports sends failed attempts, and those that panic, with the task's tags; refused parameters, and what is put off, are none.
// Submissions leave a breadcrumb if they have the context of the handler.
func Reports(send func(Report)) ergon.Middleware {
	handler := func(next ergon.Handler) ergon.Handler {
		return func(c *ergon.Context, params []any) (result any, err error) {
			left := &[]string{}
			c.Context = context.WithValue(c.Context, crumbs{}, left)
			report := func(of any) {
				send(Report{of, map[string]string{"method": c.Method, "task": c.Task, "attempt": fmt.Sprint(c.Attempt),
					"tenant": c.Tenant}, *left})
			}
			defer func() {
				if why := recover(); why != nil {
					report(why)
					panic(why)
				}
			}()
			result, err = next(c, params)
			if code := ergon.Code(err); err != nil && code != "AGAIN" && code != "BAD_PARAMS" {
				report(err)
			}
			return result, err
		}
	}
	submit := func(next ergon.Submitter) ergon.Submitter {
		return func(ctx context.Context, o ergon.Order) (*ergon.Task, error) {
			if left, ok := ctx.Value(crumbs{}).(*[]string); ok {
				*left = append(*left, time.Now().UTC().Format("15:04:05 ")+o.Method)
			}
			return next(ctx, o)
		}
	}
	return ergon.Middleware{Handler: handler, Submit: submit}
}
