package hostingtest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

func (v *Vercel) getUser(r *vercelAsked) (int, any, *vercelRefusal) {
	u := v.user(r.token.User)
	return http.StatusOK, map[string]any{"user": map[string]any{
		"id": u.id, "username": u.name, "name": u.name, "email": u.name + "@example.com", "avatar": nil, "defaultTeamId": nil, "limited": true,
	}}, nil
}

func (v *Vercel) getTeams(r *vercelAsked) (int, any, *vercelRefusal) {
	var all []*vercelTeam
	for _, t := range v.teams {
		if slices.Contains(t.members, r.token.User) && (r.token.Team == "" || r.token.Team == t.id) {
			all = append(all, t)
		}
	}
	page, about := pageOf(v, r.URL.Query(), "until", all, 20)
	said := []any{}
	for _, t := range page {
		said = append(said, t.json(r.token.User))
	}
	return http.StatusOK, map[string]any{"teams": said, "pagination": about}, nil
}

func (v *Vercel) getTeam(r *vercelAsked) (int, any, *vercelRefusal) {
	t := v.team(r.PathValue("team"))
	switch {
	case t == nil:
		return 0, nil, refuse(http.StatusNotFound, "not_found", "Team not found.")
	case !slices.Contains(t.members, r.token.User) || r.token.Team != "" && r.token.Team != t.id:
		return 0, nil, refuse(http.StatusForbidden, "forbidden", "Not authorized")
	}
	said := t.json(r.token.User)
	delete(said, "limited")
	delete(said, "limitedBy")
	maps.Copy(said, map[string]any{"updatedAt": t.created, "creatorId": t.members[0], "stagingPrefix": t.slug, "description": nil, "billing": nil})
	return http.StatusOK, said, nil
}

// json is the team, as lists tell of it to tokens that may not see all of it.
func (t *vercelTeam) json(user string) map[string]any {
	return map[string]any{
		"id": t.id, "slug": t.slug, "name": t.name, "avatar": nil, "limited": true, "createdAt": t.created, "created": fmt.Sprint(t.created),
		"limitedBy":  []string{"scope"},
		"membership": map[string]any{"confirmed": true, "role": "OWNER", "teamId": t.id, "uid": user, "created": t.created, "createdAt": t.created},
	}
}
