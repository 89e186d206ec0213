package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/dotenv"
)

// pushing is one push under way.
type pushing struct {
	pushOptions
	entries []dotenv.Entry
	client  *client.Client
	out     *console

	looked bool
	known  *agreement // what is remembered, or nil
	base   marks      // what a change is told by
}

// mostRaces is how often a push looks again when somebody else was faster.
const mostRaces = 5

// run looks, settles and sends. Every push names the revision it looked at, so
// that a change made in between is never overwritten unseen: then it looks again.
func (p *pushing) run(ctx context.Context) error {
	for range mostRaces {
		stop := p.out.working("Comparing")
		theirs, pulled, err := pullValues(ctx, p.client, p.place)
		stop()
		if errors.Is(err, &api.Error{Code: api.Forbidden}) && !p.dryRun {
			return p.sendUnseen(ctx)
		}
		if err != nil {
			return err
		}
		s := p.sides(theirs, pulled.Revision)
		m, undecided, err := p.settle(ctx, s)
		if err != nil {
			return err
		}
		if err := p.review(ctx, s, m); err != nil {
			return err
		}
		pushed, err := p.send(ctx, m.values, pulled.Revision)
		if isRace(err) {
			p.out.note("Somebody changed %s of %s at the same moment. Looking again.", p.environment, p.repo)
			continue
		}
		if err != nil {
			return err
		}
		return p.report(pushed, s, m, undecided)
	}
	return failf(exitConflict, "%s of %s changes faster than it can be looked at. Nothing was pushed. Try again later.", p.environment, p.repo)
}

// isRace reports that the environment is not at the revision that was looked at.
func isRace(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Code == api.Conflict && e.Extra["currentRevision"] != nil
}

// sides are file, vault and what they agreed on. What the first look shows of
// keys that were never agreed on counts as known: a review shows it. What comes
// up later was shown to nobody.
func (p *pushing) sides(theirs map[string]string, revision uint64) sides {
	s := sides{theirs: theirs, mine: exactValues(p.entries, theirs), mark: p.memory.mark, prune: p.prune}
	if !p.looked {
		p.looked = true
		p.known = p.memory.recall(p.place, p.file, revision)
		p.base = p.memory.marksOf(theirs)
		if p.known != nil {
			for key := range s.mine {
				delete(p.base, key)
			}
			maps.Copy(p.base, p.known.Marks)
		}
	}
	s.agreed = p.base
	if p.force {
		s.agreed = p.memory.marksOf(theirs)
		for key := range theirs {
			_, here := s.mine[key]
			if _, reviewed := p.base[key]; !here && !reviewed {
				delete(s.agreed, key) // not even by force goes what nobody was shown
			}
		}
	}
	return s
}

// review shows what goes to the trash, and asks.
func (p *pushing) review(ctx context.Context, s sides, m *meeting) error {
	if !p.prune || p.dryRun {
		return nil
	}
	ch := compare(s.theirs, m.values)
	if len(ch.Deleted) == 0 {
		return nil
	}
	for _, row := range ch.rows("new", "changed", "to the trash") {
		p.out.note("%s  %s", row[0], row[1])
	}
	return p.out.confirm(ctx, "Move to the trash in %s of %s: %d. Go ahead?", p.environment, p.repo, len(ch.Deleted))
}

func (p *pushing) request(values map[string]string) api.PushSecrets {
	req := api.PushSecrets{
		RepoFullName: p.repo, Environment: p.environment, Mode: new(api.ModeMerge), DryRun: p.dryRun,
		Secrets: make(map[string]api.Secret, len(values)),
	}
	if p.prune {
		req.Mode = new(api.ModeReplace)
	}
	for key, value := range values {
		req.Secrets[key] = api.NewSecret(value)
	}
	return req
}

func (p *pushing) send(ctx context.Context, values map[string]string, revision uint64) (*api.Pushed, error) {
	defer p.out.working("Pushing")()
	req := p.request(values)
	base := int(revision)
	req.BaseRevision = &base
	return p.client.Push(ctx, req)
}

// sendUnseen pushes for somebody who may write but not read.
func (p *pushing) sendUnseen(ctx context.Context) error {
	if p.prune {
		err := p.out.confirm(ctx, "You may not read %s of %s, so what would go to the trash cannot be shown. Push all the same?", p.environment, p.repo)
		if err != nil {
			return err
		}
	}
	values := dotenv.Values(p.entries)
	stop := p.out.working("Pushing")
	pushed, err := p.client.Push(ctx, p.request(values))
	stop()
	if err != nil {
		return err
	}
	p.warnAmbiguous(values, nil)
	return p.out.done(pushed, "%s", pushed.Message)
}

// pushReport is what --json shows.
type pushReport struct {
	*api.Pushed
	Kept      []string   `json:"kept,omitempty"`      // as the vault has them
	Conflicts []conflict `json:"conflicts,omitempty"` // of a dry run
}

func (p *pushing) report(pushed *api.Pushed, s sides, m *meeting, undecided []conflict) error {
	r := pushReport{pushed, m.kept, undecided}
	if p.dryRun {
		return p.preview(r)
	}
	p.noteGuarded(s.theirs, m.values)
	p.warnAmbiguous(m.values, s.theirs)
	var agreed marks
	if p.known != nil {
		agreed = p.known.Marks
	}
	p.memory.remember(p.place, p.file, pushed.Revision, s.after(m, agreed))
	if err := p.out.done(r, "%s", pushed.Message); err != nil {
		return err
	}
	if len(m.kept) > 0 {
		p.out.note("Not pushed, because the vault has something newer: %s.\nTo get it: coffer pull%s\nTo push yours all the same: %s --force",
			strings.Join(m.kept, ", "), p.where("-o"), p.command())
	}
	return nil
}

// preview shows what a push would do.
func (p *pushing) preview(r pushReport) error {
	ch := changes{r.Changes.Created, r.Changes.Updated, r.Changes.Deleted, nil}
	rows := ch.rows("new", "changed", "to the trash")
	for _, key := range r.Kept {
		rows = append(rows, []string{"= " + key, "stays: only the vault changed it"})
	}
	for _, c := range r.Conflicts {
		rows = append(rows, []string{"! " + c.Key, "conflict: both sides changed it"})
	}
	if len(rows) == 0 {
		p.out.note("Nothing would change in %s of %s.", p.environment, p.repo)
	}
	return p.out.table(r, rows)
}

// noteGuarded names values that the server takes for what it holds: a line break
// comes back from existing clients as the two characters \n.
func (p *pushing) noteGuarded(theirs, pushed map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(pushed)) {
		held, there := theirs[key]
		if there && held != pushed[key] && dotenv.SameAfterRoundTrip(held, pushed[key]) {
			p.out.note(`%s stays as it is: a push takes \n in it for the line break that the vault holds. To store the two characters: coffer set %s`, key, key)
		}
	}
}

// warnAmbiguous names what was sent in one of two readings.
func (p *pushing) warnAmbiguous(pushed, theirs map[string]string) {
	for _, e := range p.entries {
		value, sent := pushed[e.Key]
		held, there := theirs[e.Key]
		if e.Ambiguous && sent && value == e.Value && !(there && held == value) {
			p.out.note("%s, line %d: the backslashes in %s can be read in two ways. Check what was stored: coffer get %s%s",
				fileName(p.file), e.Line, e.Key, e.Key, p.where(""))
		}
	}
}
