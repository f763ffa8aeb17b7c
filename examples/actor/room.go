// room/KEY: how much was said, and what last.  ergon actor call room/lobby say hello
package main

import (
	"context"
	ergon "ergon-client"
	"log"
	"os"
)

func say(a *ergon.Actor, params []any) (any, error) {
	count, _ := a.State["count"].(int64)
	a.State["count"], a.State["last"] = count+1, params[0]
	return count + 1, nil
}

func main() {
	client, err := ergon.Dial(context.Background(), os.Getenv("ERGON_URL"), ergon.Options{})
	if err == nil {
		room := ergon.ActorType{Methods: map[string]ergon.ActorMethod{"say": say}}
		err = client.Work(context.Background(), ergon.WorkOptions{Actors: map[string]ergon.ActorType{"room": room}}, nil)
	}
	log.Fatal(err)
}
