package web

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sentences say in words what somebody did, after their name. What stands in
// braces is put in from the record; behind a colon is the thing that it counts.
// Where a record has a flag, an action with the flag's name comes first.
var sentences = map[string]string{
	"access_denied":                        "was refused: {operation}, because of {reason}",
	"activity_exported":                    "exported activity",
	"activity_pruned":                      "removed {records:record} of activity from before {before}",
	"api_key_created":                      "made the API key {apiKeyName}",
	"api_key_revoked":                      "revoked the API key {apiKeyName}",
	"backup_created":                       "made the backup {name}",
	"backup_downloaded":                    "downloaded the backup {name}",
	"backup_drill":                         "tried the newest backup, which does not restore: {reason}",
	"backup_drill restores":                "tried the backup {name}, which restores",
	"backup_restored":                      "restored the backup {name} of {created}",
	"data_compacted":                       "wrote the data file anew: {beforeBytes} bytes became {afterBytes}",
	"data_keys_rotated":                    "replaced the data key, and sealed {values:value} and {versions:version} anew",
	"data_keys_rotated all":                "replaced the data key of every vault: {vaults:vault}",
	"device_login_denied":                  "refused to sign a program in",
	"environment_created":                  "made the environment {environment}, of type {type}",
	"environment_deleted":                  "deleted the environment {environment} with {secretCount:secret}",
	"environment_moved":                    "moved the environment {environment} in the order",
	"environment_renamed":                  "renamed the environment {oldName} to {newName}",
	"environment_type_changed":             "changed the type of {environment} from {oldType} to {newType}",
	"integration_connected":                "connected to {provider}",
	"integration_disconnected":             "removed the connection to {provider}",
	"job_run":                              "had the job {job} run",
	"local_org_added":                      "made the organization {org}",
	"local_repo_added":                     "registered the repository {repoFullName}",
	"local_user_disabled":                  "disabled the user {username}",
	"local_user_enabled":                   "enabled the user {username}",
	"local_user_added":                     "made the user {username}",
	"local_password_set":                   "gave the user {username} another password",
	"login_refused":                        "was not signed in, because of {reason}",
	"master_key_replaced":                  "replaced the master key {before} by {fingerprint}, with {methods:unseal method}",
	"org_member_removed":                   "took {username} out of {org}",
	"org_member_set":                       "made {username} {role} of {org}",
	"org_members_synced":                   "read the roster of {org}: {added} came, {updated} changed, {removed} left",
	"org_trial_converted":                  "saw {org} subscribe to {plan} in its trial",
	"org_trial_expired":                    "saw the trial of {org} end",
	"org_trial_started":                    "began the trial of {org}, until {endsAt}",
	"org_updated":                          "changed {changed} of {org}",
	"permission_override_created":          "set what {target} may do in {environment}: read {canRead}, write {canWrite}",
	"permission_override_deleted":          "took back what was set for {target} in {environment}",
	"permission_override_updated":          "changed what {target} may do in {environment}: read {canRead}, write {canWrite}",
	"permission_overrides_reset":           "took back all that was set: {count:override}",
	"plan_downgraded":                      "lowered the plan of {org} from {from} to {to}",
	"plan_downgraded username":             "lowered the plan of {username} from {from} to {to}",
	"plan_set":                             "gave {org} the plan {plan}",
	"plan_set username":                    "gave {username} the plan {plan}",
	"plan_upgraded":                        "raised the plan of {org} from {from} to {to}",
	"plan_upgraded username":               "raised the plan of {username} from {from} to {to}",
	"repository_role_set":                  "gave {username} the role {role} on {repoFullName}",
	"root_key_replaced":                    "wrapped {dataKeys:data key} under the new root key of {fingerprint}",
	"rotation_started":                     "began to replace the data key",
	"rotation_started all":                 "began to replace the data key of every vault: {vaults:vault}",
	"secret_created":                       "created {key} in {environment}",
	"secret_permanently_deleted":           "removed {key} of {environment} for good",
	"secret_permanently_deleted bulk":      "emptied the trash of {count:secret}: {keys}",
	"secret_permanently_deleted retention": "removed {key} of {environment} for good, because its time in the trash was over",
	"secret_restored":                      "took {key} of {environment} out of the trash",
	"secret_trashed":                       "moved {key} of {environment} to the trash",
	"secret_updated":                       "changed {key} in {environment}",
	"secret_updated oldKey":                "renamed {oldKey} of {environment} to {key}",
	"secret_value_accessed":                "read the value of {key} in {environment}",
	"secret_version_restored":              "made version {versionNumber} of {key} in {environment} the value again",
	"secret_version_value_accessed":        "read version {versionNumber} of {key} in {environment}",
	"secrets_pulled":                       "pulled {secretCount:secret} of {environment}",
	"secrets_pulled at":                    "pulled {secretCount:secret} of {environment}, as of {at}",
	"secrets_pulled notModified":           "asked for {environment}, and had it already",
	"secrets_pushed":                       "pushed to {environment}: {created} created, {updated} updated, {deleted} deleted, {unchanged} unchanged",
	"secrets_pushed dryRun":                "tried a push to {environment}: {created} would be created, {updated} updated, {deleted} deleted",
	"secrets_sync_started":                 "began to sync {environment} with {provider} ({providerEnvironment}): {keys}",
	"secrets_synced":                       "synced {environment} with {provider} ({providerEnvironment}), {status}: {created} created, {updated} updated, {deleted} deleted",
	"secrets_synced auto":                  "synced {environment} with {provider} ({providerEnvironment}) by itself, {status}: {created} created, {updated} updated",
	"session_revoked":                      "ended a session",
	"sync_link_removed":                    "forgot a sync of {environment} with {provider}",
	"sync_link_saved":                      "saved a sync of {environment} with {provider}, by hand",
	"sync_link_saved autoSync":             "saved a sync of {environment} with {provider}, by itself",
	"sync_link_saved auto":                 "no longer syncs {environment} with {provider} by itself, because it was refused",
	"unseal_method_added":                  "added a way to unseal ({kind})",
	"unseal_method_removed":                "removed a way to unseal ({kind})",
	"system_sealed":                        "sealed the server",
	"user_login":                           "signed in with {method}",
	"user_logout":                          "signed out",
	"vault_created":                        "made the vault",
	"vault_deleted":                        "deleted the vault",
	"vault_erased":                         "erased the vault for good",
	"vault_renamed":                        "followed the repository from {from} to {to}",
	"vault_visibility_changed":             "saw that the repository is public now",
	"vault_visibility_changed isPrivate":   "saw that the repository is private now",
	"vcs_app_installed":                    "heard that the application was installed for {org}",
	"vcs_app_uninstalled":                  "heard that the application was uninstalled for {org}",
}

// flags are parts of a record that make another sentence of an action.
var flags = []string{"dryRun", "bulk", "retention", "notModified", "isPrivate", "at", "oldKey", "auto", "autoSync", "username", "all"}

// codes are parts of a record that are words joined by underscores.
var codes = []string{"operation", "reason", "method"}

// reasons are why somebody was refused, in words.
var reasons = map[string]string{
	"no_role": "having no role", "role": "too low a role", "environment": "lacking rights in the environment", "scope": "a missing scope",
	"test_key": "being a test key", "plan": "the plan", "source_ip": "the address it came from",
}

// Sentence says in words what was done. An action that is not known shows its name.
func (a Deed) Sentence() string {
	text, known := sentences[a.Action]
	if !known {
		return a.Action
	}
	for _, f := range flags {
		if v := a.Meta[f]; v != nil && v != false {
			if special, known := sentences[a.Action+" "+f]; known {
				text = special
				break
			}
		}
	}
	return gap.ReplaceAllStringFunc(text, func(found string) string {
		name, thing, counts := strings.Cut(found[1:len(found)-1], ":")
		said := said(name, a.Meta[name])
		if n, err := strconv.Atoi(said); counts && err == nil {
			return count(n, thing)
		}
		return said
	})
}

var gap = regexp.MustCompile(`\{[A-Za-z:]+\}`)

// said is a part of a record in words.
func said(name string, v any) string {
	switch v := v.(type) {
	case nil:
		return "something unknown"
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []any:
		all := make([]string, len(v))
		for i, item := range v {
			all[i] = fmt.Sprint(item)
		}
		return strings.Join(all, ", ")
	case string:
		if name == "environment" && v == "*" {
			return "all environments"
		}
		if words, known := reasons[v]; known && name == "reason" {
			return words
		}
		if slices.Contains(codes, name) {
			return strings.ReplaceAll(v, "_", " ")
		}
		return v
	default:
		return fmt.Sprint(v)
	}
}

// ActionNames are all actions that have a sentence, by name.
func ActionNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(sentences)), func(name string) bool { return strings.Contains(name, " ") })
}
