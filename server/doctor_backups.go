package server

import (
	"context"
	"fmt"
	"time"

	"coffer/server/api"
)

// examineBackups looks whether there are backups, of late, that restore.
func (s *Server) examineBackups(ctx context.Context) []api.Diagnosis {
	state, err := s.warden.BackupState(ctx)
	switch {
	case err != nil:
		return []api.Diagnosis{problem("How backups went could not be looked up: "+sentence(err), "Look at the server's log.")}
	case state.Where == "":
		return []api.Diagnosis{warning("The server makes no backups by itself.", "Name a place for them with backup.to, or have coffer backup run by something else.")}
	}
	return append(s.examineLastBackup(state), examineDrill(state)...)
}

func (s *Server) examineLastBackup(state *api.KeptBackups) []api.Diagnosis {
	every := time.Duration(state.EverySeconds) * time.Second
	switch good := state.LastGood; {
	case state.Last != nil && state.Last.Error != nil:
		return []api.Diagnosis{problem("The last backup failed: "+*state.Last.Error, "Mend that, then: coffer backup now.")}
	case good == nil:
		return []api.Diagnosis{warning("There is no backup in "+state.Where+" yet.", "Wait for the first, or make it: coffer backup now.")}
	case every > 0 && s.warden.Now().Sub(good.EndedAt.Time) > 2*every:
		return []api.Diagnosis{problem(fmt.Sprintf("The last backup is of %s, and there should be one every %s.", good.EndedAt.Format("2006-01-02 15:04"), every), "Look at the job backups in the server's log, then: coffer backup now.")}
	default:
		return []api.Diagnosis{fine(fmt.Sprintf("The last backup is of %s, in %s.", good.EndedAt.Format("2006-01-02 15:04"), good.Where))}
	}
}

func examineDrill(state *api.KeptBackups) []api.Diagnosis {
	switch drill := state.Drill; {
	case drill == nil:
		return []api.Diagnosis{warning("No backup was tried yet.", "Wait for the first drill, or have it now: coffer backup drill.")}
	case !drill.Restores:
		reason := "no reason is known"
		if drill.Reason != nil {
			reason = *drill.Reason
		}
		return []api.Diagnosis{problem("The newest backup does not restore: "+reason, "Make another one, which is tried at once: coffer backup now.")}
	default:
		return []api.Diagnosis{fine("The newest backup restored when it was tried on " + drill.At.Format("2006-01-02") + ".")}
	}
}
