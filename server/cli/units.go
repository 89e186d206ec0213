package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"coffer/server"
)

var (
	errDuration = errors.New("is no duration; write it like 30d, 12h or 90m")
	errRetained = errors.New("is neither keep nor plan nor a time; write that like 90d")
	errSize     = errors.New("is no size; write it like 512MiB, 2GiB or 0")
)

// parseDuration is time.ParseDuration that knows days.
func parseDuration(s string) (time.Duration, error) {
	const day = 24 * time.Hour
	if number, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n <= 0 || n > math.MaxInt64/int(day) {
			return 0, errDuration
		}
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, errDuration
	}
	return d, nil
}

// retention is how long something is kept.
type retention struct{ server.Retention }

func parseRetention(s string) (retention, error) {
	switch s {
	case "":
		return retention{}, nil // the server's default
	case "keep":
		return retention{server.Keep}, nil
	case "plan":
		return retention{server.ByPlan}, nil
	}
	d, err := parseDuration(s)
	if err != nil {
		return retention{}, errRetained
	}
	return retention{server.For(d)}, nil
}

var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"B", 1}, {"", 1},
}

// parseSize reads a number of bytes with an optional unit.
func parseSize(s string) (int64, error) {
	for _, u := range units {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			return 0, errSize
		}
		return n * u.bytes, nil
	}
	return 0, errSize
}

// sizeText is a size in bytes for people, in the unit that fits.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", (n+1023)/1024)
}
