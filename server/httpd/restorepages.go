package httpd

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"

	"coffer/server/api"
	"coffer/web"
)

// maxKeyField is how much is read of a key or a passphrase that comes with a backup.
const maxKeyField = 64 << 10

// restoreSetup takes a backup and the key to it from the browser that sets the
// server up. The file goes where it belongs while it comes in: nothing of it is
// held in memory, so it may have any size. The key must come before it.
func restoreSetup(x *exchange) error {
	if err := x.ours(); err != nil {
		return err
	}
	// One attempt at a time is what the setup itself sees to.
	if err := x.enterThrottle(); err != nil {
		return err
	}
	x.unseals.leave()
	end, err := x.Warden.BeginRestore(x.ctx, x.ticket())
	if api.CodeOf(err) == api.Unauthorized {
		return x.claimAgain(err)
	}
	if err != nil {
		return err
	}
	defer end()
	defer context.AfterFunc(x.ctx, func() { _ = http.NewResponseController(x.w).SetReadDeadline(past) })()
	body := &receiver{x: x}
	restored, err := x.restoreFrom(body)
	if err != nil {
		// A browser shows an answer when all that it sends was taken.
		_, _ = io.Copy(io.Discard, body)
		end()
		return x.goOn(err, x.ticket(), url.Values{"key": {""}, "passphrase": {""}, "file": {""}})
	}
	x.dropCookie(setupCookie, x.pages.Path(setupPath))
	return x.show(http.StatusOK, web.SetupRestored{
		Made: restored.Backup.CreatedAt.Time, Record: restored.Backup.AuditNumber, Fingerprint: restored.Fingerprint,
		KeyFile: restored.KeyFile, NewKeyFile: restored.NewKeyFile, Unsealed: restored.UnsealedBy != "",
		Key: string(restored.RecoveryKey),
	})
}

// restoreFrom reads the form with the backup in it.
func (x *exchange) restoreFrom(body io.Reader) (*api.Restored, error) {
	kind, params, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || kind != multipartForm {
		return nil, api.Errorf(api.BadRequest, "The form cannot be read. Go back and send it again.")
	}
	var with api.OpenBackup
	for form := multipart.NewReader(body, params["boundary"]); ; {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil, api.InvalidField("file", api.Required, "Choose the file of a backup.")
		}
		if err != nil {
			return nil, api.Errorf(api.BadRequest, "The form ended before it was complete.")
		}
		switch part.FormName() {
		case "key", "passphrase":
			text, err := io.ReadAll(io.LimitReader(part, maxKeyField))
			if err != nil {
				return nil, err
			}
			secret := api.NewSecret(string(text))
			clear(text)
			switch {
			case secret.Len() == 0:
			case part.FormName() == "key":
				with.Key = &secret
			default:
				with.Passphrase = &secret
			}
		case "file":
			return x.restorePart(part, with)
		}
	}
}

func (x *exchange) restorePart(part *multipart.Part, with api.OpenBackup) (*api.Restored, error) {
	switch {
	case part.FileName() == "":
		return nil, api.InvalidField("file", api.Required, "Choose the file of a backup.")
	case (with.Key == nil) == (with.Passphrase == nil):
		return nil, api.InvalidField("key", api.Required, "Give the recovery key, or the passphrase of the backup: one of them.")
	case x.Restore == nil:
		return nil, api.Errorf(api.Unavailable, "This server cannot restore by itself. Stop it, and run on its machine: coffer restore FILE")
	}
	return x.Restore(x.ctx, part, with)
}
