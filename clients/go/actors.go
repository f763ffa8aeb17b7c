package ergon

import (
	"fmt"
	"reflect"
	"time"

	"ergon-client/internal/options"
	"ergon-client/msgpack"
)

// ActorMethod runs one message of an actor, a turn. What it leaves in a.State is the new state when it returns; after an error
// nothing has changed.
type ActorMethod func(a *Actor, params []any) (any, error)

// ActorType is a type of actors, for WorkOptions.Actors: docs/actors.md.
//
//	var cart = ergon.ActorType{Reads: []string{"size"}, Methods: map[string]ergon.ActorMethod{"add": add, "size": size}}
//	err := client.Work(ctx, ergon.WorkOptions{Actors: map[string]ergon.ActorType{"cart": cart}}, nil)
type ActorType struct {
	// By their names without the type. The server calls a method step again and again, unless the actor sleeps.
	Methods map[string]ActorMethod
	Reads   []string // methods that change nothing, and wait for no other message
	Schema  int64    // the number of the form of its states

	// Upgrade returns the state in the form of Schema, made of one with an older number; nil: states stay as they are.
	Upgrade func(state any, schema int64) (any, error)

	// durable, idle, backoff, backoff_max, timeout, retries, call_retries, messages, mailbox, state_max, on_failure, intensity,
	// window, supervisor, pipeline; default: the server's.
	Policy With
}

// Actor is one turn of an actor: its state, and the message that runs.
type Actor struct {
	*Context
	Name    string // "cart/42"
	Version int64  // how often its state has changed
	State   map[string]any

	changes map[string]any
	wrong   error // of the options of Tell or Submit
}

// Sleep: the next step comes after so long.
func (a *Actor) Sleep(d time.Duration) { a.changes["sleep"] = msgpack.Milliseconds(d) }

// SleepUntilWoken: the next step comes when the actor is woken.
func (a *Actor) SleepUntilWoken() { a.changes["sleep"] = true }

// Wake: the next step comes now, if the actor sleeps.
func (a *Actor) Wake() { a.changes["wake"] = true }

// Stop: the actor runs no message until actor.start.
func (a *Actor) Stop(why string) { a.changes["stop"] = why }

// Drop: the actor has no state any more.
func (a *Actor) Drop() { a.changes["drop"] = true }

// Call sends a message to another actor and waits for its result. One call of a turn is out at a time, and one that would wait
// for this turn fails (DEADLOCK). A turn that is tried again gets the first answers.
func (a *Actor) Call(to, method string, params ...any) (any, error) {
	return a.CallWith(nil, to, method, params...)
}

// CallWith is Call with options of a task.
func (a *Actor) CallWith(with With, to, method string, params ...any) (any, error) {
	wire, err := with.told("CallWith", messageOptions)
	if err != nil {
		return nil, err
	}
	return a.callActor(to, method, list(params), wire)
}

// Tell sends a message to an actor, which may be this one, when the method has returned; with options of a task, or nil. Wrong
// ones fail the turn.
func (a *Actor) Tell(with With, to, method string, params ...any) {
	a.send("tell", with, messageOptions, to, method, list(params))
}

// Submit submits a task when the method has returned.
func (a *Actor) Submit(with With, method string, params ...any) {
	a.send("task", with, taskOptions, method, list(params))
}

// Remind puts a reminder of this actor when the method has returned, in place of the one of its name: With{"in": "30m"}, or
// "at" a time, and with "every" again and again.
func (a *Actor) Remind(name string, when With, method string, params ...any) {
	a.send("remind", when, remindOptions, name, method, list(params))
}

// Forget forgets a reminder of this actor when the method has returned.
func (a *Actor) Forget(name string) {
	names, _ := a.changes["forget"].([]any)
	a.changes["forget"] = append(names, name)
}

func (a *Actor) send(change string, with With, known options.Table, words ...any) {
	wire, err := with.told(change, known)
	if a.wrong == nil {
		a.wrong = err
	}
	sent, _ := a.changes[change].([]any)
	a.changes[change] = append(sent, append(words, wire))
}

var policyOptions = options.Table{"state_max": {Wire: "state"}}.And(options.Duration, "idle backoff backoff_max timeout window").
	And(nil, "durable retries call_retries messages mailbox on_failure intensity supervisor pipeline")

// policies are the option actors of worker.register.
func policies(actors map[string]ActorType) (map[string]any, error) {
	all := map[string]any{}
	for name, t := range actors {
		told, err := t.Policy.told("the Policy of "+name, policyOptions)
		if err != nil {
			return nil, err
		}
		for method, run := range t.Methods {
			if run == nil {
				return nil, bad("the method %s of %s is nil", method, name)
			}
		}
		for _, method := range t.Reads {
			if t.Methods[method] == nil {
				return nil, bad("Reads of %s names %q, which is no method of it", name, method)
			}
		}
		told["reads"], told["schema"] = append([]string{}, t.Reads...), t.Schema
		all[name] = told
	}
	return all, nil
}

// begin gives the turn the state, in the form of the type's schema.
func (t ActorType) begin(a *Actor, state any, schema int64) error {
	if schema > t.Schema {
		return Again(100 * time.Millisecond) // for a host that knows it
	}
	state, err := msgpack.Copy(state)
	if err == nil && state != nil && schema < t.Schema && t.Upgrade != nil {
		state, err = t.Upgrade(state, schema)
	}
	if err != nil {
		return err
	}
	if a.State, _ = state.(map[string]any); a.State == nil {
		a.State = map[string]any{}
		if state != nil {
			return Permanent(fmt.Sprintf("the state of %s is no map with texts as keys, but a %T", a.Name, state))
		}
	}
	return nil
}

func (t ActorType) run(c *Context, method string, params []any) (Turned, error) {
	c.changes = map[string]any{}
	a := &Actor{Context: c, changes: c.changes}
	a.Name, _ = c.turn["actor"].(string)
	a.Version, _ = c.turn["version"].(int64)
	schema, _ := c.turn["schema"].(int64)
	before := c.turn["state"]
	if err := t.begin(a, before, schema); err != nil {
		return Turned{}, err
	}
	result, err := t.Methods[method](a, params)
	if err == nil {
		err = a.wrong
	}
	if err != nil {
		return Turned{}, err
	}
	for _, one := range t.Reads {
		if one == method {
			return Turned{Result: result}, nil
		}
	}
	after, err := msgpack.Copy(a.State)
	if before == nil {
		before = map[string]any{}
	} else if schema < t.Schema {
		before = nil // it was upgraded: `after` is sent, whatever it is
	}
	if a.changes["drop"] == nil && !reflect.DeepEqual(before, after) {
		a.changes["state"] = after
	}
	return Turned{result, a.changes}, err
}
