package crypto

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestNothingPrintsASecret(t *testing.T) {
	m, i := mustMaster(t), mustIdentity(t)
	r := newRoot(bytes.Repeat([]byte("R"), KeySize))
	defer r.Destroy()
	k := newDataKey((*[KeySize]byte)(bytes.Repeat([]byte("K"), KeySize)))
	s, err := NewSigner("coffer-1", bytes.Repeat([]byte("S"), KeySize))
	if err != nil {
		t.Fatal(err)
	}
	c, n := newChain(bytes.Repeat([]byte("C"), KeySize)), newNotary(bytes.Repeat([]byte("N"), KeySize))
	text := NewSecret("canary-of-text")
	data := NewSecret([]byte("canary-of-data"))

	for name, test := range map[string]struct {
		value any
		field any // the value in an unexported field, where fmt calls no method
		plain string
	}{
		"Master":            {m, struct{ v *Master }{m}, m.id.String()},
		"Master by value":   {*m, struct{ v Master }{*m}, m.id.String()},
		"Identity":          {i, struct{ v *Identity }{i}, i.Reveal()},
		"Identity by value": {*i, struct{ v Identity }{*i}, i.Reveal()},
		"Root":              {r, struct{ v *Root }{r}, strings.Repeat("R", KeySize)},
		"Root by value":     {*r, struct{ v Root }{*r}, strings.Repeat("R", KeySize)},
		"DataKey":           {k, struct{ v *DataKey }{k}, strings.Repeat("K", KeySize)},
		"Signer":            {s, struct{ v *Signer }{s}, strings.Repeat("S", KeySize)},
		"Signer by value":   {*s, struct{ v Signer }{*s}, strings.Repeat("S", KeySize)},
		"Chain":             {c, struct{ v *Chain }{c}, strings.Repeat("C", KeySize)},
		"Chain by value":    {*c, struct{ v Chain }{*c}, strings.Repeat("C", KeySize)},
		"Notary":            {n, struct{ v *Notary }{n}, strings.Repeat("N", KeySize)},
		"Notary by value":   {*n, struct{ v Notary }{*n}, strings.Repeat("N", KeySize)},
		"Secret text":       {text, struct{ v Secret[string] }{text}, "canary-of-text"},
		"Secret bytes":      {data, struct{ v Secret[[]byte] }{data}, "canary-of-data"},
		"pointer to Secret": {&text, struct{ v *Secret[string] }{&text}, "canary-of-text"},
	} {
		for form, out := range printForms(t, test.value) {
			if !strings.Contains(out, redactedText) {
				t.Errorf("%s as %s does not say %s: %s", name, form, redactedText, out)
			}
			checkSilent(t, name+" as "+form, out, test.plain)
		}
		for form, out := range printForms(t, test.field) {
			checkSilent(t, name+" in a field as "+form, out, test.plain)
		}
	}
}

// checkSilent looks for plain as text, as hex and as a list of numbers.
func checkSilent(t *testing.T, what, out, plain string) {
	t.Helper()
	part := plain[len(plain)/2:]
	numbers := strings.Trim(fmt.Sprint([]byte(part)), "[]")
	for _, form := range []string{part, hex.EncodeToString([]byte(part)), numbers, strings.ReplaceAll(numbers, " ", ", ")} {
		if strings.Contains(strings.ToLower(out), strings.ToLower(form)) {
			t.Errorf("%s shows the secret: %s", what, out)
		}
	}
}

// printForms returns v as every way of printing gives it.
func printForms(t *testing.T, v any) map[string]string {
	t.Helper()
	forms := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%20s", "%-5v"} {
		forms[verb] = fmt.Sprintf(verb, v)
	}
	forms["Sprint"] = fmt.Sprint(v)
	forms["nested"] = fmt.Sprintf("%v %+v", []any{v}, map[string]any{"k": v})
	forms["error"] = fmt.Errorf("x: %v", v).Error()
	var logs bytes.Buffer
	slog.New(slog.NewTextHandler(&logs, nil)).Info("x", "v", v)
	forms["slog text"] = logs.String()
	logs.Reset()
	slog.New(slog.NewJSONHandler(&logs, nil)).Info("x", "v", v)
	forms["slog json"] = logs.String()
	data, err := json.Marshal(map[string]any{"v": v, "list": []any{v}})
	if err != nil {
		t.Fatal(err)
	}
	forms["json"] = string(data)
	return forms
}

func TestRedactedTextIsValidInJSON(t *testing.T) {
	data, err := json.Marshal(struct {
		A Secret[string]
		B *Master
		C []Secret[[]byte]
	}{NewSecret("x"), mustMaster(t), []Secret[[]byte]{NewSecret([]byte("y"))}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"A":"[redacted]","B":"[redacted]","C":["[redacted]"]}`; string(data) != want {
		t.Errorf("%s, want %s", data, want)
	}
}

func TestSecretRevealsWhatItHolds(t *testing.T) {
	if NewSecret("x").Reveal() != "x" || string(NewSecret([]byte("y")).Reveal()) != "y" {
		t.Error("another value")
	}
	var text Secret[string]
	var data Secret[[]byte]
	if text.Reveal() != "" || data.Reveal() != nil {
		t.Error("the zero value is not empty")
	}
}
