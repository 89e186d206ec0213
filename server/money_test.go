package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"coffer/server/servertest"
)

// TestNothingSpeaksOfMoneyWhereNobodyPays reads what the API and the command line
// say of themselves, while billing is off.
func TestNothingSpeaksOfMoneyWhereNobodyPays(t *testing.T) {
	in := servertest.New(t)
	get := func(path string) string {
		t.Helper()
		res, err := http.Get(in.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	upgrade := regexp.MustCompile(`(?i)/upgrade\b|stripe\.com|buy |purchase`)
	var document struct{ Servers any }
	text := get("/v1/openapi.json")
	if err := json.Unmarshal([]byte(text), &document); err != nil || document.Servers == nil {
		t.Fatalf("there is no description: %v", err)
	}
	if found := upgrade.FindString(text); found != "" {
		t.Errorf("the description of the API says %q", found)
	}
	if found := upgrade.FindString(get("/errors/plan-limit")); found != "" {
		t.Errorf("the page of the plan's limits says %q", found)
	}
	pages, err := filepath.Glob("cli/testdata/help/*.txt")
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages of help, %v", len(pages), err)
	}
	money := regexp.MustCompile(`(?i)/upgrade\b|stripe|subscri|price|\bpay|invoice`)
	for _, page := range pages {
		help, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if found := money.Find(help); found != nil {
			t.Errorf("%s says %q", page, found)
		}
	}
}
