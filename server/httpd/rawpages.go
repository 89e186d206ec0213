package httpd

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

const rawPath = vaultPath + "/raw/:env"

// Fields of the form with an environment's file.
const baseField = "baseRevision"

// rawPages show one environment as a file. The file itself is only ever in the
// answer to a form that asked for it, which counts as a pull.
func rawPages() []route {
	return []route{
		{method: get, path: rawPath, bucket: inGeneral, run: inVault(raw)},
		{method: post, path: rawPath, bucket: inBulk, run: actInVault(showRaw)},
		{method: get, path: rawPath + "/save", bucket: inGeneral, run: inVault(raw)}, // for who has to sign in between
		{method: post, path: rawPath + "/save", bucket: inGeneral, run: actInVault(saveRaw)},
		{method: post, path: rawPath + "/export", bucket: inBulk, run: actInVault(export)},
	}
}

func raw(x *exchange, v *api.Vault) (web.Page, error) { return x.rawPage(v) }

// rawPage is the page of the environment that the path names, without its file.
func (x *exchange) rawPage(v *api.Vault) (*web.Raw, error) {
	all, err := x.fileEnvironments(v)
	if err != nil {
		return nil, err
	}
	name := x.c.Param("env")
	for _, e := range all {
		if e.Name == name {
			return &web.Raw{Frame: x.frame(), File: e, ReadOnly: x.readOnly(v)}, nil
		}
	}
	return nil, api.Errorf(api.NotFound, "This vault has no environment %q that you may read.", name)
}

// pull is everything in an environment.
func (x *exchange) pull(v *api.Vault, environment string) (*api.Pulled, error) {
	return x.Warden.Pull(x.ctx, x.who, api.PullSecrets{Repo: v.RepoFullName, Environment: environment, Format: api.FormatJSON})
}

// editable is how long a file may be that is edited. What is sealed of it must fit
// into a form, and is longer.
const editable = 600 << 10

// showRaw shows the file.
func showRaw(x *exchange, v *api.Vault, _ url.Values) error {
	p, err := x.rawPage(v)
	if err != nil {
		return err
	}
	pulled, err := x.pull(v, p.File.Name)
	if err != nil {
		return err
	}
	p.Shown, p.Text, p.Base = true, string(warden.WriteEnvFile(pulled.Secrets)), pulled.Revision
	p.TooLong = len(p.Text) > editable
	return x.show(http.StatusOK, p)
}

// saveRaw shows what an edited file would change or, when that was seen, stores it.
func saveRaw(x *exchange, v *api.Vault, form url.Values) error {
	p, err := x.rawPage(v)
	if err != nil {
		return err
	}
	at := preview{environment: p.File.Name, action: p.File.At + "/save", back: p.File.At}
	if form.Has(draftField) {
		return x.storeChosen(v, form, at)
	}
	base, err := strconv.ParseUint(form.Get(baseField), 10, 64)
	if err != nil {
		return api.Errorf(api.BadRequest, "The form does not say what it was made from. Open the file again.")
	}
	text := form.Get("text")
	if !strings.HasSuffix(text, "\n") {
		text += "\n" // without it, it could be read as what a pull writes, which is another dialect
	}
	err = x.lookAt(v, form, text, &base, at, &p.Problems)
	if err == nil {
		return nil
	}
	return x.again(err, form, nil, func(f web.Form) (web.Page, error) {
		p.Form, p.Shown, p.Text, p.Base = f, true, form.Get("text"), base
		return p, nil
	})
}

// export sends an environment as a file to keep.
func export(x *exchange, v *api.Vault, form url.Values) error {
	format := form.Get("format")
	if format != api.FormatEnv && format != api.FormatJSON {
		return api.Errorf(api.BadRequest, "A file can be of the format env or json.")
	}
	p, err := x.rawPage(v)
	if err != nil {
		return err
	}
	pulled, err := x.pull(v, p.File.Name)
	if err != nil {
		return err
	}
	content, contentType := []byte(warden.WriteEnvFile(pulled.Secrets)), textType
	if format == api.FormatJSON {
		contentType = jsonType
		if content, err = json.Marshal(pulled.Secrets, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
			return err
		}
		content = append(content, '\n')
	}
	h := x.w.Header()
	h["Content-Type"] = contentType
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": v.RepoName + "." + p.File.Name + "." + format}))
	x.write(http.StatusOK, content)
	return nil
}
