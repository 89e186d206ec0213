package kvtest

import (
	"bytes"
	"context"
	"errors"

	"coffer/store/kv"
)

// errDropped ends the first run of a function, so that nothing of it stays.
var errDropped = errors.New("kvtest: first run dropped")

// Twice is db with every function given to Update run twice; what the first run
// wrote, and what it returned, is dropped. So it finds functions that do more
// than write to their Tx.
//
// It also finds bytes that are kept for too long: everything that a Reader
// hands out is overwritten when its transaction ended.
func Twice(db kv.DB) kv.DB { return twice{db} }

type twice struct{ kv.DB }

func (d twice) View(ctx context.Context, fn func(kv.Reader) error) error {
	var l loans
	defer l.spoil()
	return d.DB.View(ctx, func(r kv.Reader) error { return fn(lender{r, &l}) })
}

func (d twice) Update(ctx context.Context, fn func(kv.Tx) error) error {
	if err := d.run(ctx, fn, errDropped); !errors.Is(err, errDropped) {
		return err
	}
	return d.run(ctx, fn, nil)
}

// run runs fn in an Update and returns its error, or drop when that is not nil.
func (d twice) run(ctx context.Context, fn func(kv.Tx) error, drop error) error {
	var l loans
	defer l.spoil()
	return d.DB.Update(ctx, func(tx kv.Tx) error {
		err := fn(lendingTx{lender{tx, &l}, tx})
		if drop != nil {
			return drop
		}
		return err
	})
}

// loans are the bytes handed out by one transaction.
type loans struct{ all [][]byte }

func (l *loans) lend(b []byte) []byte {
	if b == nil {
		return nil
	}
	c := append(make([]byte, 0, len(b)), b...)
	l.all = append(l.all, c)
	return c
}

func (l *loans) spoil() {
	for _, b := range l.all {
		copy(b, bytes.Repeat([]byte{0xDB}, len(b)))
	}
}

type lender struct {
	r kv.Reader
	l *loans
}

func (r lender) Get(key []byte) ([]byte, error) {
	v, err := r.r.Get(key)
	return r.l.lend(v), err
}

func (r lender) Scan(g kv.Range, fn func(key, value []byte) error) error {
	return r.r.Scan(g, func(key, value []byte) error {
		return fn(r.l.lend(key), r.l.lend(value))
	})
}

type lendingTx struct {
	lender
	tx kv.Tx
}

func (t lendingTx) Put(key, value []byte) error { return t.tx.Put(key, value) }
func (t lendingTx) Delete(key []byte) error     { return t.tx.Delete(key) }
