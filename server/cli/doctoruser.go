package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/client"
)

// How far clocks may be apart, and how soon an end is worth a word.
const (
	clockApart = 2 * time.Minute
	clockWrong = time.Hour
	endsSoon   = 14 * 24 * time.Hour
	loginSoon  = 3 * 24 * time.Hour
)

// userDoctor examines what stands between a user and their secrets.
type userDoctor struct {
	a   *app
	all []api.Diagnosis
}

func (d *userDoctor) say(level, area, text, next string) {
	d.all = append(d.all, api.Diagnosis{Area: area, Level: level, Text: text, Next: next})
}

func (a *app) examineUser(ctx context.Context) *api.Report {
	d := &userDoctor{a: a}
	if c := d.reach(ctx); c != nil {
		d.login(ctx, c)
	}
	return api.NewReport(api.At(time.Now()), d.all)
}

// witness remembers what an answer says beside its content.
type witness struct {
	to   http.RoundTripper
	date time.Time
	tls  *tls.ConnectionState
}

func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := w.to.RoundTrip(r)
	if err == nil {
		w.tls = res.TLS
		if at, wrong := http.ParseTime(res.Header.Get("Date")); wrong == nil {
			w.date = at
		}
	}
	return res, err
}

// reach tries the server, and returns a client for it if there is more to look at.
func (d *userDoctor) reach(ctx context.Context) *client.Client {
	address, err := d.a.address(d.a.credentials())
	if err != nil {
		d.say(api.DiagnosisProblem, "server", "No server is known.", "coffer login URL, or set COFFER_URL and COFFER_TOKEN.")
		return nil
	}
	c := d.a.client(address, "")
	saw := &witness{to: c.Transport}
	if saw.to == nil {
		saw.to = http.DefaultTransport
	}
	c.Transport = saw
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	st, err := c.Status(ctx)
	if err != nil {
		d.say(api.DiagnosisProblem, "server", address+" cannot be reached: "+strings.TrimRight(err.Error(), ".")+".", unreachable(err))
		return nil
	}
	d.connection(address, saw)
	switch mine := programVersion(); {
	case !st.Initialized:
		d.say(api.DiagnosisProblem, "server", address+" is not set up yet.", "Its operator runs: coffer init.")
		return nil
	case st.Sealed:
		d.say(api.DiagnosisProblem, "server", address+" is sealed: nobody reads or writes.", "Its operator runs: coffer unseal.")
		return nil
	case st.Version != mine:
		d.say(api.DiagnosisOK, "server", fmt.Sprintf("%s answers. It runs version %s, this program is %s.", address, st.Version, mine), "")
	default:
		d.say(api.DiagnosisOK, "server", fmt.Sprintf("%s answers, version %s.", address, st.Version), "")
	}
	return c
}

// unreachable is what to do when a server does not answer.
func unreachable(err error) string {
	if _, other := errors.AsType[*client.PinError](err); other {
		return "Ask the operator for the fingerprint that the server logs at its start. If it is this one, sign in with it: coffer login URL#sha256=…"
	}
	if unknown := new(x509.UnknownAuthorityError); errors.As(err, unknown) {
		return "Nobody whom this machine trusts vouches for the certificate: install the authority's certificate, or ask the operator."
	}
	if name := new(x509.HostnameError); errors.As(err, name) {
		return "The certificate is for another name. Use the server's real address: coffer login URL."
	}
	if invalid := new(x509.CertificateInvalidError); errors.As(err, invalid) {
		return "Is the certificate over, or this machine's clock wrong? Ask the operator."
	}
	return "Is the address right, the network there, and the server running? Another address: coffer login URL."
}

// certificate tries the server's address as clients do: whether it leads there, and
// whether they will trust what answers.
func (a *app) certificate(ctx context.Context, address string, through http.RoundTripper) api.Diagnosis {
	c, saw := a.client(address, ""), &witness{to: through}
	c.Transport = saw
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := c.Status(ctx); err != nil && saw.tls == nil {
		return api.Diagnosis{Level: api.DiagnosisProblem, Text: "From this machine, " + address + " cannot be reached as clients do: " + strings.TrimRight(err.Error(), ".") + ".",
			Next: "If clients reach it all the same, the way from here is another one. Else look at the proxy and its certificate: it must name " + hostOf(address) + ", come with its chain, and not be over."}
	}
	if saw.tls == nil || len(saw.tls.PeerCertificates) == 0 {
		return api.Diagnosis{Level: api.DiagnosisProblem, Text: address + " answered without a certificate.", Next: "Look at the proxy, and at public_url."}
	}
	until := saw.tls.PeerCertificates[0].NotAfter
	if left := time.Until(until).Round(time.Hour); left < endsSoon {
		return api.Diagnosis{Level: api.DiagnosisWarning, Text: fmt.Sprintf("The certificate of %s ends on %s, in %s.", address, when(api.At(until)), spanWords(left)), Next: "Renew it, and see why that did not happen by itself."}
	}
	return api.Diagnosis{Level: api.DiagnosisOK, Text: fmt.Sprintf("%s answers as clients reach it, with a certificate that is good until %s.", address, when(api.At(until)))}
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Hostname()
}

// connection looks at how the server was reached, and at the two clocks.
func (d *userDoctor) connection(address string, saw *witness) {
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Scheme == "http" && !isLoopback(u.Host):
		d.say(api.DiagnosisWarning, "network", address+" is not encrypted: whoever is on the way reads the login and the secrets.", "Ask the operator for an https:// address.")
	case saw.tls != nil && len(saw.tls.PeerCertificates) > 0:
		until := saw.tls.PeerCertificates[0].NotAfter
		level, next := api.DiagnosisOK, ""
		if time.Until(until) < endsSoon {
			level, next = api.DiagnosisWarning, "Tell the operator: it is to be renewed."
		}
		d.say(level, "network", "The certificate is good until "+when(api.At(until))+".", next)
	}
	if saw.date.IsZero() {
		return
	}
	apart := time.Since(saw.date)
	text := fmt.Sprintf("This machine's clock and the server's are %s apart.", apart.Abs().Round(time.Second))
	switch {
	case apart.Abs() > clockWrong:
		d.say(api.DiagnosisProblem, "clock", text, "One of them is wrong: set it right (timedatectl).")
	case apart.Abs() > clockApart:
		d.say(api.DiagnosisWarning, "clock", text, "Set the wrong one right (timedatectl).")
	default:
		d.say(api.DiagnosisOK, "clock", "This machine's clock agrees with the server's.", "")
	}
}

// login tries the credential, then what it is for.
func (d *userDoctor) login(ctx context.Context, reached *client.Client) {
	c, err := d.a.connect()
	if err != nil {
		d.say(api.DiagnosisProblem, "login", "You are not signed in to "+reached.URL+".", "coffer login "+reached.URL+", or set COFFER_TOKEN to an API key.")
		return
	}
	user, err := c.ValidateToken(ctx)
	if err != nil {
		d.say(api.DiagnosisProblem, "login", "The credential is refused: "+strings.TrimRight(err.Error(), ".")+".", "coffer login "+c.URL+"; or if COFFER_TOKEN is set, give it another key or unset it.")
		return
	}
	text, level, next := "You are "+user.Username+", signed in "+credentialWords[credentialKind(c.Token)], api.DiagnosisOK, ""
	if until := d.a.stored.ExpiresAt; until != nil {
		text += ", until " + when(*until)
		if time.Until(until.Time) < loginSoon {
			level, next = api.DiagnosisWarning, "It ends soon: coffer login "+c.URL
		}
	}
	d.say(level, "login", text+".", next)
	d.checkout(ctx, c)
}

// checkout looks for the repository and its vault.
func (d *userDoctor) checkout(ctx context.Context, c *client.Client) {
	at, err := d.a.where(ctx)
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n")
		d.say(api.DiagnosisWarning, "checkout", what, sayRepo)
		return
	}
	v, err := c.Vault(ctx, at.repo)
	if api.CodeOf(err) == api.NotFound {
		d.say(api.DiagnosisWarning, "vault", "There is no vault for "+at.repo+", or you have no access to the repository.", "coffer vault create, if you may; else ask for access at the code host.")
		return
	}
	if err != nil {
		d.say(api.DiagnosisProblem, "vault", "The vault of "+at.repo+" cannot be seen: "+strings.TrimRight(err.Error(), ".")+".", "coffer whoami says by which credential you are signed in.")
		return
	}
	text := fmt.Sprintf("%s has a vault with %s and %s", at.repo, counted(len(v.Environments), "environment"), counted(v.SecretCount, "secret"))
	if v.Permission != nil {
		text += "; there you may " + *v.Permission
	}
	d.say(api.DiagnosisOK, "vault", text+".", "")
	d.tracked(ctx)
}

// tracked warns of files with secrets that are in git.
func (d *userDoctor) tracked(ctx context.Context) {
	out, err := exec.CommandContext(ctx, "git", "ls-files", "--", ".env", ".env.*", "**/.env", "**/.env.*").Output()
	if err != nil {
		return
	}
	var files []string
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		ending := path.Ext(file)
		if ending != ".example" && ending != ".sample" && ending != ".template" && ending != ".dist" {
			files = append(files, file)
		}
	}
	if len(files) > 0 {
		d.say(api.DiagnosisWarning, "checkout", "git keeps "+strings.Join(files, ", ")+": everybody who clones the repository has what is in there.",
			"git rm --cached FILE, name it in .gitignore, and give out new values for the secrets in it.")
	}
}
