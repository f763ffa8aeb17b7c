package ergon

import (
	"bytes"

	"ergon-client/internal/options"
	"ergon-client/msgpack"
)

// TaskResult among the parameters of a later task, at any depth, is the result of a task: Task.Result. The later one comes
// after that task.
type TaskResult struct{ ID string }

// Result is that of the order before, in the orders of Mux.Chain.
var Result = TaskResult{}

// MsgpackValue is what the server replaces by the result.
func (r TaskResult) MsgpackValue() any { return map[string]any{"$result": r.ID} }

// Result of the task is a parameter of tasks that come after it: Method.OrderOf, Method.SubmitOf.
func (t *Task) Result() TaskResult { return TaskResult{t.ID} }

var sign = []byte("\xa7$result") // as it is packed

// named are the parameters with change(id) in place of the id of each task whose result they name.
func named(params []any, change func(id string) (string, error)) ([]any, error) {
	params = list(params)
	packed, err := msgpack.Append(nil, params)
	if err != nil || !bytes.Contains(packed, sign) {
		return params, err
	}
	plain, err := msgpack.Copy(params)
	if err == nil {
		err = eachResult(plain, change)
	}
	params, _ = plain.([]any)
	return params, err
}

func eachResult(value any, change func(id string) (string, error)) (err error) {
	switch v := value.(type) {
	case []any:
		for i := 0; i < len(v) && err == nil; i++ {
			err = eachResult(v[i], change)
		}
	case map[any]any:
		for _, one := range v {
			if err == nil {
				err = eachResult(one, change)
			}
		}
	case map[string]any:
		if id, is := v["$result"].(string); is && len(v) == 1 {
			v["$result"], err = change(id)
			return err
		}
		for _, one := range v {
			if err == nil {
				err = eachResult(one, change)
			}
		}
	}
	return err
}

// wire is the order as the server gets it: method, parameters, options. The tasks whose results are parameters are `after`, too.
func (o Order) wire(who string, known options.Table) ([]any, map[string]any, error) {
	wire, err := o.With.told(who, known)
	if err != nil {
		return nil, nil, err
	}
	after, _ := wire["after"].([]string)
	params, err := named(o.Params, func(id string) (string, error) {
		if id == "" {
			return "", bad("ergon.Result is the result of the order before, and belongs to the later orders of a Chain")
		}
		for _, one := range after {
			if one == id {
				return id, nil
			}
		}
		after = append(after[:len(after):len(after)], id)
		return id, nil
	})
	if len(after) > 0 {
		wire["after"] = after
	}
	return []any{o.Method, params, wire}, wire, err
}
