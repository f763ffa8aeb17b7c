// Package fault says how a handler failed: where it panicked, and what an error wraps.
package fault

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

const (
	Head      = 2000 // bytes that are kept of the begin of a traceback that is too long
	framesMax = 200
	causesMax = 10
)

// Panicked is the error of a handler that Panicked.
type Panicked struct {
	Value any
	Stack string
}

func (p *Panicked) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Stack is where a panic that has been recovered began, as Go itself writes it; without what called the handler.
func Stack() string {
	pcs := make([]uintptr, framesMax)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	lines, begun, more := []string{}, false, true
	for frame := (runtime.Frame{}); more; {
		frame, more = frames.Next()
		switch name := frame.Function; {
		case !begun:
			begun = name == "runtime.gopanic"
		case strings.HasSuffix(name, "ergon-client.protected"):
			return strings.Join(lines, "\n")
		case len(lines) > 0 || !strings.HasPrefix(name, "runtime."):
			lines = append(lines, fmt.Sprintf("%s(...)\n\t%s:%d", name, frame.File, frame.Line))
		}
	}
	return strings.Join(append(lines, "…"), "\n")
}

// Traceback is where a handler Panicked, or what an error tells by %+v, as many packages have it with a stack, or what it
// wraps; "": nothing that its text does not say.
func Traceback(err error) string {
	if p, ok := err.(*Panicked); ok {
		text := p.Error()
		if cause, ok := p.Value.(error); ok {
			if why := Traceback(cause); why != "" {
				text = "panic: " + why
			}
		}
		return text + "\n\n" + p.Stack
	}
	if detail := fmt.Sprintf("%+v", err); detail != err.Error() {
		return detail
	}
	if causes := causesOf(err, nil); len(causes) > 1 {
		return strings.Join(causes, "\nCaused by: ")
	}
	return ""
}

func causesOf(err error, before []string) []string {
	for ; err != nil && len(before) < causesMax; err = errors.Unwrap(err) {
		before = append(before, fmt.Sprintf("%T: %v", err, err))
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, one := range many.Unwrap() {
				before = causesOf(one, before)
			}
		}
	}
	return before
}

// Shorten leaves the begin, since the error's message may be long, and the end; "": there is no room.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head := strings.ToValidUTF8(text[:Head], "") + "\n…\n"
	if rest := most - len(head); rest > 0 {
		return head + strings.ToValidUTF8(text[len(text)-rest:], "")
	}
	return ""
}
