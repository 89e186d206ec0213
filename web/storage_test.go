package web

import "testing"

func TestBytesAreForPeople(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 100<<10 + 1: "100 KiB", 5 << 20: "5 MiB",
		5<<30 + 3<<29: "6.5 GiB", 2 << 40: "2 TiB", 5000 << 40: "5000 TiB",
	} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
