package httpd

import (
	"fmt"
	"net/http"
	"net/url"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

func comparePages() []route {
	return []route{
		{method: get, path: vaultPath + "/compare", bucket: inGeneral, run: screen(compare)},
	}
}

// compareRequest is what the address of a comparison says: an environment on each
// side, and when, if not now.
type compareRequest struct {
	api.Ref
	Left    string `query:"left"`
	At      string `query:"at"`
	Right   string `query:"right"`
	RightAt string `query:"rightAt"`
}

var compareFields = []string{"left", "at", "right", "rightAt"}

// compare shows by key how two environments differ, or two states of one. What
// cannot be compared is said above the form that asks for it.
func compare(x *exchange) error {
	if err := x.known(); err != nil {
		return err
	}
	if err := x.enterVault(); err != nil {
		return err
	}
	req, err := asked[compareRequest](x)
	if err != nil {
		return err
	}
	req.fill(x.vault.EnvironmentDetails)
	p := web.Compare{Frame: x.frame(), Form: web.Form{Values: map[string]string{
		"left": req.Left, "at": req.At, "right": req.Right, "rightAt": req.RightAt,
	}}}
	for _, e := range x.vault.EnvironmentDetails {
		p.Environments = append(p.Environments, e.Name)
	}
	if req.Left == "" {
		return x.show(http.StatusOK, p) // there is none
	}
	if err = x.compare(req, &p); err == nil {
		return x.show(http.StatusOK, p)
	}
	return x.again(err, x.r.URL.Query(), nil, func(f web.Form) (web.Page, error) {
		p.Form.Problem, p.Form.Problems = f.Problem, f.Problems
		if len(f.Problems) > 0 {
			p.Form.Problem = ""
		}
		return p, nil
	})
}

// fill chooses what to compare where the address does not: the first two
// environments, or now where one is on both sides.
func (r *compareRequest) fill(there []api.EnvironmentDetail) {
	if r.Left == "" && len(there) > 0 {
		r.Left = there[0].Name
	}
	if r.Right == "" {
		r.Right = r.Left
		if r.At == "" && r.RightAt == "" {
			for _, e := range there {
				if e.Name != r.Left {
					r.Right = e.Name
					return
				}
			}
		}
	}
}

func (x *exchange) compare(req *compareRequest, p *web.Compare) error {
	left, err := readMoment("at", req.At)
	if err != nil {
		return err
	}
	right, err := readMoment("rightAt", req.RightAt)
	if err != nil {
		return err
	}
	c, err := x.Warden.Compare(x.ctx, x.who, warden.CompareQuery{Ref: req.Ref,
		Left:  warden.Side{Environment: req.Left, Revision: left.revision, At: left.at, Field: "at"},
		Right: warden.Side{Environment: req.Right, Revision: right.revision, At: right.at, Field: "rightAt"},
	})
	if err != nil {
		return err
	}
	p.Left = web.ComparedSide{Name: sideName(req.Left, req.At, c.Left), At: left.at, Incomplete: c.Left.Incomplete}
	p.Right = web.ComparedSide{Name: sideName(req.Right, req.RightAt, c.Right), At: right.at, Incomplete: c.Right.Incomplete}
	p.Compared = true
	p.OnlyLeft, p.OnlyRight, p.Different, p.Same = c.OnlyLeft, c.OnlyRight, c.Different, c.Same
	p.Swap = comparison(p.Inside.At, req.Right, req.RightAt, req.Left, req.At)
	return nil
}

func sideName(environment, at string, c warden.Compared) string {
	if at == "" {
		return environment + " now"
	}
	return fmt.Sprintf("%s at revision %d", environment, c.Revision)
}

// comparison is the address of a comparison inside the vault at a path.
func comparison(vault, left, at, right, rightAt string) string {
	q := make(url.Values)
	for i, value := range []string{left, at, right, rightAt} {
		if value != "" {
			q.Set(compareFields[i], value)
		}
	}
	return withQuery(vault+"/compare", q)
}
