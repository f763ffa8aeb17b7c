package ergon

import (
	"fmt"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"ergon-client/msgpack"
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

// option has its name in the protocol, and what the server is told of a value; nil: the value itself.
type option struct {
	wire string
	told func(name string, value any) (any, error)
}

type table map[string]option

var common = table{"attempt_timeout": {"timeout", durationOf}}.
	and(deadlineOf, "deadline").
	and(durationOf, "backoff backoff_max keep").
	and(rateOf, "rate").
	and(nil, "actor coalesce durable backoff_jitter keep_size limit priority retries tenant")

var (
	cronOptions = common.and(durationOf, "jitter").and(nil, "zone overlap catch_up")
	taskOptions = common.and(durationOf, "delay").and(momentOf, "at").and(afterOf, "after after_any").
			and(nil, "key traceparent tracestate")
	messageOptions = taskOptions.without("actor")
	refOptions     = messageOptions.and(turnOf, "turn")
	remindOptions  = table{}.and(durationOf, "in every").and(momentOf, "at")
	getOptions     = table{}.and(nil, "result history params params_text options attempts")
)

// and is the table with these, too.
func (t table) and(told func(string, any) (any, error), names string) table {
	more := table{}
	for name, o := range t {
		more[name] = o
	}
	for _, name := range strings.Fields(names) {
		more[name] = option{name, told}
	}
	return more
}

// without is the table without one.
func (t table) without(name string) table {
	less := t.and(nil, "")
	delete(less, name)
	return less
}

func bad(format string, args ...any) *Error {
	return fail(&Error{Code: "BAD_PARAMS"}, format, args...)
}

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

// told is what the server is told.
func (w With) told(who string, known table) (map[string]any, error) {
	wire, names := map[string]any{}, []string{}
	for name := range w {
		names = append(names, name)
	}
	sort.Strings(names) // so that of many errors it is always the same
	for _, name := range names {
		o, ok := known[name]
		value, err := w[name], error(nil)
		if !ok {
			return nil, unknown(who, name, known)
		}
		if value == nil {
			continue
		}
		if o.told != nil {
			if value, err = o.told(name, value); err != nil {
				return nil, err
			}
		}
		wire[o.wire] = value
	}
	return wire, nil
}

func unknown(who, name string, known table) error {
	if _, ok := known["attempt_timeout"]; ok && strings.TrimPrefix(name, "answer_") == "timeout" {
		return bad("%s has no option %q: attempt_timeout ends one attempt of the task (deadline the whole task), "+
			"and the context the wait for the server's answer", who, name)
	}
	names := []string{}
	for one := range known {
		names = append(names, one)
	}
	sort.Strings(names)
	for _, near := range []func(a, b string) bool{func(a, b string) bool { return a == b }, isNear} {
		for _, one := range names {
			if near(plain(name), plain(one)) {
				return bad("%s has no option %q; did you mean %q?", who, name, one)
			}
		}
	}
	return bad("%s has no option %q; it has %s", who, name, strings.Join(names, ", "))
}

func plain(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "_", ""))
}

// isNear: one is the beginning of the other, or at most two letters are other, missing, or too much.
func isNear(a, b string) bool {
	if len(a) >= 4 && len(b) >= 4 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
		return true
	}
	row := make([]int, len(b)+1) // edit distances: of a prefix of a from each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range []byte(a) {
		before := row[0]
		row[0] = i + 1
		for j := range []byte(b) {
			changed := before
			if a[i] != b[j] {
				changed++
			}
			before, row[j+1] = row[j+1], min(min(row[j+1], row[j])+1, changed)
		}
	}
	return row[len(b)] <= min(2, len(b)-2)
}

// ---- times ----

var days = regexp.MustCompile(`^(\d+)d$`)

func parseDuration(name, text string) (time.Duration, error) {
	if parts := days.FindStringSubmatch(text); parts != nil {
		if count, err := strconv.ParseInt(parts[1], 10, 64); err == nil && count <= 100000 {
			return time.Duration(count) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, bad("%s: %q is no duration: use a time.Duration, or a text with its unit, such as \"500ms\", \"5s\" or \"7d\"",
			name, text)
	}
	return d, nil
}

// durationOf is in milliseconds.
func durationOf(name string, value any) (any, error) {
	var d time.Duration
	switch v := value.(type) {
	case time.Duration:
		d = v
	case string:
		var err error
		if d, err = parseDuration(name, v); err != nil {
			return nil, err
		}
	case time.Time:
		return nil, bad("%s is a duration, not a time.Time: use time.Until(…)", name)
	default:
		return nil, bad("%s is a duration: use a time.Duration, such as 5*time.Second, or a text with its unit, such as \"5s\", "+
			"not %T", name, value)
	}
	if d < 0 {
		return nil, bad("%s must not be negative, as %v is", name, d)
	}
	return msgpack.Milliseconds(d), nil
}

// deadlineOf is durationOf, or until a moment. One that has passed is a millisecond away: 0 might be no limit.
func deadlineOf(name string, value any) (any, error) {
	t, ok := value.(time.Time)
	if !ok {
		return durationOf(name, value)
	}
	if left := msgpack.Milliseconds(time.Until(t)); left > 0 {
		return left, nil
	}
	return int64(1), nil
}

// momentOf is in Unix milliseconds.
func momentOf(name string, value any) (any, error) {
	switch v := value.(type) {
	case time.Time:
		if v.UnixMilli() < 0 {
			return nil, bad("%s: %v is before 1970", name, v)
		}
		return v.UnixMilli(), nil
	case string:
		return v, nil // the server knows RFC 3339, and refuses what is not
	case time.Duration:
		return nil, bad("%s is a moment, not a time.Duration: use delay, or a time.Time", name)
	}
	return nil, bad("%s is a moment: use a time.Time, or RFC 3339, not %T", name, value)
}

func rateOf(name string, value any) (any, error) {
	from, ok := value.(With)
	if plain, is := value.(map[string]any); is {
		from, ok = plain, true
	}
	if !ok || from["per"] == nil {
		return value, nil // for the server to judge
	}
	per, err := durationOf(name+".per", from["per"])
	if err != nil {
		return nil, err
	}
	told := With{}
	for key, one := range from {
		told[key] = one
	}
	told["per"] = per
	return told, nil
}

// turnOf is the server's number of a turn.
func turnOf(name string, value any) (any, error) {
	if c, ok := value.(*Context); ok {
		return c.call, nil
	}
	return nil, bad("%s is the *Context of a turn, not %T", name, value)
}

// scheduleOf is a cron's text, or how often.
func scheduleOf(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case time.Duration:
		return fmt.Sprintf("every %dms", msgpack.Milliseconds(v)), nil
	}
	return "", bad(`a schedule is a text such as "*/5 * * * *", "@daily" or "every 10m", or a time.Duration, not %T`, value)
}

// ---- tasks ----

// idsOf are those of tasks, each a *Task, an id, or a slice of these.
func idsOf(tasks ...any) ([]string, error) {
	ids := []string{}
	for _, task := range tasks {
		switch v := task.(type) {
		case string:
			ids = append(ids, v)
			continue
		case interface{ task() *Task }:
			if t := v.task(); t != nil {
				ids = append(ids, t.ID)
				continue
			}
			return nil, bad("a task is nil: its submission failed")
		}
		many := reflect.ValueOf(task)
		if many.Kind() != reflect.Slice {
			return nil, bad("a task is a *Task or its id, not %T", task)
		}
		for i := 0; i < many.Len(); i++ {
			more, err := idsOf(many.Index(i).Interface())
			if err != nil {
				return nil, err
			}
			ids = append(ids, more...)
		}
	}
	return ids, nil
}

func afterOf(name string, value any) (any, error) {
	ids, err := idsOf(value)
	if err != nil {
		return nil, bad("%s: %s", name, err.(*Error).Text)
	}
	return ids, nil
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}
