// Package ergon is a client of Ergon, a server of calls and tasks that last. docs/clients.md of Ergon's tree is the guide.
//
// A Mux has the methods of a program, with types and policies; Client.Call, Submit and Work take any values. These go and come as
// package msgpack says; a *Task goes as its id.
package ergon

import (
	"context"
	"errors"
	"log"
	"strings"
	"sync"
	"time"

	"ergon-client/internal/dial"
	"ergon-client/internal/news"
	"ergon-client/internal/pause"
	"ergon-client/internal/rpc"
	"ergon-client/manage"
	"ergon-client/msgpack"
)

// Ext is a MessagePack extension that is no timestamp.
type Ext = msgpack.Ext

// Options of a client; the zero value means the defaults.
type Options struct {
	Token          string        // who we are, where the listener asks for one
	CA             string        // file of authorities, PEM; default: the system's
	Cert, Key      string        // files of a client certificate with its chain, and of its key (default: in the same), PEM
	ServerName     string        // what the certificate must name; default: the host of the URL
	ConnectTimeout time.Duration // for connection, TLS and token together; 10 s
	BackoffMin     time.Duration // before a connection is tried again; 100 ms
	BackoffMax     time.Duration // doubled up to this, half of it by chance; 10 s
	InFlight       int           // calls that are out at a time; further ones wait for their turn; 1000
	MessageMax     int           // bytes of one message from the server, which sends our worker no longer request; 32 MiB

	// OnNotification is called for what the server pushes, and must not block.
	OnNotification func(method string, params []any)

	// They are called one after the other, from a goroutine of their own, and may use the client; the last one may come after
	// Close has returned.
	OnConnect    func(ConnectionEvent) // the first connection is there
	OnDisconnect func(ConnectionEvent) // it ended, also by Close
	OnReconnect  func(ConnectionEvent) // there is another one
	OnRefused    func(ConnectionEvent) // an attempt to connect, or to offer methods, failed
	OnDrained    func(ConnectionEvent) // the server is stopping, as it told us

	// Log takes a line when a connection is lost, refused (for the same reason at most every 30 s), or back, when the server is
	// stopping, and when a handler panics; it is like Printf of *log.Logger. nil: log.Printf; Silent: nothing is written. The
	// refusal with which Dial or Work fails has none.
	Log func(format string, args ...any)
}

// ConnectionEvent is what has happened to the connection of a client.
type ConnectionEvent struct {
	Address string // the URL
	Reason  string // what the system or the server said; "" when all is well
}

// Silent is a Log of Options that writes nothing.
func Silent(format string, args ...any) {}

// Client is a client of one server, for any number of goroutines, on one connection, which comes back by itself. While
// there is none calls wait for one, as long as their context lets them. What was in flight when it broke ends as
// ErrBroken; only what does no harm when it is asked twice is asked again: Wait, Watch, Get, Explain, and Submit with a
// key.
type Client struct {
	manage.Methods // Crons, Queues, Sems, Tasks, Events and their like

	address *dial.Address
	options Options
	calls   chan struct{} // turns
	polls   chan struct{}
	stop    context.Context // ends with Close
	cancel  context.CancelFunc
	done    chan struct{} // nobody connects any more
	news    *news.News

	mu      sync.Mutex // of up, which keep() changes, worker and spent
	up      *next
	local   localAnswer   // answers in place of a server, unless it is nil
	worker  *worker       // who answers requests of the server; nil: nobody
	spent   *serving      // of a worker that has ended: it hands back what still comes over its session
	tried   chan struct{} // closed when the first attempt is over
	failure error         // how that went
}

// next is the session that is up, or will be.
type next struct {
	ready   chan struct{} // closed when session or err is set
	gone    chan struct{} // closed when there is another next
	session *session
	err     error
}

func newNext() *next {
	return &next{ready: make(chan struct{}), gone: make(chan struct{})}
}

const (
	pollsMost   = 1000             // long polls on a connection at a time; the server takes 1024
	poll        = 30 * time.Second // that the server waits for something to tell
	pollLongest = 45 * time.Second // that we wait for the server then
	page        = 1000             // events
	pauseMin    = 100 * time.Millisecond
	pauseMax    = 10 * time.Second // before a server that refuses is asked again
)

// Errors after which what does no harm is asked again, and those after which a long poll is.
var (
	never    = func(error) bool { return false }
	stopping = func(err error) bool { return errors.Is(err, ErrBroken) || Code(err) == "DRAINING" }
	full     = func(err error) bool { return stopping(err) || Code(err) == "BUSY" || Code(err) == "MEMORY" }
)

// New makes a client, which begins to connect: ergon://host[:7466], ergons://host[:7467] (TLS), unix:///path. The error
// tells what is wrong with URL, files or options.
func New(url string, o Options) (*Client, error) {
	return newClient(url, o, false)
}

// newClient: isAsked: its caller is told how the first attempt to connect went.
func newClient(url string, o Options, isAsked bool) (*Client, error) {
	a, err := dial.New(url, dial.Files{CA: o.CA, Cert: o.Cert, Key: o.Key, ServerName: o.ServerName})
	if err != nil {
		return nil, err
	}
	if o.InFlight < 0 || o.MessageMax < 0 || o.ConnectTimeout < 0 || o.BackoffMin < 0 || o.BackoffMax < 0 {
		return nil, bad("InFlight, MessageMax, ConnectTimeout, BackoffMin and BackoffMax must not be negative")
	}
	if o.Log == nil {
		o.Log = log.Printf
	}
	withDefault(&o.ConnectTimeout, 10*time.Second)
	withDefault(&o.BackoffMin, 100*time.Millisecond)
	withDefault(&o.BackoffMax, 10*time.Second)
	withDefault(&o.InFlight, 1000)
	withDefault(&o.MessageMax, 32<<20)
	c := &Client{address: a, options: o, calls: make(chan struct{}, o.InFlight), polls: make(chan struct{}, pollsMost),
		done: make(chan struct{}), up: newNext(), tried: make(chan struct{})}
	event := func(callback func(ConnectionEvent)) func(string) {
		if callback == nil {
			return nil
		}
		return func(reason string) { callback(ConnectionEvent{url, reason}) }
	}
	c.news = &news.News{Address: url, Log: o.Log, OnConnect: event(o.OnConnect), OnDisconnect: event(o.OnDisconnect),
		OnReconnect: event(o.OnReconnect), OnRefused: event(o.OnRefused), OnDrained: event(o.OnDrained)}
	c.manages()
	go c.keep(isAsked)
	return c, nil
}

// manages completes a client.
func (c *Client) manages() {
	c.stop, c.cancel = context.WithCancel(context.Background())
	call := func(ctx context.Context, again bool, method string, params ...any) (any, error) {
		return c.request(ctx, c.calls, map[bool]func(error) bool{true: stopping, false: never}[again], method, params...)
	}
	c.Methods = manage.New(manage.Server{Call: call, Poll: c.poll, Error: func(code string, err error) error {
		return fail(&Error{Code: code}, "%v", err)
	}})
}

type localAnswer = func(ctx context.Context, method string, params []any) (any, error)

// Local makes a client without a server: the function answers all requests, with an *Error or a result as the server has them.
// Package ergontest uses it.
func Local(answer func(ctx context.Context, method string, params []any) (any, error)) *Client {
	c := &Client{local: answer, options: Options{Log: log.Printf}, done: make(chan struct{}), up: newNext()}
	c.manages()
	c.settle(nil, fail(ErrClosed, "this client has no server: ergontest.Server starts one"))
	close(c.done)
	return c
}

func withDefault[T int | time.Duration](value *T, other T) {
	if *value == 0 {
		*value = other
	}
}

// Dial makes a client that is connected, or fails with what prevents the first connection: ErrUnreachable, ErrRefused.
func Dial(ctx context.Context, url string, o Options) (*Client, error) {
	c, err := newClient(url, o, true)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.tried:
		err = c.failure
	case <-ctx.Done():
		err = c.news.Late(ctx.Err())
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection; calls that are under way end as ErrClosed.
func (c *Client) Close() error {
	c.cancel()
	<-c.done
	return nil
}

// keep connects whenever there is no connection, as long as the client lives.
func (c *Client) keep(isAsked bool) {
	defer close(c.done)
	var first sync.Once
	for attempt := 0; c.stop.Err() == nil; attempt++ {
		s, isReturned, err := c.connect()
		if err == nil {
			c.news.Connected()
		} else if c.stop.Err() == nil {
			c.refused(err, isAsked || isReturned)
		}
		isAsked = false
		first.Do(func() {
			c.failure = err
			close(c.tried)
		})
		if err == nil {
			attempt = 0
			c.settle(s, nil)
			select {
			case <-s.Over:
			case <-c.stop.Done():
				s.Finish()
			}
			c.news.Disconnected(s.Why, s.Why == rpc.ClosedByUs)
			c.renew()
		} else if errors.Is(err, ErrRefused) {
			c.settle(nil, err)
			c.renew()
		}
		pause.Sleep(c.stop, pause.For(attempt, c.options.BackoffMin, c.options.BackoffMax))
	}
	c.settle(nil, fail(ErrClosed, "the client is closed"))
}

// refused says why there is no connection, without the address, which lines and events have already.
func (c *Client) refused(err error, isReturned bool) {
	reason := err.Error()
	if e := (*Error)(nil); errors.As(err, &e) && errors.Is(e, ErrUnreachable) {
		reason = strings.TrimPrefix(e.Text, c.address.URL+": ")
	}
	c.news.Refused(reason, isReturned)
}

// connect makes a session that is ready, what we serve included; isReturned: Work fails with the error.
func (c *Client) connect() (s *session, isReturned bool, err error) {
	ctx, cancel := context.WithTimeout(c.stop, c.options.ConnectTimeout)
	defer cancel()
	s, err = open(ctx, c.address, &c.options, c.asked, c.told, c.news.Drained)
	if w := c.working(); err == nil && w != nil {
		err = w.serving.start(ctx, s, nil)
		if errors.Is(err, ErrBroken) || err == rpc.ErrUnsent || err != nil && ctx.Err() != nil {
			err = s.unreachable(ctx, c.address, err)
		}
		isReturned = err != nil && w.over.Load()
	}
	return s, isReturned, err
}

// settle lets those that wait go on, with a session or an error.
func (c *Client) settle(s *session, err error) {
	c.up.session, c.up.err = s, err
	close(c.up.ready)
}

// renew lets them wait for the next session.
func (c *Client) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.up.gone)
	c.up = newNext()
}

func (c *Client) current() *next {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up
}

// with runs use with the session that is up, and again if that ended before anything was sent.
func (c *Client) with(ctx context.Context, use func(*session) error) error {
	for {
		up := c.current()
		select {
		case <-up.ready:
		case <-ctx.Done():
			select {
			case <-up.ready: // with so short a context, too
			default:
				return c.news.Late(ctx.Err())
			}
		}
		if up.err != nil {
			return up.err
		}
		err := use(up.session)
		if errors.Is(err, ErrBroken) && c.stop.Err() != nil {
			return fail(ErrClosed, "the client is closed")
		}
		if err != rpc.ErrUnsent {
			return err
		}
		select {
		case <-up.gone:
		case <-ctx.Done():
			return c.news.Late(ctx.Err())
		}
	}
}

// ---- calls ----

// request returns the answer, asked for again after these errors.
func (c *Client) request(ctx context.Context, turns chan struct{}, again func(err error) bool, method string,
	params ...any) (result any, err error) {
	if c.local != nil {
		return c.local(ctx, method, params)
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for attempt := 0; ; attempt++ {
		err = c.with(ctx, func(s *session) error {
			result, err = s.Request(ctx, method, params)
			return err
		})
		if err == nil || !again(err) {
			return result, err
		}
		if !errors.Is(err, ErrBroken) {
			err = pause.Sleep(ctx, pause.For(attempt, pauseMin, pauseMax))
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// Call returns the result of a method: an *Error of the server's; ErrBroken: it may have run; ErrRefused; or the
// context's error, and then the server is told to cancel it.
func (c *Client) Call(ctx context.Context, method string, params ...any) (any, error) {
	return c.request(ctx, c.calls, never, method, params...)
}

// CallWith is Call with options of a task, which does not outlive the call.
func (c *Client) CallWith(ctx context.Context, with With, method string, params ...any) (any, error) {
	order, _, err := Order{method, params, with}.wire("CallWith", taskOptions)
	if err != nil {
		return nil, err
	}
	return c.Call(ctx, "task.call", order...)
}

// CallAgain is Call of a method that does no harm when it is asked twice: it is asked again after a broken connection.
func (c *Client) CallAgain(ctx context.Context, method string, params ...any) (any, error) {
	return c.request(ctx, c.calls, stopping, method, params...)
}

// member is one of an answer that is a map.
func member[T any](answer any, name string, err error) (value T, _ error) {
	if err != nil {
		return value, err
	}
	said, _ := answer.(map[string]any)
	value, ok := said[name].(T)
	if !ok {
		return value, fail(ErrProtocol, "the server's answer has no %s", name)
	}
	return value, nil
}

// Notify calls a method and wants no answer: whether it arrives is not known.
func (c *Client) Notify(ctx context.Context, method string, params ...any) error {
	return c.with(ctx, func(s *session) error {
		return s.Send(ctx, []any{rpc.Notification, method, list(params)})
	})
}

// list is no nil.
func list(params []any) []any {
	return append([]any{}, params...)
}
