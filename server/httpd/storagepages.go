package httpd

import (
	"net/http"
	"net/url"

	"coffer/server/api"
	"coffer/web"
)

const storagePath = operatorPath + "/storage"

// storagePages are about the data file, and about what was erased from it.
func storagePages() []route {
	return []route{
		{method: get, path: storagePath, bucket: inGeneral, run: signedIn(storagePage)},
		{method: post, path: storagePath + "/compact", bucket: inGeneral, run: act(compactOnPage)},
		{method: post, path: storagePath + "/erase", bucket: inGeneral, run: act(eraseOnPage)},
		{method: post, path: storagePath + "/receipts/:id", bucket: inGeneral, run: act(downloadReceipt)},
	}
}

func storagePage(x *exchange) (web.Page, error) { return x.storageWith(web.Form{}, web.Form{}) }

func (x *exchange) storageWith(compact, erase web.Form) (web.Page, error) {
	s, err := x.Warden.Storage(x.ctx, x.who, api.Empty{})
	if err != nil {
		return nil, err
	}
	all, err := x.Warden.Erasures(x.ctx, x.who, api.Empty{})
	if err != nil {
		return nil, err
	}
	p := web.Storage{
		Frame: x.frame(), Tabs: x.operatorTabs(), Size: s.SizeBytes, Free: s.SizeBytes - s.UsedBytes, Room: -1, Copies: s.OldCopies,
		Last: shownCompaction(s.Last), Running: shownCompaction(s.Running), Compact: compact, Erase: erase,
	}
	if s.RoomBytes != nil {
		p.Room = *s.RoomBytes
	}
	for _, e := range all.Erasures {
		shown := web.Erasure{ID: e.ID, Vault: e.RepoFullName, At: e.ErasedAt.Time, Receipt: e.Receipt != nil}
		if e.ErasedBy != nil {
			shown.By = *e.ErasedBy
		}
		p.Erasures = append(p.Erasures, shown)
	}
	return p, nil
}

func shownCompaction(c *api.Compaction) *web.Compaction {
	if c == nil {
		return nil
	}
	shown := &web.Compaction{At: c.StartedAt.Time, Before: c.BeforeBytes, After: c.AfterBytes, Copied: c.CopiedBytes, All: c.AllBytes}
	if c.EndedAt != nil {
		shown.At = c.EndedAt.Time
	}
	if c.Error != nil {
		shown.Error = *c.Error
	}
	return shown
}

func compactOnPage(x *exchange, form url.Values) error {
	done, err := x.Warden.Compact(x.ctx, x.who, api.Empty{})
	if err != nil {
		return x.againUnlessRefused(err, form, nil, func(f web.Form) (web.Page, error) { return x.storageWith(f, web.Form{}) })
	}
	said := dataCompacted
	if done.EndedAt == nil {
		said = dataCompacting
	}
	x.done(storagePath, said)
	return nil
}

func eraseOnPage(x *exchange, form url.Values) error {
	req := api.Erase{RepoFullName: form.Get("repoFullName")}
	err := x.check(req)
	var e *api.BegunErasure
	if err == nil {
		e, err = x.Warden.EraseVault(x.ctx, x.who, req)
	}
	if err != nil {
		return x.againUnlessRefused(err, form, []string{"repoFullName"}, func(f web.Form) (web.Page, error) { return x.storageWith(web.Form{}, f) })
	}
	said := vaultErased
	if e.Receipt == nil {
		said = vaultErasing
	}
	x.done(storagePath, said)
	return nil
}

// downloadReceipt sends the receipt of an erasure as a file to keep.
func downloadReceipt(x *exchange, _ url.Values) error {
	ref, err := asked[api.ErasureRef](x)
	if err != nil {
		return err
	}
	e, err := x.Warden.Erasure(x.ctx, x.who, *ref)
	if err != nil {
		return err
	}
	if e.Receipt == nil {
		return api.Errorf(api.Conflict, "There is no receipt yet: it comes when the data are compacted.")
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="coffer-receipt-`+e.ID+`.json"`)
	x.write(http.StatusOK, []byte(*e.Receipt))
	return nil
}
