package store

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDevicesAreFoundByEitherCode(t *testing.T) {
	s := openStore(t)
	one := Device{Code: [32]byte{1}, UserCode: [32]byte{11}, Expires: 10}
	two := Device{Code: [32]byte{2}, UserCode: [32]byte{12}, Expires: 20}
	must(t, s.Update(ctx, func(tx Tx) error { return errors.Join(tx.AddDevice(one), tx.AddDevice(two)) }))
	taken := Device{Code: [32]byte{3}, UserCode: one.UserCode}
	if err := s.Update(ctx, func(tx Tx) error { return tx.AddDevice(taken) }); !errors.Is(err, ErrExists) {
		t.Errorf("a user code twice: %v", err)
	}
	one.State = DeviceDenied
	must(t, s.Update(ctx, func(tx Tx) error { return tx.PutDevice(one) }))
	look := func(want ...Device) {
		t.Helper()
		var got []Device
		must(t, s.View(ctx, func(r Reader) error {
			for n := byte(1); n <= 3; n++ {
				d, err := r.Device([32]byte{n})
				byUser, again := r.DeviceByUserCode([32]byte{n + 10})
				if diff := cmp.Diff(d, byUser); diff != "" || isNotFound(err) != isNotFound(again) {
					t.Errorf("%d: %v, %v: %s", n, err, again, diff)
				}
				if err == nil {
					got = append(got, d)
				}
			}
			return nil
		}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	look(one, two)
	for before, want := range map[Millis]int{9: 0, 10: 1, 19: 1, 20: 2} {
		must(t, s.View(ctx, func(r Reader) error {
			due, err := r.DevicesBefore(before)
			if len(due) != want {
				t.Errorf("before %d: %d, want %d", before, len(due), want)
			}
			return err
		}))
	}
	must(t, s.Update(ctx, func(tx Tx) error { return tx.DeleteDevice(one) }))
	look(two)
	must(t, s.Update(ctx, func(tx Tx) error { return tx.AddDevice(taken) })) // its user code is free again
}
