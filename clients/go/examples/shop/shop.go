// Package shop is a sample application: orders are charged and packed, and letters go out. shop_test.go has its tests, and worker
// its program.
package shop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	ergon "ergon-client"
)

// Item is a line of an order.
type Item struct {
	SKU   string
	Cents int64
}

// Order is what a customer wants.
type Order struct {
	ID       string
	Customer string
	Items    []Item
	Note     string `msgpack:",omitempty"`
}

// Receipt says what was charged.
type Receipt struct {
	Order string
	Cents int64
}

// Letter goes to a customer; its fields are the parameters, as other languages have them.
type Letter struct {
	_    struct{} `msgpack:",array"`
	To   string
	Text string
}

// Shop has the methods of the application.
type Shop struct {
	Mux    *ergon.Mux
	Charge *ergon.Method[Order, Receipt]
	Mail   *ergon.Method[Letter, bool]
	Place  *ergon.Method[Order, []string]
	Sweep  *ergon.Method[struct{}, int]

	busy atomic.Int64 // how often the mail server refuses yet
}

// New makes the application.
func New() *Shop {
	s := &Shop{Mux: ergon.NewMux()}
	s.Charge = ergon.Handle(s.Mux, "shop.charge", s.charge, ergon.With{"retries": 3, "attempt_timeout": "10s"})
	s.Mail = ergon.Handle(s.Mux, "shop.mail", s.mail, ergon.With{"retries": 5, "backoff": "10ms"})
	s.Place = ergon.Handle(s.Mux, "shop.place", s.place)
	s.Sweep = ergon.Handle(s.Mux, "shop.sweep", func(*ergon.Context, struct{}) (int, error) { return 0, nil })
	s.Sweep.Cron("sweep", "@daily", struct{}{})
	methods := map[string]ergon.ActorMethod{"add": add, "total": total}
	s.Mux.Actor("cart", ergon.ActorType{Reads: []string{"total"}, Methods: methods})
	return s
}

func (s *Shop) charge(ctx *ergon.Context, o Order) (Receipt, error) {
	receipt := Receipt{Order: o.ID}
	for _, item := range o.Items {
		receipt.Cents += item.Cents
	}
	if receipt.Cents == 0 {
		return receipt, ergon.Permanent("there is nothing to pay")
	}
	return receipt, nil
}

func (s *Shop) mail(ctx *ergon.Context, l Letter) (bool, error) {
	if s.busy.Add(-1) >= 0 {
		return false, errors.New("the mail server is busy")
	}
	return true, nil
}

// place charges an order, and then sends a letter; it returns the tasks.
func (s *Shop) place(ctx *ergon.Context, o Order) ([]string, error) {
	charge, err := s.Charge.With(ergon.With{"key": "charge-" + o.ID}).Submit(ctx, ctx.Client, o)
	if err != nil {
		return nil, err
	}
	letter := Letter{To: o.Customer, Text: fmt.Sprintf("thank you for order %s", o.ID)}
	mail, err := s.Mail.With(ergon.With{"after": charge}).Submit(ctx, ctx.Client, letter)
	if err != nil {
		return nil, err
	}
	return []string{charge.ID, mail.ID}, nil
}

func add(a *ergon.Actor, params []any) (any, error) {
	sku, cents := params[0].(string), params[1].(int64)
	a.State[sku] = cents
	return len(a.State), nil
}

func total(a *ergon.Actor, params []any) (any, error) {
	sum := int64(0)
	for _, cents := range a.State {
		sum += cents.(int64)
	}
	return sum, nil
}

// Total asks a cart.
func Total(ctx context.Context, c *ergon.Client, cart string) (any, error) {
	return c.Actor(cart).Call(ctx, "total")
}
