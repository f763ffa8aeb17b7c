package rpc

import (
	"errors"
	"net"
	"time"
)

// reasonOf is an error without our port, which is another one each time.
func reasonOf(err error) string {
	if e := (*net.OpError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// endLater ends it when it could not be written to, but lets what the server has sent before be read first.
func (s *Session) endLater(why string) {
	select {
	case <-s.Over:
	case <-time.After(time.Second):
		s.End(why)
	}
}

// rubbish is what the server sent that is no message.
type rubbish string

func (r rubbish) Error() string { return "the server does not speak MessagePack-RPC: " + string(r) }

// HasEnded says so, and why.
func (s *Session) HasEnded() (bool, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls == nil, s.Why
}
