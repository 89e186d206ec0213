package httpd

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

const importPath = vaultPath + "/import"

// Fields of the forms about files.
const (
	draftField   = "draft"    // the file, sealed; the step after the preview has it
	chosenField  = "secrets." // with a key: it is to be stored
	replaceField = "replace"
)

// importPages take files into vaults: a form asks for the file, a page shows what
// it would change, and the form there stores what was chosen.
func importPages() []route {
	return []route{
		{method: get, path: importPath, bucket: inGeneral, run: inVault(importForm)},
		{method: post, path: importPath, bucket: inGeneral, run: actInVault(importFile)},
	}
}

func importForm(x *exchange, v *api.Vault) (web.Page, error) {
	return x.importPage(v, web.Form{Values: map[string]string{"environment": x.r.URL.Query().Get("environment")}})
}

func (x *exchange) importPage(v *api.Vault, f web.Form) (*web.Import, error) {
	envs, err := x.fileEnvironments(v)
	return &web.Import{Frame: x.frame(), Form: f, Environments: envs, ReadOnly: x.readOnly(v)}, err
}

// fileEnvironments are the environments that the caller may read.
func (x *exchange) fileEnvironments(v *api.Vault) ([]web.FileEnvironment, error) {
	may, err := x.Warden.EffectivePermissions(x.ctx, x.who, refOf(v))
	if err != nil {
		return nil, err
	}
	var all []web.FileEnvironment
	for _, e := range v.EnvironmentDetails {
		all = append(all, web.FileEnvironment{
			Name: e.Name, Type: e.Type, Secrets: e.SecretCount, CanWrite: may.Permissions[e.Name].Write && !v.IsReadOnly,
			At: pathOf(v.RepoOwner, v.RepoName) + "/raw/" + url.PathEscape(e.Name),
		})
	}
	return all, nil
}

// importFile shows what a file would change or, when that was seen, stores it.
func importFile(x *exchange, v *api.Vault, form url.Values) error {
	at := pathOf(v.RepoOwner, v.RepoName) + "/import"
	environment := form.Get("environment")
	if form.Has(draftField) {
		return x.storeChosen(v, form, preview{environment: environment, action: at, back: at})
	}
	text := form.Get("file")
	if text == "" {
		text = form.Get("text")
	}
	var problems []web.EnvProblem
	err := x.lookAt(v, form, text, nil, preview{environment: environment, action: at, back: at}, &problems)
	if err == nil {
		return nil
	}
	return x.again(err, form, []string{"environment"}, func(f web.Form) (web.Page, error) {
		p, err := x.importPage(v, f)
		if form.Get("file") == "" {
			p.Text = text // somebody is about to correct it
		}
		p.Problems = problems
		return p, err
	})
}

// preview is a page that shows what a file would change.
type preview struct {
	environment  string
	action, back string // as in web.ImportPreview
}

// lookAt shows what a text would change. When it cannot be read that is an error,
// and problems says where.
func (x *exchange) lookAt(v *api.Vault, form url.Values, text string, edited *uint64, at preview, problems *[]web.EnvProblem) error {
	if text == "" && edited == nil {
		form.Set("text", "")
		return api.InvalidField("text", api.Required, "Paste the content of a file, or choose a file.")
	}
	p, err := x.Warden.PreviewImport(x.ctx, x.who, warden.ImportFile{
		Ref: refOf(v), Environment: at.environment, Text: api.NewSecret(text), Edited: edited,
	})
	if err != nil {
		return err
	}
	if p.Unread || edited != nil && p.LeftOut > 0 {
		*problems = shownProblems(p.Problems)
		return api.Errorf(api.Invalid, "Nothing was stored. Correct the lines that are named, and send it again.")
	}
	if err := fitsForm(p); err != nil {
		return err
	}
	return x.show(http.StatusOK, x.previewPage(v, p, at, web.Form{}, nil))
}

// fitsForm refuses a file that the next form would be too long with.
func fitsForm(p *warden.ImportPreview) error {
	const around = 1 << 10 // its other fields
	size := around + p.Draft.Len()
	for _, r := range p.Rows {
		size += len(chosenField) + len(r.Key) + len("=on&")
	}
	if size <= api.MaxBody {
		return nil
	}
	return api.Errorf(api.TooLarge, "The file holds too much to be looked at before it is stored: its keys and values may have about 700 KiB together. Import it in parts, or push it from the command line.")
}

// previewPage is the page with what was chosen on it before, or else with what
// nobody needs to think about.
func (x *exchange) previewPage(v *api.Vault, p *warden.ImportPreview, at preview, f web.Form, chosen url.Values) web.ImportPreview {
	calm := len(p.Changed) == 0 && !p.Forgotten
	page := web.ImportPreview{
		Frame: x.frame(), Form: f, Environment: p.Environment, Action: at.action, Back: at.back, Draft: p.Draft.Reveal(),
		Problems: shownProblems(p.Problems), Missing: p.Missing, Changed: p.Changed, Forgotten: p.Forgotten,
		LeftOut: p.LeftOut, Edited: p.Edited, Replace: calm && (chosen == nil && p.Edited || chosen.Has(replaceField)),
	}
	for _, e := range v.EnvironmentDetails {
		if e.Name == p.Environment {
			page.Type = e.Type
		}
	}
	for _, r := range p.Rows {
		name := chosenField + r.Key
		page.Rows = append(page.Rows, web.ImportRow{
			Key: r.Key, Line: r.Line, Change: string(r.Change), Stale: r.Stale, Field: f.Field(name),
			Ticked: !r.Stale && !p.Forgotten && (chosen == nil || chosen.Has(name)),
		})
	}
	return page
}

func shownProblems(all []warden.EnvProblem) []web.EnvProblem {
	var shown []web.EnvProblem
	for _, p := range all {
		shown = append(shown, web.EnvProblem{Line: p.Line, Text: p.Text})
	}
	return shown
}

// storeChosen stores what was chosen of a file. When that fails, it shows the file
// against the environment as it is by now.
func (x *exchange) storeChosen(v *api.Vault, form url.Values, at preview) error {
	draft := warden.ImportDraft{Ref: refOf(v), Environment: at.environment, Draft: api.NewSecret(form.Get(draftField))}
	_, err := x.Warden.Import(x.ctx, x.who, warden.ImportChoice{ImportDraft: draft, Keys: chosenKeys(form), Replace: form.Has(replaceField)})
	if err == nil {
		x.done(pathOf(v.RepoOwner, v.RepoName), fileImported)
		return nil
	}
	if api.CodeOf(err) == api.Conflict {
		err = api.Errorf(api.Conflict, "Somebody changed %s while you looked, so nothing was stored. This is what would change now.", at.environment)
	}
	return x.again(err, form, nil, func(f web.Form) (web.Page, error) {
		p, err := x.Warden.ReviewImport(x.ctx, x.who, draft)
		if err != nil {
			return nil, err
		}
		return x.previewPage(v, p, at, f, form), nil
	})
}

func chosenKeys(form url.Values) []string {
	var keys []string
	for name := range form {
		if key, ok := strings.CutPrefix(name, chosenField); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
