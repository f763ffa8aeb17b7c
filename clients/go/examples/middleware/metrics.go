// Package middleware has three middlewares for a Mux, to copy and change: metrics, reports of failures, traces.
package middleware

import (
	"fmt"
	"io"
	"sort"
	"sync"
	"time"

	ergon "ergon-client"
)

// Metrics counts attempts by method and outcome, and their seconds.
type Metrics struct {
	mu      sync.Mutex
	counts  map[[2]string]int
	seconds map[string]float64
}

// Middleware is for Mux.Use.
func (m *Metrics) Middleware() ergon.Middleware {
	m.counts, m.seconds = map[[2]string]int{}, map[string]float64{}
	return ergon.Middleware{Handler: func(next ergon.Handler) ergon.Handler {
		return func(ctx *ergon.Context, params []any) (any, error) {
			begin, outcome := time.Now(), "panic"
			defer func() { m.count(ctx.Method, outcome, time.Since(begin)) }()
			result, err := next(ctx, params)
			if outcome = "done"; err != nil {
				outcome = "failed"
			}
			return result, err
		}
	}}
}

func (m *Metrics) count(method, outcome string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[[2]string{method, outcome}]++
	m.seconds[method] += took.Seconds()
}

// WriteTo writes them as Prometheus reads them.
func (m *Metrics) WriteTo(w io.Writer) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines, text := []string{}, ""
	for of, count := range m.counts {
		lines = append(lines, fmt.Sprintf("tasks_total{method=%q,outcome=%q} %d\n", of[0], of[1], count))
	}
	for method, seconds := range m.seconds {
		lines = append(lines, fmt.Sprintf("tasks_seconds_sum{method=%q} %g\n", method, seconds))
	}
	sort.Strings(lines)
	for _, line := range lines {
		text += line
	}
	n, err := io.WriteString(w, text)
	return int64(n), err
}
