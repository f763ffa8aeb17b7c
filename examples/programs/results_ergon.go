package main

import (
	"context"
	"fmt"

	ergon "ergon-client"
	"ergon-client/launch"
)

type params struct {
	_          struct{} `msgpack:",array"`
	Page, Name string
}

func main() {
	mux := ergon.NewMux()
	step := ergon.Handle(mux, "step", func(_ *ergon.Context, p params) (string, error) { return p.Page + ", " + p.Name, nil })
	launch.Main(mux, func(ctx context.Context, client *ergon.Client) error {
		last, err := mux.Chain(ctx, client, step.OrderOf("a page", "fetched"), step.OrderOf(ergon.Result, "resized"),
			step.OrderOf(ergon.Result, "stored"))
		if err != nil {
			return err
		}
		result, err := last.Wait(ctx)
		fmt.Println(result)
		return err
	})
}
