package server

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseRate reads a rate as the configuration writes it: 100/15m, or off.
func ParseRate(text string) (Rate, error) {
	if text == "off" {
		return Rate{Off: true}, nil
	}
	number, length, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(number, 10, 31)
	window, noWindow := time.ParseDuration(length)
	switch {
	case err != nil || noWindow != nil:
		return Rate{}, fmt.Errorf("%q is no rate; write it like 100/15m, or off", text)
	case n == 0:
		return Rate{}, fmt.Errorf("%q lets no request in; write off for no limit", text)
	case window < time.Second || window > 24*time.Hour:
		return Rate{}, fmt.Errorf("%q has a window of %s; it may be from 1s to 24h", text, window)
	}
	return Rate{Requests: int(n), Window: window}, nil
}
