package ergontest

import (
	"context"
	"strings"
)

// message says to which actor a task goes.
type message struct {
	name string // "cart/42"
	*actor
}

func (i *immediate) to(name any) *message {
	i.mu.Lock()
	defer i.mu.Unlock()
	text, _ := name.(string)
	if i.actors[text] == nil {
		i.actors[text] = &actor{}
	}
	return &message{text, i.actors[text]}
}

// tell runs the message [actor, method, [params], options] to its end.
func (i *immediate) tell(ctx context.Context, words []any) (any, error) {
	to := i.to(at(words, 0))
	kind, _, _ := strings.Cut(to.name, "/")
	method, params, options := order(words[1:])
	return i.do(ctx, kind+"."+method, params, options, to)
}

func (i *immediate) actorTell(ctx context.Context, params []any) (any, error) {
	return i.tell(ctx, params)
}

func (i *immediate) actorCall(ctx context.Context, params []any) (any, error) {
	return i.resultOf(i.tell(ctx, params))
}

func (i *immediate) actorGet(ctx context.Context, params []any) (any, error) {
	a := i.to(at(params, 0))
	a.turn.Lock()
	defer a.turn.Unlock()
	stage := "sleeping"
	if a.stopped != "" {
		stage = "stopped"
	}
	return map[string]any{"actor": a.name, "stage": stage, "version": a.version, "state": a.state, "reminders": []any{}}, nil
}

// turns is the key of the chain of turns in a context that wait for what runs in it.
type turns struct{}

type chain struct {
	actors []*actor
	sent   *[][2]any // what they send when the outermost has ended: a method, and its parameters
}

// turn runs a message, and when the outermost turn has ended what all of them send that were done. A turn that would wait for
// its own end is an error.
func (i *immediate) turn(ctx context.Context, to *message, method string, params []any, told map[string]any) (any, error) {
	waiting, isWithin := ctx.Value(turns{}).(chain)
	if !isWithin {
		waiting.sent = &[][2]any{}
	}
	for _, one := range waiting.actors {
		if one == to.actor {
			return nil, fault("DEADLOCK", "a turn of %s waits for this call", to.name)
		}
	}
	to.turn.Lock()
	if to.stopped != "" {
		to.turn.Unlock()
		return nil, fault("STOPPED", "%s is stopped: %s", to.name, to.stopped)
	}
	within := context.WithValue(ctx, turns{}, chain{append([]*actor{to.actor}, waiting.actors...), waiting.sent})
	kind, _, _ := strings.Cut(to.name, "/")
	told["actor"], told["version"], told["schema"], told["state"] = to.name, to.version, i.mux.ActorType(kind).Schema, to.state
	told["ask"] = func(other, method string, params []any) (any, error) {
		return i.answer(within, "actor.call", []any{other, method, params, map[string]any{}})
	}
	done, err := i.mux.Run(ctx, method, params, told)
	var result any
	if err == nil {
		pair := done.([]any)
		changes, _ := pair[1].(map[string]any)
		result = pair[0]
		to.change(changes)
		i.mu.Lock()
		for _, kind := range [][2]string{{"tell", "actor.tell"}, {"task", "task.submit"}} {
			sent, _ := changes[kind[0]].([]any)
			for _, one := range sent {
				*waiting.sent = append(*waiting.sent, [2]any{kind[1], one})
			}
		}
		i.mu.Unlock()
	}
	to.turn.Unlock()
	if isWithin {
		return result, err
	}
	for _, one := range *waiting.sent { // also where this turn failed, and one that it called did not
		if _, refused := i.answer(ctx, one[0].(string), one[1].([]any)); err == nil && refused != nil {
			return nil, refused
		}
	}
	return result, err
}

// change takes over what a turn says of its actor; reminders and steps do not come by themselves.
func (m *message) change(changes map[string]any) {
	if state, ok := changes["state"]; ok {
		m.state, m.version = state, m.version+1
	}
	if changes["drop"] == true {
		m.state, m.version = nil, 0
	}
	m.stopped, _ = changes["stop"].(string)
}
