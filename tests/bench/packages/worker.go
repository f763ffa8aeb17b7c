// Two workers in one program: its argument says which.
package main

import (
	"context"
	"log"
	"os"

	ergon "ergon-client"
)

type text struct {
	_    struct{} `msgpack:",array"`
	Text string
}

func main() {
	ctx := context.Background()
	client, err := ergon.Dial(ctx, os.Getenv("ERGON_URL"), ergon.Options{})
	if err != nil {
		log.Fatal(err)
	}
	options := ergon.WorkOptions{Slots: 16}
	if os.Args[1] == "plain" {
		plain := func(c *ergon.Context, params []any) (any, error) { return params[0], nil }
		log.Fatal(client.Work(ctx, options, map[string]ergon.Handler{"go.plain": plain}))
	}
	mux := ergon.NewMux()
	ergon.Handle(mux, "go.app", func(c *ergon.Context, p text) (string, error) { return p.Text, nil })
	log.Fatal(mux.Work(ctx, client, options))
}
