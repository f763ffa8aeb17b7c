// Plays a scenario of clients.py with the Go package.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	ergon "ergon-client"
)

var (
	url   = os.Getenv("ERGON_URL")
	ca    = os.Getenv("ERGON_CA")
	stdin = bufio.NewReader(os.Stdin)
	ctx   = context.Background()
)

// check stops the program unless what was seen is what was wanted.
func check(seen, wanted any) {
	if !reflect.DeepEqual(seen, wanted) {
		panic(fmt.Sprintf("%#.200v instead of %#.200v", seen, wanted))
	}
}

func holds(what string, is bool) {
	if !is {
		panic(what + " does not hold")
	}
}

func good[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// fails gives the error, which has this code.
func fails[T any](code string, value T, err error) *ergon.Error {
	e, ok := err.(*ergon.Error)
	if !ok || e.Code != code {
		panic(fmt.Sprintf("%v, %v instead of %s", value, err, code))
	}
	return e
}

func late[T any](value T, err error) {
	holds(fmt.Sprintf("%v, %v: the deadline", value, err), errors.Is(err, context.DeadlineExceeded))
}

func soon(d time.Duration) context.Context {
	within, cancel := context.WithTimeout(ctx, d)
	time.AfterFunc(d+time.Minute, cancel)
	return within
}

func dial(o ergon.Options) *ergon.Client {
	o.CA = ca
	return good(ergon.Dial(ctx, url, o))
}

func askStage(what string) {
	fmt.Println(what)
	check(good(stdin.ReadString('\n')), "done\n")
}

// begin calls in the background; the function waits for how it ends.
func begin(c *ergon.Client, ctx context.Context, method string, params ...any) func() (any, error) {
	var result any
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = c.Call(ctx, method, params...)
	}()
	return func() (any, error) {
		<-done
		return result, err
	}
}

func values() {
	c := dial(ergon.Options{})
	defer c.Close()
	same := []any{nil, true, false, 1.5, 1e300, uint64(1<<64 - 1), time.Unix(1, 2), time.Unix(-5, 0), ergon.Ext{Type: 5, Data: []byte("x")},
		ergon.Ext{Type: 6, Data: make([]byte, 300)}, []any{}, []any{int64(1), []any{int64(2)}}, map[string]any{},
		map[string]any{"a": map[string]any{"b": nil}}, map[any]any{int64(1): int64(2), "a": "b"}, "\xff is no UTF-8"}
	for _, n := range []int64{0, 1, 31, 32, 33, 127, 128, 129, 255, 256, 32768, 32769, 65535, 65536, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32,
		1 << 53, 1<<63 - 1} {
		same = append(same, n, -n, -n-1)
	}
	for _, n := range []int{0, 15, 16, 31, 32, 255, 256, 65535, 65536, 200000} {
		list, keys := make([]any, n), map[any]any{}
		for i := range list {
			list[i] = int64(i)
			keys[int64(i)] = "x"
		}
		same = append(same, strings.Repeat("x", n), bytes.Repeat([]byte("x"), n), list)
		if n > 0 {
			same = append(same, keys)
		}
	}
	for _, value := range same {
		check(good(c.Call(ctx, "echo", value)), value)
	}
	check(good(c.Call(ctx, "echo", []string{"a"}, map[string]int{"b": 1})), []any{[]any{"a"}, map[string]any{"b": int64(1)}})
	check(good(c.Call(ctx, "echo")), nil)
	check(good(c.Call(ctx, "sum", 1, 2.5)), 3.5)
	check(good(c.CallWith(ctx, ergon.With{"deadline": "5s", "priority": 9}, "echo", 7)), int64(7))
	tasks, errs, err := c.SubmitMany(ctx, nil, ergon.Order{Method: "echo", Params: []any{1}}, ergon.Order{Method: "echo", Params: []any{2}})
	check(err, nil)
	check(errs, []error{nil, nil})
	for i, task := range tasks {
		check(good(task.Wait(ctx)), int64(i+1))
	}
	check(c.Notify(ctx, "echo", 1), nil)
	_, err = c.Call(ctx, "echo", make(chan int))
	holds("a channel is refused", err != nil && strings.Contains(err.Error(), "not for MessagePack"))
}

func errs() {
	c := dial(ergon.Options{})
	defer c.Close()
	call := func(code, method string, params ...any) *ergon.Error {
		result, err := c.Call(ctx, method, params...)
		return fails(code, result, err)
	}
	e := call("NO_METHOD", "no.such.method")
	check([]any{e.Number, e.Retryable, e.Data}, []any{int64(-32601), false, nil})
	holds("the text names it", strings.Contains(e.Text, "no.such.method"))
	check(call("NO_SPACE", "fail", "NO_SPACE", "the disk is full").Error(), "NO_SPACE: the disk is full")
	result, err := c.CallAgain(ctx, "fail", "BROKEN", "a leg") // it is the handler's, and not asked again
	own := fails("BROKEN", result, err)
	holds("a handler's error is no broken connection", !errors.Is(own, ergon.ErrBroken) && errors.Is(own, &ergon.Error{Code: "BROKEN"}))
	for code, client := range map[string]error{"UNREACHABLE": ergon.ErrUnreachable, "AUTH": ergon.ErrRefused,
		"CLOSED": ergon.ErrClosed, "PROTOCOL": ergon.ErrProtocol} {
		holds("a handler's "+code+" is not the client's", !errors.Is(call(code, "fail", code, "its own"), client))
	}
	call("BAD_PARAMS", "sum", "three")
	result, err = c.CallWith(ctx, ergon.With{"prioritee": 1}, "echo")
	fails("BAD_PARAMS", result, err)
	result, err = c.CallWith(ctx, ergon.With{"deadline": 20 * time.Millisecond}, "sleep", "60s")
	fails("DEADLINE", result, err)
	result, err = c.Task("t0000000000001").Wait(ctx)
	fails("NOT_FOUND", result, err)
	task := good(c.Submit(ctx, nil, "fail", "NO_SPACE", "the disk is full"))
	result, err = task.Wait(ctx)
	check(fails("NO_SPACE", result, err).Data.(map[string]any)["state"], "failed")
	good(c.Call(ctx, "queue.drain", "flaky"))
	task, err = c.Submit(ctx, nil, "flaky", 1)
	holds("it may succeed later", fails("DRAINING", task, err).Retryable)
	good(c.Call(ctx, "queue.resume", "flaky"))
	task = good(c.Submit(ctx, ergon.With{"keep_size": 10}, "echo", strings.Repeat("x", 100)))
	result, err = task.Wait(ctx)
	fails("TOO_LARGE", result, err)
	good(task.Forget(ctx))
	result, err = task.Get(ctx)
	fails("NOT_FOUND", result, err)
	_, err = ergon.New("http://localhost", ergon.Options{})
	holds("another URL is refused", err != nil && strings.Contains(err.Error(), "neither"))
}

func large() {
	c := dial(ergon.Options{})
	defer c.Close()
	data := make([]byte, 8<<20)
	good(rand.Read(data))
	within, stop := context.WithCancel(ctx)
	waiting := begin(c, within, "sleep", "60s")
	var back []func() (any, error)
	for i := 0; i < 4; i++ {
		back = append(back, begin(c, ctx, "echo", data))
	}
	for _, b := range back {
		holds("it came back", bytes.Equal(good(b()).([]byte), data))
	}
	result, err := c.Call(ctx, "echo", make([]byte, 17<<20))
	fails("TOO_LARGE", result, err)
	check(good(c.Call(ctx, "echo", 1)), int64(1))
	stop()
	_, err = waiting()
	check(err, context.Canceled) // and not broken: it was the same connection
}

func tls() {
	c := dial(ergon.Options{})
	check(good(c.Call(ctx, "echo", 1)), int64(1))
	c.Close()
	for _, o := range []ergon.Options{{}, {CA: ca, ServerName: "elsewhere.example"}} {
		c, err := ergon.Dial(ctx, url, o)
		holds("the text says why", strings.Contains(fails("UNREACHABLE", c, err).Text, "certificate"))
	}
	c, err := ergon.Dial(ctx, os.Getenv("ERGON_UNNAMED"), ergon.Options{CA: os.Getenv("ERGON_UNNAMED_CA")})
	fails("UNREACHABLE", c, err)
	mutual := os.Getenv("ERGON_MUTUAL")
	c = good(ergon.Dial(ctx, mutual, ergon.Options{CA: ca, Cert: os.Getenv("ERGON_CERT"), Key: os.Getenv("ERGON_KEY")}))
	check(good(c.Call(ctx, "server.hello")).(map[string]any)["principal"], "cert:ops.example")
	c.Close()
	c, err = ergon.Dial(ctx, mutual, ergon.Options{CA: ca})
	fails("UNREACHABLE", c, err)
}

func token() {
	c := dial(ergon.Options{Token: os.Getenv("ERGON_TOKEN")})
	check(good(c.Call(ctx, "server.hello")).(map[string]any)["principal"], "token:alice")
	c.Close()
	c, err := ergon.Dial(ctx, url, ergon.Options{Token: "wrong"})
	fails("AUTH", c, err)
	c = good(ergon.New(url, ergon.Options{Token: "wrong"}))
	result, err := c.Call(ctx, "echo", 1)
	fails("AUTH", result, err)
	c.Close()
	c = dial(ergon.Options{})
	defer c.Close()
	result, err = c.Call(ctx, "echo", 1)
	fails("AUTH", result, err)
}

func cancel() {
	c := dial(ergon.Options{})
	defer c.Close()
	count := func() int64 {
		return good(c.Call(ctx, "server.info")).(map[string]any)["tasks"].(map[string]any)["cancelled"].(int64)
	}
	before := count()
	late(c.Call(soon(50*time.Millisecond), "sleep", "60s"))
	within, stop := context.WithCancel(ctx)
	var calls []func() (any, error)
	for i := 0; i < 20; i++ {
		calls = append(calls, begin(c, within, "sleep", "60s"))
	}
	for good(c.Call(ctx, "server.info")).(map[string]any)["handlers"] == nil || sleeping(c) < 20 {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	for _, call := range calls {
		_, err := call()
		check(err, context.Canceled)
	}
	for count() < before+21 {
		time.Sleep(10 * time.Millisecond)
	}
	task := good(c.Submit(ctx, nil, "sleep", "60s"))
	late(task.Wait(soon(50 * time.Millisecond)))
	check(good(task.Cancel(ctx)).(map[string]any)["cancelled"], true)
	result, err := task.Wait(ctx)
	fails("CANCELLED", result, err)
	check(good(task.Get(ctx)).(map[string]any)["state"], "cancelled")
}

// sleeping is how many calls of sleep are parked.
func sleeping(c *ergon.Client) int64 {
	for _, h := range good(c.Call(ctx, "server.info")).(map[string]any)["handlers"].([]any) {
		if handler := h.(map[string]any); handler["name"] == "sleep" {
			return handler["parked"].(int64)
		}
	}
	return 0
}

// polls is how many long polls are out.
func polls(c *ergon.Client) (count int64) {
	for _, one := range good(c.Call(ctx, "connection.list")).(map[string]any)["connections"].([]any) {
		count += one.(map[string]any)["polls"].(int64)
	}
	return count
}

func many() {
	c := dial(ergon.Options{InFlight: 500}) // ten times what the server takes
	defer c.Close()
	var all sync.WaitGroup
	for i := 0; i < 5000; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			if i%2 == 0 {
				check(good(c.Call(ctx, "echo", i)), int64(i))
			} else {
				result, err := c.Call(ctx, "fail", "ODD", fmt.Sprint(i))
				check(fails("ODD", result, err).Text, fmt.Sprint(i))
			}
		}(i)
	}
	all.Wait()
}

func follow(w *ergon.Watch) (events []ergon.Event) {
	for w.Next(ctx) {
		if n := len(events); n > 0 {
			holds("numbers grow", events[n-1].Seq < w.Event.Seq)
		}
		events = append(events, w.Event)
	}
	check(w.Err(), nil)
	check(events[len(events)-1].Event, "done")
	return events
}

func watch() {
	pushed := make(chan string, 100)
	c := dial(ergon.Options{OnNotification: func(method string, _ []any) { pushed <- method }})
	defer c.Close()
	task := good(c.Submit(ctx, nil, "progress", 5))
	var parts []any
	progress := 0
	for _, event := range follow(task.Watch(1)) {
		if event.Event == "partial" {
			parts = append(parts, event.Data)
		} else if event.Event == "progress" {
			progress++
		}
	}
	check(parts, []any{int64(1), int64(2), int64(3), int64(4), int64(5)})
	check(progress, 5)
	check(good(task.Wait(ctx)), int64(5))
	check(follow(task.Watch(3))[0].Seq, int64(3))
	slow := good(c.Submit(ctx, nil, "sleep", "60s"))
	ended, open, err := c.Wait(ctx, true, task.ID, slow.ID)
	check(err, nil)
	check([]any{len(ended), ended[0]["id"], open}, []any{1, task.ID, []string{slow.ID}})
	check(good(slow.Explain(ctx)).(map[string]any)["id"], slow.ID)
	w := slow.Watch(1)
	for w.Next(soon(100 * time.Millisecond)) {
	}
	late(0, w.Err())
	good(slow.Cancel(ctx))
	good(c.Call(ctx, "task.watch", task.ID, ergon.With{"push": true}))
	check(<-pushed, "task.event")
}

func closed() {
	c := good(ergon.New(url, ergon.Options{}))
	calls := []func() (any, error){begin(c, ctx, "sleep", "60s"), begin(c, ctx, "sleep", "60s")}
	for sleeping(c) < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	c.Close()
	c.Close()
	for _, call := range calls {
		result, err := call()
		fails("CLOSED", result, err)
		holds("errors.Is", errors.Is(err, ergon.ErrClosed))
	}
	result, err := c.Call(ctx, "echo", 1)
	fails("CLOSED", result, err)
	nobody := os.Getenv("ERGON_NOBODY")
	c, err = ergon.Dial(ctx, nobody, ergon.Options{})
	holds("it may succeed later", fails("UNREACHABLE", c, err).Retryable)
	c = good(ergon.New(nobody, ergon.Options{}))
	late(c.Call(soon(200*time.Millisecond), "echo", 1))
	late(c.Acquire(ctx, "s", ergon.SemOptions{Wait: 50 * time.Millisecond}))
	c.Close()
}

func rubbish() {
	c := good(ergon.New(url, ergon.Options{BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond}))
	defer c.Close()
	broken := 0
	for {
		result, err := c.Call(ctx, "echo", "hi")
		if err == nil {
			check(result, "hi")
			break
		}
		holds("it is not to be repeated", !fails("BROKEN", result, err).Retryable && errors.Is(err, ergon.ErrBroken))
		broken++
	}
	holds("some broke", broken >= 5)
	check(good(c.Call(ctx, "echo", "still")), "still")
	task, err := c.Submit(ctx, nil, "echo", 1)
	fails("BROKEN", task, err)
	task, err = c.Actor("a/1").Remind(ctx, "r", ergon.With{"in": "1s"}, "m")
	fails("BROKEN", task, err)
	put, err := c.CronPut(ctx, "c", "@daily", nil, "m")
	fails("BROKEN", put, err)
	check(good(c.Submit(ctx, ergon.With{"key": "k"}, "echo", 1)).ID, "t1") // asked again
}

// A server asks, and the connection is lost under two requests, and once more; at last one is open when the work ends.
func serve() {
	ending, stop := context.WithCancel(ctx)
	release, why := make(chan bool), make(chan string, 10)
	pushed := func(method string, params []any) {
		check([]any{method, params}, []any{"release", []any{}})
		release <- true
		release <- true
	}
	handlers := map[string]ergon.Handler{
		"hold": func(ctx *ergon.Context, params []any) (any, error) {
			ctx.Progress(0, 0, "")
			select {
			case <-release:
				return "held", nil
			case <-ctx.Done():
				why <- ctx.Cancelled()
				return nil, ctx.Err()
			}
		},
		"echo": func(ctx *ergon.Context, params []any) (any, error) { return params, nil },
		"fail": func(ctx *ergon.Context, params []any) (any, error) {
			return nil, &ergon.Error{Code: params[0].(string), Text: params[1].(string)}
		},
		"raise": func(ctx *ergon.Context, params []any) (any, error) { panic("no luck") },
		"odd":   func(ctx *ergon.Context, params []any) (any, error) { return make(chan bool), nil },
		"again": func(ctx *ergon.Context, params []any) (any, error) {
			return nil, ergon.Again(time.Duration(params[0].(int64)) * time.Millisecond)
		},
		"permanent": func(ctx *ergon.Context, params []any) (any, error) { return nil, ergon.Permanent(params[0].(string)) },
		"mute": func(ctx *ergon.Context, params []any) (any, error) {
			var mute *ergon.Error
			return nil, mute
		},
		"told": func(ctx *ergon.Context, params []any) (any, error) {
			until, ok := ctx.Deadline()
			return []any{ctx.Method, ctx.Task, ctx.Attempt, ctx.Tenant, ok && time.Until(until) < time.Minute}, nil
		},
		"steps": func(ctx *ergon.Context, params []any) (any, error) {
			return "whole", good(ctx.Progress(1, 2, "half"), ctx.Partial([]any{7}))
		},
		"why": func(ctx *ergon.Context, params []any) (any, error) {
			reasons := []any{}
			for i := 0; i < 4; i++ {
				reasons = append(reasons, <-why)
			}
			return reasons, nil
		},
		"quit": func(ctx *ergon.Context, params []any) (any, error) {
			stop()
			return nil, nil
		},
	}
	c := dial(ergon.Options{BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond, MessageMax: 12 << 20,
		OnNotification: pushed})
	troubles := make(chan string, 10)
	options := ergon.WorkOptions{Slots: 2, Name: "hand", Version: "1.2", Grace: 200 * time.Millisecond,
		OnTrouble: func(err error) { troubles <- err.Error() }}
	working := make(chan error)
	go func() { working <- c.Work(ending, options, handlers) }()
	check(<-working, nil)
	good(c.Call(ctx, "worked"))
	c.Close()
	check([]string{<-why}, []string{"stopping"})
	check(<-troubles, "not registered: BUSY: later")
	holds("a panic is told with its stack", strings.Contains(<-troubles, "raise : panic: no luck\n\nmain.serve."))
	check(len(troubles), 0)
}

// A client works three times, one after the other, and calls in the end.
func again() {
	c, caller := dial(ergon.Options{}), dial(ergon.Options{})
	defer c.Close()
	defer caller.Close()
	for i := 0; i < 3; i++ {
		ending, stop := context.WithCancel(ctx)
		leave := func(ctx *ergon.Context, params []any) (any, error) {
			stop()
			return ctx.Method, nil
		}
		working := make(chan error)
		go func() { working <- c.Work(ending, ergon.WorkOptions{}, map[string]ergon.Handler{"go.leave": leave}) }()
		there := func() bool {
			list := good(caller.Call(ctx, "worker.list", map[string]any{"method": "go.leave"}))
			for _, worker := range list.(map[string]any)["workers"].([]any) {
				if worker.(map[string]any)["state"] == "open" {
					return true
				}
			}
			return false
		}
		for !there() {
			time.Sleep(10 * time.Millisecond)
		}
		check(good(caller.Call(ctx, "go.leave")), "go.leave")
		check(<-working, nil)
		result, err := caller.Call(ctx, "go.leave")
		fails("NO_WORKER", result, err)
	}
	check(good(c.Call(ctx, "echo", 1)), int64(1))
}

func share() {
	one, other := dial(ergon.Options{}), dial(ergon.Options{})
	defer one.Close()
	defer other.Close()
	acquire := func(c *ergon.Client, o ergon.SemOptions) (*ergon.Hold, error) { return c.Acquire(ctx, "go", o) }
	got, err := acquire(one, ergon.SemOptions{})
	fails("NOT_FOUND", got, err)
	first := good(acquire(one, ergon.SemOptions{Permits: 2, Of: 3}))
	got, err = acquire(other, ergon.SemOptions{Permits: 2, Wait: -1})
	fails("DEADLINE", got, err)
	got, err = acquire(other, ergon.SemOptions{Permits: 4})
	fails("BAD_PARAMS", got, err)
	within, stop := context.WithCancel(ctx)
	givenUp := make(chan error, 1)
	go func() {
		_, err := other.Acquire(within, "go", ergon.SemOptions{Permits: 3})
		givenUp <- err
	}()
	waiting := make(chan *ergon.Hold)
	go func() { waiting <- good(acquire(other, ergon.SemOptions{Permits: 2})) }()
	waiters := func(count int) {
		for len(good(one.Call(ctx, "sem.explain", "go")).(map[string]any)["waiters"].([]any)) != count {
			time.Sleep(10 * time.Millisecond)
		}
	}
	waiters(2)
	stop()
	holds("the context's error", errors.Is(<-givenUp, context.Canceled))
	waiters(1)
	check([]bool{first.Release(), first.Release()}, []bool{true, false})
	second := <-waiting
	holds("fences grow", second.Fence > first.Fence)
	check(second.Renew(ctx), nil)
	check(second.Release(), true)
	heard := make(chan int64, 1)
	go func() {
		seq, _, err := other.EventWait(ctx, "go", 0)
		heard <- good(seq, err)
	}()
	last := int64(0)
	for len(heard) == 0 { // it may not wait yet
		last = good(one.EventSet(ctx, "go", last))
	}
	holds("it was set", <-heard <= last)
	seq, _, err := other.EventWait(ctx, "go", last)
	check([]any{seq, err}, []any{last, nil})
	_, _, err = other.EventWait(soon(50*time.Millisecond), "go", 0)
	late(0, err)
}

func hold() {
	told := make(chan string, 10)
	o := ergon.SemOptions{Permits: 2, Of: 3, Grace: 3 * time.Second}
	c := dial(ergon.Options{BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond, InFlight: 1,
		OnNotification: func(method string, params []any) { told <- method }})
	defer c.Close()
	stuck := make(chan error, 1)
	func() {
		defer func() { check(recover(), "the permits go back") }()
		c.Sem(ctx, "gpu", o, func(ctx context.Context, hold *ergon.Hold) error {
			check(hold.Fence, int64(7))
			go func() {
				_, err := c.CallAgain(context.Background(), "stuck")
				stuck <- err
			}()
			check(<-told, "go on")
			check(ctx.Err(), nil)
			panic("the permits go back")
		})
	}()
	check(<-stuck, nil)
	err := c.Sem(ctx, "gpu", o, func(ctx context.Context, hold *ergon.Hold) error {
		check(hold.Fence, int64(8))
		<-ctx.Done()
		return ctx.Err()
	})
	fails("FENCED", 0, err)
	waiting, stop := context.WithCancel(ctx)
	go func() {
		check(<-told, "give up")
		stop()
	}()
	_, err = c.Acquire(waiting, "gpu", o)
	holds("the context's error", errors.Is(err, context.Canceled))
	check(good(c.EventSet(ctx, "e", 5)), int64(41))
	seq, value, err := c.EventWait(ctx, "e", 0)
	check([]any{seq, value, err}, []any{int64(43), "v", nil})
}

func restart() {
	c := dial(ergon.Options{BackoffMin: 10 * time.Millisecond, BackoffMax: 100 * time.Millisecond})
	defer c.Close()
	call := begin(c, ctx, "sleep", "60s")
	for sleeping(c) < 1 {
		time.Sleep(time.Millisecond)
	}
	task := good(c.Submit(ctx, ergon.With{"durable": "fsync"}, "sleep", "300ms"))
	later := good(c.Submit(ctx, ergon.With{"delay": "100ms"}, "echo", "kept"))
	events := make(chan []ergon.Event)
	go func() { events <- follow(task.Watch(1)) }()
	slept, kept := make(chan any), make(chan any)
	go func() { slept <- good(task.Wait(ctx)) }()
	go func() { kept <- good(later.Wait(ctx)) }()
	for polls(c) < 3 && good(task.Get(ctx)).(map[string]any)["state"] != "done" {
		time.Sleep(time.Millisecond)
	}
	askStage("restart")
	result, err := call()
	fails("BROKEN", result, err)
	check(good(c.Call(ctx, "echo", "again")), "again")
	holds("it slept", (<-slept).(int64) >= 300)
	check(<-kept, "kept")
	check((<-events)[0].Event, "submitted")
	one := good(c.Submit(ctx, ergon.With{"key": "k"}, "echo", 1))
	two := good(c.Submit(ctx, ergon.With{"key": "k"}, "echo", 1))
	check([]any{two.ID, two.Said["duplicate"]}, []any{one.ID, true})
	refused, err := c.Submit(ctx, ergon.With{"durable": "replicated"}, "echo", 1)
	fails("STORE", refused, err)
	call = begin(c, ctx, "sleep", "60s")
	for sleeping(c) < 1 {
		time.Sleep(time.Millisecond)
	}
	askStage("kill")
	result, err = call()
	fails("BROKEN", result, err)
	late(c.Call(soon(200*time.Millisecond), "echo", 1)) // it waits for a connection
}

// An attempt's timeout ends it; each kind of time, and of task; and what is wrong says what to use.
func times() {
	c := dial(ergon.Options{})
	defer c.Close()
	submit := func(with ergon.With) *ergon.Task { return good(c.Submit(ctx, with, "echo", 1)) }
	get := func(with ergon.With) map[string]any { return good(submit(with).Get(ctx)).(map[string]any) }
	for _, timeout := range []any{20 * time.Millisecond, "20ms", "0.02s"} {
		task := good(c.Submit(ctx, ergon.With{"attempt_timeout": timeout}, "sleep", time.Minute))
		result, err := task.Wait(ctx)
		check(fails("DEADLINE", result, err).Data.(map[string]any)["state"], "failed")
		result, err = c.CallWith(ctx, ergon.With{"attempt_timeout": timeout}, "sleep", "60s")
		fails("DEADLINE", result, err)
	}
	at := time.Now().Add(time.Hour)
	for _, when := range []any{at, at.Format(time.RFC3339Nano)} {
		check(get(ergon.With{"at": when})["due"], at.UnixMilli())
	}
	near := func(a any, b int64) bool { return a.(int64) > b-60000 && a.(int64) < b+60000 }
	for _, delay := range []any{time.Hour, "1h", "60m", "0h60m"} {
		holds("the delay", near(get(ergon.With{"delay": delay})["due"], at.UnixMilli()))
	}
	for _, deadline := range []any{at, time.Hour, "1h"} {
		holds("the deadline", near(get(ergon.With{"delay": "2h", "deadline": deadline})["deadline"], at.UnixMilli()))
	}
	submit(ergon.With{"keep": "7d", "keep_size": 10, "backoff": 2 * time.Second, "backoff_max": "5s", "retries": 3, "tenant": nil,
		"limit": ergon.With{"key": "l", "max": 2}, "rate": map[string]any{"key": "r", "max": 9, "per": time.Second}})
	first := submit(nil)
	second := submit(ergon.With{"after": first, "after_any": []string{first.ID}})
	third := submit(ergon.With{"after": []any{first.ID, second}})
	ended, open, err := c.Wait(ctx, false, first, second.ID, []*ergon.Task{third})
	check([]any{len(ended), len(open), err}, []any{3, 0, nil})
	check(good(c.Call(ctx, "task.get", third)).(map[string]any)["id"], third.ID)
	check(good(third.Get(ctx, ergon.With{"result": true})).(map[string]any)["result"], int64(1))
	for _, schedule := range []any{time.Hour, "every 1h", "@hourly"} {
		good(c.CronPut(ctx, "times", schedule, ergon.With{"attempt_timeout": "5s", "jitter": time.Second, "catch_up": "one"}, "echo", 1))
	}
	good(c.Call(ctx, "cron.delete", "times"))
	hold := good(c.Acquire(ctx, "go-times", ergon.SemOptions{Of: 1, TTL: time.Minute}))
	got, err := c.Acquire(ctx, "go-times", ergon.SemOptions{Wait: 10 * time.Millisecond})
	fails("DEADLINE", got, err)
	check(hold.Release(), true)
	check(ergon.Again(time.Microsecond).Text, "1ms")
	wrong := func(text string, with ergon.With) {
		task, err := c.Submit(ctx, with, "echo", 1)
		said := fails("BAD_PARAMS", task, err).Text
		holds(said+" names "+text, strings.Contains(said, text))
	}
	wrong(`Submit has no option "timeout": attempt_timeout ends one attempt`, ergon.With{"timeout": time.Second})
	wrong("the context the wait", ergon.With{"answer_timeout": time.Second})
	wrong(`did you mean "priority"?`, ergon.With{"prioritee": 1})
	wrong(`did you mean "attempt_timeout"?`, ergon.With{"AttemptTimeout": time.Second})
	wrong("; it has actor, after, after_any, at, attempt_timeout, ", ergon.With{"colour": 1})
	wrong(`delay is a duration: use a time.Duration, such as 5*time.Second, or a text with its unit, such as "5s", not int`, ergon.With{"delay": 5})
	wrong("not float64", ergon.With{"attempt_timeout": 0.5})
	wrong(`"5" is no duration`, ergon.With{"keep": "5"})
	wrong("must not be negative", ergon.With{"delay": -time.Second})
	wrong("use time.Until", ergon.With{"delay": at})
	wrong("at is a moment: use a time.Time, or RFC 3339, not int64", ergon.With{"at": at.Unix()})
	wrong("use delay", ergon.With{"at": time.Hour})
	wrong("rate.per is a duration", ergon.With{"rate": ergon.With{"key": "r", "max": 9, "per": 5}})
	wrong("after: a task is a *Task or its id, not int", ergon.With{"after": []any{7}})
	wrong("after: a task is nil", ergon.With{"after": (*ergon.Task)(nil)})
	_, _, err = c.SubmitMany(ctx, nil, ergon.Order{Method: "echo", With: ergon.With{"timeout": "5s"}})
	fails("BAD_PARAMS", 0, err)
	result, err := c.CronPut(ctx, "times", 60, nil, "echo")
	fails("BAD_PARAMS", result, err)
	_, _, err = c.Wait(ctx, false, 7)
	fails("BAD_PARAMS", 0, err)
	none, err := ergon.New(url, ergon.Options{InFlight: -1})
	fails("BAD_PARAMS", none, err)
	fails("BAD_PARAMS", 0, c.Work(ctx, ergon.WorkOptions{Secret: "all"}, nil))
}

func thousands() {
	c := dial(ergon.Options{})
	defer c.Close()
	many := func(count int, with ergon.With, value any) []*ergon.Task {
		orders := make([]ergon.Order, count)
		for i := range orders {
			orders[i] = ergon.Order{Method: "echo", Params: []any{value}}
		}
		tasks, _, err := c.SubmitMany(ctx, with, orders...)
		return good(tasks, err)
	}
	ended, open, err := c.Wait(ctx, false, many(3000, nil, 7))
	check([]any{len(ended), len(open), err}, []any{3000, 0, nil})
	for _, task := range ended {
		check(task["result"], int64(7))
	}
	never := many(2500, ergon.With{"delay": time.Hour}, 0)
	last := good(c.Submit(ctx, nil, "echo", "last"))
	ended, open, err = c.Wait(ctx, true, never, last)
	check([]any{len(ended), ended[0]["result"], len(open), err}, []any{1, "last", 2500, nil})
	for i, task := range never {
		check(open[i], task.ID)
	}
	_, _, err = c.Wait(soon(50*time.Millisecond), false, never)
	late(0, err)
	_, _, err = c.Wait(ctx, false, never, "t0000000000001")
	fails("NOT_FOUND", 0, err)
	ended, open, err = c.Wait(ctx, false)
	check([]any{len(ended), len(open), err}, []any{0, 0, nil})
	ended, _, err = c.Wait(ctx, false, many(12, nil, make([]byte, 1000000))) // more than one answer of the server has
	for _, task := range good(ended, err) {
		check(len(task["result"].([]byte)), 1000000)
	}
	for _, task := range never {
		good(task.Cancel(ctx))
	}
}

type detailed struct{ error }

func (d detailed) Format(f fmt.State, verb rune) {
	fmt.Fprint(f, d.Error())
	if f.Flag('+') {
		fmt.Fprint(f, "\nmain.there\n\tthere.go:7")
	}
}

// Handlers that fail in each way.
func failures() {
	c := dial(ergon.Options{Log: ergon.Silent})
	defer c.Close()
	ending, stop := context.WithCancel(ctx)
	deep := func(n int) int { return 0 }
	deep = func(n int) int {
		if n == 0 {
			panic(fmt.Errorf("at the ground: %w", fs.ErrNotExist))
		}
		return deep(n-1) + 1
	}
	fault := map[string]func() error{
		"plain": func() error { return errors.New("no luck") },
		"caused": func() error {
			return fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist})
		},
		"coded":  func() error { return fmt.Errorf("writing: %w", &ergon.Error{Code: "NO_SPACE", Text: "full"}) },
		"again":  func() error { return fmt.Errorf("later: %w", ergon.Again(5*time.Second)) },
		"detail": func() error { return detailed{errors.New("no luck")} },
		"index":  func() error { return []error{}[len(os.Args)] },
		"deep":   func() error { deep(1000); return nil },
		"nil":    func() error { panic(nil) },
		"exit":   func() error { runtime.Goexit(); return nil },
		"long":   func() error { return detailed{errors.New(strings.Repeat("käse", 10000))} },
	}
	handlers := map[string]ergon.Handler{
		"fault": func(ctx *ergon.Context, params []any) (any, error) { return 1, fault[params[0].(string)]() },
		"quit":  func(ctx *ergon.Context, params []any) (any, error) { stop(); return nil, nil },
	}
	check(c.Work(ending, ergon.WorkOptions{Host: "here", Secret: []string{"fault"}, Grace: -1}, handlers), nil)
}

// events are what a client's callbacks are called with, in order.
func events(o *ergon.Options) chan string {
	told := make(chan string, 10000)
	for name, callback := range map[string]*func(ergon.ConnectionEvent){"connect": &o.OnConnect, "disconnect": &o.OnDisconnect,
		"reconnect": &o.OnReconnect, "refused": &o.OnRefused, "drained": &o.OnDrained} {
		name := name
		*callback = func(e ergon.ConnectionEvent) {
			holds("the address", strings.Contains(e.Address, "://"))
			told <- strings.TrimSpace(name + " " + e.Reason)
		}
	}
	return told
}

// skip returns the next one that begins so, and checks that those before begin with other.
func skip(told chan string, other, wanted string) string {
	for {
		one := <-told
		if strings.HasPrefix(one, wanted) {
			return one
		}
		holds(one+" instead of "+wanted, strings.HasPrefix(one, other))
	}
}

func news() {
	var mu sync.Mutex
	lines := []string{}
	o := ergon.Options{BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond}
	other := o
	o.Log = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, strings.ReplaceAll(fmt.Sprintf(format, args...), url, "URL"))
	}
	told, others := events(&o), events(&other)
	c, plain := dial(o), dial(other) // whose lines go to standard error
	holds("OnConnect", <-told == "connect" && <-others == "connect")
	askStage("kill")
	check(<-told, "disconnect the server closed it")
	holds("why it is refused", regexp.MustCompile("^refused dial .*connect: (connection refused|no such file or directory)$").MatchString(<-told))
	skip(others, "disconnect", "refused")
	_, err := plain.Call(soon(20*time.Millisecond), "echo", 1)
	late(0, err)
	holds("it says why there is no connection", strings.Contains(err.Error(), "no connection to "+url+": dial "))
	askStage("restart")
	skip(told, "refused", "reconnect")
	skip(others, "refused", "reconnect")
	plain.Close()
	check(<-others, "disconnect the client closed it")
	ending, stop := context.WithCancel(ctx)
	begun, drained, working := make(chan bool), make(chan string), make(chan error)
	holding := func(ctx *ergon.Context, params []any) (any, error) {
		begun <- true
		return <-drained, nil
	}
	go func() { working <- c.Work(ending, ergon.WorkOptions{}, map[string]ergon.Handler{"hold": holding}) }()
	for _, err := c.Submit(ctx, nil, "hold"); ergon.Code(err) == "NO_METHOD"; _, err = c.Submit(ctx, nil, "hold") {
		time.Sleep(time.Millisecond) // until it is registered
	}
	<-begun
	quiet := ergon.Options{Log: ergon.Silent}
	toldIdle := events(&quiet)
	idle := dial(quiet) // it asks for nothing, and is told
	check(<-toldIdle, "connect")
	askStage("stop")
	holds("an idle client is told", strings.HasPrefix(<-toldIdle, "drained DRAINING: "))
	idle.Close()
	for len(told) == 0 {
		c.Call(ctx, "echo", 1)
	}
	reason := <-told
	holds(reason, strings.HasPrefix(reason, "drained "))
	drained <- reason
	check(<-told, "disconnect the server closed it")
	stop()
	check(<-working, nil)
	c.Close()
	check(lines[0], "ergon: lost the connection to URL: the server closed it; connecting again")
	holds(lines[1], regexp.MustCompile("^ergon: no connection to URL: dial .*; trying again$").MatchString(lines[1]))
	for _, pattern := range []string{`^ergon: connected to URL again, after \d+\.\d s$`, "^ergon: URL is stopping: "} {
		holds(pattern, regexp.MustCompile("(?m)"+pattern).MatchString(strings.Join(lines, "\n")))
	}
	lines = nil
	told = events(&o)
	o.Token = "wrong"
	c, err = ergon.Dial(ctx, os.Getenv("ERGON_GUARDED"), o)
	fails("AUTH", c, err)
	check(strings.HasPrefix(<-told, "refused AUTH: the server refused the token: AUTH: "), true)
	check(len(lines), 0) // Dial returned it
}

// A server that has no room says so.
func full() {
	o := ergon.Options{Log: ergon.Silent}
	told := events(&o)
	c, err := ergon.Dial(ctx, url, o)
	holds("Dial says why", strings.HasSuffix(fails("UNREACHABLE", c, err).Text, ": BUSY: too many connections"))
	check(<-told, "refused BUSY: too many connections")
}

// A server that knows neither host nor secret is asked without the former, which nobody wanted.
func older() {
	lines := make(chan string, 100)
	o := ergon.Options{BackoffMin: time.Millisecond, Log: func(format string, args ...any) { lines <- fmt.Sprintf(format, args...) }}
	told := events(&o)
	c := dial(o)
	defer c.Close()
	ending, stop := context.WithCancel(ctx)
	quit := map[string]ergon.Handler{"quit": func(ctx *ergon.Context, params []any) (any, error) { stop(); return nil, nil }}
	check(c.Work(ending, ergon.WorkOptions{Lease: 5 * time.Second}, quit), nil)
	err := c.Work(ctx, ergon.WorkOptions{Secret: true}, quit)
	holds("it says what it does not know", strings.Contains(fails("BAD_PARAMS", 0, err).Text, "secret"))
	skip(told, "", "refused BAD_PARAMS: unknown option \"secret\"")
	check(<-told, "reconnect")
	check(len(lines), 0) // Work returned it
}

// A program that closes nothing.
func silent() {
	c := dial(ergon.Options{})
	go c.Call(ctx, "sleep", "60s")
	task := good(c.Submit(ctx, nil, "sleep", "60s"))
	go task.Wait(ctx)
	go task.Watch(1).Next(ctx)
	good(c.Acquire(ctx, "go-silent", ergon.SemOptions{Of: 1}))
	go c.Work(ctx, ergon.WorkOptions{}, map[string]ergon.Handler{"go.silent": nil})
	good(c.Call(ctx, "echo", 1))
	nobody := good(ergon.New("unix:///there/is/no/ergon", ergon.Options{Log: ergon.Silent}))
	go nobody.Call(ctx, "echo", 1)
	good(task.Cancel(ctx))
}

// A turn of the cart sends to begun before it waits, and goes on when it can read from waits.
var begun, waits = make(chan struct{}, 1), make(chan struct{})

// cart is a type of actors whose states had another form before.
var cart = ergon.ActorType{
	Schema: 2,
	Reads:  []string{"total"},
	Policy: ergon.With{"durable": "none", "idle": "1m", "state_max": "1k"},
	Methods: map[string]ergon.ActorMethod{
		"add": func(a *ergon.Actor, params []any) (any, error) {
			items, _ := a.State["items"].(map[string]any)
			if items == nil {
				items = map[string]any{}
			}
			items[params[0].(string)] = params[1]
			a.State["items"] = items
			return len(items), nil
		},
		"total": func(a *ergon.Actor, params []any) (any, error) {
			sum := int64(0)
			items, _ := a.State["items"].(map[string]any)
			for _, cents := range items {
				sum += cents.(int64)
			}
			return sum, nil
		},
		"back": func(a *ergon.Actor, params []any) (any, error) {
			a.State, _ = a.State["items"].(map[string]any)
			return nil, nil
		},
		"spoil": func(a *ergon.Actor, params []any) (any, error) {
			a.State["items"] = nil
			return nil, ergon.Permanent("spoiled")
		},
		"buy": func(a *ergon.Actor, params []any) (any, error) { // from another, at the second attempt
			count, err := a.Call(params[0].(string), "add", "bought", 1)
			if err == nil && a.Attempt == 1 {
				err = errors.New("once more")
			}
			return count, err
		},
		"both": func(a *ergon.Actor, params []any) (any, error) {
			other, done := params[0].(string), make(chan error)
			go func() {
				_, err := a.CallWith(ergon.With{"priority": 7}, other, "wait")
				done <- err
			}()
			<-begun
			_, err := a.Call(other, "total")
			close(waits)
			if failed := <-done; failed != nil {
				return nil, failed
			}
			return nil, err
		},
		"wait": func(a *ergon.Actor, params []any) (any, error) {
			begun <- struct{}{}
			<-waits
			return nil, nil
		},
		"empty": func(a *ergon.Actor, params []any) (any, error) {
			a.Tell(ergon.With{"keep": "1m"}, "cart/"+params[0].(string), "add", "left", 1)
			a.Submit(nil, "echo", 1)
			a.Drop()
			return nil, nil
		},
	},
	Upgrade: func(state any, schema int64) (any, error) { return map[string]any{"items": state}, nil },
}

var twin = ergon.ActorType{Methods: map[string]ergon.ActorMethod{
	"report": func(a *ergon.Actor, params []any) (any, error) {
		a.State["value"] = params[0]
		a.Wake()
		return a.Name, nil
	},
	"step": func(a *ergon.Actor, params []any) (any, error) {
		counted, err := a.Call("counter/go", "add", 1)
		a.State["steps"], a.State["counted"] = a.Version, counted
		a.SleepUntilWoken()
		return nil, err
	},
}}

func actors() {
	apple := map[string]any{"items": map[string]any{"a": 1}}
	both := map[string]any{"items": map[string]any{"a": int64(1), "b": int64(2)}}
	check(good(cart.Turn(apple, "add", "b", 2)), ergon.Turned{Result: 2, Changes: map[string]any{"state": both}})
	check(apple, map[string]any{"items": map[string]any{"a": 1}})
	check(good(cart.Turn(both, "total")), ergon.Turned{Result: int64(3)})
	check(good(cart.Turn(both, "empty", "5")).Changes, map[string]any{"drop": true, "task": []any{[]any{"echo", []any{1}, map[string]any{}}},
		"tell": []any{[]any{"cart/5", "add", []any{"left", 1}, map[string]any{"keep": int64(60000)}}}})
	for method, code := range map[string]string{"gone": "NO_METHOD", "spoil": "PERMANENT"} {
		turned, err := cart.Turn(nil, method)
		fails(code, turned, err)
	}
	answers := map[string]any{"cart/1 add": func(params []any) (any, error) { return len(params), nil }, "cart/2 add": errors.New("none")}
	turned, err := cart.TurnWith(answers, nil, "buy", "cart/1")
	check(err.Error(), "once more")
	turned, err = cart.TurnWith(answers, nil, "buy", "cart/2")
	check(err.Error(), "none")
	turned, err = cart.TurnWith(answers, nil, "buy", "cart/3")
	holds("it names what is missing", strings.Contains(fails("BAD_PARAMS", turned, err).Text, "cart/3 add"))
	turned, err = cart.Turn(7, "total")
	fails("PERMANENT", turned, err)

	host, c := dial(ergon.Options{}), dial(ergon.Options{})
	defer c.Close()
	defer host.Close()
	ending, stop := context.WithCancel(ctx)
	work := func(types map[string]ergon.ActorType) error {
		return host.Work(ending, ergon.WorkOptions{Slots: 2, Actors: types}, nil)
	}
	for _, wrong := range []ergon.ActorType{{Reads: []string{"gone"}}, {Policy: ergon.With{"gone": 1}}, {Methods: map[string]ergon.ActorMethod{"gone": nil}}} {
		holds("it names what is wrong", strings.Contains(fails("BAD_PARAMS", 0, work(map[string]ergon.ActorType{"cart": wrong})).Text, "gone"))
	}
	old := ergon.ActorType{Methods: map[string]ergon.ActorMethod{"put": func(a *ergon.Actor, params []any) (any, error) {
		a.State["a"] = 1
		return nil, nil
	}}}
	worked := make(chan error)
	go func() { worked <- work(map[string]ergon.ActorType{"cart": old}) }()
	ready := func(method string) {
		for {
			if _, err := c.Call(ctx, "server.describe", method); err == nil {
				return
			}
		}
	}
	ready("cart.put")
	one, back := c.Actor("cart/9"), c.Actor("cart/back")
	check([]any{good(one.Call(ctx, "put")), good(back.Call(ctx, "put"))}, []any{nil, nil})
	stop()
	check(<-worked, nil)
	ending, stop = context.WithCancel(ctx)
	go func() { worked <- work(map[string]ergon.ActorType{"cart": cart, "twin": twin}) }()
	ready("twin.step")
	check(good(back.Call(ctx, "total")), int64(1))
	check(good(back.Call(ctx, "back")), nil)
	upgraded := good(back.Get(ctx)) // what it was before, and sent all the same
	check([]any{upgraded["version"], upgraded["schema"], upgraded["state"]}, []any{int64(2), int64(2), map[string]any{"a": int64(1)}})
	check(good(one.Call(ctx, "add", "b", 2)), int64(2))
	check(good(one.CallWith(ctx, ergon.With{"key": "line-2"}, "add", "c", 3)), int64(3))
	check(good(one.CallWith(ctx, ergon.With{"key": "line-2"}, "add", "c", 4)), int64(3))
	check(good(good(one.Tell(ctx, ergon.With{"keep": "1m"}, "total")).Wait(ctx)), int64(6))
	for method, code := range map[string]string{"spoil": "PERMANENT", "gone": "NO_METHOD"} {
		result, err := one.Call(ctx, method)
		fails(code, result, err)
	}
	result, err := one.CallWith(ctx, ergon.With{"actor": "cart/8"}, "total")
	fails("BAD_PARAMS", result, err)
	result, err = one.Call(ctx, "add", strings.Repeat("x", 2000), 1)
	fails("BAD_CHANGES", result, err)
	shown := good(one.Get(ctx))
	check([]any{shown["version"], shown["schema"], shown["state"]},
		[]any{int64(3), int64(2), map[string]any{"items": map[string]any{"a": int64(1), "b": int64(2), "c": int64(3)}}})
	watched := one.Watch(1)
	check([]any{watched.Next(ctx), watched.Version, watched.Stage, watched.State}, []any{true, int64(3), "sleeping", shown["state"]})
	check(good(one.Call(ctx, "empty", "8")), nil)
	check([]any{watched.Next(ctx), watched.Version, watched.State, watched.Err()}, []any{true, int64(4), nil, nil})
	for { // a tell
		if total, err := c.Actor("cart/8").Call(ctx, "total"); err == nil && total == int64(1) {
			break
		}
	}
	check(good(good(c.Actor("cart/shop").Tell(ctx, ergon.With{"keep": "1m", "retries": 1, "backoff": "1ms"}, "buy", "cart/9")).Wait(ctx)), int64(1))
	check(good(c.Actor("cart/9").Get(ctx))["version"], int64(5)) // bought once
	result, err = one.Call(ctx, "buy", "cart/9")
	holds("it names both", strings.Contains(fails("DEADLOCK", result, err).Text, "cart/9 calls cart/9"))
	result, err = one.CallWith(ctx, ergon.With{"turn": 1}, "total")
	fails("BAD_PARAMS", result, err)
	result, err = one.Call(ctx, "both", "cart/8")
	fails("BUSY", result, err)
	check(good(one.Stop(ctx, "closed")), "stopped")
	result, err = one.Call(ctx, "total")
	fails("STOPPED", result, err)
	check(good(one.Explain(ctx))["reason"], "stopped")
	check([]string{good(one.Start(ctx, true)), good(one.Wake(ctx)), good(one.Drop(ctx))}, []string{"sleeping", "sleeping", "sleeping"})
	check(good(c.Actor("twin/1").Call(ctx, "report", 5)), "twin/1")
	for steps := int64(1); steps <= 2; { // each calls anew
		shown = good(c.Actor("twin/1").Get(ctx))
		if state := shown["state"].(map[string]any); state["steps"] == steps && shown["stage"] == "sleeping" {
			check(state["counted"], steps)
			good(c.Actor("twin/1").Wake(ctx))
			steps++
		}
	}
	stop()
	check(<-worked, nil)
}

func main() {
	map[string]func(){"values": values, "errors": errs, "large": large, "tls": tls, "token": token, "cancel": cancel, "many": many,
		"watch": watch, "closed": closed, "rubbish": rubbish, "restart": restart, "serve": serve, "hold": hold, "share": share, "again": again,
		"times": times, "thousands": thousands, "failures": failures, "news": news, "full": full, "older": older, "silent": silent, "actors": actors}[os.Args[1]]()
}
