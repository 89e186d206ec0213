package server

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/depot"
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

// measure registers everything that is measured.
func (s *Server) measure() {
	s.metrics.Add(s.measureServer)
	s.metrics.Add(s.measureData)
	s.metrics.Add(s.measureFigures)
	s.metrics.Add(func(p *metrics.Page) { s.jobs.Measure(p) })
	s.metrics.Add(s.measureBackups)
	s.metrics.Add(s.measureRotations)
}

func (s *Server) measureServer(p *metrics.Page) {
	p.Gauge("coffer_build_info", "The version of coffer that runs.", 1, "version", s.c.Version)
	state := s.warden.State()
	p.Gauge("coffer_initialized", "Whether the instance is set up.", metrics.Flag(state != api.StateUninitialized))
	p.Gauge("coffer_sealed", "Whether the instance is locked, so that it serves nobody.", metrics.Flag(state != api.StateOK))
}

func (s *Server) measureData(p *metrics.Page) {
	p.Gauge("coffer_data_file_bytes", "Size of the data file.", float64(s.db.Size()))
	if free, known := depot.Free(s.c.Data); known {
		p.Gauge("coffer_disk_free_bytes", "Room that is left where the data file is.", float64(free))
	}
	st := s.db.Stats()
	p.Counter("coffer_store_commits_total", "Commits to the data file, each with one sync of the disk.", float64(st.Commits))
	p.Counter("coffer_store_commit_errors_total", "Commits that failed: the disk is full, or broken.", float64(st.Failed))
	p.Counter("coffer_store_commit_seconds_total", "Time that all commits took.", st.Took.Seconds())
	p.Counter("coffer_store_updates_total", "Changes that went into commits; many share one under load.", float64(st.Updates))
	p.Gauge("coffer_store_stopped", "Whether nothing can be written any more until a restart.", metrics.Flag(st.Stopped))
}

func (s *Server) measureFigures(p *metrics.Page) {
	f, err := s.warden.Figures(context.Background())
	if err != nil {
		s.log.Warn("not everything that is measured could be looked up", "error", err)
	}
	for name, of := range map[string]struct {
		label, help string
		counts      map[string]uint64
	}{
		"coffer_unseal_attempts_total":    {"outcome", "Attempts to unseal.", f.Unseals},
		"coffer_signins_total":            {"outcome", "Attempts to sign in with a browser.", f.SignIns},
		"coffer_webhook_deliveries_total": {"outcome", "Webhooks that came from the code host.", f.Deliveries},
		"coffer_sync_runs_total":          {"status", "Syncs to hosting providers that ended.", f.Syncs},
		"coffer_role_lookups_total":       {"answer", "Questions for a role, by where the answer came from.", map[string]uint64{"cache": f.RoleHits, "host": f.RoleMisses}},
	} {
		for value, n := range of.counts {
			p.Counter(name, of.help, float64(n), of.label, value)
		}
	}
	p.Gauge("coffer_webhook_effects_waiting", "Webhooks whose effect is still to come, or is tried again.", float64(f.Waiting))
	p.Gauge("coffer_sync_links", "Links that sync by themselves.", float64(f.Links.Auto))
	p.Gauge("coffer_sync_links_failing", "Links whose last sync by itself failed.", float64(f.Links.Failing))
	p.Gauge("coffer_sync_links_disabled", "Links that stopped syncing by themselves.", float64(f.Links.Disabled))
	p.Gauge("coffer_audit_records", "Number of the newest record of the audit log.", float64(f.Recorded))
	p.Gauge("coffer_audit_newest_timestamp_seconds", "Time of the newest record of the audit log, in Unix time; 0 if there is none.", metrics.Time(f.Newest))
	if f.Stream != nil {
		p.Gauge("coffer_audit_stream_behind_records", "Records of the audit log that audit.stream did not hand on yet.", float64(f.Stream.Behind))
		p.Gauge("coffer_audit_stream_failing", "Whether audit.stream fails at the moment.", metrics.Flag(f.Stream.Failing))
	}
}

// measureForge counts the calls of the code host.
func (s *Server) measureForge() func(answered bool, took time.Duration) {
	note := s.metrics.Timed("coffer_forge_call_duration_seconds", "Calls of the code host, by whether it answered in time.")
	return func(answered bool, took time.Duration) {
		if answered {
			note("answered", took)
		} else {
			note("unanswered", took)
		}
	}
}

// metricsPage is everything that is measured.
func (s *Server) metricsPage() []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	text, err := s.metrics.Text()
	if err != nil {
		s.log.Error("a part of the metrics could not be gathered", "error", err)
	}
	return text
}
