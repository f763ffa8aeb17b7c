package fault

import (
	"fmt"
	"regexp"
)

// Answer is the error of a response.
type Answer struct {
	Code, Text string // "" if the server gave no code
	Retryable  bool
	Number     int64
	Data       any
}

// Retryable is said by servers that do not tell by themselves whether an error is worth another try.
func Retryable(code string) bool {
	switch code {
	case "BUSY", "DRAINING", "MEMORY", "STORE", "NO_WORKER", "UNREACHABLE":
		return true
	}
	return false
}

var namedText = regexp.MustCompile(`(?s)^([A-Z_][A-Z0-9_]*): ?(.*)$`)

// named reads "NAME: text".
func named(text string) Answer {
	if parts := namedText.FindStringSubmatch(text); parts != nil {
		return Answer{Code: parts[1], Text: parts[2], Retryable: Retryable(parts[1])}
	}
	return Answer{Text: text}
}

// Read reads the error of a response in any of its shapes: a text, [number, text], or a map.
func Read(value any) Answer {
	switch v := value.(type) {
	case string:
		return named(v)
	case []any:
		if len(v) == 2 {
			if text, ok := v[1].(string); ok {
				e := named(text)
				e.Number, _ = v[0].(int64)
				return e
			}
		}
	case map[string]any:
		if text, ok := v["message"].(string); ok {
			e := named(text)
			e.Number, _ = v["code"].(int64)
			if again, ok := v["retryable"].(bool); ok {
				e.Retryable = again
			}
			e.Data = v["data"]
			return e
		}
	}
	return Answer{Text: fmt.Sprint(value)}
}
