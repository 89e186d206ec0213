package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/dotenv"
)

// changes are the keys by which one set of values differs from another.
type changes struct {
	Created   []string `json:"created"`
	Updated   []string `json:"updated"`
	Deleted   []string `json:"deleted"`
	Unchanged []string `json:"unchanged"`
}

// compare finds what turns one set of values into another.
func compare(from, to map[string]string) changes {
	c := changes{[]string{}, []string{}, []string{}, []string{}}
	for _, key := range slices.Sorted(maps.Keys(to)) {
		switch old, had := from[key]; {
		case !had:
			c.Created = append(c.Created, key)
		case old != to[key]:
			c.Updated = append(c.Updated, key)
		default:
			c.Unchanged = append(c.Unchanged, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if _, has := to[key]; !has {
			c.Deleted = append(c.Deleted, key)
		}
	}
	return c
}

func (c changes) none() bool { return len(c.Created)+len(c.Updated)+len(c.Deleted) == 0 }

// rows shows the changes one a line, each with the words given for its kind.
func (c changes) rows(created, updated, deleted string) [][]string {
	var rows [][]string
	for _, key := range c.Created {
		rows = append(rows, []string{"+ " + key, created})
	}
	for _, key := range c.Updated {
		rows = append(rows, []string{"~ " + key, updated})
	}
	for _, key := range c.Deleted {
		rows = append(rows, []string{"- " + key, deleted})
	}
	return rows
}

// pullValues reads the exact values of an environment.
func pullValues(ctx context.Context, c *client.Client, at place) (map[string]string, *api.Pulled, error) {
	return pullWith(ctx, c, at, api.PullSecrets{})
}

// pullWith reads the exact values of the state that req asks for.
func pullWith(ctx context.Context, c *client.Client, at place, req api.PullSecrets) (map[string]string, *api.Pulled, error) {
	req.Repo, req.Environment, req.Format = at.repo, at.environment, api.FormatJSON
	p, err := c.Pull(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	values := make(map[string]string, len(p.Secrets))
	for key, value := range p.Secrets {
		values[key] = string(value)
	}
	return values, p, nil
}

// readEntries reads a .env file, or standard input for "-".
func readEntries(name string, out *console) ([]dotenv.Entry, error) {
	data, err := out.readAll(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failf(exitError, "There is no file %s here. Name another: -f FILE", name)
	}
	if err != nil {
		return nil, err
	}
	entries, err := dotenv.Parse(data)
	if err != nil {
		return nil, failf(exitInvalid, "%s: %s", fileName(name), err)
	}
	for _, d := range dotenv.Duplicates(entries) {
		out.note("%s sets %s on lines %s; the last one counts.", fileName(name), d.Key, numbers(d.Lines))
	}
	return entries, nil
}

// exactValues are the values of entries. Where a text can be read in two ways
// and one of them is the stored value, it is that one.
func exactValues(entries []dotenv.Entry, stored map[string]string) map[string]string {
	values := dotenv.Values(entries)
	for _, e := range entries {
		if old, ok := stored[e.Key]; ok && e.Value == values[e.Key] && e.Encodes(old) {
			values[e.Key] = old
		}
	}
	return values
}

func fileName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

func numbers(lines []int) string {
	text := ""
	for i, n := range lines {
		switch {
		case i == 0:
		case i == len(lines)-1:
			text += " and "
		default:
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	return text
}
