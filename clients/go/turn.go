package ergon

import (
	"context"
	"fmt"

	"ergon-client/msgpack"
)

// Turned is what one message did.
type Turned struct {
	Result  any
	Changes map[string]any // as the server gets them: state if it is another, sleep, wake, stop, drop, tell, task
}

// Turn runs one message of an actor with this state without a server, for tests. An unknown method is an error (NO_METHOD).
func (t ActorType) Turn(state any, method string, params ...any) (Turned, error) {
	return t.TurnWith(nil, state, method, params...)
}

// TurnWith is Turn with what the actors answer that it calls, as in {"order/7 total": 200}: the result, an error, or a
// func([]any) (any, error) of the parameters.
func (t ActorType) TurnWith(answers map[string]any, state any, method string, params ...any) (Turned, error) {
	if t.Methods[method] == nil {
		return Turned{}, &Error{Code: "NO_METHOD", Text: fmt.Sprintf("the type has no method %q", method)}
	}
	state, err := msgpack.Copy(state)
	if err != nil {
		return Turned{}, err
	}
	within, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := contextOf(method, map[string]any{"actor": "test/1", "version": int64(0), "schema": t.Schema, "state": state})
	c.Context, c.ask = within, func(to, method string, params []any) (any, error) { return answerOf(answers, to, method, params) }
	return t.run(c, method, params)
}

func answerOf(answers map[string]any, to, method string, params []any) (any, error) {
	switch answer, found := answers[to+" "+method]; v := answer.(type) {
	case error:
		return nil, v
	case func([]any) (any, error):
		return v(params)
	default:
		if !found {
			return nil, bad("the turn calls %s %s, to which TurnWith has no answer", to, method)
		}
		return answer, nil
	}
}
