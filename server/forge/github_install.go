package forge

import (
	"context"
	"errors"
	"time"
)

// aboutFor is for how long GitHub's word on the App itself counts when it gave
// none.
const aboutFor = time.Minute

// githubAbout is what GitHub says of the App.
type githubAbout struct {
	Name   string   `json:"name"`
	Page   string   `json:"html_url"`
	Events []string `json:"events"`
}

// about asks GitHub for the App itself.
func (a *githubApp) about(ctx context.Context) (githubAbout, error) {
	jwt, err := a.sign()
	if err != nil {
		return githubAbout{}, err
	}
	var about githubAbout
	_, err = a.api.get(ctx, jwt, "/app", nil, &about)
	return about, a.turnedDown(err)
}

// InstallURL is the page of the App on which people choose an account and its
// repositories. GitHub is asked for it once.
func (g *github) InstallURL(ctx context.Context) string {
	a := g.app
	if a == nil {
		return ""
	}
	select {
	case <-a.lock:
		defer func() { a.lock <- struct{}{} }()
	case <-ctx.Done():
		return ""
	}
	if now := a.api.now(); a.page == "" && (a.asked.IsZero() || now.Sub(a.asked) >= aboutFor) {
		about, err := a.about(ctx)
		a.asked = now
		if err == nil && about.Page != "" {
			a.page = about.Page + "/installations/new"
		}
	}
	return a.page
}

// InstallationID is the number of the App's installation that covers a repository.
func (g *github) InstallationID(ctx context.Context, repo Repository) (string, error) {
	if g.app == nil {
		return "", ErrNotFound
	}
	jwt, err := g.app.sign()
	if err != nil {
		return "", err
	}
	var i installation
	_, err = g.api.get(ctx, jwt, "/repositories/"+segment(repo.ID)+"/installation", nil, &i)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && i.SuspendedAt != "":
		return "", ErrNotFound
	case err != nil:
		return "", g.app.turnedDown(err)
	}
	return githubID(i.ID), nil
}

// InstalledOn reports whether the App is installed on an organization. A name that
// went to another account meanwhile says nothing of the one that is asked about.
func (g *github) InstalledOn(ctx context.Context, org Organization) (bool, error) {
	if g.app == nil {
		return false, nil
	}
	jwt, err := g.app.sign()
	if err != nil {
		return false, err
	}
	var i installation
	_, err = g.api.get(ctx, jwt, "/orgs/"+segment(org.Login)+"/installation", nil, &i)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, g.app.turnedDown(err)
	}
	return i.SuspendedAt == "" && githubID(i.Account.ID) == org.ID, nil
}
