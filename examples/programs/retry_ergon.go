package main

import (
	"context"
	"fmt"
	"time"

	ergon "ergon-client"
	"ergon-client/launch"
)

func fetch(ctx *ergon.Context, page string) (string, error) {
	if ctx.Attempt == 1 {
		time.Sleep(time.Minute)
	}
	return fmt.Sprintf("%s at attempt %d", page, ctx.Attempt), nil
}

func main() {
	mux := ergon.NewMux()
	pages := ergon.Handle(mux, "fetch", fetch, ergon.With{"retries": 3, "backoff": "100ms", "attempt_timeout": "5s"})
	launch.Main(mux, func(ctx context.Context, client *ergon.Client) error {
		task, err := pages.Submit(ctx, client, "index")
		if err != nil {
			return err
		}
		result, err := task.Wait(ctx)
		fmt.Println(result)
		return err
	})
}
