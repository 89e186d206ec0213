package contracttest

import (
	"fmt"
	"sync"
	"testing"
)

func TestParallelChangesAreCountedOneByOne(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	const n = 16
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ann.do(t, "POST "+v.at()+"/secrets", fmt.Sprintf(`{"key":"SAME","value":"%d","environment":"staging"}`, i))
		})
		all.Go(func() { ann.push(t, v, "production", fmt.Sprintf(`{"A":"%d"}`, i), "") })
	}
	all.Wait()
	ann.environment(t, v, "staging", n, 1)
	ann.environment(t, v, "production", n, 1)
	a := ann.do(t, "GET "+v.at()+"/activity?action=secret_created", "").ok(200)
	a.same(`1`, a.at("meta.pagination.total"))
	a = ann.do(t, "GET "+v.at()+"/activity?action=secrets_pushed&limit=100", "").ok(200)
	for i := range n {
		a.same(fmt.Sprint(n-i), a.at(fmt.Sprintf("data.%d.metadata.revision", i)))
	}
	secrets := ann.do(t, "GET "+v.at()+"/secrets", "").ok(200)
	for _, id := range secrets.each("id") {
		a := ann.do(t, fmt.Sprintf("GET %s/secrets/%s/versions", v.at(), id), "").ok(200)
		for i := range n {
			a.same(fmt.Sprint(n-i), a.at(fmt.Sprintf("data.%d.versionNumber", i)))
		}
	}
}

func TestOneOfManyVaultsForARepositoryIsMade(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	var all sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		all.Go(func() { statuses[i] = ann.do(t, "POST /v1/vaults", `{"repoFullName":"@ann/api"}`).status })
	}
	all.Wait()
	made := 0
	for _, status := range statuses {
		switch status {
		case 201:
			made++
		case 409:
		default:
			t.Errorf("got %d", status)
		}
	}
	if made != 1 {
		t.Errorf("%d vaults were made", made)
	}
	a := ann.do(t, "GET /v1/vaults", "").ok(200)
	a.same(`1`, a.at("meta.pagination.total"))
}
