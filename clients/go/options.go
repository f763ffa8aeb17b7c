package ergon

import (
	"errors"

	"ergon-client/internal/options"
)

// With are options of CallWith, Submit, SubmitMany and CronPut, by the names of proto/PROTOCOL.md, but that the server's
// `timeout` is attempt_timeout here. One that there is none of is an error (BAD_PARAMS); nil is the default.
//
//	attempt_timeout        ends one attempt, from the begin of its handler: it has failed then
//	deadline               ends the whole task, with all its attempts: a duration, or a time.Time
//	retries                further attempts after a failure; 0
//	backoff, backoff_max   before the second attempt, doubled before each further one up to backoff_max; "1s", "1h"
//	backoff_jitter         percent of it that are random; 50
//	priority               0 to 9; 5
//	coalesce               submissions join the open run of this name
//	limit, rate            With{"key": …, "max": …}, a rate with "per", a duration
//	actor                  "TYPE/KEY": it is a message to this actor
//	tenant                 in whose name; default: the caller's
//	durable                "none", "async", "fsync", "replicated": what is on disk when the answer comes
//	keep, keep_size        how long it is kept after its end; bytes of the largest result that is kept
//
// Of tasks, and not of crons:
//
//	delay, at              it does not begin before so long, or that time.Time (or RFC 3339)
//	key                    another submission with this key is answered with the same task
//	batch                  the id of a batch of which it is a member
//	after, after_any       a task or many that must be done, or have ended, first: *Task, its id, slices of these
//	traceparent, tracestate
//
// Of messages by an ActorRef:
//
//	turn                   the *Context of a turn of this client that sends it
//
// Of crons:
//
//	zone, overlap, catch_up, jitter
//
// A duration is a time.Duration, or a text with its unit ("500ms", "5s", "1h30m", "7d"), never a bare number.
type With map[string]any

func bad(format string, args ...any) *Error {
	return fail(&Error{Code: "BAD_PARAMS"}, format, args...)
}

var common = options.Table{"attempt_timeout": {Wire: "timeout", Told: options.Duration}}.
	And(options.Deadline, "deadline").
	And(options.Duration, "backoff backoff_max keep").
	And(options.Rate, "rate").
	And(nil, "actor coalesce durable backoff_jitter keep_size limit priority retries tenant")

var (
	cronOptions = common.And(options.Duration, "jitter").And(nil, "zone overlap catch_up")
	taskOptions = common.And(options.Duration, "delay").And(options.Moment, "at").And(options.After, "after after_any").
			And(nil, "batch key traceparent tracestate")
	messageOptions = taskOptions.Without("actor")
	refOptions     = messageOptions.And(turnOf, "turn")
	remindOptions  = options.Table{}.And(options.Duration, "in every").And(options.Moment, "at")
	getOptions     = options.Table{}.And(nil, "result history params params_text options attempts")
)

// and has these, too, which replace those of the same name.
func (w With) and(more With) With {
	all := With{}
	for _, one := range []With{w, more} {
		for name, value := range one {
			all[name] = value
		}
	}
	return all
}

// badly is an error about what a caller has given.
func badly(err error) error {
	if e := (*Error)(nil); err != nil && !errors.As(err, &e) {
		return bad("%v", err)
	}
	return err
}

// told has the options in the form that the server takes.
func (w With) told(who string, known options.Table) (map[string]any, error) {
	wire, err := known.Wire(who, w)
	return wire, badly(err)
}

// turnOf is the server's number of a turn.
func turnOf(name string, value any) (any, error) {
	if c, ok := value.(*Context); ok {
		return c.call, nil
	}
	return nil, bad("%s is the *Context of a turn, not %T", name, value)
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}
