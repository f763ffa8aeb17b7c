// Package manage has the methods of a client that look at what a server has, and change it: crons, queues, semaphores, lists of
// tasks, events. ergon.Client embeds them: client.Crons(ctx).
package manage

import (
	"context"
	"time"

	"ergon-client/internal/options"
	"ergon-client/msgpack"
)

// Methods are part of ergon.Client.
type Methods struct{ server Server }

// New makes them.
func New(server Server) Methods { return Methods{server} }

// Server is how they ask.
type Server struct {
	// Call asks again after a broken connection, if that does no harm.
	Call  func(ctx context.Context, again bool, method string, params ...any) (any, error)
	Poll  func(ctx context.Context, method string, params ...any) (map[string]any, error) // asks as long as it takes
	Error func(code string, err error) error                                              // makes an error of the client
}

const poll = 30 * time.Second // that the server waits for something to say

// TaskInfo is what the server says of a task; times are Unix milliseconds, 0: none. PROTOCOL.md describes these, and those below.
type TaskInfo struct {
	_                                                             struct{} `msgpack:",open"`
	ID, Method, State, Reason, Tenant, Key, Actor, Durable, Error string
	Traceparent, ParamsText                                       string
	Attempt, Failures, Retries, Crashes, Losses, Priority         int64
	Created, Due, Started, Ended, Deadline                        int64
}

// Cron submits tasks by calendar.
type Cron struct {
	_                                                             struct{} `msgpack:",open"`
	Name, Tenant, MadeBy, Schedule, Zone, Method, LastTask, Error string
	Params                                                        []any
	Options                                                       map[string]any
	Paused                                                        bool
	Next, Last, Fired, Skipped                                    int64
}

// Queue has the tasks of a method.
type Queue struct {
	_                                                   struct{} `msgpack:",open"`
	Method, Kind, Reason, Text                          string   // the last two only of QueueExplain
	Paused, Draining, Secret                            bool
	Queued, Delayed, Waiting, Assigned, Running, Parked int64
	Submitted, Done, Failed, Oldest                     int64
	Executors                                           []map[string]any
}

// Semaphore is a semaphore or a limit.
type Semaphore struct {
	_                            struct{} `msgpack:",open"`
	Name, Tenant                 string
	Permits, Free, Held, Waiting int64
	Durable                      bool
	Holders, Waiters             []map[string]any // only of SemExplain
}

// FeedEvent is what happened to a task, a queue, a cron or an actor.
type FeedEvent struct {
	_                                                                    struct{} `msgpack:",open"`
	Seq, At, Attempt                                                     int64
	Event, ID, Method, Tenant, Key, Cron, Actor, Reason, Text, Traceback string
}

// Changed says how many tasks a filter means, and how many of these were changed.
type Changed struct {
	_                                      struct{} `msgpack:",open"`
	Matched, Cancelled, Retried, Forgotten int64
	DryRun                                 bool
}

// Crons are those that we may see.
func (c Methods) Crons(ctx context.Context) ([]Cron, error) {
	return asked[[]Cron](ctx, c, "cron.list")
}

// CronPause stops a cron, until CronResume.
func (c Methods) CronPause(ctx context.Context, name string) error {
	return c.done(ctx, "cron.pause", name)
}

// CronResume starts a cron again.
func (c Methods) CronResume(ctx context.Context, name string) error {
	return c.done(ctx, "cron.resume", name)
}

// CronDelete says whether there was one.
func (c Methods) CronDelete(ctx context.Context, name string) (bool, error) {
	return c.was(ctx, "cron.delete", name)
}

// Queues are those of all methods.
func (c Methods) Queues(ctx context.Context) ([]Queue, error) {
	return asked[[]Queue](ctx, c, "queue.list")
}

// QueueExplain says why a queue is as it is.
func (c Methods) QueueExplain(ctx context.Context, method string) (Queue, error) {
	return asked[Queue](ctx, c, "queue.explain", method)
}

// QueuePause has the tasks of a method wait, until QueueResume.
func (c Methods) QueuePause(ctx context.Context, method string) error {
	return c.done(ctx, "queue.pause", method)
}

// QueueDrain refuses further tasks of a method, until QueueResume.
func (c Methods) QueueDrain(ctx context.Context, method string) error {
	return c.done(ctx, "queue.drain", method)
}

// QueueResume ends a pause and a drain.
func (c Methods) QueueResume(ctx context.Context, method string) error {
	return c.done(ctx, "queue.resume", method)
}

// A Batch is a set of tasks that belong together: its members have the option "batch".
type Batch struct {
	_                                                   struct{} `msgpack:",open"`
	ID, Tenant, State, Outcome, Parent, Durable, Error  string
	Total, Open, Done, Failed, Cancelled, Expired, Dead int64
	OnSuccess, OnFailure, OnEnd                         map[string]any // "method", and "task", what was submitted of it
}

// BatchCreate makes a batch: on_success, on_failure, on_end (each []any{method, []any{params}, map[string]any{options}}), parent,
// durable, keep, tenant.
func (c Methods) BatchCreate(ctx context.Context, options map[string]any) (Batch, error) {
	return asked[Batch](ctx, c, "batch.create", options)
}

// BatchClose lets a batch end with its last member.
func (c Methods) BatchClose(ctx context.Context, id string) (Batch, error) {
	return asked[Batch](ctx, c, "batch.close", id)
}

// BatchGet answers a batch, when it has ended or wait ("30s"; "0") is over.
func (c Methods) BatchGet(ctx context.Context, id, wait string) (Batch, error) {
	return asked[Batch](ctx, c, "batch.get", id, map[string]any{"wait": wait})
}

// BatchWait answers a batch when it has ended, across broken connections and restarts of the server.
func (c Methods) BatchWait(ctx context.Context, id string) (Batch, error) {
	for {
		said, err := c.server.Poll(ctx, "batch.get", id, map[string]any{"wait": poll})
		batch, err := converted[Batch](c, said, err)
		if err != nil || batch.State == "ended" {
			return batch, err
		}
	}
}

// BatchCancel cancels a batch and its open members, and does not wait for these.
func (c Methods) BatchCancel(ctx context.Context, id string) (Batch, error) {
	return asked[Batch](ctx, c, "batch.cancel", id)
}

// Sems are the semaphores.
func (c Methods) Sems(ctx context.Context) ([]Semaphore, error) {
	return asked[[]Semaphore](ctx, c, "sem.list")
}

// SemCreate makes a semaphore that stays, or changes its permits.
func (c Methods) SemCreate(ctx context.Context, name string, permits int) error {
	return c.done(ctx, "sem.create", name, permits)
}

// SemDelete says whether there was one of SemCreate.
func (c Methods) SemDelete(ctx context.Context, name string) (bool, error) {
	return c.was(ctx, "sem.delete", name)
}

// SemExplain has who holds permits of a semaphore or limit, and who waits.
func (c Methods) SemExplain(ctx context.Context, name string) (Semaphore, error) {
	return asked[Semaphore](ctx, c, "sem.explain", name)
}

// SemRevoke takes back what a client holds with this fence.
func (c Methods) SemRevoke(ctx context.Context, name string, fence int64) error {
	return c.done(ctx, "sem.revoke", name, fence)
}

// Info is what the server says of itself: server.info.
func (c Methods) Info(ctx context.Context) (map[string]any, error) {
	return asked[map[string]any](ctx, c, "server.info")
}

// CancelMany cancels the tasks of a filter: state, method, tenant, key, actor, older, newer (ages), or all: true, and dry_run.
func (c Methods) CancelMany(ctx context.Context, filter map[string]any) (Changed, error) {
	return c.many(ctx, "task.cancel", filter)
}

// RetryMany queues those tasks again that have ended, but not as done.
func (c Methods) RetryMany(ctx context.Context, filter map[string]any) (Changed, error) {
	return c.many(ctx, "task.retry", filter)
}

// ForgetMany forgets tasks that have ended.
func (c Methods) ForgetMany(ctx context.Context, filter map[string]any) (Changed, error) {
	return c.many(ctx, "task.forget", filter)
}

var (
	filterOptions = options.Table{}.And(options.Duration, "older newer").And(nil, "state method tenant key actor")
	listOptions   = filterOptions.And(nil, "contains params_text limit")
	manyOptions   = filterOptions.And(nil, "all dry_run")
	feedOptions   = options.Table{}.And(nil, "after event state id method tenant key")
	actorOptions  = options.Table{}.And(nil, "type prefix stage tenant limit")
)

func (c Methods) many(ctx context.Context, verb string, filter map[string]any) (Changed, error) {
	wire, err := c.wire(verb, filter, manyOptions)
	if err != nil {
		return Changed{}, err
	}
	said, err := c.server.Call(ctx, false, verb, wire)
	return converted[Changed](c, said, err)
}

func (c Methods) was(ctx context.Context, method, name string) (bool, error) {
	said, err := c.server.Call(ctx, false, method, name)
	return converted[bool](c, said, err)
}

func (c Methods) done(ctx context.Context, method string, params ...any) error {
	_, err := c.server.Call(ctx, false, method, params...)
	return err
}

// wire checks a filter.
func (c Methods) wire(who string, filter map[string]any, known options.Table) (map[string]any, error) {
	wire, err := known.Wire(who, filter)
	if err != nil {
		err = c.server.Error("BAD_PARAMS", err)
	}
	return wire, err
}

// asked is an answer of a type, to a question that does no harm when it is asked twice.
func asked[T any](ctx context.Context, c Methods, method string, params ...any) (T, error) {
	said, err := c.server.Call(ctx, true, method, params...)
	return converted[T](c, said, err)
}

func converted[T any](c Methods, said any, err error) (to T, _ error) {
	if err != nil {
		return to, err
	}
	decoder, err := msgpack.For[T]()
	if err == nil {
		to, err = decoder.Decode(said)
	}
	if err != nil {
		err = c.server.Error("PROTOCOL", err)
	}
	return to, err
}

// Pages gives what a filter means, page by page:
//
//	for tasks := client.Tasks(ergon.With{"state": "dead", "newer": "1h"}); tasks.Next(ctx); {
//		fmt.Println(tasks.Value.ID)
//	}
type Pages[T any] struct {
	Value T // valid after Next returned true

	values []T
	isLast bool
	page   func(ctx context.Context) (values []T, isLast bool, err error)
	err    error
}

// Next gets the next one. False: there is no more, or Err says why not.
func (p *Pages[T]) Next(ctx context.Context) bool {
	for len(p.values) == 0 && !p.isLast && p.err == nil {
		p.values, p.isLast, p.err = p.page(ctx)
	}
	if p.err != nil || len(p.values) == 0 {
		return false
	}
	p.Value, p.values = p.values[0], p.values[1:]
	return true
}

// Err is nil when there is no more.
func (p *Pages[T]) Err() error { return p.err }

// Tasks are those of a filter, the newest first: state, method, tenant, key, actor, older, newer (ages), contains, params_text.
func (c Methods) Tasks(filter map[string]any) *Pages[TaskInfo] {
	return pagesOf[TaskInfo](c, "task.list", "tasks", filter, listOptions)
}

// Workers are those of a method, or all: worker.list.
func (c Methods) Workers(filter map[string]any) *Pages[map[string]any] {
	return pagesOf[map[string]any](c, "worker.list", "workers", filter, options.Table{}.And(nil, "method limit"))
}

// Actors are those of a filter: type, prefix, stage, tenant.
func (c Methods) Actors(filter map[string]any) *Pages[map[string]any] {
	return pagesOf[map[string]any](c, "actor.list", "actors", filter, actorOptions)
}

func pagesOf[T any](c Methods, method, member string, filter map[string]any, known options.Table) *Pages[T] {
	wire, err := c.wire(method, filter, known)
	return &Pages[T]{err: err, page: func(ctx context.Context) (values []T, isLast bool, err error) {
		said, err := asked[map[string]any](ctx, c, method, wire)
		wire["cursor"] = said["next"]
		values, err = converted[[]T](c, said[member], err)
		return values, said["next"] == nil, err
	}}
}

// Events are what happens to tasks, queues, crons and actors from now on, or after: "oldest", until the context of Next ends;
// with event, state, id, method, tenant, key. Events that the server has dropped meanwhile are missing.
func (c Methods) Events(filter map[string]any) *Pages[FeedEvent] {
	wire, err := c.wire("Events", filter, feedOptions)
	return &Pages[FeedEvent]{err: err, page: func(ctx context.Context) ([]FeedEvent, bool, error) {
		wire["timeout"] = poll
		said, err := c.server.Poll(ctx, "task.events", wire)
		if err == nil {
			wire["after"] = said["next"]
		}
		events, err := converted[[]FeedEvent](c, said["events"], err)
		return events, false, err
	}}
}

// EventSet says that something has happened: the event's number, which is higher each time.
func (c Methods) EventSet(ctx context.Context, name string, value any) (int64, error) {
	answer, err := c.server.Call(ctx, false, "event.set", name, value)
	set, err := converted[event](c, answer, err)
	return set.Seq, err
}

// EventWait waits until the event's number is from or more; 0: the next one. Whoever goes on from the number + 1 misses none.
func (c Methods) EventWait(ctx context.Context, name string, from int64) (seq int64, value any, err error) {
	with := map[string]any{"timeout": 0} // what its number is now, so that none is missed
	if from > 0 {
		with = map[string]any{"timeout": poll, "from": from}
	}
	for {
		answer, err := c.server.Poll(ctx, "event.wait", name, with)
		set, err := converted[event](c, answer, err)
		if err != nil || !set.Timeout {
			return set.Seq, set.Value, err
		}
		if from == 0 {
			from = set.Seq + 1
		}
		with = map[string]any{"timeout": poll, "from": from}
	}
}

// event is the answer of event.set, and of event.wait.
type event struct {
	_       struct{} `msgpack:",open"`
	Seq     int64
	Value   any
	Timeout bool
}
