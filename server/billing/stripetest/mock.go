package stripetest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Mock starts Stripe's own stand-in, stripe-mock, on loopback, and is its address.
// It knows no state, but takes nothing that its description of the API does not
// have, and no other version of it. It is none of ours: COFFER_STRIPE_MOCK names
// the program, or the PATH has it, and without it the test is skipped.
func Mock(t testing.TB) string {
	t.Helper()
	program := os.Getenv("COFFER_STRIPE_MOCK")
	if program == "" {
		found, err := exec.LookPath("stripe-mock")
		if err != nil {
			t.Skip("stripe-mock is not in the PATH, and COFFER_STRIPE_MOCK does not name it; go install github.com/stripe/stripe-mock@v0.203.0")
		}
		program = found
	}
	// Without an address for HTTPS it would listen to everybody.
	cmd := exec.CommandContext(t.Context(), program, "-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0", "-strict-version-check")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("stripe-mock does not start: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended with the test already
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	address := ""
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "Listening for HTTP at address: "); ok {
			address = "http://" + at
		}
		if strings.HasPrefix(lines.Text(), "Listening for HTTPS") {
			break
		}
	}
	if address == "" {
		t.Fatal("stripe-mock does not say where it listens")
	}
	return address
}
