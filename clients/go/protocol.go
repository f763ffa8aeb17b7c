package ergon

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"ergon-client/msgpack"
)

const (
	messageRequest = iota
	messageResponse
	messageNotification
)

const (
	refusalsMax = 1000                   // answers to requests of the server that wait to be written
	closedByUs  = "the client closed it" // why a session has ended
)

// errUnsent: the connection ended before the message went into it.
var errUnsent = errors.New("ergon: not sent")

type answer struct {
	result any
	err    error
}

// session is a connection: one goroutine reads, one writes, and any number have calls in flight.
type session struct {
	conn       net.Conn
	messageMax int
	limit      int64         // bytes of a message that the server takes
	sending    chan struct{} // whose turn it is to pack a message, so that not each that waits has its bytes
	out        chan []byte   // to the goroutine that writes
	over       chan struct{}
	notified   func(s *session, method string, params []any)
	drained    func(reason string) // called once, if the server tells that it is stopping
	draining   atomic.Bool
	closing    string // why the server is about to close it, if it told; of the goroutine that reads
	why        string // it has ended, set before over is closed
	asked      asker
	base       context.Context // of what the server asks for over it; it ends with the session
	cancel     context.CancelFunc
	begun      sync.Once // the server has been told what we serve
	beginning  error     // how that went

	mu       sync.Mutex
	calls    map[int64]chan answer // by id, each with room for its answer; nil: it has ended
	last     int64
	refusals int
}

// open connects, says how we want to be answered, and who we are: ErrUnreachable, ErrRefused, or the context's error.
func open(ctx context.Context, a *address, o *Options, asked asker, told func(*session, string, []any),
	drained func(string)) (*session, error) {
	conn, err := a.dial(ctx)
	if err != nil {
		return nil, fail(ErrUnreachable, "%s: %v", a.url, err)
	}
	s := &session{conn: conn, messageMax: o.MessageMax,
		sending: make(chan struct{}, 1), out: make(chan []byte), over: make(chan struct{}),
		notified: told, drained: drained, asked: asked, calls: map[int64]chan answer{}}
	s.base, s.cancel = context.WithCancel(context.Background())
	go s.write()
	go s.read()
	if err = s.introduce(ctx, a.token); err == nil {
		return s, nil
	}
	if errors.Is(err, ErrBroken) || errors.Is(err, errUnsent) || ctx.Err() != nil {
		err = s.unreachable(ctx, a, err)
	}
	s.end(closedByUs)
	return nil, err
}

// ---- sending ----

func (s *session) write() {
	for {
		select {
		case frame := <-s.out:
			if len(frame) == 0 {
				continue
			}
			if _, err := s.conn.Write(frame); err != nil {
				s.endLater(reasonOf(err))
			}
		case <-s.over:
			return
		}
	}
}

// send returns when the goroutine that writes has taken the message: errUnsent, ErrTooLarge, the context's error, or
// that a type is not for MessagePack.
func (s *session) send(ctx context.Context, message []any) error {
	select {
	case s.sending <- struct{}{}:
		defer func() { <-s.sending }()
	case <-s.over:
		return errUnsent
	case <-ctx.Done():
		return ctx.Err()
	}
	frame, err := msgpack.Append(nil, message)
	if err != nil {
		return err
	}
	if s.limit > 0 && int64(len(frame)) > s.limit { // the server would close the connection over it, under all other calls
		return fail(ErrTooLarge, "the message has %d bytes, and the server takes %d", len(frame), s.limit)
	}
	select {
	case s.out <- frame:
		return nil
	case <-s.over:
		return errUnsent
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nextID makes a call; nil: the session has ended.
func (s *session) nextID() (int64, chan answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.calls != nil {
		s.last = (s.last + 1) % (1 << 31)
		if _, taken := s.calls[s.last]; !taken {
			s.calls[s.last] = make(chan answer, 1)
			return s.last, s.calls[s.last]
		}
	}
	return 0, nil
}

// forget says whether the call was still there.
func (s *session) forget(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.calls[id]
	delete(s.calls, id)
	return there
}

// request returns the result: an Error, errUnsent, or the context's error, and then the server is told to cancel.
func (s *session) request(ctx context.Context, method string, params []any) (any, error) {
	return s.requestLate(ctx, method, params, nil)
}

// requestLate calls late with the result of a call that was cancelled and done all the same, unless it is nil.
func (s *session) requestLate(ctx context.Context, method string, params []any, late func(any)) (any, error) {
	if params == nil {
		params = []any{}
	}
	id, answered := s.nextID()
	if answered == nil {
		return nil, errUnsent
	}
	if err := s.send(ctx, []any{messageRequest, id, method, params}); err != nil {
		s.forget(id)
		return nil, err
	}
	select {
	case a := <-answered:
		return a.result, a.err
	case <-ctx.Done():
	}
	if late != nil {
		go func() {
			s.send(context.Background(), []any{messageNotification, "server.cancel", []any{id}})
			if a := <-answered; a.err == nil {
				late(a.result)
			}
		}()
	} else if s.forget(id) {
		go s.send(context.Background(), []any{messageNotification, "server.cancel", []any{id}})
	}
	return nil, ctx.Err()
}

// ---- receiving ----

func (s *session) read() {
	from := msgpack.NewReader(s.conn, s.messageMax)
	for {
		message, err := from.Next()
		if err == nil {
			err = s.take(message)
		} else if wrong, is := err.(msgpack.Invalid); is {
			err = rubbish(wrong)
		}
		switch {
		case err == nil:
			continue
		case s.closing != "":
			s.end(s.closing)
		case err == io.EOF:
			s.end("the server closed it")
		}
		s.end(reasonOf(err))
		return
	}
}

func (s *session) take(message any) error {
	parts, _ := message.([]any)
	kind := int64(-1)
	if len(parts) == 3 || len(parts) == 4 {
		kind, _ = parts[0].(int64)
	}
	switch {
	case kind == messageResponse && len(parts) == 4:
		id, known := parts[1].(int64)
		if !known {
			break
		}
		s.settle(id, parts[2], parts[3])
		return nil
	case kind == messageRequest && len(parts) == 4 && isText(parts[2]):
		return s.asked(s, parts[1], parts[2].(string), parts[3])
	case kind == messageNotification && len(parts) == 3 && isText(parts[1]):
		if params, ok := parts[2].([]any); ok {
			s.hear(parts[1].(string), params)
		}
		return nil
	}
	return rubbish("a value that is no message")
}

func isText(value any) bool {
	_, ok := value.(string)
	return ok
}

// settle gives a call its answer; one that nobody waits for is a late one, of a call that was given up.
func (s *session) settle(id int64, err, result any) {
	s.mu.Lock()
	call := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	if call == nil {
		return
	}
	if err != nil {
		call <- answer{nil, s.failure(err)}
	} else {
		call <- answer{result, nil}
	}
}

// refuse answers a request of the server with an error or nil: who asks must be answered. Reading does not wait for that.
func (s *session) refuse(id, why any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusals++; s.refusals > refusalsMax {
		return rubbish("it asks, and does not read our answers")
	}
	go func() {
		s.send(context.Background(), []any{messageResponse, id, why, nil})
		s.mu.Lock()
		s.refusals--
		s.mu.Unlock()
	}()
	return nil
}

// end ends it at once; calls in flight end as ErrBroken.
func (s *session) end(why string) {
	s.mu.Lock()
	calls := s.calls
	if s.calls = nil; calls != nil {
		s.why = why
	}
	s.mu.Unlock()
	if calls == nil {
		return
	}
	close(s.over)
	s.cancel()
	for _, call := range calls {
		call <- answer{nil, fail(ErrBroken, "the connection broke, and the call may have run or not: %s", why)}
	}
	s.conn.Close()
}

// finish ends it when what was written has gone out, if the server reads that within a second.
func (s *session) finish() {
	select {
	case s.out <- nil: // taken when all before it is written
	case <-s.over:
	case <-time.After(time.Second):
	}
	s.end(closedByUs)
}
