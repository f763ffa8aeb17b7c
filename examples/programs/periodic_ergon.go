package main

import (
	"fmt"

	ergon "ergon-client"
	"ergon-client/launch"
)

func report(_ *ergon.Context, kind string) (any, error) { return fmt.Printf("the %s report\n", kind) }

func main() {
	mux := ergon.NewMux()
	ergon.Handle(mux, "report", report).Cron("report", "every 1s", "daily")
	launch.Main(mux)
}
