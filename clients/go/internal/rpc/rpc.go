// Package rpc is MessagePack-RPC over one connection, both ways.
package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"ergon-client/msgpack"
)

// Kinds of messages.
const (
	Request = iota
	Response
	Notification
)

const (
	refusalsMax = 1000                   // answers to requests of the server that wait to be written
	ClosedByUs  = "the client closed it" // why a session has ended
)

// ErrUnsent: the connection ended before the message went into it.
var ErrUnsent = errors.New("ergon: not sent")

type answer struct {
	result any
	err    error
}

// Peer is what a session asks of its user.
type Peer struct {
	MessageMax int                                                   // bytes of a message that is read
	Asked      func(id any, method string, params any) error         // takes a request; an error ends the session
	Notified   func(method string, params []any)                     // of the goroutine that reads
	Failure    func(value any) error                                 // makes an error of that of an answer
	Error      func(isBroken bool, format string, args ...any) error // the call may have run, or the message is too large
}

// Session is a connection: one goroutine reads, one writes, and any number have calls in flight.
type Session struct {
	Limit   int64           // bytes of a message that the other side takes; 0: any
	Over    chan struct{}   // closed when it has ended
	Why     string          // it has ended, set before Over is closed
	Base    context.Context // of what the other side asks for over it; it ends with the session
	Closing string          // why the other side is about to close it, if it says so; of the goroutine that reads

	peer    Peer
	conn    net.Conn
	sending chan struct{} // whose turn it is to pack a message, so that not each that waits has its bytes
	out     chan []byte   // to the goroutine that writes
	cancel  context.CancelFunc

	mu       sync.Mutex
	calls    map[int64]chan answer // by id, each with room for its answer; nil: it has ended
	last     int64
	refusals int
}

// New makes a session, which reads and writes from Begin on.
func New(conn net.Conn, peer Peer) *Session {
	s := &Session{peer: peer, conn: conn, sending: make(chan struct{}, 1), out: make(chan []byte), Over: make(chan struct{}),
		calls: map[int64]chan answer{}}
	s.Base, s.cancel = context.WithCancel(context.Background())
	return s
}

// Begin starts to read and to write.
func (s *Session) Begin() {
	go s.write()
	go s.read()
}

// ---- sending ----

func (s *Session) write() {
	for {
		select {
		case frame := <-s.out:
			if len(frame) == 0 {
				continue
			}
			if _, err := s.conn.Write(frame); err != nil {
				s.endLater(reasonOf(err))
			}
		case <-s.Over:
			return
		}
	}
}

// Send returns when the goroutine that writes has taken the message: ErrUnsent, TOO_LARGE, the context's error, or
// that a type is not for MessagePack.
func (s *Session) Send(ctx context.Context, message []any) error {
	select {
	case s.sending <- struct{}{}:
		defer func() { <-s.sending }()
	case <-s.Over:
		return ErrUnsent
	case <-ctx.Done():
		return ctx.Err()
	}
	frame, err := msgpack.Append(nil, message)
	if err != nil {
		return err
	}
	if s.Limit > 0 && int64(len(frame)) > s.Limit { // the server would close the connection over it, under all other calls
		return s.peer.Error(false, "the message has %d bytes, and the server takes %d", len(frame), s.Limit)
	}
	select {
	case s.out <- frame:
		return nil
	case <-s.Over:
		return ErrUnsent
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nextID makes a call; nil: the session has ended.
func (s *Session) nextID() (int64, chan answer) {
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
func (s *Session) forget(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.calls[id]
	delete(s.calls, id)
	return there
}

// Request returns the result: an Error, ErrUnsent, or the context's error, and then the server is told to cancel.
func (s *Session) Request(ctx context.Context, method string, params []any) (any, error) {
	return s.RequestLate(ctx, method, params, nil)
}

// RequestLate calls late with the result of a call that was cancelled and done all the same, unless it is nil.
func (s *Session) RequestLate(ctx context.Context, method string, params []any, late func(any)) (any, error) {
	if params == nil {
		params = []any{}
	}
	id, answered := s.nextID()
	if answered == nil {
		return nil, ErrUnsent
	}
	if err := s.Send(ctx, []any{Request, id, method, params}); err != nil {
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
			s.Send(context.Background(), []any{Notification, "server.cancel", []any{id}})
			if a := <-answered; a.err == nil {
				late(a.result)
			}
		}()
	} else if s.forget(id) {
		go s.Send(context.Background(), []any{Notification, "server.cancel", []any{id}})
	}
	return nil, ctx.Err()
}

// ---- receiving ----

func (s *Session) read() {
	from := msgpack.NewReader(s.conn, s.peer.MessageMax)
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
		case s.Closing != "":
			s.End(s.Closing)
		case err == io.EOF:
			s.End("the server closed it")
		}
		s.End(reasonOf(err))
		return
	}
}

func (s *Session) take(message any) error {
	parts, _ := message.([]any)
	kind := int64(-1)
	if len(parts) == 3 || len(parts) == 4 {
		kind, _ = parts[0].(int64)
	}
	switch {
	case kind == Response && len(parts) == 4:
		id, known := parts[1].(int64)
		if !known {
			break
		}
		s.settle(id, parts[2], parts[3])
		return nil
	case kind == Request && len(parts) == 4 && isText(parts[2]):
		return s.peer.Asked(parts[1], parts[2].(string), parts[3])
	case kind == Notification && len(parts) == 3 && isText(parts[1]):
		if params, ok := parts[2].([]any); ok {
			s.peer.Notified(parts[1].(string), params)
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
func (s *Session) settle(id int64, err, result any) {
	s.mu.Lock()
	call := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	if call == nil {
		return
	}
	if err != nil {
		call <- answer{nil, s.peer.Failure(err)}
	} else {
		call <- answer{result, nil}
	}
}

// Refuse answers a request of the server with an error or nil: who asks must be answered. Reading does not wait for that.
func (s *Session) Refuse(id, why any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusals++; s.refusals > refusalsMax {
		return rubbish("it asks, and does not read our answers")
	}
	go func() {
		s.Send(context.Background(), []any{Response, id, why, nil})
		s.mu.Lock()
		s.refusals--
		s.mu.Unlock()
	}()
	return nil
}

// End ends it at once; calls in flight end as BROKEN.
func (s *Session) End(why string) {
	s.mu.Lock()
	calls := s.calls
	if s.calls = nil; calls != nil {
		s.Why = why
	}
	s.mu.Unlock()
	if calls == nil {
		return
	}
	close(s.Over)
	s.cancel()
	for _, call := range calls {
		call <- answer{nil, s.peer.Error(true, "the connection broke, and the call may have run or not: %s", why)}
	}
	s.conn.Close()
}

// Finish ends it when what was written has gone out, if the server reads that within a second.
func (s *Session) Finish() {
	select {
	case s.out <- nil: // taken when all before it is written
	case <-s.Over:
	case <-time.After(time.Second):
	}
	s.End(ClosedByUs)
}
