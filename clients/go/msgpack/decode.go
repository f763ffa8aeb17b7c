package msgpack

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"
)

// A struct goes as a map: the key of a field is the name in its tag `msgpack:"name"`, else in its tag `json:"name"`, else its own
// in snake case (OrderID: order_id). A tag "-" leaves the field out, and ",omitempty" makes it optional, as a pointer is. A field
// of the type struct{} with the tag `msgpack:",array"` makes an array of the struct, with the fields in their order; one with
// `msgpack:",open"` takes maps with other keys, too, and leaves a field as it is whose key is missing or nil.
type form struct {
	isArray bool
	isOpen  bool
	fields  []field
	byName  map[string]int // the place among the fields
}

type field struct {
	name      string
	index     []int // for FieldByIndex
	omitEmpty bool
	optional  bool // the value may be missing
	decode    *decode
}

var forms sync.Map // reflect.Type: *form

// formOf is that of a struct, made once.
func formOf(t reflect.Type) (*form, error) {
	if known, ok := forms.Load(t); ok {
		return known.(*form), nil
	}
	f := &form{byName: map[string]int{}}
	if err := f.add(t, nil); err != nil {
		return nil, err
	}
	for i := range f.fields {
		one := &f.fields[i]
		if _, twice := f.byName[one.name]; twice {
			return nil, fmt.Errorf("msgpack: two fields of %s have the name %q", t, one.name)
		}
		f.byName[one.name] = i
	}
	forms.Store(t, f)
	return f, nil
}

// add adds the fields of a struct. One that has fields and shows none, as big.Int and time.Time, is an error: nothing of it
// would go.
func (f *form) add(t reflect.Type, before []int) error {
	hidden, shown := 0, 0
	for i := 0; i < t.NumField(); i++ {
		one, index := t.Field(i), append(append([]int{}, before...), i)
		tag, tagged := one.Tag.Lookup("msgpack")
		if !tagged {
			tag, tagged = one.Tag.Lookup("json")
		}
		name, flags, _ := strings.Cut(tag, ",")
		if one.IsExported() || one.Anonymous {
			shown++
		} else if one.Name != "_" {
			hidden++
		}
		switch {
		case one.Type == reflect.TypeOf(struct{}{}) && flags == "array":
			f.isArray = true
		case one.Type == reflect.TypeOf(struct{}{}) && flags == "open":
			f.isOpen = true
		case one.Anonymous && !tagged && one.Type.Kind() == reflect.Struct:
			if err := f.add(one.Type, index); err != nil && one.IsExported() {
				return err
			}
		case one.IsExported() && tag != "-":
			if name == "" {
				name = snake(one.Name)
			}
			omit := strings.Contains(flags, "omitempty")
			f.fields = append(f.fields, field{name: name, index: index, omitEmpty: omit,
				optional: omit || one.Type.Kind() == reflect.Pointer})
		}
	}
	if hidden > 0 && shown == 0 {
		return fmt.Errorf("msgpack: a %s has no exported field, so nothing of it would go: use a text, or a struct that has", t)
	}
	return nil
}

// snake writes OrderID as order_id.
func snake(name string) string {
	isUpper := func(i int) bool { return i < len(name) && name[i] >= 'A' && name[i] <= 'Z' }
	made := strings.Builder{}
	for i := range []byte(name) {
		if i > 0 && isUpper(i) && (!isUpper(i-1) || i+1 < len(name) && !isUpper(i+1)) {
			made.WriteByte('_')
		}
		made.WriteByte(name[i])
	}
	return strings.ToLower(made.String())
}

// IsArray says whether a type is a struct that goes as an array, as one without fields does.
func IsArray(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t == timeType || t == reflect.TypeOf(Ext{}) {
		return false
	}
	f, err := formOf(t)
	return err == nil && (f.isArray || len(f.fields) == 0)
}

// Elements are the fields of such a struct.
func Elements(value any) []any {
	v := reflect.ValueOf(value)
	f, _ := formOf(v.Type())
	all := make([]any, len(f.fields))
	for i := range all {
		all[i] = v.FieldByIndex(f.fields[i].index).Interface()
	}
	return all
}

// Mismatch says what of a value does not fit a type.
type Mismatch struct {
	Path string // such as items[2].price; "" is the value itself
	Text string // such as "must be an integer, not a text"
}

func (m *Mismatch) Error() string {
	if m.Path == "" {
		return "the value " + m.Text
	}
	return m.Path + " " + m.Text
}

// within is the mismatch of a part of a value.
func (m *Mismatch) within(part string) *Mismatch {
	if m.Path != "" && m.Path[0] != '[' {
		part += "."
	}
	return &Mismatch{part + m.Path, m.Text}
}

func wrong(wanted string, value any) *Mismatch {
	return &Mismatch{Text: "must be " + wanted + ", not " + kindOf(value)}
}

func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "nil"
	case bool:
		return "a bool"
	case int64, uint64:
		return fmt.Sprintf("the integer %d", v)
	case float64:
		return "a float"
	case string:
		return "a text"
	case []byte:
		return "bytes"
	case time.Time:
		return "a time"
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case Ext:
		return "an extension"
	}
	return "a map"
}

// decode sets a variable to what was read.
type decode func(value any, into reflect.Value) *Mismatch

// Decoder converts what Reader and Copy give to a T.
type Decoder[T any] struct{ run *decode }

var made sync.Map // reflect.Type: *decode

// For makes the decoder of a type, once for all values: the error says which type nothing can be converted to.
func For[T any]() (Decoder[T], error) {
	t := reflect.TypeOf((*T)(nil)).Elem()
	if known, ok := made.Load(t); ok {
		return Decoder[T]{known.(*decode)}, nil
	}
	run, err := compiler{}.of(t)
	if err == nil {
		made.Store(t, run)
	}
	return Decoder[T]{run}, err
}

// Decode converts a value: the error is a *Mismatch.
func (d Decoder[T]) Decode(value any) (to T, err error) {
	if m := (*d.run)(value, reflect.ValueOf(&to).Elem()); m != nil {
		return to, m
	}
	return to, nil
}

var timeType = reflect.TypeOf(time.Time{})

// compiler has the decoders that it makes; those of recursive types are there before they are ready.
type compiler map[reflect.Type]*decode

func (c compiler) of(t reflect.Type) (*decode, error) {
	if known := c[t]; known != nil {
		return known, nil
	}
	made := new(decode)
	c[t] = made
	var err error
	switch packer := reflect.TypeOf((*Packer)(nil)).Elem(); {
	case t.Kind() != reflect.Interface && (t.Implements(packer) || reflect.PointerTo(t).Implements(packer)):
		err = fmt.Errorf("msgpack: nothing can be converted to a %s, which goes as another value: use the type of that", t)
	case t == timeType, t == reflect.TypeOf(Ext{}), t.Kind() == reflect.Interface && t.NumMethod() == 0:
		*made = same(t)
	case t == reflect.TypeOf(time.Duration(0)):
		*made = duration
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		*made = bytesOf
	case scalars[t.Kind()] != nil:
		*made = scalars[t.Kind()](t)
	case t.Kind() == reflect.Pointer:
		*made, err = c.pointer(t)
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		*made, err = c.list(t)
	case t.Kind() == reflect.Map:
		*made, err = c.dict(t)
	case t.Kind() == reflect.Struct:
		*made, err = c.structure(t)
	default:
		err = fmt.Errorf("msgpack: nothing can be converted to a %s", t)
	}
	return made, err
}

// same is of types that are read as they are.
func same(t reflect.Type) decode {
	wanted := map[bool]string{true: "a time", false: "an extension"}[t == timeType]
	return func(value any, into reflect.Value) *Mismatch {
		if value == nil && t.Kind() == reflect.Interface {
			into.Set(reflect.Zero(t))
		} else if v := reflect.ValueOf(value); value != nil && v.Type().AssignableTo(t) {
			into.Set(v)
		} else {
			return wrong(wanted, value)
		}
		return nil
	}
}

func duration(value any, into reflect.Value) *Mismatch {
	ms, ok := value.(int64)
	if !ok || ms > math.MaxInt64/int64(time.Millisecond) || ms < math.MinInt64/int64(time.Millisecond) {
		return wrong("a duration in milliseconds", value)
	}
	into.SetInt(ms * int64(time.Millisecond))
	return nil
}

func bytesOf(value any, into reflect.Value) *Mismatch {
	data, ok := value.([]byte)
	if !ok {
		return wrong("bytes", value)
	}
	into.SetBytes(data)
	return nil
}

var scalars = map[reflect.Kind]func(reflect.Type) decode{
	reflect.Bool: truth, reflect.String: text, reflect.Float32: float, reflect.Float64: float,
	reflect.Int: signed, reflect.Int8: signed, reflect.Int16: signed, reflect.Int32: signed, reflect.Int64: signed,
	reflect.Uint: unsigned, reflect.Uint8: unsigned, reflect.Uint16: unsigned, reflect.Uint32: unsigned, reflect.Uint64: unsigned,
}

func truth(reflect.Type) decode {
	return func(value any, into reflect.Value) *Mismatch {
		is, ok := value.(bool)
		if !ok {
			return wrong("a bool", value)
		}
		into.SetBool(is)
		return nil
	}
}

func text(reflect.Type) decode {
	return func(value any, into reflect.Value) *Mismatch {
		text, ok := value.(string)
		if !ok {
			return wrong("a text", value)
		}
		into.SetString(text)
		return nil
	}
}

func float(t reflect.Type) decode {
	return func(value any, into reflect.Value) *Mismatch {
		number, isHeld := 0.0, true
		switch v := value.(type) {
		case float64:
			number, isHeld = v, !into.OverflowFloat(v)
		case int64:
			number = float64(v)
			isHeld = number < 1<<63 && int64(number) == v
		case uint64:
			number = float64(v)
			isHeld = number < 1<<64 && uint64(number) == v
		default:
			return wrong("a number", value)
		}
		if !isHeld {
			return wrong(fmt.Sprintf("a number that a %s holds", t), value)
		}
		into.SetFloat(number)
		return nil
	}
}

func signed(t reflect.Type) decode {
	most := int64(math.MaxInt64) >> (64 - t.Bits())
	return func(value any, into reflect.Value) *Mismatch {
		if n, ok := value.(int64); ok && n <= most && n >= -most-1 {
			into.SetInt(n)
			return nil
		}
		if t.Bits() < 64 {
			return wrong(fmt.Sprintf("an integer from %d to %d", -most-1, most), value)
		}
		return wrong("an integer", value)
	}
}

func unsigned(t reflect.Type) decode {
	most := uint64(math.MaxUint64) >> (64 - t.Bits())
	return func(value any, into reflect.Value) *Mismatch {
		n, ok := value.(uint64)
		if plain, is := value.(int64); is && plain >= 0 {
			n, ok = uint64(plain), true
		}
		if !ok || n > most {
			return wrong(fmt.Sprintf("an integer from 0 to %d", most), value)
		}
		into.SetUint(n)
		return nil
	}
}

func (c compiler) pointer(t reflect.Type) (decode, error) {
	of, err := c.of(t.Elem())
	return func(value any, into reflect.Value) *Mismatch {
		if value == nil {
			into.Set(reflect.Zero(t))
			return nil
		}
		to := reflect.New(t.Elem())
		into.Set(to)
		return (*of)(value, to.Elem())
	}, err
}

func (c compiler) list(t reflect.Type) (decode, error) {
	of, err := c.of(t.Elem())
	return func(value any, into reflect.Value) *Mismatch {
		list, ok := value.([]any)
		if !ok {
			return wrong("a list", value)
		}
		if t.Kind() == reflect.Slice {
			into.Set(reflect.MakeSlice(t, len(list), len(list)))
		} else if len(list) != t.Len() {
			return wrong(fmt.Sprintf("a list of %d", t.Len()), value)
		}
		for i, one := range list {
			if m := (*of)(one, into.Index(i)); m != nil {
				return m.within(fmt.Sprintf("[%d]", i))
			}
		}
		return nil
	}, err
}

func (c compiler) dict(t reflect.Type) (decode, error) {
	keys, err := c.of(t.Key())
	if err != nil {
		return nil, err
	}
	of, err := c.of(t.Elem())
	return func(value any, into reflect.Value) *Mismatch {
		given := reflect.ValueOf(value)
		if given.Kind() != reflect.Map {
			return wrong("a map", value)
		}
		into.Set(reflect.MakeMapWithSize(t, given.Len()))
		for pairs := given.MapRange(); pairs.Next(); {
			key, to := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			if m := (*keys)(pairs.Key().Interface(), key); m != nil {
				return &Mismatch{Text: "has a key that " + m.Text}
			}
			if m := (*of)(pairs.Value().Interface(), to); m != nil {
				return m.within(fmt.Sprintf("[%#v]", pairs.Key().Interface()))
			}
			into.SetMapIndex(key, to)
		}
		return nil
	}, err
}

func (c compiler) structure(t reflect.Type) (decode, error) {
	known, err := formOf(t)
	if err != nil {
		return nil, err
	}
	f := &form{known.isArray, known.isOpen, append([]field{}, known.fields...), known.byName}
	for i := range f.fields {
		one := &f.fields[i]
		if one.decode, err = c.of(t.FieldByIndex(one.index).Type); err != nil {
			return nil, err
		}
	}
	switch {
	case len(f.fields) == 0:
		return nothing, nil
	case f.isArray:
		return f.fromList, nil
	}
	return f.fromMap, nil
}

// nothing is of a struct without fields.
func nothing(value any, into reflect.Value) *Mismatch {
	switch v := reflect.ValueOf(value); {
	case value == nil, (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0:
		return nil
	}
	return wrong("empty", value)
}

func (f *form) names() string {
	all := []string{}
	for i := range f.fields {
		all = append(all, f.fields[i].name)
	}
	return strings.Join(all, ", ")
}

func (f *form) fromMap(value any, into reflect.Value) *Mismatch {
	given, ok := value.(map[string]any)
	if !ok {
		return wrong("a map of "+f.names(), value)
	}
	for i := range f.fields {
		one := &f.fields[i]
		if part, there := given[one.name]; there && (part != nil || !f.isOpen) {
			if m := (*one.decode)(part, into.FieldByIndex(one.index)); m != nil {
				return m.within(one.name)
			}
		} else if !one.optional && !f.isOpen {
			return &Mismatch{one.name, "is missing"}
		}
	}
	if f.isOpen {
		return nil
	}
	unknown := ""
	for name := range given {
		if _, ok := f.byName[name]; !ok && (unknown == "" || name < unknown) { // always the same of many
			unknown = name
		}
	}
	if unknown != "" {
		return &Mismatch{unknown, "is unknown (there are " + f.names() + ")"}
	}
	return nil
}

func (f *form) fromList(value any, into reflect.Value) *Mismatch {
	given, ok := value.([]any)
	if !ok || len(given) > len(f.fields) {
		return wrong(fmt.Sprintf("a list of at most %d: %s", len(f.fields), f.names()), value)
	}
	for i := range f.fields {
		one := &f.fields[i]
		if i < len(given) {
			if m := (*one.decode)(given[i], into.FieldByIndex(one.index)); m != nil {
				return m.within(one.name)
			}
		} else if !one.optional {
			return &Mismatch{one.name, "is missing"}
		}
	}
	return nil
}
