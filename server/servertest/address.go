package servertest

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// FreeAddress is a place on this machine to listen at in a moment, and again after a
// restart. No system hands its port out by itself, neither to who listens nor to who
// asks, so that nobody else has it by then.
func FreeAddress() (address string) {
	for range 100 {
		address = fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			break
		}
	}
	return address
}
