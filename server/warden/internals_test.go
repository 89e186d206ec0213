package warden

import (
	"context"
	"encoding/base64"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// KeepGrant does for a caller what signing in does at its end.
func (w *Warden) KeepGrant(ctx context.Context, who Caller, g forge.Grant) error {
	keys, err := w.holdKeys()
	if err != nil {
		return err
	}
	defer keys.users.RUnlock()
	return w.store.Update(ctx, func(tx store.Tx) error { return w.putGrant(tx, keys, who.user.ID, g) })
}

// ForgetHost does what a webhook does at once.
func (w *Warden) ForgetHost() { w.forgetHost() }

// DoEvents does what webhooks asked for and what is due.
func (w *Warden) DoEvents(ctx context.Context) error { return w.doEvents(ctx) }

// TakesForTicket reports whether what the key of stored records sealed passes for
// a ticket of a sign-in.
func (w *Warden) TakesForTicket(ticket string) bool {
	keys, err := w.holdKeys()
	if err != nil {
		return false
	}
	defer keys.users.RUnlock()
	sealed := keys.system.Seal(nil, []byte(ticket), ticketContext)
	_, ok := keys.openTicket(api.NewSecret(base64.RawURLEncoding.EncodeToString(sealed)))
	return ok
}

// OrgLogin is what the organization with an id at the code host is called on record.
func (w *Warden) OrgLogin(ctx context.Context, account string) string {
	org, err := w.orgOnRecord(ctx, account)
	if err != nil {
		return err.Error()
	}
	return org.Login
}

// RouseSyncs has links looked at now.
func (w *Warden) RouseSyncs() { w.syncs.rouse() }
