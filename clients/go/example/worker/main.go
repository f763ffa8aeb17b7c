// Offers the method words at the server of ERGON_URL: how often which word stands in a text. Start as many as you like.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	ergon "ergon-client"
)

// words gives a map from words to how often; whoever watches the task sees how far it is.
func words(ctx *ergon.Context, params []any) (any, error) {
	if text, ok := params[0].(string); !ok || strings.Contains(text, "\x00") {
		return nil, ergon.Permanent("this is no text")
	}
	counts, lines := map[string]any{}, strings.Split(params[0].(string), "\n")
	for i := 0; i < len(lines) && ctx.Err() == nil; i++ { // somebody may cancel it
		if i%1000 == 0 {
			ctx.Progress(int64(i), int64(len(lines)), "")
		}
		for _, word := range strings.Fields(strings.ToLower(lines[i])) {
			count, _ := counts[word].(int)
			counts[word] = count + 1
		}
	}
	return counts, ctx.Err()
}

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	client, err := ergon.Dial(ctx, os.Getenv("ERGON_URL"), ergon.Options{Token: os.Getenv("ERGON_TOKEN")})
	if err == nil {
		err = client.Work(ctx, ergon.WorkOptions{Slots: 2, Version: "1"}, map[string]ergon.Handler{"words": words})
	}
	log.Print("the end: ", err)
}
