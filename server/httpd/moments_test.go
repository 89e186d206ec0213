package httpd

import (
	"testing"
	"time"
)

func TestMomentsAreRead(t *testing.T) {
	morning := time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, " ": {},
		"2026-11-20 09:15": morning, " 2026-11-20T09:15 ": morning, "2026-11-20 09:15:00": morning,
		"2026-11-20T10:15:00+01:00": morning, "20 November 2026, 09:15 UTC": morning,
		"2026-11-20": morning.Truncate(24 * time.Hour),
	} {
		m, err := readMoment("at", text)
		if err != nil || m.revision != nil || !m.at.Equal(want) {
			t.Errorf("%q is %v, %v", text, m, err)
		}
	}
	for text, want := range map[string]int{"0": 0, "41": 41, "007": 7, "999999999999999": 999999999999999} {
		if m, err := readMoment("at", text); err != nil || m.revision == nil || *m.revision != want || !m.at.IsZero() {
			t.Errorf("%q is %v, %v", text, m, err)
		}
	}
	for _, text := range []string{"-1", "+1", "1.5", "1e3", "1000000000000000", "now", "2026-13-01", "2026-11-20 25:00", "٤١"} {
		if m, err := readMoment("at", text); err == nil {
			t.Errorf("%q is %v", text, m)
		}
	}
}
