package hosting

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"coffer/server/api"
)

// vercelRecord is a variable as Vercel keeps it.
type vercelRecord struct {
	ID          string          `json:"id"`
	Key         string          `json:"key"`
	Value       api.Secret      `json:"value"`
	Type        string          `json:"type"`
	Targets     vercelNames     `json:"target"`
	Custom      []string        `json:"customEnvironmentIds"`
	Branch      string          `json:"gitBranch"`
	Integration string          `json:"configurationId"`
	Hint        json.RawMessage `json:"contentHint"` // of an integration's store
	System      bool            `json:"system"`
	Decrypted   bool            `json:"decrypted"` // the value is one, and no ciphertext
	UpdatedAt   int64           `json:"updatedAt"`
}

// vercelNames are written as a list, or as a text when there is just one.
type vercelNames []string

// UnmarshalJSON takes both.
func (n *vercelNames) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		if one != "" {
			*n = []string{one}
		}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(n))
}

// serves reports whether the record takes effect in e.
func (r vercelRecord) serves(e Environment) bool {
	return r.Branch == "" && (slices.Contains(r.Targets, e.ID) || slices.Contains(r.Custom, e.ID))
}

// shared reports whether it serves more than one environment.
func (r vercelRecord) shared() bool { return len(r.Targets)+len(r.Custom) > 1 }

func (r vercelRecord) origin() Origin {
	switch {
	case r.System || r.Type == "system":
		return FromSystem
	case r.Integration != "" || len(r.Hint) > 0 && string(r.Hint) != "null":
		return FromIntegration
	}
	return FromUser
}

// mark changes with every writing of the record.
func (r vercelRecord) mark() string {
	if r.ID == "" || r.UpdatedAt == 0 {
		return ""
	}
	return fmt.Sprintf("%s@%d", r.ID, r.UpdatedAt)
}

func (r vercelRecord) readable() bool { return r.Decrypted && r.Type != "sensitive" }

func (r vercelRecord) variable() Variable {
	x := Variable{Key: r.Key, Origin: r.origin(), Shared: r.shared(), Mark: r.mark()}
	if r.readable() {
		x.Readable, x.Value = true, r.Value
	}
	r.Value = api.Secret{} // which may be ciphertext, and is not needed again
	x.native = r
	return x
}

// vercelPlace is a target with who asks for it.
type vercelPlace struct {
	v *vercel
	c Credential
	t Target
}

func (v *vercel) place(c Credential, t Target) vercelPlace { return vercelPlace{v, c, t} }

// call begins a call about the project's variables.
func (p vercelPlace) call(method, version string, id ...string) call {
	c := call{method: method, cred: p.c, query: p.v.scope(cmp.Or(p.t.Project.Team, p.c.Team))}
	c.path = "/" + version + "/projects/" + segment(p.t.Project.ID) + "/env"
	for _, name := range id {
		c.path += "/" + segment(name)
	}
	return c
}

// List lists the variables that take effect in a target. The values that the list
// leaves out are asked for one by one.
func (v *vercel) List(ctx context.Context, c Credential, t Target) ([]Variable, error) {
	p := v.place(c, t)
	records, err := p.records(ctx)
	if err != nil {
		return nil, err
	}
	all := []Variable{}
	for _, r := range records {
		if r.origin() == FromUser && !r.Decrypted && r.Type != "sensitive" {
			if r, err = p.decrypted(ctx, r); err != nil {
				return nil, err
			}
		}
		all = append(all, r.variable())
	}
	return all, nil
}

// records are the records that serve the target, one for each key.
func (p vercelPlace) records(ctx context.Context) ([]vercelRecord, error) {
	everything, err := p.everything(ctx)
	if err != nil {
		return nil, err
	}
	newest := map[string]vercelRecord{}
	for _, r := range everything {
		if old, twice := newest[r.Key]; r.serves(p.t.Environment) && (!twice || old.UpdatedAt < r.UpdatedAt) {
			newest[r.Key] = r
		}
	}
	// In the list's order, so that each answer looks like the one before it.
	return slices.DeleteFunc(everything, func(r vercelRecord) bool { return newest[r.Key].ID != r.ID }), nil
}

// everything are all records of the project, for all targets and branches.
func (p vercelPlace) everything(ctx context.Context) ([]vercelRecord, error) {
	q := p.call(http.MethodGet, "v10")
	q.query.Set("decrypt", "true")
	var all []vercelRecord
	err := p.v.pages(ctx, q, "until", func(a *answer) (vercelPage, error) {
		records, page, err := p.read(a)
		all = append(all, records...)
		return page, err
	})
	return all, err
}

// read reads a list in each of its three forms: in pages, whole, and as a bare
// record where there is but one.
func (p vercelPlace) read(a *answer) ([]vercelRecord, vercelPage, error) {
	var said struct {
		vercelPage
		Envs   []vercelRecord `json:"envs"`
		Hidden *int           `json:"hiddenProductionEnvCount"`
	}
	if err := a.decode(&said); err != nil {
		return nil, vercelPage{}, err
	}
	page, whole := said.vercelPage, vercelPage{Pagination: &struct {
		Next any `json:"next"`
	}{}}
	if said.Hidden != nil {
		if *said.Hidden > 0 && p.t.Environment.ID == "production" {
			return nil, page, &Failure{Code: CodeForbidden, RequestID: a.requestID()}
		}
		if page.Pagination == nil {
			page = whole
		}
	}
	if said.Envs == nil {
		var one vercelRecord
		if err := a.decode(&one); err != nil {
			return nil, page, err
		}
		said.Envs, page = []vercelRecord{one}, whole
	}
	if slices.ContainsFunc(said.Envs, func(r vercelRecord) bool { return r.ID == "" || r.Key == "" }) {
		return nil, page, a.senseless()
	}
	return said.Envs, page, nil
}

// decrypted is r with its value, as far as the credential may have that. A record
// that is not found is not taken for absent: it was in the list.
func (p vercelPlace) decrypted(ctx context.Context, r vercelRecord) (vercelRecord, error) {
	var one vercelRecord
	a, err := p.v.api.ask(ctx, p.call(http.MethodGet, "v1", r.ID), &one)
	if _, refused := errors.AsType[*Failure](err); refused || errors.Is(err, ErrNotFound) {
		return r, nil
	}
	if err == nil && (one.ID != r.ID || one.Key != r.Key) {
		err = a.senseless()
	}
	if err != nil {
		return r, err
	}
	r.Value, r.Decrypted = one.Value, one.Decrypted
	return r, nil
}
