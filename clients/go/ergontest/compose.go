package ergontest

import (
	"context"
	"strings"

	"ergon-client/msgpack"
)

// sends is what an attempt submits with its end, and keeps for the next one.
type sends struct {
	list       [][2]any // a method of the server, and its parameters
	refused    error
	checkpoint any
}

// take answers worker.submit and worker.checkpoint.
func (s *sends) take(method string, params []any) error {
	plain, err := msgpack.Copy(params[1])
	if method == "worker.checkpoint" || err != nil {
		s.checkpoint = plain
		return err
	}
	for kind, verb := range map[string]string{"task": "task.submit", "tell": "actor.tell"} {
		orders, _ := plain.(map[string]any)[kind].([]any)
		for _, one := range orders {
			options, _ := at(one.([]any), len(one.([]any))-1).(map[string]any)
			if options["after"] != nil || options["after_any"] != nil {
				s.refused = fault("BAD_CHANGES", "what an attempt submits comes after no task, and gets no results")
				return s.refused
			}
			s.list = append(s.list, [2]any{verb, one})
		}
	}
	return nil
}

// possible says whether all of it can be submitted.
func (i *immediate) possible(s *sends) error {
	err := s.refused
	for _, one := range s.list {
		words := one[1].([]any)
		if one[0] == "actor.tell" {
			kind, _, _ := strings.Cut(at(words, 0).(string), "/")
			words = append([]any{kind + "." + at(words, 1).(string)}, words[2:]...)
		}
		if method, _, options := order(words); err == nil {
			err = i.check(method, options)
		}
	}
	return err
}

func (i *immediate) send(ctx context.Context, s *sends) {
	for _, one := range s.list {
		_, _ = i.answer(ctx, one[0].(string), one[1].([]any)) // it is possible
	}
}

// eachResult calls result(id) for each {"$result": id} in a value, whose place the result takes if it is to fill.
func eachResult(value any, result func(id string) (any, error), fill bool) (err error) {
	change := func(one any, put func(any)) {
		if m, is := one.(map[string]any); is && len(m) == 1 {
			if id, is := m["$result"].(string); is {
				found, why := result(id)
				if err = why; fill && err == nil {
					put(found)
				}
				return
			}
		}
		err = eachResult(one, result, fill)
	}
	switch v := value.(type) {
	case []any:
		for at := 0; at < len(v) && err == nil; at++ {
			change(v[at], func(found any) { v[at] = found })
		}
	case map[string]any:
		for name := range v {
			if err == nil {
				change(v[name], func(found any) { v[name] = found })
			}
		}
	}
	return err
}

// namedBy says whether `after` names the task.
func namedBy(options map[string]any, id string) error {
	ids, _ := options["after"].([]any)
	for _, one := range ids {
		if one == id {
			return nil
		}
	}
	return fault("BAD_PARAMS", "the parameters name the result of %s, and `after` does not name that task", id)
}
