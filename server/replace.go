package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"coffer/server/api"
	"coffer/server/datadir"
)

// facade is a face of the instance, whichever it has at the time.
type facade struct {
	s  *Server
	of func(*Server) http.Handler
}

// ServeHTTP implements http.Handler.
func (f facade) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.s.mu.RLock()
	h := f.of(f.s)
	f.s.mu.RUnlock()
	h.ServeHTTP(w, r)
}

// halt ends what the instance does by itself.
func (s *Server) halt() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.jobs.Close()
	s.stop()
	s.warden.StopSyncs()
}

// errSetUp answers a restore into an instance that was set up meanwhile.
func errSetUp() *api.Error {
	return api.Errorf(api.Conflict, "This server is set up already. To restore over it, stop it and run: coffer restore FILE --force")
}

// restoreHere makes what a backup holds the data of this instance, which nobody has
// set up yet, and goes on with them.
func (s *Server) restoreHere(ctx context.Context, file io.Reader, with api.OpenBackup) (*api.Restored, error) {
	place, err := datadir.Begin(s.c.Data)
	if err != nil {
		return nil, explainDirectory(err, s.c.Data)
	}
	defer place.Abandon()
	restored, err := prepare(ctx, s.c, place, file, RestoreOptions{With: with})
	if err != nil {
		return nil, err
	}
	if restored.Aside, err = s.replace(place); err != nil {
		return nil, explainDirectory(err, s.c.Data)
	}
	s.log.Info("restored", "instance", restored.Backup.Instance, "made", restored.Backup.CreatedAt, "key", restored.Fingerprint, "aside", restored.Aside)
	return restored, nil
}

// replace closes the instance, has its data replaced, and opens it again. Requests
// wait meanwhile, for as long as a start takes. It returns where a key file went that
// was in the way.
func (s *Server) replace(place *datadir.Restore) (aside string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs.Close()
	err = s.warden.Close()
	if s.warden.State() != api.StateUninitialized {
		err = errors.Join(err, errSetUp())
	}
	if err = errors.Join(err, s.store.Close()); err == nil {
		aside, err = place.Commit(time.Now(), false)
	}
	place.Abandon()
	if failed := s.open(); failed != nil {
		// There is nothing to go on with: the process ends, and its next start says
		// why or goes on.
		s.broken <- failed
		return "", errors.Join(err, failed)
	}
	if s.serving {
		s.jobs.Start()
	}
	return aside, err
}
