package ergon

import (
	"errors"
	"fmt"
	"time"

	"ergon-client/internal/fault"
	"ergon-client/msgpack"
)

// Error is what a server answered, or why it did not. Time-outs and cancels are the context's own errors.
type Error struct {
	Code      string // a name such as "BUSY", or one of those below; "" if the server gave none
	Text      string // for people
	Retryable bool   // the same call may well succeed later
	Number    int64  // of the server's errors
	Data      any    // what the server said beside; of a task that ended otherwise than done, the task

	own bool // the client's, not what a handler failed with, which may have the same code
}

// Errors that do not come from the server, for errors.Is: it is false for what a handler failed with under the same name, but
// for ErrTooLarge, which servers say too. ErrRefused is that of a token.
var (
	ErrBroken      = &Error{Code: "BROKEN", own: true}      // the connection broke under the call: it may have run or not
	ErrUnreachable = &Error{Code: "UNREACHABLE", own: true} // no connection, or no trust in it: nothing was sent
	ErrRefused     = &Error{Code: "AUTH", own: true}        // the server refused the token: nothing else was sent
	ErrClosed      = &Error{Code: "CLOSED", own: true}      // the client was closed
	ErrProtocol    = &Error{Code: "PROTOCOL", own: true}    // the answer is not what the method answers
	ErrTooLarge    = &Error{Code: "TOO_LARGE"}              // a message is more than the server takes, or a result than it keeps
)

func (e *Error) Error() string {
	if e.Code == "" {
		return e.Text
	}
	return e.Code + ": " + e.Text
}

// Is says whether the target has the same code, and, where the target is an error of the client, e is one too.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code && (e.own || !other.own)
}

// Code is that of an Error, and "" of any other error.
func Code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Again is an error of a handler: not now; the next attempt is to begin after d, and this one was no failure. 0 hands the task
// back.
func Again(d time.Duration) *Error {
	text := "0"
	if d > 0 {
		text = fmt.Sprintf("%dms", msgpack.Milliseconds(d))
	}
	return &Error{Code: "AGAIN", Text: text, Retryable: true}
}

// Permanent is an error of a handler: it will never succeed, and is not to be tried again. (So is one of another code that begins
// with PERMANENT.)
func Permanent(text string) *Error {
	return &Error{Code: "PERMANENT", Text: text}
}

// fail makes an error of the same code as kind.
func fail(kind *Error, format string, args ...any) *Error {
	return &Error{Code: kind.Code, Text: fmt.Sprintf(format, args...), Retryable: fault.Retryable(kind.Code), own: true}
}

// remoteError is the error of an answer.
func remoteError(value any) *Error {
	r := fault.Read(value)
	return &Error{Code: r.Code, Text: r.Text, Retryable: r.Retryable, Number: r.Number, Data: r.Data}
}
