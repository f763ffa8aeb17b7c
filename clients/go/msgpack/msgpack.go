// Package msgpack packs and reads MessagePack, and converts what was read to the types of a program.
//
// Values go as nil, bool, integers, floats, string, []byte, time.Time, Ext, structs, and slices and maps of such. They come as
// nil, bool, int64 (uint64 above that), float64, string, []byte, time.Time, Ext, []any, and map[string]any (map[any]any if a key
// is no string). A time.Duration goes as milliseconds, and a struct as a map (see Decoder).
package msgpack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
	"time"
)

// Ext is a MessagePack extension that is no timestamp.
type Ext struct {
	Type int8
	Data []byte
}

// Packer is a value that goes as another one.
type Packer interface{ MsgpackValue() any }

const (
	depthMost = 500     // levels of nesting, either way
	readSize  = 1 << 16 // bytes of the buffer of a reader
)

// appendHead appends a first byte, and behind it an unsigned integer of size bytes.
func appendHead(to []byte, first byte, size int, n uint64) []byte {
	to = append(to, first)
	for shift := 8 * (size - 1); shift >= 0; shift -= 8 {
		to = append(to, byte(n>>shift))
	}
	return to
}

// appendLength appends the head of what has a length: within the first byte below short, else in 1 (unless first8 is 0),
// 2 or 4 bytes.
func appendLength(to []byte, n, short int, fixed, first8, first16 byte) []byte {
	switch {
	case n < short:
		return append(to, fixed|byte(n))
	case n < 1<<8 && first8 != 0:
		return appendHead(to, first8, 1, uint64(n))
	case n < 1<<16:
		return appendHead(to, first16, 2, uint64(n))
	}
	return appendHead(to, first16+1, 4, uint64(n))
}

func appendUint(to []byte, n uint64) []byte {
	switch {
	case n < 0x80:
		return append(to, byte(n))
	case n < 1<<8:
		return appendHead(to, 0xcc, 1, n)
	case n < 1<<16:
		return appendHead(to, 0xcd, 2, n)
	case n < 1<<32:
		return appendHead(to, 0xce, 4, n)
	}
	return appendHead(to, 0xcf, 8, n)
}

func appendInt(to []byte, n int64) []byte {
	switch {
	case n >= 0:
		return appendUint(to, uint64(n))
	case n >= -0x20:
		return append(to, byte(n))
	case n >= math.MinInt8:
		return appendHead(to, 0xd0, 1, uint64(n))
	case n >= math.MinInt16:
		return appendHead(to, 0xd1, 2, uint64(n))
	case n >= math.MinInt32:
		return appendHead(to, 0xd2, 4, uint64(n))
	}
	return appendHead(to, 0xd3, 8, uint64(n))
}

func appendBytes(to []byte, data []byte) []byte {
	return append(appendLength(to, len(data), 0, 0, 0xc4, 0xc5), data...)
}

func appendText(to []byte, text string) []byte {
	return append(appendLength(to, len(text), 32, 0xa0, 0xd9, 0xda), text...)
}

func appendExt(to []byte, e Ext) []byte {
	switch n := len(e.Data); n {
	case 1, 2, 4, 8, 16:
		to = append(to, 0xd4+byte(map[int]int{1: 0, 2: 1, 4: 2, 8: 3, 16: 4}[n]))
	default:
		to = appendLength(to, n, 0, 0, 0xc7, 0xc8)
	}
	return append(append(to, byte(e.Type)), e.Data...)
}

func appendTime(to []byte, t time.Time) []byte {
	data := binary.BigEndian.AppendUint32(nil, uint32(t.Nanosecond()))
	return appendExt(to, Ext{-1, binary.BigEndian.AppendUint64(data, uint64(t.Unix()))})
}

// Append appends a value as MessagePack. The error names a type that is not for it.
func Append(to []byte, value any) ([]byte, error) { return appendValue(to, value, 0) }

func appendValue(to []byte, value any, depth int) ([]byte, error) {
	if depth > depthMost {
		return nil, fmt.Errorf("ergon: a value that is nested too deeply")
	}
	switch v := value.(type) {
	case nil:
		return append(to, 0xc0), nil
	case []byte:
		return appendBytes(to, v), nil
	case time.Time:
		return appendTime(to, v), nil
	case Ext:
		return appendExt(to, v), nil
	case time.Duration:
		return appendInt(to, Milliseconds(v)), nil
	case Packer:
		if p := reflect.ValueOf(value); p.Kind() != reflect.Pointer || !p.IsNil() {
			return appendValue(to, v.MsgpackValue(), depth+1)
		}
	}
	return appendReflected(to, reflect.ValueOf(value), depth)
}

func appendReflected(to []byte, v reflect.Value, depth int) ([]byte, error) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(to, 0xc3), nil
		}
		return append(to, 0xc2), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return appendInt(to, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return appendUint(to, v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return appendHead(to, 0xcb, 8, math.Float64bits(v.Float())), nil
	case reflect.String:
		return appendText(to, v.String()), nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(to, 0xc0), nil
		}
		return appendValue(to, v.Elem().Interface(), depth)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			return appendBytes(to, v.Bytes()), nil // of another name, such as json.RawMessage
		}
		return appendList(to, v, depth)
	case reflect.Map:
		return appendMap(to, v, depth)
	case reflect.Struct:
		return appendStruct(to, v, depth)
	}
	return nil, fmt.Errorf("ergon: a %s is not for MessagePack", v.Type())
}

func appendList(to []byte, v reflect.Value, depth int) ([]byte, error) {
	var err error
	to = appendLength(to, v.Len(), 16, 0x90, 0, 0xdc)
	for i := 0; i < v.Len() && err == nil; i++ {
		to, err = appendValue(to, v.Index(i).Interface(), depth+1)
	}
	return to, err
}

func appendMap(to []byte, v reflect.Value, depth int) ([]byte, error) {
	var err error
	to = appendLength(to, v.Len(), 16, 0x80, 0, 0xde)
	for pairs := v.MapRange(); pairs.Next() && err == nil; {
		if to, err = appendValue(to, pairs.Key().Interface(), depth+1); err == nil {
			to, err = appendValue(to, pairs.Value().Interface(), depth+1)
		}
	}
	return to, err
}

func appendStruct(to []byte, v reflect.Value, depth int) ([]byte, error) {
	form, err := formOf(v.Type())
	if err != nil || len(form.fields) == 0 {
		return append(to, 0xc0), err
	}
	sent := make([]*field, 0, len(form.fields))
	for i := range form.fields {
		if f := &form.fields[i]; form.isArray || !f.omitEmpty || !isEmpty(v.FieldByIndex(f.index)) {
			sent = append(sent, f)
		}
	}
	if form.isArray {
		to = appendLength(to, len(sent), 16, 0x90, 0, 0xdc)
	} else {
		to = appendLength(to, len(sent), 16, 0x80, 0, 0xde)
	}
	for _, f := range sent {
		if !form.isArray {
			to = appendText(to, f.name)
		}
		if to, err = appendValue(to, v.FieldByIndex(f.index).Interface(), depth+1); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func isEmpty(v reflect.Value) bool {
	return v.IsZero() || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0
}

// Milliseconds are whole, and of what is not 0 at least 1.
func Milliseconds(d time.Duration) int64 {
	if d > 0 {
		d += time.Millisecond - 1
	}
	return d.Milliseconds()
}

// Reader takes values from a stream. What is no MessagePack, or too much, is an Invalid; other errors are the stream's.
type Reader struct {
	from *bufio.Reader
	most int // bytes of a value
	left int // of the value that is being read
}

// Invalid says what is wrong with bytes that are no MessagePack.
type Invalid string

func (i Invalid) Error() string { return "msgpack: " + string(i) }

// NewReader reads values of at most so many bytes.
func NewReader(from io.Reader, most int) *Reader {
	return &Reader{from: bufio.NewReaderSize(from, readSize), most: most}
}

// Next waits for the next value.
func (r *Reader) Next() (any, error) {
	r.left = r.most
	return r.value(0)
}

// take reads n bytes. What is announced is allocated as it comes.
func (r *Reader) take(n uint64) ([]byte, error) {
	if n > uint64(r.left) {
		return nil, Invalid(fmt.Sprintf("a value of more than %d bytes", r.most))
	}
	r.left -= int(n)
	data := make([]byte, min(int(n), 1<<16))
	got, err := io.ReadFull(r.from, data)
	for err == nil && got < int(n) {
		data = append(data, make([]byte, min(int(n)-got, got))...)
		var more int
		more, err = io.ReadFull(r.from, data[got:])
		got += more
	}
	return data, err
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func (r *Reader) uint(size uint64) (uint64, error) {
	data, err := r.take(size)
	var n uint64
	for _, b := range data {
		n = n<<8 | uint64(b)
	}
	return n, err
}

func (r *Reader) value(depth int) (any, error) {
	if depth > depthMost {
		return nil, Invalid("it is nested too deeply")
	}
	first, err := r.uint(1)
	if err != nil {
		return nil, err
	}
	switch {
	case first < 0x80:
		return int64(first), nil
	case first < 0x90:
		return r.pairs(first&15, depth)
	case first < 0xa0:
		return r.list(first&15, depth)
	case first < 0xc0:
		return r.text(first & 31)
	case first >= 0xe0:
		return int64(int8(first)), nil
	}
	return r.long(byte(first), depth)
}

// long reads a value whose first byte is one of 0xc0 to 0xdf.
func (r *Reader) long(first byte, depth int) (any, error) {
	switch first {
	case 0xc0:
		return nil, nil
	case 0xc2, 0xc3:
		return first == 0xc3, nil
	case 0xca:
		n, err := r.uint(4)
		return float64(math.Float32frombits(uint32(n))), err
	case 0xcb:
		n, err := r.uint(8)
		return math.Float64frombits(n), err
	case 0xcc, 0xcd, 0xce, 0xcf:
		n, err := r.uint(1 << (first - 0xcc))
		if n > math.MaxInt64 {
			return n, err
		}
		return int64(n), err
	case 0xd0, 0xd1, 0xd2, 0xd3:
		n, err := r.uint(1 << (first - 0xd0))
		shift := 64 - 8<<(first-0xd0)
		return int64(n<<shift) >> shift, err
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return r.ext(1 << (first - 0xd4))
	case 0xc1:
		return nil, Invalid("c1 is no MessagePack")
	}
	return r.sized(first, depth)
}

// sized reads a value with a length in the bytes behind the first.
func (r *Reader) sized(first byte, depth int) (any, error) {
	width := map[byte]uint64{0xc4: 1, 0xc5: 2, 0xc6: 4, 0xc7: 1, 0xc8: 2, 0xc9: 4, 0xd9: 1, 0xda: 2, 0xdb: 4,
		0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4}[first]
	n, err := r.uint(width)
	if err != nil {
		return nil, err
	}
	switch first {
	case 0xc4, 0xc5, 0xc6:
		return r.take(n)
	case 0xc7, 0xc8, 0xc9:
		return r.ext(n)
	case 0xd9, 0xda, 0xdb:
		return r.text(n)
	case 0xdc, 0xdd:
		return r.list(n, depth)
	}
	return r.pairs(n, depth)
}

func (r *Reader) text(n uint64) (any, error) {
	data, err := r.take(n)
	return string(data), err
}

func (r *Reader) ext(n uint64) (any, error) {
	kind, err := r.uint(1)
	if err != nil {
		return nil, err
	}
	data, err := r.take(n)
	if int8(kind) == -1 {
		if t, ok := timeOf(data); ok {
			return t, err
		}
	}
	return Ext{int8(kind), data}, err
}

func timeOf(data []byte) (time.Time, bool) {
	switch len(data) {
	case 4:
		return time.Unix(int64(binary.BigEndian.Uint32(data)), 0), true
	case 8:
		n := binary.BigEndian.Uint64(data)
		return time.Unix(int64(n&(1<<34-1)), int64(n>>34)), true
	case 12:
		return time.Unix(int64(binary.BigEndian.Uint64(data[4:])), int64(binary.BigEndian.Uint32(data))), true
	}
	return time.Time{}, false
}

func (r *Reader) list(n uint64, depth int) (any, error) {
	if n > uint64(r.left) {
		return nil, Invalid(fmt.Sprintf("a value of more than %d bytes", r.most))
	}
	list := make([]any, 0, min(int(n), 1024))
	for ; n > 0; n-- {
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, nil
}

// pairs reads a map: map[string]any, or map[any]any if a key is no string. A key that Go cannot compare becomes a text.
func (r *Reader) pairs(n uint64, depth int) (any, error) {
	if n > uint64(r.left)/2 {
		return nil, Invalid(fmt.Sprintf("a value of more than %d bytes", r.most))
	}
	named, others := make(map[string]any, min(int(n), 1024)), map[any]any{}
	for ; n > 0; n-- {
		key, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if text, ok := key.(string); ok {
			named[text] = value
		} else if key != nil && !reflect.TypeOf(key).Comparable() {
			others[fmt.Sprint(key)] = value
		} else {
			others[key] = value
		}
	}
	if len(others) == 0 {
		return named, nil
	}
	for key, value := range named {
		others[key] = value
	}
	return others, nil
}

// Copy is the value as it comes back once it was packed and read.
func Copy(value any) (any, error) {
	data, err := Append(nil, value)
	if err != nil {
		return nil, err
	}
	r := Reader{from: bufio.NewReader(bytes.NewReader(data)), most: len(data)}
	return r.Next()
}
