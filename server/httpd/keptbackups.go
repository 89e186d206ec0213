package httpd

import (
	"context"
	"io"
	"net/http"
	"reflect"

	"coffer/server/api"
)

var keptBinder = newBinder(reflect.TypeFor[api.BackupRef]())

// fetchBackup answers with a backup from where they are kept.
func fetchBackup(x *exchange) error {
	ref, err := ask[api.BackupRef](x, keptBinder)
	if err != nil {
		return err
	}
	defer context.AfterFunc(x.ctx, func() { _ = http.NewResponseController(x.w).SetWriteDeadline(past) })()
	out := &sender{x: x, begin: func() {
		h := x.w.Header()
		h["Content-Type"] = backupType
		h.Set("Content-Disposition", `attachment; filename="`+ref.Name+`"`)
		x.w.WriteHeader(http.StatusOK)
	}}
	err = x.Warden.FetchBackup(x.ctx, x.who, *ref, func(api.KeptBackup) (io.Writer, error) {
		if x.r.Method == http.MethodHead {
			out.begun = true
			out.begin()
			return nil, errHead
		}
		return out, nil
	})
	if err == nil || !out.begun {
		return err
	}
	if x.r.Method == http.MethodHead {
		return nil
	}
	// The status is gone; only a broken connection says that this is not all.
	_ = x.public(err)
	panic(http.ErrAbortHandler)
}
