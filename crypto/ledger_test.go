package crypto

import (
	"bytes"
	"errors"
	"testing"
)

func TestFingerprintsTellValuesApartAndNothingElse(t *testing.T) {
	key := testDataKey(7)
	place := RecordContext(ID{1}, "ledger")
	one, sealed := key.NewLedger(place)
	again, err := key.OpenLedger(sealed, place)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := key.NewLedger(place)
	f := one.Fingerprint("A", "value")
	if !bytes.Equal(f, again.Fingerprint("A", "value")) {
		t.Error("a ledger that was opened makes other fingerprints")
	}
	for what, different := range map[string][]byte{
		"another value": one.Fingerprint("A", "valuf"), "another name": one.Fingerprint("B", "value"),
		"a letter moved from value to name": one.Fingerprint("Av", "alue"), "another ledger": other.Fingerprint("A", "value"),
		"no value": one.Fingerprint("A", ""),
	} {
		if bytes.Equal(f, different) {
			t.Errorf("%s has the same fingerprint", what)
		}
	}
	if _, err := key.OpenLedger(sealed, RecordContext(ID{2}, "ledger")); !errors.Is(err, ErrOpen) {
		t.Errorf("opened in another place: %v", err)
	}
}
