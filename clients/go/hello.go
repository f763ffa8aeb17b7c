package ergon

import (
	"context"
	"errors"
)

// introduce says how we want to be answered, and who we are.
func (s *session) introduce(ctx context.Context, token string, push bool) error {
	hello := map[string]any{"errors": "map", "half_close": false, "push": push}
	told := make(chan answer, 1)
	go func() {
		result, err := s.request(ctx, "server.hello", []any{hello})
		told <- answer{result, err}
	}()
	if token != "" {
		_, err := s.request(ctx, "server.auth", []any{token})
		if e := (*Error)(nil); errors.As(err, &e) && !errors.Is(err, ErrBroken) {
			return fail(ErrRefused, "the server refused the token: %v", err)
		} else if err != nil {
			return err
		}
	}
	said := <-told
	if e := (*Error)(nil); errors.As(said.err, &e) && !errors.Is(said.err, ErrBroken) {
		return nil // another server of MessagePack-RPC need not know server.hello
	}
	if result, ok := said.result.(map[string]any); ok {
		limits, _ := result["limits"].(map[string]any)
		s.limit, _ = limits["message"].(int64)
	}
	return said.err
}
