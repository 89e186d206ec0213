package httpd

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

// Pages that change what the matrix shows.
const (
	setPath    = vaultPath + "/secrets/set"
	renamePath = vaultPath + "/secrets/rename"
	removePath = vaultPath + "/secrets/remove"
	undoPath   = vaultPath + "/secrets/undo"
)

// Fields of their forms. What can be ticked has a field of its own each, as
// environment.NAME and secret.ID.
const (
	keyField         = "key"
	valueField       = "value"
	nameField        = "name"
	environmentField = "environment"
	secretField      = "secret"
	secretsField     = "secrets" // ids, with dots between them
)

func editPages() []route {
	return []route{
		{method: get, path: setPath, bucket: inGeneral, run: inVault(askForValue)},
		{method: post, path: setPath, bucket: inGeneral, run: actInVault(setValue)},
		{method: get, path: renamePath, bucket: inGeneral, run: inVault(askForName)},
		{method: post, path: renamePath, bucket: inGeneral, run: actInVault(renameSecrets)},
		{method: get, path: removePath, bucket: inGeneral, run: inVault(askWhatToRemove)},
		{method: post, path: removePath, bucket: inGeneral, run: actInVault(removeSecrets)},
		{method: post, path: undoPath, bucket: inGeneral, run: actInVault(undo)},
	}
}

// editRequest is what the address of such a page says: what it is about, and where
// at first.
type editRequest struct {
	api.Ref
	Key         string `query:"key"`
	Environment string `query:"environment"`
}

// Check lets a key through that could be one.
func (r editRequest) Check(f *api.Fields) {
	r.Ref.Check(f)
	if r.Key != "" && !api.ValidKey(r.Key) {
		f.Add(keyField, api.InvalidFormat, api.KeyRule)
	}
}

// row is where a key is set: a cell for each environment that the caller may read.
func (x *exchange) row(req *editRequest) ([]warden.MatrixColumn, []warden.MatrixCell, error) {
	m, err := x.Warden.Matrix(x.ctx, x.who, warden.MatrixQuery{Ref: req.Ref, Query: req.Key})
	if err != nil {
		return nil, nil, err
	}
	for _, r := range m.Rows {
		if r.Key == req.Key {
			return m.Columns, r.Cells, nil
		}
	}
	return m.Columns, make([]warden.MatrixCell, len(m.Columns)), nil
}

// ticked are the things of a kind that a form has ticked.
func ticked(form url.Values, kind string) []string {
	var all []string
	for _, field := range slices.Sorted(maps.Keys(form)) {
		if name, ok := strings.CutPrefix(field, kind+"."); ok {
			all = append(all, name)
		}
	}
	return all
}

// withEach does something with one thing after another, and stops where it fails.
// What was done before stays done, and the failure says of how many.
func withEach(all []string, do func(string) error) error {
	for i, one := range all {
		err := do(one)
		e, ok := errors.AsType[*api.Error](err)
		if !ok || i == 0 {
			if err != nil {
				return err
			}
			continue
		}
		told := *e
		told.Message = fmt.Sprintf("%d of %d are done, then this went wrong: %s", i, len(all), e.Message)
		told.Fields = nil
		return &told
	}
	return nil
}

// typed is a text from a field of more than one line. Browsers send line breaks as
// CR LF, whatever was typed or pasted; secrets have them as programs write them.
func typed(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func askForValue(x *exchange, _ *api.Vault) (web.Page, error) {
	req, err := asked[editRequest](x)
	if err != nil {
		return nil, err
	}
	return x.valueForm(req, web.Form{}, []string{req.Environment})
}

// valueForm is the form for a value, with some environments ticked.
func (x *exchange) valueForm(req *editRequest, form web.Form, at []string) (web.Page, error) {
	columns, cells, err := x.row(req)
	if err != nil {
		return nil, err
	}
	p := web.SetValue{Frame: x.frame(), Key: req.Key, Form: form, At: x.r.URL.RequestURI()}
	for i, c := range columns {
		if c.CanWrite {
			p.Choices = append(p.Choices, web.Tick{Field: environmentField + "." + c.Name, Name: c.Name, Type: c.Type,
				There: cells[i].SecretID != "", Ticked: slices.Contains(at, c.Name)})
		}
	}
	return p, nil
}

// setValue gives a key a value in each environment that is ticked.
func setValue(x *exchange, v *api.Vault, form url.Values) error {
	req, err := asked[editRequest](x)
	if err != nil {
		return err
	}
	key := strings.TrimSpace(form.Get(keyField))
	if req.Key != "" {
		key = req.Key
	}
	at := ticked(form, environmentField)
	if err = x.setIn(api.SetSecret{Ref: req.Ref, Key: key, Value: api.NewSecret(typed(form.Get(valueField)))}, at); err == nil {
		x.done(pathOf(v.RepoOwner, v.RepoName)+"#"+key, valueSet)
		return nil
	}
	return x.again(err, form, []string{keyField, valueField}, func(f web.Form) (web.Page, error) {
		return x.valueForm(req, f, at)
	})
}

func (x *exchange) setIn(req api.SetSecret, environments []string) error {
	if len(environments) == 0 {
		return api.Errorf(api.Invalid, "Nothing was changed. Tick the environments that the value is for.")
	}
	return withEach(environments, func(environment string) error {
		req.Environment = environment
		if err := x.check(req); err != nil {
			return err
		}
		_, err := x.Warden.SetSecret(x.ctx, x.who, req)
		return err
	})
}

// chosen is what a form chooses from: one key in the environments where it is set
// and may be changed.
func (x *exchange) chosen(req *editRequest, at func(environment, id string) bool) ([]web.Tick, error) {
	columns, cells, err := x.row(req)
	if err != nil {
		return nil, err
	}
	var all []web.Tick
	there := false
	for i, c := range columns {
		id := cells[i].SecretID
		there = there || id != ""
		if id != "" && c.CanWrite {
			all = append(all, web.Tick{Field: secretField + "." + id, Name: c.Name, Type: c.Type, There: true, Ticked: at(c.Name, id)})
		}
	}
	if !there {
		return nil, api.Errorf(api.NotFound, "This vault has no such secret, or none that you may read. It may be in the trash, or have another name by now.")
	}
	return all, nil
}

// in ticks the environment that the address names, or all.
func (r *editRequest) in(environment, _ string) bool {
	return r.Environment == "" || r.Environment == environment
}

func askForName(x *exchange, _ *api.Vault) (web.Page, error) {
	req, err := asked[editRequest](x)
	if err != nil {
		return nil, err
	}
	return x.nameForm(req, web.Form{Values: map[string]string{nameField: req.Key}}, req.in)
}

func (x *exchange) nameForm(req *editRequest, form web.Form, at func(environment, id string) bool) (web.Page, error) {
	choices, err := x.chosen(req, at)
	if err != nil {
		return nil, err
	}
	return web.Rename{Frame: x.frame(), Key: req.Key, At: x.r.URL.RequestURI(), Choices: choices, Form: form}, nil
}

var errNothingTicked = api.Errorf(api.Invalid, "Nothing was changed. Tick the environments that this is about.")

// renameSecrets gives each secret that is ticked another name.
func renameSecrets(x *exchange, v *api.Vault, form url.Values) error {
	req, err := asked[editRequest](x)
	if err != nil {
		return err
	}
	name, ids := strings.TrimSpace(form.Get(nameField)), ticked(form, secretField)
	err = withEach(ids, func(id string) error {
		change := api.PatchSecret{SecretRef: api.SecretRef{Ref: req.Ref, SecretID: id}, Name: &name}
		if err := x.check(change); err != nil {
			return err
		}
		_, err := x.Warden.PatchSecret(x.ctx, x.who, change)
		return err
	})
	switch {
	case len(ids) == 0:
		err = errNothingTicked
	case err == nil:
		x.done(pathOf(v.RepoOwner, v.RepoName)+"#"+name, secretRenamed)
		return nil
	}
	return x.again(err, form, []string{nameField}, func(f web.Form) (web.Page, error) {
		return x.nameForm(req, f, func(_, id string) bool { return slices.Contains(ids, id) })
	})
}

func askWhatToRemove(x *exchange, _ *api.Vault) (web.Page, error) {
	req, err := asked[editRequest](x)
	if err != nil {
		return nil, err
	}
	return x.removeForm(req, web.Form{}, req.in)
}

func (x *exchange) removeForm(req *editRequest, form web.Form, at func(environment, id string) bool) (web.Page, error) {
	choices, err := x.chosen(req, at)
	if err != nil {
		return nil, err
	}
	return web.Remove{Frame: x.frame(), Key: req.Key, At: x.r.URL.RequestURI(), Choices: choices, Form: form}, nil
}

// removeSecrets moves each secret that is ticked to the trash.
func removeSecrets(x *exchange, v *api.Vault, form url.Values) error {
	req, err := asked[editRequest](x)
	if err != nil {
		return err
	}
	ids := ticked(form, secretField)
	err = withEach(ids, func(id string) error {
		return x.Warden.TrashSecret(x.ctx, x.who, api.SecretRef{Ref: req.Ref, SecretID: id})
	})
	switch {
	case len(ids) == 0:
		err = errNothingTicked
	case err == nil:
		x.done(pathOf(v.RepoOwner, v.RepoName), secretTrashed, ids...)
		return nil
	}
	return x.again(err, form, nil, func(f web.Form) (web.Page, error) {
		return x.removeForm(req, f, func(_, id string) bool { return slices.Contains(ids, id) })
	})
}

// undo takes secrets out of the trash that were just moved there.
func undo(x *exchange, v *api.Vault, form url.Values) error {
	ref, err := asked[api.Ref](x)
	if err != nil {
		return err
	}
	err = withEach(strings.Split(form.Get(secretsField), "."), func(id string) error {
		_, err := x.Warden.RestoreSecret(x.ctx, x.who, api.SecretRef{Ref: *ref, SecretID: id})
		return err
	})
	if err != nil {
		return err
	}
	x.done(pathOf(v.RepoOwner, v.RepoName), secretBack)
	return nil
}
