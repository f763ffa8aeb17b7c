package ergon

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ergon-client/internal/fault"
)

const (
	errorMax     = 4000     // bytes of the text of an error
	tracebackMax = 16 << 10 // bytes of a traceback: the server keeps no more
	answerMax    = 8 << 10  // bytes of an answer beside its traceback
)

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
	if code == "AGAIN" || most <= fault.Head {
		return errorText(err)
	}
	traceback := fault.Shorten(strings.ToValidUTF8(fault.Traceback(err), "\ufffd"), most)
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
