package msgpack_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"ergon-client/msgpack"
)

type part struct {
	Price int8 `msgpack:"price"`
}

type base struct {
	ID string `json:"id"`
}

type order struct {
	base
	Parts   []part         `msgpack:"parts"`
	Note    *string        `msgpack:"note"`
	Tags    map[string]int `json:"tags,omitempty"`
	Wait    time.Duration  `msgpack:"wait,omitempty"`
	Ratio   float64        `msgpack:"ratio,omitempty"`
	Raw     []byte         `msgpack:"raw,omitempty"`
	Any     any            `msgpack:"any,omitempty"`
	At      time.Time      `msgpack:"at,omitempty"`
	Next    *order         `msgpack:"next,omitempty"`
	Pair    [2]uint8       `msgpack:"pair,omitempty"`
	private int
	Skipped chan int `msgpack:"-"`
}

type pair struct {
	_ struct{} `msgpack:",array"`
	A int
	B string `msgpack:",omitempty"`
}

func decoded[T any](t *testing.T, value any) (T, error) {
	t.Helper()
	d, err := msgpack.For[T]()
	if err != nil {
		t.Fatal(err)
	}
	return d.Decode(value)
}

func copied(t *testing.T, value any) any {
	t.Helper()
	copy, err := msgpack.Copy(value)
	if err != nil {
		t.Fatal(err)
	}
	return copy
}

func TestStructsComeBackAsTheyWent(t *testing.T) {
	note := "soon"
	whole := order{base{"7"}, []part{{1}, {-128}}, &note, map[string]int{"a": 1}, 1500 * time.Millisecond, 0.5, []byte("x"),
		"any", time.Unix(1, 2), &order{base: base{"8"}, Parts: []part{}}, [2]uint8{1, 255}, 0, nil}
	for _, one := range []order{whole, {Parts: []part{}}} {
		back, err := decoded[order](t, copied(t, one))
		if err != nil || !reflect.DeepEqual(back, one) {
			t.Errorf("%+v, %v instead of %+v", back, err, one)
		}
	}
	if back := copied(t, pair{A: 1, B: "b"}); !reflect.DeepEqual(back, []any{int64(1), "b"}) {
		t.Errorf("a pair goes as %v", back)
	}
	if back, err := decoded[pair](t, []any{int64(1)}); err != nil || back.A != 1 {
		t.Errorf("%v, %v", back, err)
	}
	if copied(t, struct{}{}) != nil {
		t.Error("a struct without fields is not nil")
	}
	if back, err := decoded[map[int]string](t, map[any]any{int64(3): "c"}); err != nil || back[3] != "c" {
		t.Errorf("%v, %v", back, err)
	}
}

func TestWhatDoesNotFitIsNamed(t *testing.T) {
	good := func(change func(map[string]any)) map[string]any {
		value := map[string]any{"id": "7", "parts": []any{map[string]any{"price": int64(1)}}}
		change(value)
		return value
	}
	set := func(name string, value any) map[string]any {
		return good(func(m map[string]any) { m[name] = value })
	}
	cases := []struct {
		value  any
		wanted string
	}{
		{"text", "the value must be a map of id, parts, note, tags, wait, ratio, raw, any, at, next, pair, not a text"},
		{good(func(m map[string]any) { delete(m, "id") }), "id is missing"},
		{set("idd", 1), "idd is unknown (there are id, parts, "},
		{set("id", int64(5)), "id must be a text, not the integer 5"},
		{set("id", nil), "id must be a text, not nil"},
		{set("parts", map[string]any{}), "parts must be a list, not a map"},
		{set("parts", []any{map[string]any{"price": int64(128)}}),
			"parts[0].price must be an integer from -128 to 127, not the integer 128"},
		{set("parts", []any{map[string]any{"price": 1.0}}), "parts[0].price must be an integer from -128 to 127, not a float"},
		{set("tags", map[string]any{"x": "y"}), `tags["x"] must be an integer, not a text`},
		{set("tags", map[any]any{int64(1): int64(1)}), "tags has a key that must be a text, not the integer 1"},
		{set("wait", "5s"), "wait must be a duration in milliseconds, not a text"},
		{set("wait", int64(math.MaxInt64)), "wait must be a duration in milliseconds"},
		{set("ratio", "1"), "ratio must be a number, not a text"},
		{set("raw", "x"), "raw must be bytes, not a text"},
		{set("at", int64(1)), "at must be a time, not the integer 1"},
		{set("next", map[string]any{"id": "8", "parts": []any{true}}), "next.parts[0] must be a map of price, not a bool"},
		{set("pair", []any{int64(1)}), "pair must be a list of 2, not a list of 1"},
		{set("pair", []any{int64(1), int64(-1)}), "pair[1] must be an integer from 0 to 255, not the integer -1"},
	}
	for _, c := range cases {
		if _, err := decoded[order](t, c.value); err == nil || !strings.HasPrefix(err.Error(), c.wanted) {
			t.Errorf("%v instead of %q", err, c.wanted)
		}
	}
	if _, err := decoded[pair](t, []any{}); err == nil || err.Error() != "a is missing" {
		t.Errorf("%v", err)
	}
	_, err := decoded[pair](t, []any{int64(1), "b", "c"})
	if err == nil || !strings.Contains(err.Error(), "a list of at most 2: a, b") {
		t.Errorf("%v", err)
	}
}

type packed struct{ ID string }

func (p *packed) MsgpackValue() any { return p.ID }

func TestBytesOfAnotherName(t *testing.T) {
	raw := json.RawMessage("{}")
	if seen := copied(t, raw); !reflect.DeepEqual(seen, []byte("{}")) {
		t.Errorf("%#v", seen)
	}
	if back, err := decoded[json.RawMessage](t, copied(t, raw)); err != nil || string(back) != "{}" {
		t.Errorf("%s, %v", back, err)
	}
}

func TestNumbersThatAFloatDoesNotHold(t *testing.T) {
	for _, value := range []any{int64(1<<53 + 1), int64(math.MaxInt64), uint64(math.MaxUint64)} {
		if _, err := decoded[float64](t, value); err == nil || !strings.Contains(err.Error(), "that a float64 holds") {
			t.Errorf("%v: %v", value, err)
		}
	}
	if _, err := decoded[float32](t, 1e300); err == nil {
		t.Error("1e300 is a float32")
	}
	if back, err := decoded[float64](t, int64(math.MinInt64)); err != nil || back != -1<<63 {
		t.Errorf("%v, %v", back, err)
	}
}

func TestTypesThatCannotBeConverted(t *testing.T) {
	if _, err := msgpack.For[struct{ F func() }](); err == nil {
		t.Error("a func")
	}
	type twice struct {
		A int `msgpack:"x"`
		B int `msgpack:"x"`
	}
	if _, err := msgpack.For[twice](); err == nil || !strings.Contains(err.Error(), `the name "x"`) {
		t.Errorf("%v", err)
	}
	if _, err := msgpack.Append(nil, make(chan int)); err == nil {
		t.Error("a chan")
	}
	for _, hidden := range []any{*big.NewInt(5), big.NewInt(5), struct{ time.Time }{}} {
		if _, err := msgpack.Append(nil, hidden); err == nil || !strings.Contains(err.Error(), "no exported field") {
			t.Errorf("%T: %v", hidden, err)
		}
	}
	if _, err := msgpack.For[struct{ At *big.Int }](); err == nil {
		t.Error("a big.Int")
	}
	if _, err := msgpack.For[struct{ P *packed }](); err == nil || !strings.Contains(err.Error(), "goes as another value") {
		t.Errorf("%v", err)
	}
}

func TestBoundsOfAReader(t *testing.T) {
	data, _ := msgpack.Append(nil, []any{1, "two", make([]byte, 100)})
	if value, err := msgpack.NewReader(bytes.NewReader(data), 200).Next(); err != nil || len(value.([]any)) != 3 {
		t.Errorf("%v, %v", value, err)
	}
	for _, bad := range [][]byte{data, {0xc1}, bytes.Repeat([]byte{0x91}, 600)} {
		_, err := msgpack.NewReader(bytes.NewReader(bad), 100).Next()
		if _, ok := err.(msgpack.Invalid); !ok {
			t.Errorf("%v", err)
		}
	}
}

func TestNamesAndOpenStructs(t *testing.T) {
	type answer struct {
		_       struct{} `msgpack:",open"`
		OrderID string
		TTL     int64
		IDs     []string `json:",omitempty"`
		HTTPUrl string   `json:"url"`
	}
	back, err := decoded[answer](t, map[string]any{"order_id": "7", "ttl": nil, "later": true, "url": "x"})
	if err != nil || back.OrderID != "7" || back.HTTPUrl != "x" {
		t.Errorf("%+v, %v", back, err)
	}
	_, err = decoded[answer](t, map[string]any{"ttl": "5s"})
	if err == nil || err.Error() != "ttl must be an integer, not a text" {
		t.Errorf("%v", err)
	}
	wanted := map[string]any{"order_id": "", "ttl": int64(5), "i_ds": []any{"a"}, "url": ""}
	if seen := copied(t, answer{TTL: 5, IDs: []string{"a"}}); !reflect.DeepEqual(seen, wanted) {
		t.Errorf("%v", seen)
	}
}
