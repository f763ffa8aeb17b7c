// Package pause has the pauses between attempts.
package pause

import (
	"context"
	"math/rand"
	"time"
)

// For is the pause after so many attempts, half of it random.
func For(attempt int, least, most time.Duration) time.Duration {
	whole := least
	for ; attempt > 0 && whole < most; attempt-- {
		whole *= 2
	}
	if whole > most {
		whole = most
	}
	return whole/2 + time.Duration(rand.Int63n(int64(whole/2)+1))
}

// Sleep returns early with the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
