package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	ergon "ergon-client"
	"ergon-client/launch"
)

type trip struct{ Plan, Done []string }

var errNone = errors.New("there is none")

func do(action string) error {
	if action == "book car" {
		return errNone
	}
	return nil
}

func travel(ctx *ergon.Context, first trip) (string, error) {
	t, err := ergon.Checkpoint[*trip](ctx)
	if t == nil {
		t = &first
	}
	for err == nil && len(t.Plan) > 0 {
		action := t.Plan[0]
		if err = do(action); err == errNone {
			t.Plan, err = nil, nil
			for i := len(t.Done) - 1; i >= 0; i-- {
				t.Plan = append(t.Plan, strings.Replace(t.Done[i], "book", "cancel", 1))
			}
		} else if err == nil {
			t.Plan, t.Done = t.Plan[1:], append(t.Done, action)
		}
		if err == nil {
			err = ctx.Save(t)
		}
	}
	return strings.Join(t.Done, ", "), err
}

func main() {
	mux := ergon.NewMux()
	travels := ergon.Handle(mux, "travel", travel, ergon.With{"retries": 3})
	launch.Main(mux, func(ctx context.Context, client *ergon.Client) error {
		task, err := travels.Submit(ctx, client, trip{Plan: []string{"book flight", "book hotel", "book car"}})
		if err != nil {
			return err
		}
		done, err := task.Wait(ctx)
		fmt.Println(done)
		return err
	})
}
