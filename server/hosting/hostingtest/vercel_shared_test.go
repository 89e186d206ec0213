package hostingtest_test

import (
	"context"
	"net/http"
	"testing"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

func TestVercelWritesASharedRecordInOnePlaceOnly(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	w.AddRecord(w.project, hostingtest.VercelRecord{Key: "A", Value: "old", Type: "sensitive", Targets: vercelBoth})
	codes, err := vercelWrite(t, p, c, at, map[string]string{"A": "new"})
	if err != nil || codes["A"] != "" {
		t.Fatal(codes, err)
	}
	w.hold(t, "A", "sensitive new production", "sensitive old preview")
}

func TestVercelTakesASharedRecordOutOfACustomEnvironment(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "canary")
	w.AddRecord(w.project, hostingtest.VercelRecord{Key: "A", Value: "old", Targets: vercelBoth, Custom: []string{at.Environment.ID}})
	w.AddRecord(w.project, hostingtest.VercelRecord{Key: "B", Value: "old", Targets: vercelBoth, Custom: []string{at.Environment.ID}})
	if codes, err := vercelWrite(t, p, c, at, map[string]string{"A": "new"}); err != nil || codes["A"] != "" {
		t.Fatal(codes, err)
	}
	w.hold(t, "A", "encrypted new "+at.Environment.ID, "encrypted old production+preview")
	if codes, err := vercelRemove(t, p, c, at, "B"); err != nil || codes["B"] != "" {
		t.Fatal(codes, err)
	}
	w.hold(t, "B", "encrypted old production+preview")
}

// TestVercelMendsASharedRecord breaks the second half of writing over a shared
// record, in ways that say clearly that nothing was done and in ways that do not.
func TestVercelMendsASharedRecord(t *testing.T) {
	for name, fault := range map[string]standin.Fault{
		"refused": standin.Status(402), "down": standin.Status(503), "broken": standin.Status(500),
	} {
		t.Run(name, func(t *testing.T) {
			w := newVercel(t)
			p, c, at := w.scene(t, "production")
			w.AddRecord(w.project, hostingtest.VercelRecord{Key: "A", Value: "old", Targets: vercelBoth})
			listed := vercelList(t, p, c, at)["A"]
			w.Break("/v10/projects/", vercelOnPost(fault))
			codes := map[string]hosting.Code{}
			err := p.Write(t.Context(), c, at, []hosting.Write{{Key: "A", Value: api.NewSecret("new"), Was: &listed}}, vercelNote(codes))
			if err == nil && codes["A"] == "" {
				t.Error("it says that it was written")
			}
			w.hold(t, "A", "encrypted old production+preview")
			w.Heal()
			if codes, err := vercelWrite(t, p, c, at, map[string]string{"A": "new"}); err != nil || codes["A"] != "" {
				t.Fatal(codes, err)
			}
			w.hold(t, "A", "encrypted new production", "encrypted old preview")
		})
	}
}

// TestVercelBelievesWhatItFindsWritten loses every answer to the second half of
// writing over a shared record, though it was carried out.
func TestVercelBelievesWhatItFindsWritten(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	w.AddRecord(w.project, hostingtest.VercelRecord{Key: "A", Value: "old", Targets: vercelBoth})
	w.Break("/v10/projects/", vercelOnPost(standin.CutOff))
	codes, err := vercelWrite(t, p, c, at, map[string]string{"A": "new"})
	if err != nil || codes["A"] != "" {
		t.Fatal(codes, err)
	}
	w.hold(t, "A", "encrypted new production", "encrypted old preview")
}

func TestVercelMendsWhenTheCallerIsGone(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	w.AddRecord(w.project, hostingtest.VercelRecord{Key: "A", Value: "old", Targets: vercelBoth})
	listed := vercelList(t, p, c, at)["A"]
	ctx, cancel := context.WithCancel(t.Context())
	w.Break("/v10/projects/", vercelOnPost(func(_ *standin.Fake, _ http.ResponseWriter, r *http.Request, _ http.Handler) {
		cancel()
		<-r.Context().Done()
	}))
	codes := map[string]hosting.Code{}
	if err := p.Write(ctx, c, at, []hosting.Write{{Key: "A", Value: api.NewSecret("new"), Was: &listed}}, vercelNote(codes)); err == nil {
		t.Errorf("the run ended without an error, and %v", codes)
	}
	w.hold(t, "A", "encrypted old production+preview")
}

func TestVercelReportsWhatSomebodyElseDid(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	gone := w.AddRecord(w.project, vercelRecord{Key: "GONE", Value: "old", Targets: []string{"production"}})
	shared := w.AddRecord(w.project, vercelRecord{Key: "SHARED", Value: "old", Targets: vercelBoth})
	was := vercelList(t, p, c, at)
	w.RemoveRecord(w.project, gone)
	w.RemoveRecord(w.project, shared)
	w.AddRecord(w.project, vercelRecord{Key: "NEW", Value: "theirs", Targets: vercelBoth})
	var all []hosting.Write
	for _, key := range []string{"GONE", "SHARED", "NEW"} {
		x := hosting.Write{Key: key, Value: api.NewSecret("ours")}
		if v, ok := was[key]; ok {
			x.Was = &v
		}
		all = append(all, x)
	}
	codes := map[string]hosting.Code{}
	if err := p.Write(t.Context(), c, at, all, vercelNote(codes)); err != nil {
		t.Fatal(err)
	}
	if codes["GONE"] != "" || codes["SHARED"] != "" || codes["NEW"] != hosting.CodeConflict {
		t.Errorf("codes %v", codes)
	}
	w.hold(t, "GONE", "encrypted ours production")
	w.hold(t, "SHARED", "encrypted ours production")
	w.hold(t, "NEW", "encrypted theirs production+preview")
}

func TestVercelKeepsWithThePolicyOfATeam(t *testing.T) {
	w := newVercel(t)
	w.MakeSensitive(w.team)
	p, c, at := w.scene(t, "production")
	w.AddRecord(w.project, vercelRecord{Key: "OLD", Value: "old", Targets: []string{"production", "preview", "development"}})
	for range 2 {
		if codes, err := vercelWrite(t, p, c, at, map[string]string{"A": "1", "NEXT_PUBLIC_B": "2"}); err != nil || codes["A"] != "" || codes["NEXT_PUBLIC_B"] != "" {
			t.Fatal(codes, err)
		}
	}
	w.hold(t, "A", "sensitive 1 production")
	w.hold(t, "NEXT_PUBLIC_B", "encrypted 2 production")
	// Such a record may not be changed while it serves development.
	if codes, err := vercelWrite(t, p, c, at, map[string]string{"OLD": "new"}); err != nil || codes["OLD"] != hosting.CodeRefused {
		t.Fatal(codes, err)
	}
	w.hold(t, "OLD", "encrypted old production+preview+development")
}
