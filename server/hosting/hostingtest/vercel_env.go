package hostingtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
)

// stepUp refuses to show values to who is to confirm who they are.
func stepUp(r *vercelAsked) *vercelRefusal {
	if !r.token.StepUp {
		return nil
	}
	return refuse(http.StatusForbidden, "challenge_required", "Confirm that it is you.")
}

func (v *Vercel) getRecords(r *vercelAsked) (int, any, *vercelRefusal) {
	p, refusal := v.inScope(r)
	if refusal != nil {
		return 0, nil, refusal
	}
	q := r.URL.Query()
	switch q.Get("decrypt") {
	case "true":
		refusal = stepUp(r)
	case "", "false":
	default:
		refusal = refuse(http.StatusBadRequest, "bad_request", "decrypt is true or false")
	}
	if refusal != nil {
		return 0, nil, refusal
	}
	open := q.Get("decrypt") == "true" && !r.token.Integration
	var all []any
	hidden := 0
	for _, x := range p.records {
		if r.token.Blind && slices.Contains(x.Targets, "production") {
			hidden++
			continue
		}
		one := x.json(open)
		one["securityIssues"] = []any{}
		all = append(all, one)
	}
	all = append([]any{}, all...)
	switch {
	case v.form == VercelBare && len(all) == 1:
		return http.StatusOK, all[0], nil
	case v.form == VercelWhole, r.token.Blind:
		return http.StatusOK, map[string]any{"envs": all, "hiddenProductionEnvCount": hidden}, nil
	}
	page, about := pageOf(v, q, "until", all, 100)
	return http.StatusOK, map[string]any{"envs": page, "pagination": about}, nil
}

func (v *Vercel) getRecord(r *vercelAsked) (int, any, *vercelRefusal) {
	p, x, refusal := v.one(r)
	if refusal == nil {
		refusal = stepUp(r)
	}
	if refusal == nil && p != nil && r.token.Blind && slices.Contains(x.Targets, "production") {
		refusal = refuse(http.StatusForbidden, "NOT_DECRYPTABLE", "Not allowed")
	}
	if refusal != nil {
		return 0, nil, refusal
	}
	return http.StatusOK, x.json(true), nil
}

// one is the record that a path names.
func (v *Vercel) one(r *vercelAsked) (*vercelProject, *VercelRecord, *vercelRefusal) {
	p, refusal := v.inScope(r)
	if refusal != nil {
		return nil, nil, refusal
	}
	if x := p.record(r.PathValue("id")); x != nil {
		return p, x, nil
	}
	return nil, nil, refuse(http.StatusNotFound, "not_found", "The environment variable was not found.")
}

// vercelBody is what a request says of a record. Everything else is refused.
type vercelBody struct {
	Key     *string   `json:"key"`
	Value   *string   `json:"value"`
	Type    *string   `json:"type"`
	Target  *[]string `json:"target"`
	Branch  *string   `json:"gitBranch"`
	Comment *string   `json:"comment"`
	Custom  *[]string `json:"customEnvironmentIds"`
}

// strict reads a body, and refuses what it does not know.
func strict(text []byte, out any) *vercelRefusal {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return refuse(http.StatusBadRequest, "bad_request", "Invalid request: "+err.Error())
	}
	if d.More() {
		return refuse(http.StatusBadRequest, "bad_request", "Invalid request: more than one body")
	}
	return nil
}

func (b vercelBody) onto(r *VercelRecord) {
	for _, field := range []struct{ from, to *string }{{b.Key, &r.Key}, {b.Value, &r.Value}, {b.Type, &r.Type}, {b.Branch, &r.Branch}, {b.Comment, &r.Comment}} {
		if field.from != nil {
			*field.to = *field.from
		}
	}
	if b.Target != nil {
		r.Targets = *b.Target
	}
	if b.Custom != nil {
		r.Custom = *b.Custom
	}
}

func (v *Vercel) postRecords(r *vercelAsked) (int, any, *vercelRefusal) {
	p, refusal := v.inScope(r)
	if refusal != nil {
		return 0, nil, refusal
	}
	text, _ := io.ReadAll(r.Body)
	var bodies []vercelBody
	many := bytes.HasPrefix(bytes.TrimSpace(text), []byte("["))
	if many {
		refusal = strict(text, &bodies)
	} else {
		bodies = make([]vercelBody, 1)
		refusal = strict(text, &bodies[0])
	}
	upsert := r.URL.Query().Get("upsert")
	switch {
	case refusal != nil:
		return 0, nil, refusal
	case len(bodies) == 0 || len(bodies) > vercelMaxPost:
		return 0, nil, refuse(http.StatusBadRequest, "bad_request", "Too many variables at once, or none")
	case upsert != "" && upsert != "true" && upsert != "false":
		return 0, nil, refuse(http.StatusBadRequest, "bad_request", "upsert is true or false")
	case slices.ContainsFunc(bodies, func(b vercelBody) bool { return b.Key == nil || b.Value == nil || b.Type == nil }):
		return 0, nil, refuse(http.StatusBadRequest, "bad_request", "Invalid request: key, value and type are needed")
	}
	created, failed := []any{}, []any{}
	var first *vercelRefusal
	for _, b := range bodies {
		var x VercelRecord
		b.onto(&x)
		made, refusal := v.save(p, &x, upsert == "true")
		if refusal != nil {
			first = firstOf(first, refusal)
			failed = append(failed, map[string]any{"error": refusal.fields})
			continue
		}
		created = append(created, made.json(false))
	}
	switch {
	case len(created) == 0:
		return 0, nil, first
	case many:
		return http.StatusCreated, map[string]any{"created": created, "failed": failed}, nil
	}
	return http.StatusCreated, map[string]any{"created": created[0], "failed": failed}, nil
}

func firstOf(a, b *vercelRefusal) *vercelRefusal {
	if a != nil {
		return a
	}
	return b
}

func (v *Vercel) patchRecord(r *vercelAsked) (int, any, *vercelRefusal) {
	p, x, refusal := v.one(r)
	if refusal != nil {
		return 0, nil, refusal
	}
	text, _ := io.ReadAll(r.Body)
	var b vercelBody
	if refusal := strict(text, &b); refusal != nil {
		return 0, nil, refusal
	}
	next := *x
	b.onto(&next)
	if refusal := p.wrong(&next); refusal != nil {
		return 0, nil, refusal
	}
	if x.Type == "sensitive" && next.Type != "sensitive" {
		return 0, nil, refuse(http.StatusBadRequest, "bad_request", "A sensitive variable stays so")
	}
	if refusal := v.promote(p, &next); refusal != nil {
		return 0, nil, refusal
	}
	for _, o := range p.records {
		if o != x && next.overlaps(o) {
			return 0, nil, refuse(http.StatusBadRequest, "ENV_CONFLICT", "A variable already exists for the target").with("envVarKey", next.Key)
		}
	}
	next.UpdatedAt = v.tick()
	*x = next
	return http.StatusOK, x.json(false), nil
}

func (v *Vercel) deleteRecord(r *vercelAsked) (int, any, *vercelRefusal) {
	p, x, refusal := v.one(r)
	if refusal != nil {
		return 0, nil, refusal
	}
	p.drop(x.ID)
	return http.StatusOK, x.json(false), nil
}

func (v *Vercel) deleteRecords(r *vercelAsked) (int, any, *vercelRefusal) {
	p, refusal := v.inScope(r)
	if refusal != nil {
		return 0, nil, refusal
	}
	text, _ := io.ReadAll(r.Body)
	var b struct {
		IDs []string `json:"ids"`
	}
	if refusal := strict(text, &b); refusal != nil {
		return 0, nil, refusal
	}
	if len(b.IDs) == 0 || len(b.IDs) > vercelMaxDelete {
		return 0, nil, refuse(http.StatusBadRequest, "bad_request", "Between 1 and 1000 ids")
	}
	dropped := []string{}
	for _, id := range b.IDs {
		if p.drop(id) {
			dropped = append(dropped, id)
		}
	}
	return http.StatusOK, map[string]any{"deleted": len(dropped), "ids": dropped}, nil
}
