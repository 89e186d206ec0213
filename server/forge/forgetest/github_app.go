package forgetest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// GitHubApp is an application that is a GitHub App: it has an id and a private
// key besides, and is installed on accounts.
type GitHubApp struct {
	App
	ID          int64
	Permissions map[string]string
	Events      []string
}

// AppInstallation is the App on one account.
type AppInstallation struct {
	ID          int64
	Account     int64
	Permissions map[string]string
	Selected    []int64 // repositories; nil is all of the account
	Suspended   bool
}

// appKey is what an installation's token was made for.
type appKey struct {
	AppInstallation
	asked map[string]string
}

func (k *appKey) has(permission string) bool { return k.asked[permission] != "" }

func (i AppInstallation) covers(r Repo) bool {
	return r.Owner == i.Account && (i.Selected == nil || slices.Contains(i.Selected, r.ID))
}

var appPermissions = map[string]string{"metadata": "read", "members": "read", "contents": "read"}

// githubKey is the App's private key. Making one takes long.
var githubKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// githubSigned are tokens that were signed, by what they say. That takes long as
// well, and in worlds whose time stands still they often say the same.
var githubSigned sync.Map

// Register makes an OAuth application a GitHub App. Its users' tokens end and are
// refreshed.
func (g *GitHub) Register(a App) GitHubApp {
	g.World.SetOAuth(OAuthRules{AccessLife: 8 * time.Hour, RefreshLife: 184 * 24 * time.Hour, SingleUse: true})
	g.App = GitHubApp{
		App: a, ID: g.World.unused(), Permissions: appPermissions,
		Events: []string{"member", "membership", "organization", "repository", "team"},
	}
	return g.App
}

// Install puts the App on an account, or changes what it may do there.
func (g *GitHub) Install(i AppInstallation) {
	g.state.Lock()
	defer g.state.Unlock()
	i.ID = g.World.unused()
	if i.Permissions == nil {
		i.Permissions = appPermissions
	}
	g.installed[i.Account] = &i
}

// Uninstall takes the App from an account, and its tokens with it.
func (g *GitHub) Uninstall(account int64) {
	g.state.Lock()
	defer g.state.Unlock()
	g.installed[account] = nil
}

// Suspend stops the App on an account. Its tokens are turned down.
func (g *GitHub) Suspend(account int64) {
	i, _ := g.on(account)
	i.Suspended = true
	g.state.Lock()
	defer g.state.Unlock()
	g.installed[account] = &i
}

// InstallEverywhere puts the App on every account there is or will be.
func (g *GitHub) InstallEverywhere() { g.everywhere = true }

// InstallOnEnterprise puts the App on an enterprise as well, whose id is one that
// an account may have.
func (g *GitHub) InstallOnEnterprise(id int64) { g.enterprise = id }

// on finds the installation on an account.
func (g *GitHub) on(account int64) (AppInstallation, bool) {
	g.state.Lock()
	defer g.state.Unlock()
	if i, ok := g.installed[account]; ok && i != nil {
		return *i, true
	} else if ok {
		return AppInstallation{}, false // it was taken away
	}
	if _, ok := g.World.Owner(account); !ok || !g.everywhere {
		return AppInstallation{}, false
	}
	return AppInstallation{ID: account + 1_000_000, Account: account, Permissions: appPermissions}, true
}

func (g *GitHub) appOn(account int64) bool {
	i, ok := g.on(account)
	return ok && !i.Suspended
}

func (g *GitHub) appCovers(r Repo) bool {
	i, ok := g.on(r.Owner)
	return ok && !i.Suspended && i.covers(r)
}

// everyInstallation lists them by account: of those everywhere, the accounts that
// own something.
func (g *GitHub) everyInstallation() []AppInstallation {
	g.World.mu.RLock()
	accounts := map[int64]int64{}
	for id := range g.World.orgs {
		accounts[id] = id
	}
	for _, r := range g.World.repos {
		accounts[r.Owner] = r.Owner
	}
	g.World.mu.RUnlock()
	var all []AppInstallation
	for _, account := range sorted(accounts) {
		if i, ok := g.on(account); ok {
			all = append(all, i)
		}
	}
	return all
}

// PrivateKey is the App's private key as GitHub hands it out: PKCS #1 in PEM.
func (g *GitHub) PrivateKey() ([]byte, error) {
	key, err := githubKey()
	if err != nil {
		return nil, fmt.Errorf("forgetest: make a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}

// Sign makes the App's own token.
func (g *GitHub) Sign(issuer string, issued, expires time.Time) (string, error) {
	key, err := githubKey()
	if err != nil {
		return "", fmt.Errorf("forgetest: make a key: %w", err)
	}
	head, err := json.Marshal(object{"alg": "RS256", "typ": "JWT"})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(object{"iss": issuer, "iat": issued.Unix(), "exp": expires.Unix()})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(claims)
	if known, ok := githubSigned.Load(text); ok {
		return known.(string), nil
	}
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	token := text + "." + base64.RawURLEncoding.EncodeToString(signature)
	githubSigned.Store(text, token)
	return token, nil
}

// verifyJWT is as strict as GitHub: not issued in the future, and good for no
// more than ten minutes from now.
func (g *GitHub) verifyJWT(token string) error {
	key, err := githubKey()
	if err != nil {
		return err
	}
	text, signature, _ := cutLast(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(text))
	if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], raw); err != nil {
		return err
	}
	_, payload, _ := strings.Cut(text, ".")
	body, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return err
	}
	var claims struct {
		Iss      string
		Iat, Exp int64
	}
	if err := json.Unmarshal(body, &claims); err != nil {
		return err
	}
	now := g.World.Now()
	issued, expires := time.Unix(claims.Iat, 0), time.Unix(claims.Exp, 0)
	switch {
	case g.App.ID == 0, claims.Iss != g.App.ClientID && claims.Iss != id(g.App.ID):
		return errors.New("integration not found")
	case issued.After(now), !expires.After(now), expires.After(now.Add(10 * time.Minute)):
		return errors.New("the times are wrong")
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// identifyApp is for tokens of installations.
func (c *githubCall) identifyApp() bool {
	c.g.state.Lock()
	k, ok := c.g.issued[c.key.Text]
	c.g.state.Unlock()
	now, still := c.g.on(k.Account)
	if !ok || !still || now.Suspended {
		c.fail(http.StatusUnauthorized, "Bad credentials")
		return false
	}
	k.Selected = now.Selected
	c.app = &k
	return true
}

// mustBeApp refuses everybody but the App itself.
func (c *githubCall) mustBeApp() bool {
	if !c.jwt {
		c.fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
	}
	return c.jwt
}

func (g *GitHub) theApp(c *githubCall) {
	if !c.mustBeApp() {
		return
	}
	now := stamp(g.World.Now())
	c.json(http.StatusOK, object{
		"id": g.App.ID, "slug": "coffer", "client_id": g.App.ClientID, "node_id": "A_1", "owner": g.account(1, "operator", "User"),
		"name": g.App.Name, "description": nil, "external_url": "https://coffer.example", "html_url": g.URL + "/apps/coffer",
		"created_at": now, "updated_at": now, "permissions": g.App.Permissions, "events": g.App.Events,
	})
}

func (g *GitHub) installationJSON(i AppInstallation) object {
	now := stamp(g.World.Now())
	account := g.owner(i.Account)
	selection := "all"
	if i.Selected != nil {
		selection = "selected"
	}
	body := object{
		"id": i.ID, "account": account, "repository_selection": selection, "access_tokens_url": g.at("/app/installations/%d/access_tokens", i.ID),
		"repositories_url": g.at("/installation/repositories"), "html_url": g.URL + "/settings/installations/" + id(i.ID), "app_id": g.App.ID,
		"app_slug": "coffer", "target_id": i.Account, "target_type": account["type"], "permissions": i.Permissions, "events": g.App.Events,
		"created_at": now, "updated_at": now, "single_file_name": nil, "suspended_by": nil, "suspended_at": nil,
	}
	if i.Suspended {
		body["suspended_at"], body["suspended_by"] = now, account
	}
	return body
}

func (g *GitHub) installations(c *githubCall) {
	if !c.mustBeApp() {
		return
	}
	var all []object
	if g.enterprise != 0 {
		i := g.installationJSON(AppInstallation{ID: g.enterprise + 2_000_000, Account: g.enterprise, Permissions: appPermissions})
		now := stamp(g.World.Now())
		i["target_type"] = "Enterprise"
		i["account"] = object{
			"id": g.enterprise, "node_id": "E_1", "name": "The Enterprise", "slug": "enterprise", "html_url": g.URL + "/enterprises/enterprise",
			"created_at": now, "updated_at": now, "avatar_url": g.URL + "/avatars/b/1",
		}
		all = append(all, i)
	}
	for _, i := range g.everyInstallation() {
		all = append(all, g.installationJSON(i))
	}
	githubPages(c, "/app/installations", all, func(o object) any { return o })
}

func (g *GitHub) repoInstallation(c *githubCall) {
	if !c.mustBeApp() {
		return
	}
	r, ok := c.theRepo()
	if !ok {
		return
	}
	i, ok := g.on(r.Owner)
	if !ok || !i.covers(r) {
		c.notFound()
		return
	}
	c.json(http.StatusOK, g.installationJSON(i))
}

func (g *GitHub) accountInstallation(c *githubCall) {
	if !c.mustBeApp() {
		return
	}
	login := c.r.PathValue("login")
	u, _, _ := g.World.UserNamed(login)
	o, _, _ := g.World.OrgNamed(login)
	i, ok := g.on(max(u.ID, o.ID))
	if !ok {
		c.notFound()
		return
	}
	c.json(http.StatusOK, g.installationJSON(i))
}

// newInstallationToken gives no more than the installation was given, and no less
// than was asked for.
func (g *GitHub) newInstallationToken(c *githubCall) {
	if !c.mustBeApp() {
		return
	}
	var asked struct {
		Permissions map[string]string `json:"permissions"`
	}
	if err := json.NewDecoder(c.r.Body).Decode(&asked); err != nil {
		c.fail(http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	all := g.everyInstallation()
	n := slices.IndexFunc(all, func(i AppInstallation) bool { return i.ID == c.pathID("id") })
	switch {
	case n < 0:
		c.notFound()
		return
	case all[n].Suspended:
		c.fail(http.StatusForbidden, "This installation has been suspended")
		return
	}
	k := appKey{all[n], asked.Permissions}
	if k.asked == nil {
		k.asked = k.Permissions
	}
	for name := range k.asked {
		if k.Permissions[name] == "" {
			c.fail(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
			return
		}
	}
	expires := g.World.Now().Add(time.Hour)
	token := g.World.AddToken(Token{Kind: Installation, App: g.App.ClientID, Expires: expires})
	g.state.Lock()
	g.issued[token] = k
	g.state.Unlock()
	c.json(http.StatusCreated, object{
		"token": token, "expires_at": stamp(expires), "permissions": k.asked, "repository_selection": g.installationJSON(k.AppInstallation)["repository_selection"],
	})
}
