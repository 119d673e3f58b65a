package xmlquery

import (
	"context"
	"fmt"
)

// Totals are sums over all columns of all rows of a query: of numbers their values,
// of text its bytes, of the customer's node its bytes without blanks, since databases
// write a node with other blanks than it was read with. A database can compute them
// too, unlike the check of a Sum.
type Totals struct {
	Items, Order, Line, SKU, Description, Unit, Quantity int64
	Price, Discount                                      int64 // hundredths
	Due                                                  int64 // days since 1970-01-01
	Hazard, Customer                                     int64
}

// Total is what a query of t must return, computed the embedded way.
func Total(ctx context.Context, t *Table) (sum Totals, err error) {
	var s shredder
	for i := range t.Rows() {
		if i%1024 == 0 && ctx.Err() != nil {
			return sum, ctx.Err()
		}
		if err := s.total(t.Row(i), &sum); err != nil {
			return sum, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return sum, nil
}

// total adds one document. The numbers are those of shred; what it has hashed is
// counted in a second pass.
func (s *shredder) total(doc []byte, sum *Totals) error {
	var rows int64
	s.each = func(r *item) {
		rows++
		sum.Items++
		sum.Order += r.order
		sum.Line += r.line
		sum.Quantity += r.quantity
		sum.Price += r.price
		sum.Discount += r.discount
		sum.Due += r.due
		sum.Hazard += r.hazard
	}
	if _, _, err := s.shred(doc); err != nil {
		return err
	}
	s.scan.Reset(doc)
	for {
		var into *int64
		attr := ""
		switch s.scan.Next() {
		case EOF:
			return nil
		case Invalid:
			return s.scan.Err()
		case Start:
			switch name := s.scan.Name(); {
			case s.scan.Depth() == 2 && string(name) == "customer":
				begin, _ := s.scan.Span()
				if _, err := s.node(); err != nil {
					return err
				}
				_, end := s.scan.Span()
				sum.Customer += rows * int64(solid(doc[begin:end]))
			case s.scan.Depth() == 3 && string(name) == "item":
				into, attr = &sum.SKU, "sku"
			case s.scan.Depth() == 4 && string(name) == "quantity":
				into, attr = &sum.Unit, "unit"
			case s.scan.Depth() == 4 && string(name) == "description":
				into = &sum.Description
			}
		}
		if into == nil {
			continue
		}
		var text []byte
		var err error
		if attr != "" {
			text, err = s.attribute(attr)
		} else {
			text, err = s.content()
		}
		if err != nil {
			return err
		}
		*into += int64(len(text))
	}
}

// solid counts bytes that are neither spaces nor line ends.
func solid(b []byte) (n int) {
	for _, c := range b {
		if c != ' ' && c != '\n' {
			n++
		}
	}
	return n
}
