package ergon

import (
	"context"
	"errors"
	"sync"
	"time"

	"ergon-client/internal/rpc"

	"ergon-client/internal/pause"
)

const (
	waitLongest = 24 * time.Hour  // that the server is asked to wait at a time
	letGo       = time.Second     // before others may have the permits
	answerLate  = 5 * time.Second // beyond the wait, for the answer
)

// SemOptions of Acquire and Sem; the zero value means the defaults.
type SemOptions struct {
	Permits int           // how many are wanted; 1
	Of      int           // there shall be so many in all, if there is no semaphore of that name yet
	Wait    time.Duration // for them at most; 0: as long as the context lets; below 0: not at all
	Grace   time.Duration // for which they stay ours when the connection is lost, or this process does not renew them; 10 s
	TTL     time.Duration // after which they are taken back unless they are renewed; none
	Durable string        // "none": what is held does not outlive the server; default: where it has a store, it does
}

// Hold is permits that are ours until Release: renewed, and resumed on another connection, as long as that is possible in time.
type Hold struct {
	Name  string
	Fence int64 // grows with each hold of the semaphore: whoever guards what the permits are for refuses smaller ones

	client *Client
	ttl    time.Duration
	time   time.Duration // that they stay ours without a word
	secret any
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{} // nobody renews any more

	mu      sync.Mutex
	session *session
	safe    time.Time // until then they are ours, whatever happens
	lost    error
}

// Context ends when the permits are lost, and when they are released.
func (h *Hold) Context() context.Context {
	return h.ctx
}

// Lost is nil, or the error with which they were lost: others may have them after their grace.
func (h *Hold) Lost() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost
}

// renewed counts from when we asked, which is before the server counts from.
func (h *Hold) renewed(s *session, sent time.Time) {
	margin := h.time / 4
	if margin > letGo {
		margin = letGo
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.session, h.safe = s, sent.Add(h.time-margin)
}

func (h *Hold) state() (*session, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session, h.safe
}

// Renew lets their time begin anew. FENCED: they are others' by now.
func (h *Hold) Renew(ctx context.Context) error {
	return h.client.with(ctx, func(s *session) error {
		method := "sem.resume"
		if mine, _ := h.state(); s == mine {
			method = "sem.renew"
		}
		with, sent := map[string]any{}, time.Now()
		if h.ttl > 0 {
			with["ttl"] = h.ttl
		}
		_, err := s.Request(ctx, method, []any{h.Name, h.secret, with})
		if err == nil {
			h.renewed(s, sent)
		}
		return err
	})
}

// isOthers says that a renewal failed since somebody else may have the permits.
func isOthers(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.own {
		return false
	}
	return e.Code == "FENCED" || e.Code == "NOT_FOUND" || e.Code == "DENIED"
}

// keep renews them until they are released or lost.
func (h *Hold) keep() {
	defer close(h.ended)
	for h.ctx.Err() == nil {
		s, safe := h.state()
		select {
		case <-time.After(h.time / 3):
		case <-s.Over:
		case <-h.ctx.Done():
			return
		}
		ctx, cancel := context.WithDeadline(h.ctx, safe)
		err := h.renewSomehow(ctx)
		cancel()
		if err == nil || h.ctx.Err() != nil {
			continue
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = &Error{Code: "FENCED", Text: "the permits could not be renewed in time"}
		}
		h.mu.Lock()
		h.lost = err
		h.mu.Unlock()
		h.cancel()
	}
}

func (h *Hold) renewSomehow(ctx context.Context) error {
	for {
		err := h.Renew(ctx)
		if err == nil || ctx.Err() != nil || isOthers(err) || errors.Is(err, ErrClosed) {
			if ctx.Err() != nil && err != nil {
				return ctx.Err()
			}
			return err
		}
		if err = pause.Sleep(ctx, h.time/20); err != nil {
			return err
		}
	}
}

// Release gives them back. False: they were lost, or the server has not said yet that it has them; the client goes on with that
// as long as it is connected, and without a connection they go back after their grace.
func (h *Hold) Release() bool {
	h.cancel()
	<-h.ended
	return h.giveBack()
}

func (h *Hold) giveBack() bool {
	h.mu.Lock()
	secret, lost, safe, on := h.secret, h.lost, h.safe, h.session
	h.secret = nil
	h.mu.Unlock()
	if secret == nil || lost != nil {
		return false
	}
	if least := time.Now().Add(time.Second); safe.Before(least) {
		safe = least
	}
	ctx, cancel := context.WithDeadline(context.Background(), safe)
	given := make(chan bool, 1)
	go func() {
		defer cancel()
		given <- h.client.giveBack(ctx, on, h.Name, secret)
	}()
	select {
	case done := <-given:
		return done
	case <-time.After(time.Until(safe)):
		return false
	}
}

// giveBack sends that past the calls that wait for their turn, until it is done. The context is that of the wait for another
// connection.
func (c *Client) giveBack(ctx context.Context, on *session, name string, secret any) bool {
	var released any
	try := func(s *session) (err error) {
		on = s
		released, err = s.Request(context.Background(), "sem.release", []any{name, secret})
		return err
	}
	for attempt := 0; ; attempt++ {
		err := try(on)
		if err == rpc.ErrUnsent {
			err = c.with(ctx, try)
		}
		var e *Error
		isDone := err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) || errors.Is(err, ErrClosed)
		if isDone || errors.As(err, &e) && !e.own && !e.Retryable && e.Code != "UNSURE" {
			return released == true
		}
		select {
		case <-on.Over:
		case <-time.After(pause.For(attempt, pauseMin, time.Second)):
		}
	}
}

// Acquire waits for permits of a semaphore. NOT_FOUND: there is no such semaphore; BAD_PARAMS: there are not so many; DEADLINE:
// not in time, or context.DeadlineExceeded if the server did not say so; or the context's error.
func (c *Client) Acquire(ctx context.Context, name string, o SemOptions) (*Hold, error) {
	withDefault(&o.Permits, 1)
	withDefault(&o.Grace, 10*time.Second)
	end := time.Now()
	if o.Wait > 0 {
		end = end.Add(o.Wait)
	}
	for attempt := 0; ; attempt++ {
		h := &Hold{Name: name, client: c, ttl: o.TTL, time: o.Grace, ended: make(chan struct{})}
		if o.TTL > 0 && o.TTL < o.Grace {
			h.time = o.TTL
		}
		err := h.acquire(ctx, &o, end)
		switch code := Code(err); {
		case err == nil:
			h.ctx, h.cancel = context.WithCancel(context.Background())
			go h.keep()
			return h, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, ErrBroken), code == "DEADLINE" && o.Wait == 0, isOthers(err) && h.Fence != 0:
			continue // whoever waited has lost the place
		case o.Wait != 0 && time.Now().After(end), code != "BUSY" && code != "DRAINING" && code != "MEMORY":
			return nil, err
		}
		d := pause.For(attempt, pauseMin, pauseMax)
		if left := time.Until(end); o.Wait != 0 && left < d {
			d = left
		}
		if err := pause.Sleep(ctx, d); err != nil {
			return nil, err
		}
	}
}

// limited ends at that time, if the wait has an end.
func (o *SemOptions) limited(ctx context.Context, end time.Time) (context.Context, context.CancelFunc) {
	if o.Wait == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end)
}

// wanted has the options of sem.acquire.
type wanted struct {
	Permits     int
	Of          int `msgpack:",omitempty"`
	Grace, Wait time.Duration
	TTL         time.Duration `msgpack:",omitempty"`
	Durable     string        `msgpack:",omitempty"`
}

func (o *SemOptions) wire(end time.Time) wanted {
	wait := waitLongest
	if o.Wait != 0 {
		wait = time.Until(end)
	}
	if wait < 0 {
		wait = 0
	}
	return wanted{o.Permits, o.Of, o.Grace, wait, o.TTL, o.Durable}
}

func (h *Hold) acquire(ctx context.Context, o *SemOptions, end time.Time) error {
	sent := time.Now()
	connected, cancel := o.limited(ctx, end)
	defer cancel()
	ctx, stop := o.limited(ctx, end.Add(answerLate))
	defer stop()
	err := h.client.with(connected, func(s *session) error {
		sent = time.Now()
		answer, err := s.RequestLate(ctx, "sem.acquire", []any{h.Name, o.wire(end)}, func(late any) { // granted to nobody
			said, _ := late.(map[string]any)
			within, cancel := context.WithTimeout(context.Background(), h.time)
			defer cancel()
			h.client.giveBack(within, s, h.Name, said["hold"])
		})
		if err != nil {
			return err
		}
		said, _ := answer.(map[string]any)
		h.secret = said["hold"]
		h.Fence, _ = said["fence"].(int64)
		if h.secret == nil {
			return fail(ErrProtocol, "the server's answer has no hold")
		}
		h.renewed(s, sent)
		return nil
	})
	if err != nil || time.Since(sent) <= h.time/3 {
		return err
	}
	if err = h.Renew(ctx); err != nil && !isOthers(err) {
		go h.giveBack() // whoever asks again is not to wait for what came late
	}
	return err
}

// Sem runs use under permits, and gives them back. If they are lost the context of use ends, and the error is FENCED.
func (c *Client) Sem(ctx context.Context, name string, o SemOptions,
	use func(ctx context.Context, hold *Hold) error) (err error) {
	hold, err := c.Acquire(ctx, name, o)
	if err != nil {
		return err
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-hold.ctx.Done():
			cancel()
		case <-within.Done():
		}
	}()
	defer func() { // also if use panics
		hold.Release()
		if lost := hold.Lost(); lost != nil {
			err = lost
		}
	}()
	return use(within, hold)
}
