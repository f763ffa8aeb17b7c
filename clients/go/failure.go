package ergon

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
)

const (
	errorMax      = 4000     // bytes of the text of an error
	tracebackMax  = 16 << 10 // bytes of a traceback: the server keeps no more
	tracebackHead = 2000     // bytes that are kept of the begin of one that is longer
	answerMax     = 8 << 10  // bytes of an answer beside its traceback
	framesMax     = 200
	causesMax     = 10
)

// panicked is the error of a handler that panicked.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// stackOf is where a panic that has been recovered began, as Go itself writes it; without what called the handler.
func stackOf() string {
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

// tracebackOf is where a handler panicked, or what an error tells by %+v, as many packages have it with a stack, or what it
// wraps; "": nothing that its text does not say.
func tracebackOf(err error) string {
	if p, ok := err.(*panicked); ok {
		text := p.Error()
		if cause, ok := p.value.(error); ok {
			if why := tracebackOf(cause); why != "" {
				text = "panic: " + why
			}
		}
		return text + "\n\n" + p.stack
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

// shorten leaves the begin, since the error's message may be long, and the end; "": there is no room.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head := strings.ToValidUTF8(text[:tracebackHead], "") + "\n…\n"
	if rest := most - len(head); rest > 0 {
		return head + strings.ToValidUTF8(text[len(text)-rest:], "")
	}
	return ""
}

var code = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,31}$`)

// codeOf is the code and the text of what a handler failed with.
func codeOf(err error) (string, string) {
	var e *Error
	if errors.As(err, &e) && code.MatchString(e.Code) {
		return e.Code, cut(e.Text)
	}
	return "FAILED", cut(err.Error())
}

// errorText is that as an error of MessagePack-RPC.
func errorText(err error) string {
	code, text := codeOf(err)
	return code + ": " + text
}

// errorValue is the same with its traceback, if there is one, for a server that takes messages of so many bytes; 0: of any. An
// error whose methods panic, as those of a nil *Error do, has no text.
func errorValue(err error, limit int64) (value any) {
	defer func() {
		if why := recover(); why != nil {
			value = fmt.Sprintf("FAILED: the handler returned a %T that has no text: %v", err, why)
		}
	}()
	most := tracebackMax
	if limit > 0 && limit-answerMax < tracebackMax {
		most = int(limit - answerMax)
	}
	code, text := codeOf(err)
	if code == "AGAIN" || most <= tracebackHead {
		return errorText(err)
	}
	traceback := shorten(strings.ToValidUTF8(tracebackOf(err), "\ufffd"), most)
	if traceback == "" {
		return errorText(err)
	}
	return map[string]any{"code": code, "message": text, "traceback": traceback}
}

// cut leaves whole characters.
func cut(text string) string {
	if len(text) > errorMax {
		return strings.ToValidUTF8(text[:errorMax], "")
	}
	return text
}
