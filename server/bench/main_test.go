//go:build unix

package bench

import (
	"fmt"
	"os"
	"testing"

	"coffer/crypto/cryptotest"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		serve := map[string]func() error{"floor": serveFloor, "subject": serveSubject}[role]
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	cryptotest.CheapKDF()
	report.before = loadAverage()
	code := m.Run()
	printReport()
	if templates.dir != "" {
		_ = os.RemoveAll(templates.dir)
	}
	os.Exit(code)
}
