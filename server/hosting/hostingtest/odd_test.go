package hostingtest_test

import (
	"context"

	"coffer/server/api"
	"coffer/server/hosting"
)

type (
	doneFunc  = func(hosting.Outcome) error
	listFunc  = func(context.Context, hosting.Credential, hosting.Target) ([]hosting.Variable, error)
	writeFunc = func(context.Context, hosting.Credential, hosting.Target, []hosting.Write, doneFunc) error
	dropFunc  = func(context.Context, hosting.Credential, hosting.Target, []hosting.Variable, doneFunc) error
)

// odd is a client that does some things in another way.
type odd struct {
	*plainClient
	describe func() hosting.Description
	check    func(context.Context, hosting.Credential) (hosting.Account, error)
	projects func(context.Context, hosting.Credential) ([]hosting.Project, error)
	find     func(ctx context.Context, c hosting.Credential, project, service string) (hosting.Project, error)
	list     listFunc
	write    writeFunc
	drop     dropFunc
	url      func(state, challenge string) string
	exchange func(context.Context, map[string][]string, string) (hosting.Grant, error)
	refresh  func(context.Context, api.Secret) (hosting.Grant, error)
}

// usual does everything as it should be done.
func usual(c *plainClient) *odd {
	return &odd{c, c.Describe, c.Check, c.Projects, c.Find, c.List, c.Write, c.Delete, c.AuthorizeURL, c.Exchange, c.Refresh}
}

func (o *odd) Describe() hosting.Description { return o.describe() }

func (o *odd) Check(ctx context.Context, c hosting.Credential) (hosting.Account, error) {
	return o.check(ctx, c)
}

func (o *odd) Projects(ctx context.Context, c hosting.Credential) ([]hosting.Project, error) {
	return o.projects(ctx, c)
}

func (o *odd) Find(ctx context.Context, c hosting.Credential, project, service string) (hosting.Project, error) {
	return o.find(ctx, c, project, service)
}

func (o *odd) List(ctx context.Context, c hosting.Credential, t hosting.Target) ([]hosting.Variable, error) {
	return o.list(ctx, c, t)
}

func (o *odd) Write(ctx context.Context, c hosting.Credential, t hosting.Target, all []hosting.Write, done func(hosting.Outcome) error) error {
	return o.write(ctx, c, t, all, done)
}

func (o *odd) Delete(ctx context.Context, c hosting.Credential, t hosting.Target, all []hosting.Variable, done func(hosting.Outcome) error) error {
	return o.drop(ctx, c, t, all, done)
}

func (o *odd) AuthorizeURL(state, challenge string) string { return o.url(state, challenge) }

func (o *odd) Exchange(ctx context.Context, callback map[string][]string, verifier string) (hosting.Grant, error) {
	return o.exchange(ctx, callback, verifier)
}

func (o *odd) Refresh(ctx context.Context, refresh api.Secret) (hosting.Grant, error) {
	return o.refresh(ctx, refresh)
}

// around makes a mutant of what is changed about a usual client.
func around(change func(o *odd)) func(hosting.Provider) hosting.Provider {
	return func(p hosting.Provider) hosting.Provider {
		o := usual(p.(*plainClient))
		change(o)
		return o
	}
}

// listing is a client whose lists are changed.
func listing(change func([]hosting.Variable) []hosting.Variable) func(hosting.Provider) hosting.Provider {
	return around(func(o *odd) {
		o.list = func(ctx context.Context, c hosting.Credential, t hosting.Target) ([]hosting.Variable, error) {
			all, err := o.plainClient.List(ctx, c, t)
			if err != nil {
				return nil, err
			}
			return change(all), nil
		}
	})
}

// each changes every variable of a list.
func each(change func(*hosting.Variable)) func(hosting.Provider) hosting.Provider {
	return listing(func(all []hosting.Variable) []hosting.Variable {
		for i := range all {
			change(&all[i])
		}
		return all
	})
}

// writing is a client that writes in another way, given the usual one.
func writing(change func(usual writeFunc) writeFunc) func(hosting.Provider) hosting.Provider {
	return around(func(o *odd) { o.write = change(o.plainClient.Write) })
}

// outcomes is a client that tells other outcomes than it should.
func outcomes(change func(doneFunc) doneFunc) func(hosting.Provider) hosting.Provider {
	return around(func(o *odd) {
		o.write = func(ctx context.Context, c hosting.Credential, t hosting.Target, all []hosting.Write, done doneFunc) error {
			return o.plainClient.Write(ctx, c, t, all, change(done))
		}
		o.drop = func(ctx context.Context, c hosting.Credential, t hosting.Target, all []hosting.Variable, done doneFunc) error {
			return o.plainClient.Delete(ctx, c, t, all, change(done))
		}
	})
}
