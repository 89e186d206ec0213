package httpd

import (
	"slices"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/web"
)

func placesIn(all []web.Place) string {
	var lines []string
	for _, p := range all {
		lines = append(lines, strings.TrimSpace(p.Name+" "+p.Path+" "+p.Current))
	}
	return strings.Join(lines, ", ")
}

// TestANewPageFindsItsPlace: what has no route is not shown, and what gets one is.
func TestANewPageFindsItsPlace(t *testing.T) {
	at := func(path string, more ...string) *exchange {
		f := &face{gate: &doorman{}}
		routes := slices.DeleteFunc(pages(), func(r route) bool { return r.path == planPath })
		for _, p := range more {
			routes = append(routes, route{method: get, path: p})
		}
		f.leadsTo(routes)
		return &exchange{face: f, route: &route{path: path}}
	}
	if got := placesIn(at(orgPath).tabs(orgPlaces, orgPath, "/orgs/acme")); got != "" {
		t.Errorf("one place has the tabs %s", got)
	}
	if got := placesIn(at(orgPath, planPath).tabs(orgPlaces, orgPath, "/orgs/acme")); got != "Members and permissions /orgs/acme page, Plan /orgs/acme/plan" {
		t.Errorf("with a plan there are %s", got)
	}
	if got := placesIn(at(planPath, planPath).tabs(orgPlaces, orgPath, "/orgs/acme")); got != "Members and permissions /orgs/acme, Plan /orgs/acme/plan page" {
		t.Errorf("on the plan there are %s", got)
	}
	if got := placesIn(at(localReposPath + "/grants").operatorTabs()); got != "Server /operator, Health /operator/health, Keys /operator/keys, Users /operator/users, Organizations /operator/orgs, Repositories /operator/repos true, Backups /operator/backups, Storage /operator/storage" {
		t.Errorf("the operator has %s", got)
	}
	elsewhere := at(operatorPath)
	elsewhere.gate = &doorman{forge: "gitea"}
	if got := placesIn(elsewhere.operatorTabs()); got != "Server /operator page, Health /operator/health, Keys /operator/keys, Backups /operator/backups, Storage /operator/storage" {
		t.Errorf("with another code host, the operator has %s", got)
	}
	in := at(syncRunPath).inside(&api.Vault{RepoOwner: "acme", RepoName: "api", Permission: new("read")})
	if got := placesIn(in.Places); !strings.Contains(got, "Integrations /vaults/acme/api/syncs true") {
		t.Errorf("in a vault there are %s", got)
	}
}
