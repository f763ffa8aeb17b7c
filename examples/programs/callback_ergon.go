package main

import (
	"context"
	"fmt"

	ergon "ergon-client"
	"ergon-client/launch"
)

func total(_ *ergon.Context, squares []int) (sum int, err error) {
	for _, each := range squares {
		sum += each
	}
	return sum, nil
}

func main() {
	mux := ergon.NewMux()
	square := ergon.Handle(mux, "square", func(_ *ergon.Context, number int) (int, error) { return number * number, nil })
	totals := ergon.Handle(mux, "total", total)
	launch.Main(mux, func(ctx context.Context, client *ergon.Client) error {
		squares := []ergon.TaskResult{}
		for number := 0; number < 10; number++ {
			task, err := square.Submit(ctx, client, number)
			if err != nil {
				return err
			}
			squares = append(squares, task.Result())
		}
		task, err := totals.SubmitOf(ctx, client, squares)
		if err != nil {
			return err
		}
		sum, err := task.Wait(ctx)
		fmt.Println(sum)
		return err
	})
}
