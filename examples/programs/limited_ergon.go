package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	ergon "ergon-client"
	"ergon-client/launch"
)

func main() {
	mux := ergon.NewMux()
	mail := ergon.Handle(mux, "mail", func(_ *ergon.Context, to int) (time.Time, error) { return time.Now(), nil },
		ergon.With{"rate": ergon.With{"key": "mail", "max": 10, "per": "1s"}})
	launch.Main(mux, func(ctx context.Context, client *ergon.Client) error {
		times, err := mail.Map(ctx, client, make([]int, 30))
		sort.Slice(times, func(i, j int) bool { return times[i].Before(times[j]) })
		fmt.Println(err == nil && times[29].Sub(times[0]) > time.Second)
		return err
	})
}
