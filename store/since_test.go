package store

import "testing"

// TestCountingLooksNoFurtherThanItMay: neither behind an instant nor past so many
// records, and says which.
func TestCountingLooksNoFurtherThanItMay(t *testing.T) {
	s := openLog(t, openDB(t))
	var all []Activity
	for i := range 10 {
		all = append(all, Activity{ID: id(byte(20 + i)), Action: "secrets_pushed", At: Millis(i), Actor: id(2), Vault: id(3), Metadata: map[string]any{"dryRun": i == 9}})
	}
	appendTo(t, s, all...)
	for _, tt := range []struct {
		since Millis
		most  int
		seen  int
		cut   bool
	}{{0, 10, 10, false}, {0, 9, 9, true}, {4, 6, 6, false}, {4, 5, 5, true}, {10, 1, 0, false}, {0, 0, 0, true}} {
		for list, each := range map[string]func(Reader, func(Deed)) (bool, error){
			"user":  func(r Reader, fn func(Deed)) (bool, error) { return r.EachDeedOf(id(2), tt.since, tt.most, fn) },
			"vault": func(r Reader, fn func(Deed)) (bool, error) { return r.EachDeedIn(id(3), tt.since, tt.most, fn) },
		} {
			var seen []Deed
			must(t, s.View(ctx, func(r Reader) error {
				cut, err := each(r, func(d Deed) { seen = append(seen, d) })
				if cut != tt.cut {
					t.Errorf("%s since %d, at most %d: cut %v", list, tt.since, tt.most, cut)
				}
				return err
			}))
			if len(seen) != tt.seen {
				t.Errorf("%s since %d, at most %d: saw %d", list, tt.since, tt.most, len(seen))
			}
			if len(seen) > 0 && (seen[0].At != 9 || seen[0].Action != "secrets_pushed" || !seen[0].Metadata.DryRun) {
				t.Errorf("%s: the newest is %+v", list, seen[0])
			}
		}
	}
}
