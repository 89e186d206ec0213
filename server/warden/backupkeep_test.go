package warden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/server/depot"
)

func TestWhichBackupsStay(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) // a Friday
	for what, c := range map[string]struct {
		keep     Keep
		made     string // when, oldest first
		precious string
		gone     string
	}{
		"nothing there":             {Keep{1, 0, 0}, "", "", ""},
		"fewer than may be":         {Keep{3, 0, 0}, "11-19 11-20", "", ""},
		"as many as may be":         {Keep{2, 0, 0}, "11-19 11-20", "", ""},
		"one too many":              {Keep{2, 0, 0}, "11-18 11-19 11-20", "", "11-18"},
		"the only one stays":        {Keep{1, 0, 0}, "01-01", "", ""},
		"gaps do not age":           {Keep{2, 0, 0}, "01-01 01-02 11-20", "", "01-01"},
		"one a day":                 {Keep{1, 3, 0}, "11-17 11-18T01 11-18T02 11-19T01 11-19T02 11-20T01 11-20T02", "", "11-17 11-18T01 11-19T01 11-20T01"},
		"one a week":                {Keep{1, 0, 2}, "11-06 11-13 11-16 11-19 11-20", "", "11-06 11-16 11-19"},
		"days and weeks together":   {Keep{2, 3, 3}, "10-30 11-01 11-08 11-15 11-18 11-19 11-20T01 11-20T02", "", "10-30 11-01"},
		"many by hand in one day":   {Keep{2, 2, 0}, "11-19 11-20T01 11-20T02 11-20T03 11-20T04 11-20T05", "", "11-20T01 11-20T02 11-20T03"},
		"the last good one stays":   {Keep{1, 0, 0}, "11-17 11-18 11-19 11-20", "11-18", "11-17 11-19"},
		"days without one":          {Keep{1, 3, 0}, "03-01 06-01 09-01 11-20", "", "03-01"},
		"the future neither counts": {Keep{1, 0, 0}, "11-19 11-20 12-24 12-25", "", "11-19"},
		"nor leaves nothing":        {Keep{1, 0, 0}, "12-24 12-25", "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			var all []depot.Object
			name := func(when string) depot.Name {
				at, err := time.Parse("2006-01-02T15", "2026-"+when)
				if err != nil {
					at, err = time.Parse("2006-01-02", "2026-"+when)
				}
				if err != nil {
					t.Fatal(err)
				}
				return depot.Name{Instance: "099a8057", At: at}
			}
			words := map[string]string{}
			for _, when := range strings.Fields(c.made) {
				n := name(when)
				words[n.String()] = when
				all = append(all, depot.Object{Name: n})
			}
			precious := ""
			if c.precious != "" {
				precious = name(c.precious).String()
			}
			gone := map[string]bool{}
			for _, o := range c.keep.surplus(all, now, precious) {
				gone[words[o.Name.String()]] = true
			}
			for _, when := range strings.Fields(c.made) {
				if want := strings.Contains(" "+c.gone+" ", " "+when+" "); gone[when] != want {
					t.Errorf("%s goes: %v", when, gone[when])
				}
			}
		})
	}
}

// TestWhatADrillLeftGoes, whatever the directory of the data is called.
func TestWhatADrillLeftGoes(t *testing.T) {
	for _, name := range []string{"data", "data [1]", "*"} {
		dir := filepath.Join(t.TempDir(), name)
		for _, d := range []string{"coffer.drill-1", "other"} {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		w := &Warden{c: Config{Backups: Backups{Scratch: dir}}}
		w.cleanScratch()
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "other" {
			t.Errorf("%s: left are %v, %v", name, left, err)
		}
	}
}
