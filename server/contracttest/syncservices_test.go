package contracttest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestServicesAreProjectsOfTheirOwn: Railway's projects have services, and variables
// that those share.
func TestServicesAreProjectsOfTheirOwn(t *testing.T) {
	t.Parallel()
	h, v, _ := connected(t)
	id := h.connect(t, h.ann, "railway")
	a := h.ann.do(t, "GET /v1/integrations/connections/"+id+"/projects", "").ok(200)
	services := map[any]any{}
	list, _ := a.at("data.projects").([]any)
	for _, p := range list {
		one := p.(map[string]any)
		if one["id"] != h.stack {
			t.Errorf("project %v", one)
		}
		services[one["serviceId"]] = []any{one["name"], one["serviceName"], one["linkedRepo"]}
		a.same(`["production","staging"]`, one["environments"])
	}
	if len(list) != 2 {
		t.Errorf("%d projects: %s", len(list), a.raw)
	}
	a.same(`["stack","web","acme/api"]`, services[h.service])

	shared := target{connection: id, project: h.stack, environment: "production"}
	service := shared.at("serviceId=" + h.service)
	h.ann.push(t, v, "production", `{"A":"1","B":"${{shared.A}}"}`, "").ok(200)
	a = h.ann.preview(t, v, service).ok(200)
	a.same(`[["A"],["B"],"reference","unreadable"]`, []any{a.at("data.toCreate"), a.at("data.toSkip"), a.at("data.warnings.1.code"), a.at("data.details.B.reason")})
	h.ann.sync(t, v, service).ok(200)
	holds := func(service string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, h.railway.Held(h.stack, service, "production")); diff != "" {
			t.Errorf("service %q: (-want +got)\n%s", service, diff)
		}
	}
	holds(h.service, map[string]string{"A": "1"})
	holds("", map[string]string{})
	h.ann.sync(t, v, service.at("allowReferences=true")).ok(200)
	holds(h.service, map[string]string{"A": "1", "B": "${{shared.A}}"})
	h.ann.sync(t, v, shared).ok(200)
	holds("", map[string]string{"A": "1"})
	if n := h.railway.Deploys(); n > 0 {
		t.Errorf("it was deployed %d times", n)
	}
	a = h.ann.link(t, v, service).ok(200)
	a.same(quoted(h.service), a.at("data.link.serviceId"))
	a = h.ann.link(t, v, shared).ok(200)
	a.same(`[null,true]`, []any{a.at("data.link.serviceId"), a.at("data.link.isNew")})
	if got := h.ann.preview(t, v, service.at("keywayEnvironment=staging")).ok(200).text("data.providerEnvironment"); got != "staging" {
		t.Errorf("staging goes to %q", got)
	}
	h.ann.preview(t, v, service.at("keywayEnvironment=development")).fails(422, "validation-error", "providerEnvironment:unknown_value")
	h.ann.preview(t, v, shared.at("serviceId=none")).fails(422, "validation-error", "serviceId:unknown_value")
}
