package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/depot"
)

// examiner looks at one area of the setup. One that has others asked over the
// network, or takes long, is slow. It is also asked while the server is sealed.
type examiner struct {
	area string
	slow bool
	look func(*Server, context.Context) []api.Diagnosis
}

// examiners are all there are, in the order in which they report.
var examiners = []examiner{
	{"server", false, (*Server).examineServer},
	{"files", false, (*Server).examineFiles},
	{"disk", false, (*Server).examineDisk},
	{"clock", false, (*Server).examineClock},
	{"network", false, (*Server).examineNetwork},
	{"code host", true, (*Server).examineForge},
	{"jobs", false, (*Server).examineJobs},
	{"syncs", false, (*Server).examineSyncs},
	{"backups", false, (*Server).examineBackups},
	{"audit", false, (*Server).examineAudit},
	{"memory", false, (*Server).examineMemory},
	{"limits", false, (*Server).examineLimits},
}

// Examine has the server examine itself and its setup. Quick leaves out what asks
// others.
func (s *Server) Examine(ctx context.Context, quick bool) *api.Report {
	var all []api.Diagnosis
	for _, e := range examiners {
		if quick && e.slow {
			continue
		}
		for _, d := range e.look(s, ctx) {
			d.Area = cmp.Or(d.Area, e.area)
			all = append(all, d)
		}
	}
	r := api.NewReport(api.At(s.warden.Now()), all)
	r.Facts = s.facts(ctx)
	return r
}

func (s *Server) facts(ctx context.Context) *api.Facts {
	f := &api.Facts{PublicURL: s.c.PublicURL, DataBytes: s.db.Size()}
	if s.running() {
		f.Fingerprint = s.certificates.Fingerprint()
		f.StartedAt = new(api.At(s.started))
	}
	if free, known := depot.Free(s.c.Data); known {
		f.FreeBytes = new(int64(free))
	}
	if seen, err := s.warden.Figures(ctx); err == nil {
		f.AuditRecords, f.AutoSyncs = seen.Recorded, seen.Links.Auto
	}
	return f
}

// ExamineClosed is what can be said of a setup whose data could not be opened.
func ExamineClosed(cfg Config, why error) *api.Report {
	all := []api.Diagnosis{problem("The server cannot start here: "+why.Error()+".", "Mend that first; then ask again.")}
	if errors.Is(why, ErrOlder) {
		all[0] = warning("The data was written by an earlier version. The next start of the server takes a snapshot of it and upgrades it: "+why.Error()+".",
			"coffer check looks at it before. docs/operations.md says how to go back.")
	}
	all[0].Area = "server"
	for _, d := range append(examineFiles(cfg, cfg.Unseal.KeyFile), examineRoom(cfg)...) {
		d.Area = cmp.Or(d.Area, "files")
		all = append(all, d)
	}
	now := time.Now
	if cfg.TestOnlyNow != nil {
		now = cfg.TestOnlyNow
	}
	return api.NewReport(api.At(now()), all)
}

func fine(text string) api.Diagnosis {
	return api.Diagnosis{Level: api.DiagnosisOK, Text: text}
}

func warning(text, next string) api.Diagnosis {
	return api.Diagnosis{Level: api.DiagnosisWarning, Text: text, Next: next}
}

func problem(text, next string) api.Diagnosis {
	return api.Diagnosis{Level: api.DiagnosisProblem, Text: text, Next: next}
}

func (s *Server) examineServer(ctx context.Context) []api.Diagnosis {
	st := s.warden.Status(ctx)
	runs := "coffer " + st.Version
	if s.running() {
		runs += " runs since " + stamp(s.started)
	} else {
		runs += " does not run; its data was opened for this examination"
	}
	switch {
	case !st.Initialized:
		return []api.Diagnosis{warning(runs+", and is not set up yet.", "Set it up: coffer init, or the address that the server prints at its start.")}
	case st.Sealed:
		return []api.Diagnosis{problem(runs+", and is sealed: nobody reads or writes. "+st.LastError, "Unseal it: coffer unseal.")}
	}
	if err := s.warden.Ready(ctx); err != nil {
		return []api.Diagnosis{problem(runs+", but cannot write: "+sentence(err), "Look at the disk, and at the server's log.")}
	}
	return []api.Diagnosis{fine(runs + ", unsealed, and can write.")}
}

// running reports whether the instance listens.
func (s *Server) running() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

func (s *Server) examineNetwork(context.Context) []api.Diagnosis {
	public, err := url.Parse(s.c.PublicURL)
	if err != nil {
		return []api.Diagnosis{problem("public_url is no address.", "Set it to how clients reach the server, like https://vault.example.")}
	}
	at := cmp.Or(s.addr, s.c.Listen)
	here := loopback(at)
	switch {
	case s.c.TLS.Enabled():
		return []api.Diagnosis{fine("Clients come through " + s.c.PublicURL + ", and the server itself encrypts at " + at + ".")}
	case public.Scheme == "https" && len(s.c.TrustedProxies) == 0:
		return []api.Diagnosis{warning(
			"Clients come through "+s.c.PublicURL+", and the server speaks plain HTTP at "+at+", so a proxy must stand before it; but trusted_proxies names none. Every client seems to come from the proxy's address: they share one rate limit, and the audit log shows that address.",
			"Set trusted_proxies to the proxy's address.")}
	case public.Scheme == "https" && !here:
		return []api.Diagnosis{warning("The proxy speaks plain HTTP with the server at "+at+", which is more than this machine.",
			"Listen on 127.0.0.1, or see to it that only the proxy reaches that address.")}
	case public.Scheme == "https":
		return []api.Diagnosis{fine("Clients come through " + s.c.PublicURL + " and a trusted proxy on this machine.")}
	case !here || !loopback(public.Host):
		return []api.Diagnosis{problem("Clients talk to "+s.c.PublicURL+" without TLS: whoever is on the way reads passwords, tokens and secrets.",
			"Turn on tls, or put a proxy with a certificate before it and set public_url to its https:// address.")}
	}
	return []api.Diagnosis{fine("The server listens on this machine only, at " + at + ".")}
}

// loopback reports whether an address is one of this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Server) examineForge(ctx context.Context) []api.Diagnosis {
	found := s.warden.CheckedForge(ctx)
	if len(found.Findings) == 0 {
		return []api.Diagnosis{fine("The code host is the built-in one.")}
	}
	var all []api.Diagnosis
	for _, f := range found.Findings {
		text := upper(f.What) + ": " + f.Detail
		switch f.Level {
		case api.FindingFailed:
			all = append(all, problem(text, "Mend it, and try again: coffer forge check. docs/forges.md has the steps."))
		case api.FindingWarning:
			all = append(all, warning(text, "docs/forges.md has the steps."))
		default:
			all = append(all, fine(text))
		}
	}
	return all
}

func (s *Server) examineJobs(ctx context.Context) (all []api.Diagnosis) {
	if s.warden.State() != api.StateOK {
		return nil
	}
	jobs, err := s.jobs.List(ctx)
	if err != nil {
		return []api.Diagnosis{problem("When jobs ran cannot be looked up: "+sentence(err), "Look into the server's log.")}
	}
	now := s.warden.Now()
	for _, j := range jobs {
		switch every := time.Duration(j.EverySeconds) * time.Second; {
		case j.LastError != nil:
			all = append(all, problem(fmt.Sprintf("The job %s failed at %s. %s", j.Name, stamp(j.LastRunAt.Time), *j.LastError),
				"It is tried again every ten minutes. Look into the server's log if it goes on."))
		case s.running() && !j.Running && j.LastRunAt != nil && s.jobs.Leap() == 0 && now.Sub(j.LastRunAt.Time) > 2*every+time.Hour:
			all = append(all, warning(fmt.Sprintf("The job %s last ran at %s, which is longer ago than it should be.", j.Name, stamp(j.LastRunAt.Time)),
				"Is another job taking very long? Look into the server's log."))
		}
	}
	if len(all) == 0 {
		return []api.Diagnosis{fine(fmt.Sprintf("None of %d jobs failed, and none is late.", len(jobs)))}
	}
	return all
}

func (s *Server) examineSyncs(ctx context.Context) (all []api.Diagnosis) {
	f, err := s.warden.Figures(ctx)
	if err != nil || f.Links.Auto == 0 && f.Waiting == 0 {
		return nil
	}
	if f.Links.Disabled > 0 {
		all = append(all, warning(count(f.Links.Disabled, "link does", "links do")+" not sync by themselves any more, because a sync was refused for good.",
			"Their owners see why on the vault's page, or with coffer sync links."))
	}
	if f.Links.Failing > 0 {
		all = append(all, warning("The last sync of "+count(f.Links.Failing, "link", "links")+" failed. It is tried again.",
			"Look into the server's log, and at the hosting provider's status page."))
	}
	if n := f.Waiting; n > 100 {
		all = append(all, warning(fmt.Sprintf("%d webhooks wait for their effect.", n), "Does the code host answer? coffer forge check."))
	}
	if len(all) == 0 && f.Links.Auto > 0 {
		all = append(all, fine(count(f.Links.Auto, "link syncs", "links sync")+" by themselves, and none fails."))
	}
	return all
}

func (s *Server) examineAudit(ctx context.Context) []api.Diagnosis {
	f, err := s.warden.Figures(ctx)
	switch {
	case err != nil:
		return []api.Diagnosis{problem("The end of the audit log cannot be read: "+sentence(err), "Check it: coffer audit verify.")}
	case f.Stream == nil:
		return []api.Diagnosis{fine("The audit log has " + count(int(f.Recorded), "record", "records") + ". It is streamed nowhere (audit.stream).")}
	case f.Stream.Failing:
		return []api.Diagnosis{problem(fmt.Sprintf("The audit log is not streamed: %d records wait for %s.", f.Stream.Behind, s.c.Audit.Stream),
			"Is the target there, and may the server write to it? The server's log says what failed.")}
	case f.Stream.Behind > 10_000:
		return []api.Diagnosis{warning(fmt.Sprintf("The stream of the audit log is %d records behind.", f.Stream.Behind), "Is the target slow? Look again in a minute.")}
	}
	return []api.Diagnosis{fine("The audit log has " + count(int(f.Recorded), "record", "records") + ", and is streamed.")}
}

// sentence is an error as the end of one.
func sentence(err error) string {
	text := strings.TrimRight(err.Error(), ".")
	return text + "."
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func upper(text string) string {
	return strings.ToUpper(text[:min(len(text), 1)]) + text[min(len(text), 1):]
}

// stamp is a time for people who look after servers.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }
