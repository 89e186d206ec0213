package warden

import (
	"context"
	"errors"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
)

// offerTime is how long an offer may keep anybody waiting for the code host.
const offerTime = 3 * time.Second

// installURL is where people open repositories to this instance, or "" where that
// is not needed.
func (w *Warden) installURL(ctx context.Context) string {
	i, ok := w.forge.(forge.Installer)
	if !ok {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	return i.InstallURL(ctx)
}

// InstallOffer is where the code host's application is installed, if this instance
// does not see a repository yet, else "". Somebody without a role on the repository
// is always offered it, and so learns nothing. When the code host does not answer,
// nothing is offered: it is a courtesy.
func (w *Warden) InstallOffer(ctx context.Context, who Caller, repo string) string {
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	url := w.installURL(ctx)
	owner, name, ok := api.SplitRepo(repo)
	if url == "" || !ok {
		return ""
	}
	seen, err := w.forge.Repository(ctx, forge.Asker{}, owner, name)
	var there forge.Reachable
	if err == nil {
		there, err = ask(ctx, w, who, func(ctx context.Context, as forge.Asker) (forge.Reachable, error) {
			return w.forge.Role(ctx, as, seen)
		})
	}
	if _, silent := errors.AsType[*forge.Unavailable](err); silent || ctx.Err() != nil || err == nil && there.Role != forge.None {
		return ""
	}
	return url
}
