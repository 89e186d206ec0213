package hostingtest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// VercelRecord is a variable as Vercel keeps it.
type VercelRecord struct {
	ID, Key, Value string
	Type           string // encrypted, plain, sensitive, secret or system
	Targets        []string
	Custom         []string // ids of environments of the project's own making
	Branch         string
	Comment        string
	Integration    string // id of the configuration that made it, or ""
	Hint           bool   // it is of an integration's store
	UpdatedAt      int64
}

var vercelBuiltIn = []string{"production", "preview", "development"}

const (
	vercelMaxValue   = 64 << 10
	vercelMaxRecords = 1000 // of one environment
	vercelMaxPost    = 100
	vercelMaxDelete  = 1000
)

// vercelReserved are names that Vercel keeps for its functions.
var vercelReserved = []string{
	"AWS_SECRET_KEY", "AWS_EXECUTION_ENV", "AWS_LAMBDA_LOG_GROUP_NAME", "AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_FUNCTION_NAME",
	"AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_FUNCTION_VERSION", "NOW_REGION", "TZ", "LAMBDA_TASK_ROOT", "LAMBDA_RUNTIME_DIR",
}

var vercelKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *VercelRecord) places() []string { return slices.Concat(r.Targets, r.Custom) }

func (r *VercelRecord) public() bool { return strings.HasPrefix(r.Key, "NEXT_PUBLIC_") }

// overlaps reports whether two records claim the same place for the same key.
func (r *VercelRecord) overlaps(o *VercelRecord) bool {
	return r.Key == o.Key && r.Branch == o.Branch && slices.ContainsFunc(r.places(), func(p string) bool { return slices.Contains(o.places(), p) })
}

// same reports whether two records claim just the same places.
func (r *VercelRecord) same(o *VercelRecord) bool {
	a, b := r.places(), o.places()
	slices.Sort(a)
	slices.Sort(b)
	return r.Key == o.Key && r.Branch == o.Branch && slices.Equal(a, b)
}

// AddRecord is somebody else's making of a record, whatever the rules say.
func (v *Vercel) AddRecord(project string, r VercelRecord) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	r.ID, r.UpdatedAt = v.id("env-"), v.tick()
	if r.Type == "" {
		r.Type = "encrypted"
	}
	p := v.project(project)
	p.records = append(p.records, &r)
	return r.ID
}

// Change is somebody else's changing of a record.
func (v *Vercel) Change(project, id string, change func(*VercelRecord)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.project(project).record(id)
	change(r)
	r.UpdatedAt = v.tick()
}

// RemoveRecord is somebody else's deleting of a record.
func (v *Vercel) RemoveRecord(project, id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.project(project).drop(id)
}

// Records are copies of a project's records.
func (v *Vercel) Records(project string) []VercelRecord {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []VercelRecord
	for _, r := range v.project(project).records {
		c := *r
		c.Targets, c.Custom = slices.Clone(r.Targets), slices.Clone(r.Custom)
		all = append(all, c)
	}
	return all
}

// Put is somebody else's setting of a variable in one place: they take the place
// out of every other record of the key.
func (v *Vercel) Put(project, place, key, value string) {
	r := VercelRecord{Key: key, Value: value}
	if slices.Contains(vercelBuiltIn, place) {
		r.Targets = []string{place}
	} else {
		r.Custom = []string{place}
	}
	for _, old := range v.Records(project) {
		if old.same(&r) {
			v.Change(project, old.ID, func(o *VercelRecord) { o.Value = value })
			return
		}
	}
	v.Remove(project, place, key)
	v.AddRecord(project, r)
}

// Remove is somebody else's taking a variable away from one place.
func (v *Vercel) Remove(project, place, key string) {
	away := func(n string) bool { return n == place }
	for _, old := range v.Records(project) {
		switch {
		case old.Key != key || old.Branch != "" || !slices.Contains(old.places(), place):
		case len(old.places()) == 1:
			v.RemoveRecord(project, old.ID)
		default:
			v.Change(project, old.ID, func(o *VercelRecord) {
				o.Targets, o.Custom = slices.DeleteFunc(o.Targets, away), slices.DeleteFunc(o.Custom, away)
			})
		}
	}
}

// Held is what users set in a place.
func (v *Vercel) Held(project, place string) map[string]string {
	held := map[string]string{}
	for _, r := range v.Records(project) {
		if slices.Contains(r.places(), place) && r.Branch == "" && r.Integration == "" && !r.Hint && r.Type != "system" {
			held[r.Key] = r.Value
		}
	}
	return held
}

func (p *vercelProject) record(id string) *VercelRecord {
	i := slices.IndexFunc(p.records, func(r *VercelRecord) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return p.records[i]
}

func (p *vercelProject) drop(id string) bool {
	n := len(p.records)
	p.records = slices.DeleteFunc(p.records, func(r *VercelRecord) bool { return r.ID == id })
	return len(p.records) < n
}

// wrong says why a record cannot be, before it is compared with others.
func (p *vercelProject) wrong(r *VercelRecord) *vercelRefusal {
	bad := func(code, message string) *vercelRefusal {
		return refuse(http.StatusBadRequest, code, message).with("key", r.Key).with("envVarKey", r.Key)
	}
	builtIn := func(name string) bool { return slices.Contains(vercelBuiltIn, name) }
	known := func(id string) bool {
		return slices.ContainsFunc(p.custom, func(c vercelCustom) bool { return c.id == id })
	}
	unknown := func(names []string, is func(string) bool) bool {
		return slices.ContainsFunc(names, func(n string) bool { return !is(n) })
	}
	switch {
	case !vercelKey.MatchString(r.Key):
		return bad("KEY_INVALID_CHARACTERS", "The name contains invalid characters.")
	case len(r.Key) > 256:
		return bad("KEY_INVALID_LENGTH", "The name is too long.")
	case strings.HasPrefix(r.Key, "VERCEL_"), strings.HasPrefix(r.Key, "NEXT_PUBLIC_VERCEL_"):
		return bad("KEY_RESERVED", "The name is reserved.")
	case slices.Contains(vercelReserved, r.Key):
		return bad("RESERVED_ENV_VARIABLE", "The name is reserved.")
	case len(r.Value) > vercelMaxValue:
		return bad("VALUE_INVALID_LENGTH", "The value is too long: "+r.Value)
	case !slices.Contains([]string{"system", "encrypted", "plain", "sensitive"}, r.Type):
		return bad("bad_request", "Invalid type")
	case len(r.places()) == 0, unknown(r.Targets, builtIn):
		return bad("bad_request", "Invalid target")
	case unknown(r.Custom, known):
		return bad("ID_NOT_FOUND", "Unknown custom environment")
	case r.Branch != "" && !slices.Equal(r.Targets, []string{"preview"}):
		return bad("bad_request", "A branch needs the target preview")
	case r.Type == "sensitive" && (r.public() || slices.Contains(r.Targets, "development")):
		return bad("bad_request", "It cannot be sensitive")
	case len(r.Comment) > 500:
		return bad("bad_request", "The comment is too long")
	}
	return nil
}

// promote makes a record sensitive where the team's policy wants that.
func (v *Vercel) promote(p *vercelProject, r *VercelRecord) *vercelRefusal {
	team := v.team(p.owner)
	if team == nil || !team.sensitive || r.public() || r.Type == "system" || slices.Equal(r.Targets, []string{"development"}) && len(r.Custom) == 0 {
		return nil
	}
	if slices.Contains(r.Targets, "development") {
		return refuse(http.StatusBadRequest, "bad_request", "The team's policy does not let development share a record")
	}
	r.Type = "sensitive"
	return nil
}

// save puts a record in its place, unless that is another's.
func (v *Vercel) save(p *vercelProject, r *VercelRecord, upsert bool) (*VercelRecord, *vercelRefusal) {
	refusal := p.wrong(r)
	if refusal == nil {
		refusal = v.promote(p, r)
	}
	if refusal != nil {
		return nil, refusal.with("envVarKey", r.Key)
	}
	for _, o := range p.records {
		switch {
		case !r.overlaps(o):
		case !upsert:
			return nil, refuse(http.StatusBadRequest, "ENV_ALREADY_EXISTS", "Another variable with the same name exists").with("envVarKey", r.Key)
		case !r.same(o):
			return nil, refuse(http.StatusBadRequest, "ENV_CONFLICT", "A variable already exists for the target with the value "+o.Value).
				with("envVarKey", r.Key).with("envVarId", o.ID).with("target", r.Targets).with("value", r.Value)
		case o.Type == "sensitive" && r.Type != "sensitive":
			return nil, refuse(http.StatusBadRequest, "bad_request", "A sensitive variable stays so").with("envVarKey", r.Key)
		default:
			o.Value, o.Type, o.UpdatedAt = r.Value, r.Type, v.tick()
			if r.Comment != "" {
				o.Comment = r.Comment
			}
			return o, nil
		}
	}
	for _, place := range r.places() {
		n := 0
		for _, o := range p.records {
			if slices.Contains(o.places(), place) {
				n++
			}
		}
		if n >= vercelMaxRecords {
			return nil, refuse(http.StatusBadRequest, "MAX_ENVS_EXCEEDED", "Too many variables").with("envVarKey", r.Key)
		}
	}
	r.ID, r.UpdatedAt = v.id("env-"), v.tick()
	p.records = append(p.records, r)
	return r, nil
}

// json is the record as an answer shows it. The value is plain only where open
// says so.
func (r *VercelRecord) json(open bool) map[string]any {
	said := map[string]any{
		"id": r.ID, "key": r.Key, "type": r.Type, "value": "", "createdAt": r.UpdatedAt, "updatedAt": r.UpdatedAt, "createdBy": "user_1",
		"customEnvironmentIds": append([]string{}, r.Custom...), "configurationId": nil, "contentHint": nil,
	}
	switch {
	case r.Type == "sensitive":
	case r.Type == "plain", r.Type == "system", open:
		said["value"] = r.Value
	default:
		said["value"] = fmt.Sprintf("eyJ2IjoidjIiLCJj-%x", len(r.Value)) // ciphertext
	}
	if r.Type != "sensitive" {
		said["decrypted"] = open
	}
	switch {
	case len(r.Targets) == 1 && r.UpdatedAt%2 == 0:
		said["target"] = r.Targets[0] // as Vercel does for some
	default:
		said["target"] = append([]string{}, r.Targets...)
	}
	if r.Branch != "" {
		said["gitBranch"] = r.Branch
	}
	if r.Comment != "" {
		said["comment"] = r.Comment
	}
	if r.Integration != "" {
		said["configurationId"] = r.Integration
	}
	if r.Hint {
		said["contentHint"] = map[string]any{"type": "postgres-url", "storeId": "store_1"}
	}
	if r.Type == "system" {
		said["system"] = true
	}
	return said
}
