// Package options checks options by their names, and converts their values to what the server is sent.
package options

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

// Option has its name in the protocol, and what the server is sent for a value; nil: the value itself.
type Option struct {
	Wire string
	Told func(name string, value any) (any, error)
}

// Table has options by the names that callers use.
type Table map[string]Option

// And is the table with these, too.
func (t Table) And(told func(string, any) (any, error), names string) Table {
	more := Table{}
	for name, o := range t {
		more[name] = o
	}
	for _, name := range strings.Fields(names) {
		more[name] = Option{name, told}
	}
	return more
}

// Without is the table without one.
func (t Table) Without(name string) Table {
	less := t.And(nil, "")
	delete(less, name)
	return less
}

// Wire is what the server is sent for the options that a caller of `who` has given. The error says which option is wrong, and
// why.
func (known Table) Wire(who string, given map[string]any) (map[string]any, error) {
	wire, names := map[string]any{}, []string{}
	for name := range given {
		names = append(names, name)
	}
	sort.Strings(names) // so that of many errors it is always the same
	for _, name := range names {
		o, ok := known[name]
		value, err := given[name], error(nil)
		if !ok {
			return nil, unknown(who, name, known)
		}
		if value == nil {
			continue
		}
		if o.Told != nil {
			if value, err = o.Told(name, value); err != nil {
				return nil, err
			}
		}
		wire[o.Wire] = value
	}
	return wire, nil
}

func unknown(who, name string, known Table) error {
	if _, ok := known["attempt_timeout"]; ok && strings.TrimPrefix(name, "answer_") == "timeout" {
		return fmt.Errorf("%s has no option %q: attempt_timeout ends one attempt of the task (deadline the whole task), "+
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
				return fmt.Errorf("%s has no option %q; did you mean %q?", who, name, one)
			}
		}
	}
	return fmt.Errorf("%s has no option %q; it has %s", who, name, strings.Join(names, ", "))
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
		return 0, fmt.Errorf("%s: %q is no duration: use a time.Duration, or a text with its unit, such as \"500ms\", \"5s\" or "+
			"\"7d\"", name, text)
	}
	return d, nil
}

// Duration is in milliseconds.
func Duration(name string, value any) (any, error) {
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
		return nil, fmt.Errorf("%s is a duration, not a time.Time: use time.Until(…)", name)
	default:
		return nil, fmt.Errorf("%s is a duration: use a time.Duration, such as 5*time.Second, or a text with its unit, such as "+
			"\"5s\", not %T", name, value)
	}
	if d < 0 {
		return nil, fmt.Errorf("%s must not be negative, as %v is", name, d)
	}
	return msgpack.Milliseconds(d), nil
}

// Deadline is Duration, or until a moment. One that has passed is a millisecond away: 0 might be no limit.
func Deadline(name string, value any) (any, error) {
	t, ok := value.(time.Time)
	if !ok {
		return Duration(name, value)
	}
	if left := msgpack.Milliseconds(time.Until(t)); left > 0 {
		return left, nil
	}
	return int64(1), nil
}

// Moment is in Unix milliseconds.
func Moment(name string, value any) (any, error) {
	switch v := value.(type) {
	case time.Time:
		if v.UnixMilli() < 0 {
			return nil, fmt.Errorf("%s: %v is before 1970", name, v)
		}
		return v.UnixMilli(), nil
	case string:
		return v, nil // the server knows RFC 3339, and refuses what is not
	case time.Duration:
		return nil, fmt.Errorf("%s is a moment, not a time.Duration: use delay, or a time.Time", name)
	}
	return nil, fmt.Errorf("%s is a moment: use a time.Time, or RFC 3339, not %T", name, value)
}

// Rate has a `per`, which is a duration.
func Rate(name string, value any) (any, error) {
	plain, v := reflect.TypeOf(map[string]any{}), reflect.ValueOf(value)
	if !v.Type().ConvertibleTo(plain) {
		return value, nil // for the server to judge
	}
	from := v.Convert(plain).Interface().(map[string]any)
	if from["per"] == nil {
		return value, nil
	}
	per, err := Duration(name+".per", from["per"])
	if err != nil {
		return nil, err
	}
	told := map[string]any{}
	for key, one := range from {
		told[key] = one
	}
	told["per"] = per
	return told, nil
}

// Schedule is a cron's text, or how often.
func Schedule(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case time.Duration:
		return fmt.Sprintf("every %dms", msgpack.Milliseconds(v)), nil
	}
	return "", fmt.Errorf(`a schedule is a text such as "*/5 * * * *", "@daily" or "every 10m", or a time.Duration, not %T`,
		value)
}

// ---- tasks ----

// IDs are those of tasks, each a *Task, an id, or a slice of these.
func IDs(tasks ...any) ([]string, error) {
	ids := []string{}
	for _, task := range tasks {
		switch v := task.(type) {
		case string:
			ids = append(ids, v)
			continue
		case msgpack.Packer:
			if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
				return nil, fmt.Errorf("a task is nil: its submission failed")
			}
			id, _ := v.MsgpackValue().(string)
			ids = append(ids, id)
			continue
		}
		many := reflect.ValueOf(task)
		if many.Kind() != reflect.Slice {
			return nil, fmt.Errorf("a task is a *Task or its id, not %T", task)
		}
		for i := 0; i < many.Len(); i++ {
			more, err := IDs(many.Index(i).Interface())
			if err != nil {
				return nil, err
			}
			ids = append(ids, more...)
		}
	}
	return ids, nil
}

func After(name string, value any) (any, error) {
	ids, err := IDs(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %v", name, err)
	}
	return ids, nil
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}
