package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coffer/server/api"
	"coffer/server/metrics"
)

// MetricsConfig says who may read the metrics: whoever reaches Listen, and on the
// main address whoever has the token. Without either, only the operator's socket
// has them.
type MetricsConfig struct {
	Listen    string // HOST:PORT
	Token     string // from the environment only
	TokenFile string
}

func (c MetricsConfig) token() (string, error) {
	if c.Token != "" || c.TokenFile == "" {
		return c.Token, nil
	}
	text, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return "", fmt.Errorf("read the token of the metrics: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("the file %s is to hold the token of the metrics, and is empty", c.TokenFile)
	}
	return token, nil
}

// metricsPage is everything that is measured.
func (s *Server) metricsPage() []byte {
	var t metrics.Text
	t.One("coffer_build_info", metrics.Gauge, "The version of coffer that runs.", 1, "version", s.c.Version)
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := s.warden.State()
	t.One("coffer_initialized", metrics.Gauge, "Whether the instance is set up.", metrics.Flag(state != api.StateUninitialized))
	t.One("coffer_sealed", metrics.Gauge, "Whether the instance is locked, so that it serves nobody.", metrics.Flag(state != api.StateOK))
	if file, err := os.Stat(filepath.Join(s.c.Data, DataFile)); err == nil {
		t.One("coffer_data_file_bytes", metrics.Gauge, "Size of the data file.", float64(file.Size()))
	}
	s.jobs.WriteMetrics(context.Background(), &t)
	s.writeBackups(&t)
	s.requests.Write(&t)
	metrics.WriteRuntime(&t)
	return t.Bytes()
}
