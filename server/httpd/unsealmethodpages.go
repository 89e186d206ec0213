package httpd

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"coffer/server/api"
	"coffer/web"
)

const unsealMethodsPath = operatorPath + "/keys"

// unsealMethodPages are about what opens the server.
func unsealMethodPages() []route {
	return []route{
		{method: get, path: unsealMethodsPath, bucket: inGeneral, run: signedIn(unsealMethodsPage)},
		{method: post, path: unsealMethodsPath, bucket: inGeneral, run: act(throttled(addUnsealMethod))},
		{method: post, path: unsealMethodsPath + "/:id/remove", bucket: inGeneral, run: act(throttled(removeUnsealMethod))},
		{method: post, path: unsealMethodsPath + "/file", bucket: inGeneral, run: screen(downloadMade)},
	}
}

// throttled has the throttle of those who try a key.
func throttled(do func(*exchange, url.Values) error) func(*exchange, url.Values) error {
	return func(x *exchange, form url.Values) error {
		if err := x.enterThrottle(); err != nil {
			return err
		}
		defer x.unseals.leave()
		return do(x, form)
	}
}

// spentForms remembers which forms have made a key, so that a page that is loaded
// again makes no other. A restart forgets them, and no harm is done.
type spentForms struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

func (s *spentForms) has(once string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, spent := s.seen[once]
	return spent
}

func (s *spentForms) add(once string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = make(map[string]time.Time)
	}
	for other, at := range s.seen {
		if now.Sub(at) > 24*time.Hour {
			delete(s.seen, other)
		}
	}
	s.seen[once] = now
}

func unsealMethodsPage(x *exchange) (web.Page, error) { return x.unsealMethods(nil, "") }

func (x *exchange) unsealMethods(forms map[string]web.Form, problem string) (web.Page, error) {
	all, err := x.Warden.UnsealMethods(x.ctx, x.who, api.Empty{})
	if err != nil {
		return nil, err
	}
	p := web.UnsealMethods{Frame: x.frame(), Tabs: x.operatorTabs(), Forms: forms, Problem: problem, Once: rand.Text()}
	if p.Master, err = x.masterKey(forms, p.Once); err != nil {
		return nil, err
	}
	recovery := 0
	for _, m := range all {
		if m.Kind == api.MethodRecovery {
			recovery++
		}
		p.Rows = append(p.Rows, shownOperatorMethod(m))
	}
	for i := range p.Rows {
		p.Rows[i].Last = len(all) == 1
		p.Rows[i].LastRecovery = recovery == 1 && p.Rows[i].Kind == api.MethodRecovery
	}
	return p, nil
}

func shownOperatorMethod(m api.OperatorUnsealMethod) web.OperatorMethod {
	return web.OperatorMethod{
		UnsealMethod: shownUnsealMethod(m.UnsealMethod), ID: m.ID, Label: m.Label, KeyFile: m.KeyFile, Plugin: m.Plugin,
		ProtectsFrom: m.ProtectsFrom, NotFrom: m.DoesNotProtectFrom,
	}
}

// proofIn is the way to unseal that a form shows, by how its text looks; nil for
// none.
func proofIn(form url.Values) *api.Unseal {
	text := strings.TrimSpace(form.Get("proof"))
	if text == "" {
		return nil
	}
	u := unsealText(text)
	return &u
}

// unsealText is a passphrase, a key or shares.
func unsealText(text string) api.Unseal {
	s := api.NewSecret(text)
	switch {
	case looksLikeShare(text):
		return api.Unseal{Share: &s}
	case strings.Contains(strings.ToUpper(text), "AGE-SECRET-KEY-"):
		return api.Unseal{Key: &s}
	default:
		return api.Unseal{Passphrase: &s}
	}
}

var sharePattern = regexp.MustCompile(`(?i)coffer[-\s]*share`)

func looksLikeShare(text string) bool { return sharePattern.MatchString(text) }

func addUnsealMethod(x *exchange, form url.Values) error {
	kind, once := form.Get("kind"), form.Get("once")
	if n := len(once); n == 0 || n > maxOnce || kind == api.MethodPlugin {
		return errNoDeed
	}
	if x.made.has(once) {
		return api.Errorf(api.Conflict, "This form made a key already, and that is not shown again. If it was not saved, remove it and make another.")
	}
	req, err := newMethodOf(form, kind)
	if err == nil {
		err = x.check(req)
	}
	var made *api.AddedUnsealMethod
	if err == nil {
		made, err = x.Warden.AddUnsealMethod(x.ctx, x.who, req)
	}
	if err != nil {
		return x.again(err, form, []string{"label", "keyFile", "threshold", "total"}, func(f web.Form) (web.Page, error) {
			return x.unsealMethods(map[string]web.Form{kind: f}, "")
		})
	}
	x.made.add(once, x.Now())
	if made.Key == nil && len(made.Shares) == 0 {
		x.done(unsealMethodsPath, unsealMethodAdded)
		return nil
	}
	p := web.MadeUnsealMethod{Frame: x.frame(), Tabs: x.operatorTabs(), Method: shownOperatorMethod(made.OperatorUnsealMethod)}
	if made.Key != nil {
		p.Key = string(*made.Key)
	}
	for i, s := range made.Shares {
		p.Shares = append(p.Shares, web.MadeShare{Number: i + 1, Text: string(s)})
	}
	return x.show(http.StatusOK, p)
}

// newMethodOf is the request that one of the forms makes.
func newMethodOf(form url.Values, kind string) (api.AddUnsealMethod, error) {
	req := api.AddUnsealMethod{Kind: kind, Label: strings.TrimSpace(form.Get("label")), KeyFile: strings.TrimSpace(form.Get("keyFile")), Proof: proofIn(form)}
	switch kind {
	case api.MethodPassphrase:
		passphrase := api.NewSecret(form.Get("passphrase"))
		req.Passphrase = &passphrase
		return req, twice(form, "passphrase")
	case api.MethodShares:
		// What is no number is none of those that are possible.
		req.Threshold, _ = strconv.Atoi(strings.TrimSpace(form.Get("threshold")))
		req.Total, _ = strconv.Atoi(strings.TrimSpace(form.Get("total")))
	}
	return req, nil
}

func removeUnsealMethod(x *exchange, form url.Values) error {
	ref, err := asked[api.IDRef](x)
	if err != nil {
		return err
	}
	var gone *api.RemovedUnsealMethod
	err = confirmed(form, "remove")
	if err == nil {
		gone, err = x.Warden.RemoveUnsealMethod(x.ctx, x.who, api.RemoveUnsealMethod{ID: ref.ID, Proof: proofIn(form)})
	}
	if err != nil {
		return x.again(err, form, nil, func(f web.Form) (web.Page, error) {
			problem := f.Problem
			if text := f.Problems["confirm"]; text != "" {
				problem = text
			}
			return x.unsealMethods(nil, problem)
		})
	}
	said := unsealMethodRemoved
	if gone.Warning != "" {
		said = lastRecoveryRemoved
	}
	x.done(unsealMethodsPath, said)
	return nil
}

var madeForms = map[string]struct {
	form       *regexp.Regexp
	file, head string
}{
	api.MethodRecovery: {recoveryForm, "coffer-recovery-key.txt", ""},
	api.MethodKeyFile:  {recoveryForm, "coffer.key", "# coffer key\n# whoever has this file can unseal; keep it apart from the data\n"},
	api.MethodShares: {regexp.MustCompile(`^COFFER-SHARE-1(-[0-9A-Z]{6}){14}$`), "coffer-share.txt",
		"# A share of a key of a coffer server. It takes more than one.\n# To unseal: coffer unseal\n"},
}

// downloadMade gives a key or a share back as a file. It comes from the page that
// shows it: the server has it no longer.
func downloadMade(x *exchange) error {
	if err := x.ours(); err != nil {
		return err
	}
	if err := x.known(); err != nil {
		return err
	}
	form, err := x.form()
	if err != nil {
		return err
	}
	made, ok := madeForms[form.Get("kind")]
	text := form.Get("text")
	if !ok || !made.form.MatchString(text) {
		return api.Errorf(api.BadRequest, "This is no key. Go back and copy it from the page.")
	}
	body := []byte(made.head + text + "\n")
	if made.head == "" {
		body = recoveryFile(x.PublicURL, text)
	}
	h := x.w.Header()
	h["Content-Type"] = textType
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", made.file))
	x.write(http.StatusOK, body)
	return nil
}
