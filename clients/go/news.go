package ergon

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// ConnectionEvent is what has happened to the connection of a client.
type ConnectionEvent struct {
	Address string // the URL
	Reason  string // what the system or the server said; "" when all is well
}

// Silent is a Log of Options that writes nothing.
func Silent(format string, args ...any) {}

const (
	refusedAgain = 30 * time.Second // after which a refusal for the same reason has another line
	refusalsKept = 100              // reasons, some of which may have a number that changes
)

// news are the events of one client, for programs, and their lines, for people.
type news struct {
	address string
	options *Options

	mu      sync.Mutex
	wasUp   bool
	down    time.Time            // since when there is no connection
	trouble string               // why there is none; "": there is one, or none was tried
	said    bool                 // a line told so
	lines   map[string]time.Time // refusals that had one since there was a connection, and when
	waiting []func()             // callbacks that are to be called
	calling bool                 // a goroutine calls them
}

func (n *news) connected() {
	n.mu.Lock()
	callback, line := n.options.OnConnect, ""
	if n.wasUp {
		callback = n.options.OnReconnect
	}
	if n.said && n.wasUp { // for those who have read of that
		line = fmt.Sprintf("connected to %s again, after %.1f s", n.address, time.Since(n.down).Seconds())
	} else if n.said {
		line = "connected to " + n.address
	}
	n.wasUp, n.trouble, n.said, n.lines = true, "", false, map[string]time.Time{}
	n.mu.Unlock()
	n.tell(callback, "", line)
}

// disconnected: the client itself ended it if it is ours.
func (n *news) disconnected(reason string, ours bool) {
	line := ""
	n.mu.Lock()
	n.down = time.Now()
	if !ours {
		n.trouble, n.said = reason, true
		line = fmt.Sprintf("lost the connection to %s: %s; connecting again", n.address, reason)
	}
	n.mu.Unlock()
	n.tell(n.options.OnDisconnect, reason, line)
}

// refused has a line unless the caller gets the error; for the same reason another one only after a while.
func (n *news) refused(err error, returned bool) {
	reason := err.Error()
	if e := (*Error)(nil); errors.As(err, &e) && e.own && e.Code == ErrUnreachable.Code {
		reason = strings.TrimPrefix(e.Text, n.address+": ") // which the line and the event have already
	}
	line, now := "", time.Now()
	n.mu.Lock()
	n.trouble = reason
	if last, before := n.lines[reason]; !returned && (!before || now.Sub(last) >= refusedAgain) {
		if len(n.lines) >= refusalsKept {
			n.lines = map[string]time.Time{}
		}
		n.lines[reason], n.said = now, true
		line = fmt.Sprintf("no connection to %s: %s; trying again", n.address, reason)
	}
	n.mu.Unlock()
	n.tell(n.options.OnRefused, reason, line)
}

func (n *news) drained(reason string) {
	n.tell(n.options.OnDrained, reason, fmt.Sprintf("%s is stopping: %s", n.address, reason))
}

// late is the error of a context that ended while there was no connection.
func (n *news) late(err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.trouble == "" {
		return err
	}
	return fmt.Errorf("ergon: no connection to %s: %s: %w", n.address, n.trouble, err)
}

// tell writes the line, and has the callback called, behind those before it; both may be none.
func (n *news) tell(callback func(ConnectionEvent), reason, line string) {
	if line != "" {
		n.options.Log("%s", "ergon: "+line)
	}
	if callback == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting = append(n.waiting, func() { callback(ConnectionEvent{n.address, reason}) })
	if !n.calling {
		n.calling = true
		go n.call()
	}
}

// call calls the callbacks from a goroutine of their own, so that they may use the client, and close it.
func (n *news) call() {
	for {
		n.mu.Lock()
		if len(n.waiting) == 0 {
			n.calling = false
			n.mu.Unlock()
			return
		}
		next := n.waiting[0]
		n.waiting = n.waiting[1:]
		n.mu.Unlock()
		next()
	}
}
