package oltp

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"hostlab/internal/workload/database"
)

// The schema: customers who order items. Everything in a row follows from its
// number, so that what a read must return is known without the database.
var schema = []string{
	`CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, credit INTEGER NOT NULL, balance INTEGER NOT NULL, note TEXT NOT NULL)`,
	`CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price INTEGER NOT NULL, stock INTEGER NOT NULL)`,
	`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, item INTEGER NOT NULL, quantity INTEGER NOT NULL, amount INTEGER NOT NULL)`,
	`CREATE INDEX orders_of_customer ON orders (customer, id)`,
}

// The statements of transactions, on either database.
const (
	readCustomer = `SELECT credit, name FROM customer WHERE id = $1`
	readOrders   = `SELECT customer, item, quantity, amount FROM orders WHERE id BETWEEN $1 AND $2`
	readPrice    = `SELECT price FROM item WHERE id = $1`
	takeStock    = `UPDATE item SET stock = stock - $1 WHERE id = $2`
	charge       = `UPDATE customer SET balance = balance + $1 WHERE id = $2`
	addOrder     = `INSERT INTO orders (id, customer, item, quantity, amount) VALUES ($1, $2, $3, $4, $5)`
)

const (
	ordersEach = 2       // of each customer, at the start
	firstStock = 1 << 40 // of each item: never sold out
	rangeRows  = 20      // of a range read
)

// items is how many items there are for so many customers.
func items(rows int64) int64 { return max(1, rows/4) }

// mix is SplitMix64's output function: numbers that look random but follow from n.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

func creditOf(customer int64) int64 { return int64(mix(uint64(customer)) % 100_000) }

// nameOf has 8 to 23 letters.
func nameOf(id int64) string {
	n := mix(uint64(id) + 1<<40)
	name := make([]byte, 8+n%16)
	for i := range name {
		name[i] = 'a' + byte(n%26)
		n = mix(n)
	}
	return string(name)
}

func priceOf(item int64) int64 { return 1 + int64(mix(uint64(item)+2<<40)%5000) }

// order is a row of orders.
type order struct{ id, customer, item, quantity, amount int64 }

// firstOrder is the order of that number at the start; numbers count from 1.
func firstOrder(id, rows int64) order {
	n := mix(uint64(id) + 3<<40)
	o := order{id: id, customer: (id-1)%rows + 1, item: 1 + int64(n%uint64(items(rows))), quantity: 1 + int64(n>>32%9)}
	o.amount = o.quantity * priceOf(o.item)
	return o
}

// check is what a read contributes to the checksum of a run.
func (o order) check() uint64 {
	return mix(uint64(o.customer)) + mix(uint64(o.item)<<1) + mix(uint64(o.quantity)<<2) + mix(uint64(o.amount)<<3)
}

// totals are the sums that a database holds at some moment.
type totals struct {
	Orders, Amount, Balance, Stock int64
}

// startTotals are those of a new database.
func startTotals(rows int64) (t totals) {
	t.Orders = ordersEach * rows
	for id := range t.Orders {
		t.Amount += firstOrder(id+1, rows).amount
	}
	t.Balance = t.Amount // customers owe what they have ordered
	t.Stock = firstStock * items(rows)
	return t
}

func (t totals) String() string {
	return fmt.Sprintf("%d orders of %d in all, balances of %d, a stock of %d", t.Orders, t.Amount, t.Balance, t.Stock)
}

// readTotals sums up a database.
func readTotals(ctx context.Context, db *sql.DB) (t totals, err error) {
	for _, q := range []struct {
		text string
		to   []any
	}{
		{`SELECT count(*), coalesce(sum(amount), 0) FROM orders`, []any{&t.Orders, &t.Amount}},
		{`SELECT sum(balance) FROM customer`, []any{&t.Balance}},
		{`SELECT sum(stock) FROM item`, []any{&t.Stock}},
	} {
		if err := db.QueryRowContext(ctx, q.text).Scan(q.to...); err != nil {
			return t, err
		}
	}
	return t, nil
}

// tables are those of a new database, in the order of schema. Numbers of rows count from 1.
func tables(rows int64) []database.Table {
	owed := make([]int64, rows+1)
	for id := range ordersEach * rows {
		o := firstOrder(id+1, rows)
		owed[o.customer] += o.amount
	}
	note := strings.Repeat("n", 100)
	return []database.Table{
		{Name: "customer", Columns: []string{"id", "name", "credit", "balance", "note"}, Rows: rows, Row: func(n int64) []any {
			return []any{n + 1, nameOf(n + 1), creditOf(n + 1), owed[n+1], note}
		}},
		{Name: "item", Columns: []string{"id", "name", "price", "stock"}, Rows: items(rows), Row: func(n int64) []any {
			return []any{n + 1, nameOf(n + 1), priceOf(n + 1), int64(firstStock)}
		}},
		{Name: "orders", Columns: []string{"id", "customer", "item", "quantity", "amount"}, Rows: ordersEach * rows,
			Row: func(n int64) []any {
				o := firstOrder(n+1, rows)
				return []any{o.id, o.customer, o.item, o.quantity, o.amount}
			}},
	}
}
