package warden

import (
	"fmt"
	"strings"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/store"
)

// statusOf is how an ended run went.
func statusOf(run store.SyncRun) string {
	switch {
	case len(run.Failed) == 0:
		return api.SyncSuccess
	case run.Created+run.Updated+run.Deleted > 0:
		return api.SyncPartial
	default:
		return api.SyncFailed
	}
}

// resultOf is a run in the words of the wire.
func (w *Warden) resultOf(run store.SyncRun) *api.SyncResult {
	out := &api.SyncResult{
		Status: run.Status, Success: run.Status == api.SyncSuccess, Failed: []api.SyncFailure{}, JobID: run.ID.String(),
	}
	if run.Ended == 0 {
		out.Status, out.Success = api.SyncRunning, false
		out.Error = fmt.Sprintf("Still running; see job %s.", run.ID)
		return out
	}
	out.Created, out.Updated, out.Deleted, out.Skipped = run.Created, run.Updated, run.Deleted, run.Skipped
	var names []string
	for _, f := range run.Failed {
		code := hosting.Code(f.Code)
		out.Failed = append(out.Failed, api.SyncFailure{
			Key: f.Key, Operation: f.Operation, Code: f.Code, Message: code.Message(), Retryable: code.Retryable(), RequestID: f.RequestID,
		})
		names = append(names, f.Key)
	}
	out.Stats = api.SyncStats{
		Created: run.Created, Updated: run.Updated, Deleted: run.Deleted, Skipped: run.Skipped,
		Total: run.Created + run.Updated + run.Deleted + run.Skipped + len(run.Failed),
	}
	switch {
	case out.Success:
	case len(names) == 0:
		out.Error = "The sync was cut short and could not go on. Look at the preview, then sync again."
	default:
		out.Error = fmt.Sprintf("%d of %d variables could not be written: %s", len(names), out.Stats.Total, strings.Join(names, ", "))
	}
	return out
}
