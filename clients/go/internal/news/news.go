// Package news has what happens to the connection of a client: events for programs, and lines for people.
package news

import (
	"fmt"
	"sync"
	"time"
)

const (
	refusedAgain = 30 * time.Second // after which a refusal for the same reason has another line
	refusalsKept = 100              // reasons, some of which may have a number that changes
)

// News are those of one client. Callbacks may be nil, and get the reason.
type News struct {
	Address                                                    string
	OnConnect, OnDisconnect, OnReconnect, OnRefused, OnDrained func(reason string)
	Log                                                        func(format string, args ...any)

	mu      sync.Mutex
	wasUp   bool
	down    time.Time            // since when there is no connection
	trouble string               // why there is none; "": there is one, or none was tried
	said    bool                 // a line told so
	lines   map[string]time.Time // refusals that had one since there was a connection, and when
	waiting []func()             // callbacks that are to be called
	calling bool                 // a goroutine calls them
}

// Connected: there is a connection, the first one or another.
func (n *News) Connected() {
	n.mu.Lock()
	callback, line := n.OnConnect, ""
	if n.wasUp {
		callback = n.OnReconnect
	}
	if n.said && n.wasUp { // for those who have read of that
		line = fmt.Sprintf("connected to %s again, after %.1f s", n.Address, time.Since(n.down).Seconds())
	} else if n.said {
		line = "connected to " + n.Address
	}
	n.wasUp, n.trouble, n.said, n.lines = true, "", false, map[string]time.Time{}
	n.mu.Unlock()
	n.tell(callback, "", line)
}

// Disconnected: the client itself ended it if it is ours.
func (n *News) Disconnected(reason string, ours bool) {
	line := ""
	n.mu.Lock()
	n.down = time.Now()
	if !ours {
		n.trouble, n.said = reason, true
		line = fmt.Sprintf("lost the connection to %s: %s; connecting again", n.Address, reason)
	}
	n.mu.Unlock()
	n.tell(n.OnDisconnect, reason, line)
}

// Refused has a line unless the caller gets the error; for the same reason another one only after a while.
func (n *News) Refused(reason string, returned bool) {
	line, now := "", time.Now()
	n.mu.Lock()
	n.trouble = reason
	if last, before := n.lines[reason]; !returned && (!before || now.Sub(last) >= refusedAgain) {
		if n.lines == nil || len(n.lines) >= refusalsKept {
			n.lines = map[string]time.Time{}
		}
		n.lines[reason], n.said = now, true
		line = fmt.Sprintf("no connection to %s: %s; trying again", n.Address, reason)
	}
	n.mu.Unlock()
	n.tell(n.OnRefused, reason, line)
}

// Drained: the server is stopping.
func (n *News) Drained(reason string) {
	n.tell(n.OnDrained, reason, fmt.Sprintf("%s is stopping: %s", n.Address, reason))
}

// Late is the error of a context that ended while there was no connection.
func (n *News) Late(err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.trouble == "" {
		return err
	}
	return fmt.Errorf("ergon: no connection to %s: %s: %w", n.Address, n.trouble, err)
}

// tell writes the line, and has the callback called, behind those before it; both may be none.
func (n *News) tell(callback func(string), reason, line string) {
	if line != "" {
		n.Log("%s", "ergon: "+line)
	}
	if callback == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting = append(n.waiting, func() { callback(reason) })
	if !n.calling {
		n.calling = true
		go n.call()
	}
}

// call calls the callbacks from a goroutine of their own, so that they may use the client, and close it.
func (n *News) call() {
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
