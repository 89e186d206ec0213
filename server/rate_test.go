package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coffer/server"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]server.Rate{
		"off":            {Off: true},
		"100/15m":        {Requests: 100, Window: 15 * time.Minute},
		"1/1s":           {Requests: 1, Window: time.Second},
		"10/1h30m":       {Requests: 10, Window: 90 * time.Minute},
		"2147483647/24h": {Requests: 1<<31 - 1, Window: 24 * time.Hour},
	} {
		got, err := server.ParseRate(text)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":              `"" is no rate; write it like 100/15m, or off`,
		"100":           "is no rate",
		"100/":          "is no rate",
		"/15m":          "is no rate",
		"100/15":        "is no rate",
		"100/m":         "is no rate",
		"100/15m/1h":    "is no rate",
		"100 / 15m":     "is no rate",
		"-1/15m":        "is no rate",
		"+1/15m":        "is no rate",
		"1e3/15m":       "is no rate",
		"2147483648/1m": "is no rate",
		"false":         "is no rate",
		"Off":           "is no rate",
		"0/15m":         "lets no request in; write off",
		"100/0s":        "has a window of 0s; it may be from 1s to 24h",
		"100/-15m":      "has a window of -15m0s",
		"100/999ms":     "has a window of 999ms",
		"100/24h1s":     "has a window of 24h0m1s",
	} {
		got, err := server.ParseRate(text)
		if err == nil || !strings.Contains(err.Error(), want) || got != (server.Rate{}) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	for _, text := range []string{"off", "100/15m", "1/1s", "30/0.5h", "0/1m", "9223372036854775808/1m", "1/9999999999h", "/", "1//1m"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := server.ParseRate(text)
		switch {
		case err != nil:
			if !strings.HasPrefix(err.Error(), fmt.Sprintf("%q ", text)) {
				t.Errorf("%q: the error does not name it: %v", text, err)
			}
		case r.Off:
			if text != "off" || r != (server.Rate{Off: true}) {
				t.Errorf("%q: got %+v", text, r)
			}
		case r.Requests < 1 || r.Window < time.Second || r.Window > 24*time.Hour:
			t.Errorf("%q: got %+v", text, r)
		default:
			again, err := server.ParseRate(fmt.Sprintf("%d/%s", r.Requests, r.Window))
			if err != nil || again != r {
				t.Errorf("%q: got %+v, again %+v, %v", text, r, again, err)
			}
		}
	})
}
