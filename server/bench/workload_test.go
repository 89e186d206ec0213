//go:build unix

package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// workload is one kind of request, and what it is measured against.
type workload struct {
	name  string
	reads string // audit.reads of the subject
	put   bool   // the floor is F2: one group-committed put
	audit int    // bytes of that put for reads: the record that the subject appends
	make  func(d *data, t target) script
	goal  goal
}

// goal is the most that one client's median may cost, and the least that 32
// clients must get through, both of the floor; 0 means that nothing was set.
type goal struct{ latency, throughput float64 }

// target is who asks about what: each client asks about one vault.
type target struct{ client, vault int }

// perPush is how many secrets an environment, a pull and a push have.
const perPush = 50

// Sizes of the audit records of the two reads of this package, as the store
// encodes them; the two entries in lists that go with each are left out.
const (
	viewRecord = 350
	pullRecord = 1360
)

func workloads() []workload {
	return []workload{
		{"view", "batched", false, 0, views, goal{1.6, 0.50}},
		{"view", "durable", true, viewRecord, views, goal{1.3, 0.50}},
		{"pull50", "batched", false, 0, pulls, goal{2, 0.30}},
		{"pull50", "durable", true, pullRecord, pulls, goal{1.4, 0.40}},
		{"push50changed", "", true, 0, pushes, goal{1.7, 0.65}},
		{"push50unchanged", "", true, 0, repeatedPush, goal{}},
		{"set1", "", true, 0, sets, goal{1.25, 0.60}},
	}
}

func query(d *data, path string, t target, more ...string) request {
	q := url.Values{"repo": {repository(t.vault)}, "environment": {environments[0]}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return newRequest(http.MethodGet, path+"?"+q.Encode(), d.Token, nil)
}

func views(d *data, t target) script {
	all := make(script, d.Secrets)
	for i := range all {
		all[i] = query(d, "/v1/secrets/view", t, "key", secretName(i))
	}
	return all
}

func pulls(d *data, t target) script {
	return script{query(d, "/v1/secrets/pull", t)}
}

// push is a push of values that no other client and no other turn has.
func push(d *data, t target, turn int) request {
	values := make(map[string]string, d.Secrets)
	for i := range d.Secrets {
		values[secretName(i)] = secretValue(t.vault, i, 2*t.client+turn)
	}
	return post(d, "/v1/secrets/push", map[string]any{
		"repoFullName": repository(t.vault), "environment": environments[0], "secrets": values,
	})
}

func post(d *data, path string, body any) request {
	text, err := json.Marshal(body)
	if err != nil {
		panic("bench: " + err.Error())
	}
	return newRequest(http.MethodPost, path, d.Token, text)
}

// pushes change every value with every push.
func pushes(d *data, t target) script { return script{push(d, t, 1), push(d, t, 2)} }

// repeatedPush changes nothing after the first time.
func repeatedPush(d *data, t target) script {
	t.client = 0
	return script{push(d, t, 0)}
}

// sets give one secret after the other a value that it does not have.
func sets(d *data, t target) script {
	var all script
	for turn := 1; turn <= 2; turn++ {
		for i := range d.Secrets {
			all = append(all, post(d, fmt.Sprintf("/v1/vaults/%s/secrets", repository(t.vault)), map[string]any{
				"key": secretName(i), "environment": environments[0], "value": secretValue(t.vault, i, 2*t.client+turn),
			}))
		}
	}
	return all
}
