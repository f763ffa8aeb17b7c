package ergon

import (
	"context"
	"errors"
	"strings"

	"ergon-client/internal/options"
	"ergon-client/internal/pause"
)

// Task is a task that the server keeps.
type Task struct {
	ID     string
	Said   map[string]any // the server's answer to its submission: state, durable, duplicate, coalesced
	client *Client
}

// MsgpackValue is the id: so a task goes as a parameter.
func (t *Task) MsgpackValue() any { return t.ID }

// Order is a task for SubmitMany.
type Order struct {
	Method string
	Params []any
	With   With
}

// Submit leaves a task with the server, with options of task.submit or nil. With a key it is repeated after a broken
// connection, since the server then makes no second task.
func (c *Client) Submit(ctx context.Context, with With, method string, params ...any) (*Task, error) {
	order, wire, err := Order{method, params, with}.wire("Submit", taskOptions)
	if err != nil {
		return nil, err
	}
	said, err := c.request(ctx, c.calls, ifKeyed(wire), "task.submit", order...)
	if err != nil {
		return nil, err
	}
	return c.submitted(said)
}

func (c *Client) submitted(answer any) (*Task, error) {
	said, _ := answer.(map[string]any)
	id, ok := said["id"].(string)
	if text, failed := said["error"].(string); failed {
		return nil, remoteError(text)
	}
	if !ok {
		return nil, fail(ErrProtocol, "the server's answer has no id")
	}
	return &Task{ID: id, Said: said, client: c}, nil
}

// SubmitMany leaves many tasks at once: a task or an error for each; or an error for all.
func (c *Client) SubmitMany(ctx context.Context, with With, orders ...Order) ([]*Task, []error, error) {
	packed := make([]any, 0, len(orders))
	for _, o := range orders {
		if after := with["after"]; after != nil {
			o.With = With{"after": after}.and(o.With)
		}
		order, _, err := o.wire("an Order of SubmitMany", taskOptions)
		if err != nil {
			return nil, nil, err
		}
		packed = append(packed, order)
	}
	wire, err := with.told("SubmitMany", taskOptions)
	if err != nil {
		return nil, nil, err
	}
	answer, err := c.Call(ctx, "task.submit_many", packed, wire)
	if err != nil {
		return nil, nil, err
	}
	answers, ok := answer.([]any)
	if !ok || len(answers) != len(orders) {
		return nil, nil, fail(ErrProtocol, "the server's answer is not one for each task")
	}
	tasks, errs := make([]*Task, len(orders)), make([]error, len(orders))
	for i := range answers {
		tasks[i], errs[i] = c.submitted(answers[i])
	}
	return tasks, errs, nil
}

// CronPut submits a task by calendar, or replaces the cron of this name: the schedule is a text such as "*/5 * * * *", "@daily"
// or "every 10m", or a time.Duration. The answer has its name, and next, the Unix milliseconds of its next time.
func (c *Client) CronPut(ctx context.Context, name string, schedule any, with With, method string, params ...any) (any, error) {
	when, err := options.Schedule(schedule)
	if err != nil {
		return nil, badly(err)
	}
	wire, err := with.told("CronPut", cronOptions)
	if err != nil {
		return nil, err
	}
	return c.Call(ctx, "cron.put", name, when, method, list(params), wire)
}

// CronRun submits a task of a cron now.
func (c *Client) CronRun(ctx context.Context, name string) (*Task, error) {
	said, err := c.Call(ctx, "cron.run", name)
	if err != nil {
		return nil, err
	}
	return c.submitted(said)
}

// Task is a task that was submitted before.
func (c *Client) Task(id string) *Task {
	return &Task{ID: id, client: c}
}

// poll asks as long as it takes for an answer that is a map.
func (c *Client) poll(ctx context.Context, method string, params ...any) (map[string]any, error) {
	for {
		within, cancel := context.WithTimeout(ctx, pollLongest)
		answer, err := c.request(within, c.polls, full, method, params...)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			continue
		}
		said, ok := answer.(map[string]any)
		if err == nil && !ok {
			err = fail(ErrProtocol, "the server's answer is no map")
		}
		return said, err
	}
}

// Wait returns the result when the task has ended, across broken connections and restarts of the server. An *Error with
// the task as its Data: it ended otherwise than done, or its result was too large to be kept.
func (t *Task) Wait(ctx context.Context) (any, error) {
	ended, _, err := t.client.Wait(ctx, false, t.ID)
	if err != nil {
		return nil, err
	}
	if len(ended) != 1 {
		return nil, fail(ErrProtocol, "the server's answer has no task")
	}
	return resultOf(ended[0])
}

// resultOf is the result or the error of a task that has ended.
func resultOf(task map[string]any) (any, error) {
	state, _ := task["state"].(string)
	if cut, _ := task["cut"].(bool); state == "done" && !cut {
		return task["result"], nil
	}
	failure := fail(ErrTooLarge, "the result was larger than keep_size, and was not kept")
	if state != "done" {
		text, ok := task["error"].(string)
		if !ok {
			text = strings.ToUpper(state) + ": the task is " + state
		}
		failure = remoteError(text)
	}
	failure.Data = task
	return nil, failure
}

// Get returns what the server knows of the task; with result, history, params, params_text, options or attempts, each true,
// more of it.
func (t *Task) Get(ctx context.Context, with ...With) (any, error) {
	params := []any{t.ID}
	for _, one := range with {
		wire, err := one.told("Get", getOptions)
		if err != nil {
			return nil, err
		}
		params = append(params, wire)
	}
	return t.client.CallAgain(ctx, "task.get", params...)
}

// Explain says why the task is where it is.
func (t *Task) Explain(ctx context.Context) (any, error) {
	return t.client.CallAgain(ctx, "task.explain", t.ID)
}

// Cancel cancels the task: a map with id, state, cancelled.
func (t *Task) Cancel(ctx context.Context) (any, error) {
	return t.client.Call(ctx, "task.cancel", t.ID)
}

// Retry queues the task again, if it ended otherwise than done.
func (t *Task) Retry(ctx context.Context) (any, error) {
	return t.client.Call(ctx, "task.retry", t.ID)
}

// Forget forgets the task before its time, once it has ended.
func (t *Task) Forget(ctx context.Context) (any, error) {
	return t.client.Call(ctx, "task.forget", t.ID)
}

// Event is a line of a task's history. Missed says how many before it the server has forgotten.
type Event struct {
	_                        struct{} `msgpack:",open"`
	Seq, At, Attempt, Missed int64
	Event, Reason, Text      string
	Data                     any
}

// Watch gives the events of a task, as they happen, until it has ended; none is missed or told twice, whatever
// connection and server do:
//
//	for w := task.Watch(1); w.Next(ctx); {
//		fmt.Println(w.Event.Event)
//	}
type Watch struct {
	Event Event // valid after Next returned true

	task    *Task
	next    int64
	events  []any // that have come
	missed  int64
	attempt int
	ended   bool
	err     error
}

// Watch begins with event number from, which is 1 or more.
func (t *Task) Watch(from int64) *Watch {
	return &Watch{task: t, next: from}
}

// Next waits for the next event. False: the task has ended, or Err says why not.
func (w *Watch) Next(ctx context.Context) bool {
	for w.err == nil {
		for len(w.events) > 0 {
			value := w.events[0]
			w.events = w.events[1:]
			if w.take(value) {
				return true
			}
		}
		if w.ended {
			return false
		}
		w.err = w.turn(ctx)
	}
	return false
}

// Err is nil when the task has ended.
func (w *Watch) Err() error {
	return w.err
}

// turn gets the next page.
func (w *Watch) turn(ctx context.Context) error {
	if w.attempt > 1 { // a server that is always so quick is left in peace
		if err := pause.Sleep(ctx, pause.For(w.attempt-2, pauseMin, pauseMax)); err != nil {
			return err
		}
	}
	answer, err := w.task.client.poll(ctx, "task.watch", w.task.ID,
		map[string]any{"from": w.next, "max": page, "timeout": poll})
	if err != nil {
		return err
	}
	if w.events, err = member[[]any](answer, "events", nil); err != nil {
		return err
	}
	w.missed, _ = answer["missed"].(int64)
	w.ended, _ = answer["ended"].(bool)
	w.attempt++
	return nil
}

// take makes an event of what came, unless it is an old one.
func (w *Watch) take(value any) bool {
	event, err := decoded[Event](value, nil)
	if err != nil || event.Seq < w.next {
		return false
	}
	w.Event, w.Event.Missed = event, w.missed
	w.next, w.missed, w.attempt = event.Seq+1, 0, 0
	return true
}

// ifKeyed: what has a key is sent again after a broken connection.
func ifKeyed(wire map[string]any) func(error) bool {
	if wire["key"] != nil {
		return stopping
	}
	return never
}
