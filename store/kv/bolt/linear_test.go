package bolt

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"coffer/store/kv"
)

// register is what a key looks like to those who use it: what is read is what was
// written last.
var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		byKey := map[int][]porcupine.Operation{}
		for _, o := range history {
			k := o.Input.(access).key
			byKey[k] = append(byKey[k], o)
		}
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		if in := input.(access); in.write != 0 {
			return true, in.write
		}
		return output == state, state
	},
}

// access reads a key, or writes it when write is not 0.
type access struct{ key, write int }

func TestARewriteIsInvisibleToWhoReadsAndWrites(t *testing.T) {
	d := open(t, Options{NoSync: true})
	stop := rewriteMeanwhile(t, d)
	begin := time.Now()
	histories := make([][]porcupine.Operation, 8)
	var wg sync.WaitGroup
	for c := range histories {
		wg.Go(func() {
			for n := range 400 {
				in := access{key: (n + c) % 5}
				if n%3 == 0 {
					in.write = 1 + c + n*len(histories)
				}
				call := time.Since(begin)
				out, err := perform(d, in)
				if err != nil {
					t.Error(err)
					return
				}
				histories[c] = append(histories[c], porcupine.Operation{
					ClientId: c, Input: in, Output: out, Call: int64(call), Return: int64(time.Since(begin)),
				})
			}
		})
	}
	wg.Wait()
	stop()
	var all []porcupine.Operation
	for _, h := range histories {
		all = append(all, h...)
	}
	if got := porcupine.CheckOperationsTimeout(register, all, 5*time.Minute); got != porcupine.Ok {
		t.Errorf("the history of %d operations is %s", len(all), got)
	}
}

func perform(d *DB, in access) (n int, err error) {
	key := []byte("key" + strconv.Itoa(in.key))
	if in.write != 0 {
		return 0, d.Update(background, func(tx kv.Tx) error { return tx.Put(key, []byte(strconv.Itoa(in.write))) })
	}
	err = d.View(background, func(r kv.Reader) error {
		v, err := r.Get(key)
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		if err == nil {
			n, err = strconv.Atoi(string(v))
		}
		return err
	})
	return n, err
}
