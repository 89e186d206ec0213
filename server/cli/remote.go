package cli

import (
	"context"
	"errors"
	"net/url"
	"os/exec"
	"slices"
	"strings"

	"coffer/server/api"
)

const sayRepo = "Say which repository: --repo owner/name, or COFFER_REPO."

// detectRepo finds the repository of the checkout in dir: by the remote
// upstream, which is the original of a fork, else origin, else the only one.
func detectRepo(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", "remote", "-v")
	cmd.Dir = dir
	listing, err := cmd.Output()
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", usagef("git is not installed, so the repository is not known.\n%s", sayRepo)
		}
		return "", usagef("This is no git checkout, so the repository is not known.\n%s", sayRepo)
	}
	name, remote, err := chooseRemote(parseRemotes(string(listing)))
	if err != nil {
		return "", err
	}
	repo, err := parseRemote(remote)
	if err != nil {
		return "", usagef("The git remote %s does not say which repository: %s.\n%s", name, err, sayRepo)
	}
	return repo, nil
}

// parseRemotes reads "name<TAB>address (fetch)" lines; what follows is for git.
func parseRemotes(listing string) map[string]string {
	remotes := map[string]string{}
	for line := range strings.Lines(listing) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), "\t")
		address, _, fetch := strings.Cut(rest, " (fetch)")
		if ok && fetch {
			remotes[name] = address
		}
	}
	return remotes
}

func chooseRemote(remotes map[string]string) (name, address string, err error) {
	for _, name := range []string{"upstream", "origin"} {
		if address, ok := remotes[name]; ok {
			return name, address, nil
		}
	}
	names := make([]string, 0, len(remotes))
	for name := range remotes {
		names = append(names, name)
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return "", "", usagef("This checkout has no git remote, so the repository is not known.\n%s", sayRepo)
	case 1:
		return names[0], remotes[names[0]], nil
	default:
		return "", "", usagef("This checkout has the git remotes %s, none of them called origin.\n%s", strings.Join(names, ", "), sayRepo)
	}
}

// parseRemote takes "owner/name" out of a git address. Where more than two parts
// are in its path, those before the last are GitLab's groups in groups, as in
// "group:sub/name". Its errors never hold the address, because a token may stand
// in it.
func parseRemote(address string) (string, error) {
	path, err := remotePath(strings.TrimSpace(address))
	if err != nil {
		return "", err
	}
	path = strings.TrimSuffix(strings.TrimRight(path, "/"), ".git")
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	last := len(parts) - 1
	switch {
	case last < 1:
		return "", errors.New("its path has no owner and name")
	case last > 1 && strings.Trim(parts[0], "0123456789") == "" && !strings.Contains(address, "://"):
		return "", errors.New("what follows its first ':' looks like a port, which only an address with ssh:// can have")
	}
	repo := strings.Join(parts[:last], ":") + "/" + parts[last]
	if _, _, ok := api.SplitRepo(repo); !ok || strings.Contains(path, ":") {
		return "", errors.New("its path is no owner/name of letters, digits, '.', '_' and '-'")
	}
	return repo, nil
}

var (
	errLocalPath = errors.New("it is a path on this machine")
	errUnknown   = errors.New("its form is unknown")
)

func remotePath(address string) (string, error) {
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		switch {
		case err != nil:
			return "", errUnknown
		case u.Scheme == "file":
			return "", errLocalPath
		case !slices.Contains([]string{"https", "http", "ssh", "git", "git+ssh", "ssh+git"}, u.Scheme), u.Hostname() == "":
			return "", errUnknown
		}
		return u.Path, nil
	}
	if strings.Contains(address, "::") && !strings.Contains(address, "[") {
		return "", errUnknown // a remote helper: name::address
	}
	host, path, ok := cutHost(address)
	// One letter before the colon is a Windows drive.
	if !ok || len(host) < 2 || strings.ContainsAny(host, `/\`) {
		return "", errLocalPath
	}
	return path, nil
}

// cutHost cuts the scp-like [user@]host:path; an address in brackets may hold
// colons.
func cutHost(address string) (host, path string, ok bool) {
	from := 0
	if i := strings.Index(address, "["); i == 0 || i > 0 && address[i-1] == '@' {
		end := strings.Index(address[i:], "]")
		if end < 0 {
			return "", "", false
		}
		from = i + end
	}
	colon := strings.Index(address[from:], ":")
	if colon < 0 {
		return "", "", false
	}
	return address[:from+colon], address[from+colon+1:], true
}
