package httpd

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"

	"coffer/server/api"
)

var backupBinder = newBinder(reflect.TypeFor[api.NewBackup]())

const backupPath = "/v1/operator/backups"

// backupType is a plain age file.
var backupType = []string{"application/age-encryption"}

// makeBackup answers with a backup, sent while it is made.
func makeBackup(x *exchange) error {
	req, err := ask[api.NewBackup](x, backupBinder)
	if err != nil {
		return err
	}
	return x.sendBackup(*req)
}

// sendBackup sends a backup to a caller who was admitted.
func (x *exchange) sendBackup(req api.NewBackup) error {
	defer context.AfterFunc(x.ctx, func() { _ = http.NewResponseController(x.w).SetWriteDeadline(past) })()
	var out *sender
	_, err := x.Warden.Backup(x.ctx, x.who, req, func(b api.Backup) (io.Writer, error) {
		about, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		out = &sender{x: x, begin: func() {
			h := x.w.Header()
			h["Content-Type"] = backupType
			h.Set("Content-Disposition", `attachment; filename="`+b.Name+`"`)
			h.Set(api.BackupHeader, string(about))
			x.w.WriteHeader(http.StatusOK)
		}}
		return out, nil
	})
	if err == nil || out == nil || !out.begun {
		return err
	}
	// The status is gone; only a broken connection says that this is not all.
	_ = x.public(err)
	panic(http.ErrAbortHandler)
}
