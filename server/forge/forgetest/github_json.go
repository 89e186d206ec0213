package forgetest

import (
	"fmt"
	"maps"
	"time"

	"coffer/server/forge"
)

// What GitHub's answers look like. Most of it no client of ours reads.

type object = map[string]any

func with(base object, more object) object {
	both := maps.Clone(base)
	maps.Copy(both, more)
	return both
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (g *GitHub) at(format string, args ...any) string {
	return g.URL + "/api/v3" + fmt.Sprintf(format, args...)
}

// links makes addresses below one.
func links(base string, names map[string]string) object {
	all := object{}
	for name, path := range names {
		all[name] = base + path
	}
	return all
}

// account is what GitHub calls a simple user; organizations are some as well.
func (g *GitHub) account(id int64, login, kind string) object {
	base := g.at("/users/%s", login)
	return with(links(base, map[string]string{
		"url": "", "followers_url": "/followers", "following_url": "/following{/other_user}", "gists_url": "/gists{/gist_id}",
		"starred_url": "/starred{/owner}{/repo}", "subscriptions_url": "/subscriptions", "organizations_url": "/orgs",
		"repos_url": "/repos", "events_url": "/events{/privacy}", "received_events_url": "/received_events",
	}), object{
		"id": id, "login": login, "type": kind, "node_id": fmt.Sprintf("U_%d", id), "site_admin": false, "gravatar_id": "",
		"avatar_url": fmt.Sprintf("%s/avatars/u/%d?v=4", g.URL, id), "html_url": g.URL + "/" + login,
	})
}

func (g *GitHub) simple(u User) object {
	kind := "User"
	if u.Bot {
		kind = "Bot"
	}
	return g.account(u.ID, u.Login, kind)
}

func (g *GitHub) owner(id int64) object {
	if u, ok := g.World.User(id); ok {
		return g.simple(u)
	}
	o, _ := g.World.Org(id)
	return g.account(o.ID, o.Login, "Organization")
}

// profile is a user as GitHub shows one alone.
func (g *GitHub) profile(u User) object {
	now := stamp(g.World.Now())
	return with(g.simple(u), object{
		"name": nil, "company": nil, "blog": "", "location": nil, "email": nil, "hireable": nil, "bio": nil, "twitter_username": nil,
		"public_repos": 0, "public_gists": 0, "followers": 0, "following": 0, "created_at": now, "updated_at": now,
		"user_view_type": "public",
	})
}

// self is a user's own profile.
func (g *GitHub) self(u User) object {
	return with(g.profile(u), object{
		"user_view_type": "private", "email": u.Email, "private_gists": 0, "total_private_repos": 0, "owned_private_repos": 0, "disk_usage": 0,
		"collaborators": 0, "two_factor_authentication": true,
	})
}

func (g *GitHub) orgSimple(o Org) object {
	return with(links(g.at("/orgs/%s", o.Login), map[string]string{
		"url": "", "repos_url": "/repos", "events_url": "/events", "hooks_url": "/hooks", "issues_url": "/issues",
		"members_url": "/members{/member}", "public_members_url": "/public_members{/member}",
	}), object{
		"id": o.ID, "login": o.Login, "node_id": fmt.Sprintf("O_%d", o.ID), "description": nil,
		"avatar_url": fmt.Sprintf("%s/avatars/u/%d?v=4", g.URL, o.ID),
	})
}

func (g *GitHub) orgFull(o Org) object {
	now := stamp(g.World.Now())
	return with(g.orgSimple(o), object{
		"name": "The " + o.Login, "has_organization_projects": true, "has_repository_projects": true, "public_repos": 0, "public_gists": 0,
		"followers": 0, "following": 0, "html_url": g.URL + "/" + o.Login, "type": "Organization",
		"created_at": now, "updated_at": now, "archived_at": nil,
	})
}

var repoLinks = map[string]string{
	"url": "", "archive_url": "/{archive_format}{/ref}", "assignees_url": "/assignees{/user}", "blobs_url": "/git/blobs{/sha}",
	"branches_url": "/branches{/branch}", "collaborators_url": "/collaborators{/collaborator}", "comments_url": "/comments{/number}",
	"commits_url": "/commits{/sha}", "compare_url": "/compare/{base}...{head}", "contents_url": "/contents/{+path}",
	"contributors_url": "/contributors", "deployments_url": "/deployments", "downloads_url": "/downloads", "events_url": "/events",
	"forks_url": "/forks", "git_commits_url": "/git/commits{/sha}", "git_refs_url": "/git/refs{/sha}", "git_tags_url": "/git/tags{/sha}",
	"hooks_url": "/hooks", "issue_comment_url": "/issues/comments{/number}", "issue_events_url": "/issues/events{/number}",
	"issues_url": "/issues{/number}", "keys_url": "/keys{/key_id}", "labels_url": "/labels{/name}", "languages_url": "/languages",
	"merges_url": "/merges", "milestones_url": "/milestones{/number}", "notifications_url": "/notifications{?since,all,participating}",
	"pulls_url": "/pulls{/number}", "releases_url": "/releases{/id}", "stargazers_url": "/stargazers", "statuses_url": "/statuses/{sha}",
	"subscribers_url": "/subscribers", "subscription_url": "/subscription", "tags_url": "/tags", "teams_url": "/teams", "trees_url": "/git/trees{/sha}",
}

// repoListed is a repository as lists show it. An internal one is private as
// well.
func (g *GitHub) repoListed(r Repo, role forge.Role) object {
	owner, _ := g.World.Owner(r.Owner)
	now, full := stamp(g.World.Now()), owner.Login+"/"+r.Name
	return with(links(g.at("/repos/%s", full), repoLinks), object{
		"id": r.ID, "node_id": fmt.Sprintf("R_%d", r.ID), "name": r.Name, "full_name": full, "owner": g.owner(r.Owner),
		"private": r.Visibility != Public, "visibility": string(r.Visibility), "html_url": g.URL + "/" + full, "description": nil,
		"fork": false, "git_url": "git://host/" + full, "ssh_url": "git@host:" + full, "clone_url": g.URL + "/" + full + ".git",
		"mirror_url": nil, "svn_url": g.URL + "/" + full, "homepage": nil, "language": nil, "license": nil,
		"forks_count": 0, "forks": 0, "stargazers_count": 0, "watchers_count": 0, "watchers": 0, "size": 0,
		"open_issues_count": 0, "open_issues": 0, "default_branch": "main", "has_issues": true, "has_projects": true, "has_wiki": true,
		"has_pages": false, "has_downloads": true, "has_discussions": false, "archived": r.Archived, "disabled": false,
		"pushed_at": now, "created_at": now, "updated_at": now, "permissions": permissions(role),
	})
}

func (g *GitHub) repoFull(r Repo, role forge.Role) object {
	return with(g.repoListed(r, role), object{"subscribers_count": 0, "network_count": 0})
}

// permissions holds all that a role holds.
func permissions(role forge.Role) object {
	return object{
		"pull": Least(role, forge.Read), "triage": Least(role, forge.Triage), "push": Least(role, forge.Write),
		"maintain": Least(role, forge.Maintain), "admin": Least(role, forge.Admin),
	}
}

// collapsed is a role in the words of before there were five.
func collapsed(role forge.Role) string {
	switch role {
	case forge.None:
		return "none"
	case forge.Triage:
		return "read"
	case forge.Maintain:
		return "write"
	}
	return string(role)
}
