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
	s.each = func(r *item) {
		sum.Items++
		sum.Order += r.order
		sum.Line += r.line
		sum.SKU += int64(s.sku)
		sum.Description += int64(s.description)
		sum.Unit += int64(s.unit)
		sum.Quantity += r.quantity
		sum.Price += r.price
		sum.Discount += r.discount
		sum.Due += r.due
		sum.Hazard += r.hazard
		sum.Customer += int64(solid(s.customer))
	}
	for i := range t.Rows() {
		if i%1024 == 0 && ctx.Err() != nil {
			return sum, ctx.Err()
		}
		s.customer = nil
		if _, _, err := s.shred(t.Row(i)); err != nil {
			return sum, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return sum, nil
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
