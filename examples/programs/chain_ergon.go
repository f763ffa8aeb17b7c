package main

import (
	"context"
	"fmt"
	"strings"

	ergon "ergon-client"
	"ergon-client/launch"
)

func main() {
	mux := ergon.NewMux()
	step := ergon.Handle(mux, "step", func(_ *ergon.Context, name string) (string, error) { return strings.ToUpper(name), nil })
	launch.Main(mux, func(ctx context.Context, client *ergon.Client) error {
		last, err := mux.Chain(ctx, client, step.Order("fetch"), step.Order("resize"), step.Order("store"))
		if err != nil {
			return err
		}
		result, err := last.Wait(ctx)
		fmt.Println(result)
		return err
	})
}
