package httpd

import (
	"coffer/server/access"
	"coffer/server/api"
	"coffer/web"
)

const healthPath = operatorPath + "/health"

// healthPage shows what the server finds when it examines itself. It asks nobody else
// unless somebody wants that, because a code host that hangs would keep them waiting.
func healthPage(x *exchange) (web.Page, error) {
	req, err := asked[api.Examine](x)
	if err != nil {
		return nil, err
	}
	if err := x.gate.Admit(x.ctx, x.who, access.Doctor, ""); err != nil {
		return nil, err
	}
	full := x.r.URL.Query().Get("full") == "true"
	r := x.Examine(x.ctx, !full && !req.Quick)
	p := web.Health{Frame: x.frame(), Tabs: x.operatorTabs(), At: r.At.Time, Full: full, Problems: r.Problems, Warnings: r.Warnings}
	for _, d := range append(r.Troubles(), r.Fine()...) {
		p.Findings = append(p.Findings, web.HealthFinding{Area: d.Area, Level: d.Level, Text: d.Text, Next: d.Next})
	}
	return p, nil
}
