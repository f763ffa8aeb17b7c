package ergon

import "context"

// ActorRef is an actor of the server, by its name.
type ActorRef struct {
	Name   string // "cart/42"
	client *Client
}

// Actor is an actor by its name, TYPE/KEY. The first message makes it.
func (c *Client) Actor(name string) *ActorRef { return &ActorRef{name, c} }

// Call sends a message and waits for its result. The method is named without its type.
func (r *ActorRef) Call(ctx context.Context, method string, params ...any) (any, error) {
	return r.CallWith(ctx, nil, method, params...)
}

// CallWith is Call with options of a task. With a key it is repeated after a broken connection: the server runs it once.
func (r *ActorRef) CallWith(ctx context.Context, with With, method string, params ...any) (any, error) {
	return r.send(ctx, "CallWith", with, "actor.call", method, params)
}

// Tell leaves a message, with options of a task or nil, and returns it as a task.
func (r *ActorRef) Tell(ctx context.Context, with With, method string, params ...any) (*Task, error) {
	said, err := r.send(ctx, "Tell", with, "actor.tell", method, params)
	if err != nil {
		return nil, err
	}
	return r.client.submitted(said)
}

func (r *ActorRef) send(ctx context.Context, who string, with With, verb, method string, params []any) (any, error) {
	order, wire, err := Order{method, params, with}.wire(who, refOptions)
	if err != nil {
		return nil, err
	}
	return r.client.request(ctx, r.client.calls, ifKeyed(wire), verb, append([]any{r.Name}, order...)...)
}

// Get describes the actor, with its state: actor.get of PROTOCOL.md.
func (r *ActorRef) Get(ctx context.Context) (map[string]any, error) {
	return r.client.poll(ctx, "actor.get", r.Name, map[string]any{"state": true})
}

// Explain is the same without the state, but with the reason and a text.
func (r *ActorRef) Explain(ctx context.Context) (map[string]any, error) {
	return r.client.poll(ctx, "actor.explain", r.Name)
}

// ActorWatch gives the versions of an actor, as they come; none is missed but versions in between, whatever connection
// and server do. One that is dropped has version 0:
//
//	for w := client.Actor("cart/42").Watch(1); w.Next(ctx); {
//		fmt.Println(w.Version, w.State)
//	}
type ActorWatch struct {
	Version int64 // these are valid after Next returned true
	Stage   string
	State   any

	actor *ActorRef
	next  int64
	err   error
}

// Watch begins with version from, which is 1 or more.
func (r *ActorRef) Watch(from int64) *ActorWatch { return &ActorWatch{actor: r, next: from} }

// Next waits for the next version. False: Err says why.
func (w *ActorWatch) Next(ctx context.Context) bool {
	for w.err == nil {
		var said map[string]any
		said, w.err = w.actor.client.poll(ctx, "actor.watch", w.actor.Name, map[string]any{"from": w.next, "timeout": poll})
		version, err := member[int64](said, "version", w.err)
		w.err = err
		if late, _ := said["timeout"].(bool); w.err == nil && !late {
			w.Version, w.State, w.next = version, said["state"], version+1
			w.Stage, _ = said["stage"].(string)
			return true
		}
	}
	return false
}

// Err is why Next returned false.
func (w *ActorWatch) Err() error { return w.err }

// Start lets a stopped actor go on, with its state or, after a reset, without one. Like the next three it returns the stage.
func (r *ActorRef) Start(ctx context.Context, reset bool) (string, error) {
	return r.stage(ctx, "actor.start", map[string]any{"reset": reset})
}

// Stop: the actor runs no message until Start; callers get the reason, which may be empty.
func (r *ActorRef) Stop(ctx context.Context, reason string) (string, error) {
	options := map[string]any{}
	if reason != "" {
		options["reason"] = reason
	}
	return r.stage(ctx, "actor.stop", options)
}

// Remind puts a reminder, in place of the one of its name: a message that comes in so long, or at a time, and with every again
// and again: With{"in": "30m"}.
func (r *ActorRef) Remind(ctx context.Context, name string, when With, method string, params ...any) (*Task, error) {
	wire, err := when.told("Remind", remindOptions)
	if err != nil {
		return nil, err
	}
	said, err := r.client.Call(ctx, "actor.remind", r.Name, name, method, list(params), wire)
	if err != nil {
		return nil, err
	}
	return r.client.submitted(said)
}

// Forget forgets a reminder; false: there is none whose turn has not begun.
func (r *ActorRef) Forget(ctx context.Context, name string) (bool, error) {
	said, err := r.client.Call(ctx, "actor.forget", r.Name, name)
	was, _ := said.(bool)
	return was, err
}

// Wake ends the sleep of a stepped actor.
func (r *ActorRef) Wake(ctx context.Context) (string, error) {
	return r.stage(ctx, "actor.wake", nil)
}

// Drop forgets its state and cancels its messages.
func (r *ActorRef) Drop(ctx context.Context) (string, error) {
	return r.stage(ctx, "actor.drop", nil)
}

func (r *ActorRef) stage(ctx context.Context, verb string, options map[string]any) (string, error) {
	said, err := r.client.Call(ctx, verb, r.Name, options)
	return member[string](said, "stage", err)
}
