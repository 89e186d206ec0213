package forge

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	gitlabSigning = "whsec_" // begins a signing token; any other secret is sent as it is
	gitlabSkew    = 5 * time.Minute
)

// gitlabHook is what we take of the payloads of system hooks and group hooks.
type gitlabHook struct {
	Event     string `json:"event_name"`
	ProjectID int64  `json:"project_id"`
	GroupID   int64  `json:"group_id"`
	UserID    int64  `json:"user_id"`
	FullPath  string `json:"full_path"`
}

// gitlabTopics are the events of use. What a project event names besides is who
// did it, not whom it is about.
var gitlabTopics = map[string]Topic{
	"user_add_to_team":       RolesChanged,
	"user_update_for_team":   RolesChanged,
	"user_remove_from_team":  RolesChanged,
	"user_add_to_group":      RosterChange,
	"user_update_for_group":  RosterChange,
	"user_remove_from_group": RosterChange,
	"group_rename":           RosterChange,
	"group_destroy":          RosterChange,
	"subgroup_destroy":       RosterChange,
	"project_rename":         RepoChanged,
	"project_transfer":       RepoChanged,
	"project_update":         RepoChanged,
	"project_destroy":        RepoDeleted,
	"user_rename":            UserChanged,
	"user_destroy":           UserChanged,
}

// gitlabHookKey is the key in a signing token, nil for any other secret.
func gitlabHookKey(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, gitlabSigning)
	if !ok {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) == 0 {
		return nil, fmt.Errorf("the webhook secret begins with %s, but no key follows; copy the signing token from GitLab, or use another secret", gitlabSigning)
	}
	return key, nil
}

// Event checks a delivery of a system hook or a group hook and reads it.
func (g *gitlab) Event(d Delivery) (Event, error) {
	id, err := g.signed(d)
	if err != nil {
		return Event{}, err
	}
	name := d.Header("X-Gitlab-Event")
	if id == "" || name == "" {
		return Event{}, ErrNoSignature
	}
	var hook gitlabHook
	if err := json.Unmarshal(d.Body, &hook); err != nil {
		return Event{}, errors.New("the delivery's body cannot be understood")
	}
	e := Event{ID: id, Name: name, Topic: gitlabTopics[hook.Event]}
	if e.Topic != Ignored {
		e.Name = hook.Event
	}
	switch e.Topic {
	case RolesChanged:
		e.Repo, e.User = gitlabHookID(hook.ProjectID), gitlabHookID(hook.UserID)
	case RosterChange:
		e.Org, e.User = gitlabHookID(hook.GroupID), gitlabHookID(hook.UserID)
		if !strings.Contains(hook.FullPath, "/") {
			e.Login = hook.FullPath
		}
	case RepoChanged, RepoDeleted:
		e.Repo = gitlabHookID(hook.ProjectID)
	case UserChanged:
		e.User = gitlabHookID(hook.UserID)
	}
	if e.Topic != Ignored && e.Repo == "" && e.Org == "" && e.User == "" {
		return Event{}, fmt.Errorf("the delivery does not say what its event %s is about", hook.Event)
	}
	return e, nil
}

func gitlabHookID(id int64) string {
	if id <= 0 {
		return ""
	}
	return gitlabID(id)
}

// signed checks where a delivery comes from, and returns its id. A signing token
// is asked for the signature and never falls back to being sent: a signature
// holds against replays, a secret that is sent does not.
func (g *gitlab) signed(d Delivery) (id string, err error) {
	if g.c.WebhookSecret == "" {
		return "", ErrNoSecret
	}
	if g.hookKey != nil {
		return d.Header("webhook-id"), g.verify(d)
	}
	sent := d.Header("X-Gitlab-Token")
	if sent == "" {
		return "", ErrNoSignature
	}
	if !sameSecret(sent, g.c.WebhookSecret) {
		return "", ErrSignature
	}
	return cmp.Or(d.Header("Idempotency-Key"), d.Header("X-Gitlab-Event-UUID")), nil
}

// sameSecret takes the same time whatever the lengths are.
func sameSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}

// verify checks a signature by https://www.standardwebhooks.com. The id that it
// covers is the same as in Idempotency-Key.
func (g *gitlab) verify(d Delivery) error {
	id, stamp, signatures := d.Header("webhook-id"), d.Header("webhook-timestamp"), d.Header("webhook-signature")
	if id == "" || stamp == "" || signatures == "" {
		return ErrNoSignature
	}
	mac := hmac.New(sha256.New, g.hookKey)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(d.Body)
	want, right := mac.Sum(nil), false
	for _, signature := range strings.Fields(signatures) {
		version, text, _ := strings.Cut(signature, ",")
		got, err := base64.StdEncoding.DecodeString(text)
		right = right || version == "v1" && err == nil && hmac.Equal(got, want)
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if !right || err != nil || d.At.Sub(time.Unix(seconds, 0)).Abs() > gitlabSkew {
		return ErrSignature
	}
	return nil
}
