package main

import (
	"context"
	"fmt"

	ergon "ergon-client"
	"ergon-client/launch"
)

func main() {
	mux := ergon.NewMux()
	square := ergon.Handle(mux, "square", func(_ *ergon.Context, number int) (int, error) { return number * number, nil })
	launch.Main(mux, func(ctx context.Context, client *ergon.Client) error {
		squares, err := square.Map(ctx, client, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
		sum := 0
		for _, each := range squares {
			sum += each
		}
		fmt.Println(sum)
		return err
	})
}
