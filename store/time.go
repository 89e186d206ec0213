package store

import "time"

// Millis is an instant in Unix milliseconds; 0 means never.
type Millis int64

// At is the instant t; the zero time is never.
func At(t time.Time) Millis {
	if t.IsZero() {
		return 0
	}
	return Millis(t.UnixMilli())
}

// Time is the instant in UTC; never is the zero time.
func (m Millis) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}
