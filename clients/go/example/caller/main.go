// Asks workers for the words of files: a task each, which survives a restart of the server, and of its worker.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	ergon "ergon-client"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := ergon.Dial(ctx, os.Getenv("ERGON_URL"), ergon.Options{Token: os.Getenv("ERGON_TOKEN")})
	if err != nil {
		log.Fatal(err)
	}
	tasks := map[string]*ergon.Task{}
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err == nil {
			tasks[path], err = client.Submit(ctx, ergon.With{"retries": 3}, "words", string(text))
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	for path, task := range tasks {
		counts, err := task.Wait(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(path, len(counts.(map[string]any)))
	}
}
