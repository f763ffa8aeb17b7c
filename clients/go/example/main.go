// Hashes files on the server of ERGON_URL, each as a task that is tried again and survives a restart of the server.
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
	client, err := ergon.Dial(ctx, os.Getenv("ERGON_URL"), ergon.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	tasks := map[string]*ergon.Task{}
	for _, path := range os.Args[1:] {
		data, err := os.ReadFile(path)
		if err == nil {
			tasks[path], err = client.Submit(ctx, ergon.With{"retries": 3}, "hash", "sha256", data, "hex")
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	for path, task := range tasks {
		digest, err := task.Wait(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s  %s\n", digest, path)
	}
}
