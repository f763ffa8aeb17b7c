package ergon

import (
	"ergon-client/internal/options"

	"context"
	"errors"
)

const waited = 1024 // ids that the server takes at a time

// Wait waits until these tasks, however many, have ended, or with any one of them (first), across broken connections and
// restarts of the server. A task is a *Task, its id, or a slice of these. It returns those that have ended, as task.get shows
// them, and the ids of the others.
func (c *Client) Wait(ctx context.Context, first bool, tasks ...any) (ended []map[string]any, open []string, err error) {
	ids, err := options.IDs(tasks...)
	if err != nil || len(ids) == 0 {
		return nil, nil, badly(err)
	}
	if len(ids) <= waited {
		return c.waitSome(ctx, first, ids)
	}
	within, enough := context.WithCancel(ctx)
	defer enough() // nobody needs the others any more
	parts := make([]waitAnswer, (len(ids)+waited-1)/waited)
	answers := make(chan int, len(parts))
	for i := range parts {
		go func(i int) {
			p := &parts[i]
			p.ended, p.open, p.err = c.waitSome(within, first, ids[i*waited:min(len(ids), (i+1)*waited)])
			answers <- i
		}(i)
	}
	for range parts {
		p := &parts[<-answers]
		if p.err != nil {
			return nil, nil, p.err
		}
		if first {
			return p.ended, without(ids, p.ended), nil
		}
	}
	for _, p := range parts {
		ended = append(ended, p.ended...)
	}
	return ended, nil, nil
}

type waitAnswer struct {
	ended []map[string]any
	open  []string
	err   error
}

// without are the ids of the tasks that have not ended.
func without(ids []string, ended []map[string]any) (open []string) {
	gone := map[string]bool{}
	for _, task := range ended {
		id, _ := task["id"].(string)
		gone[id] = true
	}
	for _, id := range ids {
		if !gone[id] {
			open = append(open, id)
		}
	}
	return open
}

// waitSome waits for as many as the server takes at a time.
func (c *Client) waitSome(ctx context.Context, first bool, ids []string) (ended []map[string]any, open []string, err error) {
	for open = ids; len(open) > 0 && !(first && len(ended) > 0); {
		answer, err := c.poll(ctx, "task.wait", open, map[string]any{"timeout": poll, "any": first})
		if err != nil {
			return nil, nil, err
		}
		more, err := member[[]any](answer, "ended", nil)
		others, err := member[[]any](answer, "open", err)
		tasks, err := decoded[[]map[string]any](more, err)
		if open, err = decoded[[]string](others, err); err != nil {
			return nil, nil, err
		}
		ended = append(ended, tasks...)
	}
	for _, task := range ended {
		if err := c.fetch(ctx, task); err != nil {
			return nil, nil, err
		}
	}
	return ended, open, nil
}

// fetch gets the result of a task that the server left out, as it does beyond so many bytes of an answer.
func (c *Client) fetch(ctx context.Context, task map[string]any) error {
	if _, there := task["result"]; there || task["id"] == nil {
		return nil
	}
	answer, err := c.CallAgain(ctx, "task.get", task["id"], map[string]any{"result": true})
	if e := (*Error)(nil); errors.As(err, &e) && !e.own && e.Code == "NOT_FOUND" {
		return nil // it has been forgotten meanwhile
	}
	said, _ := answer.(map[string]any)
	for _, name := range []string{"result", "cut"} {
		if value, there := said[name]; there {
			task[name] = value
		}
	}
	return err
}
