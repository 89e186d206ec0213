package forgetest_test

import (
	"slices"
	"testing"
	"time"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
)

type mutant struct {
	around func(*plainClient) forge.Forge
	rules  []string // that do not hold for it, among others
}

// mutants are clients of the plain host which are broken on purpose, in each way
// that a rule is there for.
func mutants() map[string]mutant {
	return map[string]mutant{
		"asks once only": {via(askOnce), []string{"what fails once is asked again"}},
		"takes failures for absence": {via(failuresAreAbsence), []string{
			"what the host spoils is no answer, at whichever request", "a list whose page fails is an error",
		}},
		"takes failures for the end of a grant": {via(failuresAreRefusals), []string{"a host that fails does not end a grant"}},
		"takes half a list for all of it": {func(c *plainClient) forge.Forge { return partial{c} }, []string{
			"what the host spoils is no answer, at whichever request", "a list whose page fails is an error",
		}},
		"follows redirects":          {follow, []string{"a redirect to another host is not followed", "what the host spoils is no answer, at whichever request"}},
		"puts tokens into addresses": {via(tokenInAddress), []string{"a repository is found by name in any case", "many may ask at once"}},
		"waits for ever":             {via(waitForEver), []string{"a host that hangs is unavailable in time", "who gives up is not kept waiting"}},
		"tells tokens":               {func(c *plainClient) forge.Forge { return telling{c} }, []string{"a token that ended answers nothing"}},
		"remembers roles for ever": {func(c *plainClient) forge.Forge { return remembering{c, map[string]forge.Reachable{}} }, []string{
			"a blocked user has no role", "a deleted user has no role", "a member who left has no role", "a role that was taken away is gone",
		}},
		"lets nobody in": {func(c *plainClient) forge.Forge { return nobody{c} }, []string{
			"a collaborator has the role they were given", "a member of a team has the team's role", "a recycled login loses nothing of its own",
			"an answer about a role carries the repository of today", "an organization's base role is every member's", "many may ask at once",
			"owners are admin of what is theirs", "reading what is internal counts for who was let in",
			"reading what is public counts for who was let in", "the highest of several roles counts",
		}},
		"lets everybody in": {func(c *plainClient) forge.Forge { return everybody{c} }, []string{
			"outsiders have no role, not even on what is public", "seeing a repository is no role",
			"signed-in outsiders have no role on what is internal",
		}},
		"knows no owners": {func(c *plainClient) forge.Forge { return ownerless{c} }, []string{
			"a repository tells its owner and visibility", "internal is not public", "what a hidden organization has is not public",
		}},
		"knows people by name": {func(c *plainClient) forge.Forge { return named{c} }, []string{"a recycled login gains nothing"}},
		"finds everything":     {func(c *plainClient) forge.Forge { return finding{c} }, []string{"what never was is not found", "who may not see a repository does not find it"}},
		"believes every token": {func(c *plainClient) forge.Forge { return believing{c} }, []string{
			"a machine's token is turned down", "a personal access token is its user's", "a revoked token is turned down",
			"a token of a blocked or deleted user is turned down", "a token of another application is turned down",
			"a token of our application is its user's", "an expired token is turned down", "an unknown token is turned down",
		}},
		"forgets what is missing": {func(c *plainClient) forge.Forge { return vague{c} }, []string{"a grant without the scopes we need names them", "a missing scope is named"}},
		"asks as a stranger": {func(c *plainClient) forge.Forge { return generous{c} }, []string{
			"without any credential nothing is answered",
		}},
		"lists nothing": {func(c *plainClient) forge.Forge { return listless{c} }, []string{
			"an outsider's list of members is no truth", "collaborators are listed over all pages", "collaborators are owners and teams as well",
			"members are listed over all pages", "organizations are listed over all pages", "owners and members are told apart from neither",
			"repositories are listed over all pages", "repositories are listed with the roles on them", "members are listed by the thousand",
		}},
		"follows old names of organizations": {func(c *plainClient) forge.Forge { return labelled{c} }, []string{"a recycled organization is another"}},
		"signs in carelessly": {func(c *plainClient) forge.Forge { return careless{c} }, []string{
			"a code is exchanged once, with its verifier", "a code that ended or is another's is turned down", "a grant can be ended",
			"a grant's access token is its user's", "a host that fails does not spoil a code", "a refresh brings new tokens",
			"a refresh token that is over ends the grant", "the browser is sent with state, challenge and scopes",
		}},
		"believes every delivery": {func(c *plainClient) forge.Forge { return gullible{c} }, []string{
			"a changed body is refused", "a delivery that makes no sense is an error", "a delivery without its headers is none",
			"a duplicate has the same id", "a signed delivery says what it is about", "a wrong signature is refused",
			"without a secret no delivery is believed",
		}},
		"leaves goroutines behind": {func(c *plainClient) forge.Forge { return leaking{c} }, []string{"no goroutine stays behind"}},
		"answers nobody in time":   {via(impatient), []string{"a slow answer is an answer"}},
		"follows names instead of ids": {func(c *plainClient) forge.Forge { return byName{exact{c}} }, []string{
			"a deleted repository gives no role to its name's next", "a recycled name is another repository",
			"a renamed repository is found by its id", "a repository of a renamed owner is found by its id",
			"a transferred repository has its new owner",
		}},
		"knows no old names":     {func(c *plainClient) forge.Forge { return exact{c} }, []string{"an old name leads to the renamed repository"}},
		"wants fresh deliveries": {func(c *plainClient) forge.Forge { return fresh{c, time.Now()} }, []string{"an old delivery is refused where the host dates them"}},
		"has an outage":          {func(c *plainClient) forge.Forge { return down{c} }, []string{"a host that is down is unavailable"}},
	}
}

func TestTheRulesSeeEveryMutant(t *testing.T) {
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(m.rules, "no goroutine stays behind") { // others' goroutines come and go
				t.Parallel()
			}
			got := forgetest.Broken(t, func(t *testing.T) *forgetest.Host {
				return plainHost(t).Wrap(func(f forge.Forge) forge.Forge { return m.around(f.(*plainClient)) })
			}, m.rules...)
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(m.rules)); !slices.Equal(got, want) {
				t.Errorf("broken are %q, want %q", got, want)
			}
		})
	}
}

// TestEveryRuleHasAMutant keeps rules out that nothing was seen to break.
func TestEveryRuleHasAMutant(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range mutants() {
		for _, rule := range m.rules {
			seen[rule] = true
		}
	}
	for _, rule := range forgetest.Rules() {
		if !seen[rule.Name] {
			t.Errorf("no mutant breaks %q", rule.Name)
		}
		delete(seen, rule.Name)
	}
	for rule := range seen {
		t.Errorf("there is no rule %q", rule)
	}
}
