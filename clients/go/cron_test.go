package ergon

import (
	"context"
	"testing"
)

func TestACronIsPutAgainWhereTheServerMayTakeItLater(t *testing.T) {
	mux, asked := NewMux(), 0
	Handle[struct{}, any](mux, "hello", nil).Cron("often", "@daily", struct{}{})
	failures := []error{fail(ErrBroken, "x"), remoteError("STORE: x"), nil}
	client := Local(func(context.Context, string, []any) (any, error) {
		asked++
		return nil, failures[asked-1]
	})
	if err := mux.put(context.Background(), client); err != nil || asked != 3 {
		t.Errorf("%v after %d", err, asked)
	}
	failures = append(failures, remoteError("DENIED: x"))
	if err := mux.put(context.Background(), client); Code(err) != "DENIED" {
		t.Errorf("%v", err)
	}
}
