package httpd

import (
	"context"
	"net/http"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/warden"
)

// route is one operation of the API and the address it has.
type route struct {
	method, path string
	action       access.Action // none on a route that needs no credential
	run          operation
}

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

type door = warden.Warden

// routes is the table of contents.
func routes() []route {
	const (
		vault   = "/v1/vaults/:owner/:repo"
		secret  = vault + "/secrets/:secretId"
		version = secret + "/versions/:versionId"
		trash   = vault + "/trash"
		envs    = vault + "/environments"
	)
	gated := []route{
		{get, "/v1/vaults", access.VaultList, page((*door).ListVaults)},
		{post, "/v1/vaults", access.VaultCreate, answer((*door).CreateVault)},
		{get, vault, access.VaultGet, answer((*door).Vault)},
		{remove, vault, access.VaultDelete, nothing((*door).DeleteVault)},
		{get, vault + "/collaborators", access.CollaboratorList, answer((*door).Collaborators)},
		{get, vault + "/activity", access.VaultActivity, page((*door).VaultActivity)},
		{get, vault + "/activity/export", access.VaultActivityExport, download("vault-activity.jsonl", (*door).ExportVaultActivity)},

		{get, vault + "/secrets", access.SecretList, page((*door).Secrets)},
		{post, vault + "/secrets", access.SecretCreate, answer((*door).SetSecret)},
		{patch, secret, access.SecretUpdate, answer((*door).PatchSecret)},
		{remove, secret, access.SecretDelete, nothing((*door).TrashSecret)},
		{get, secret + "/value", access.SecretValue, answer((*door).RevealSecret)},
		{get, secret + "/versions", access.VersionList, answer((*door).Versions)},
		{get, version + "/value", access.VersionValue, answer((*door).RevealVersion)},
		{post, version + "/restore", access.VersionRestore, answer((*door).RestoreVersion)},

		{get, trash, access.TrashList, page((*door).Trash)},
		{remove, trash, access.TrashEmpty, answer((*door).EmptyTrash)},
		{post, trash + "/:secretId/restore", access.TrashRestore, answer((*door).RestoreSecret)},
		{remove, trash + "/:secretId", access.TrashDelete, nothing((*door).DestroySecret)},

		{post, "/v1/secrets/push", access.Push, answer((*door).Push)},
		{get, "/v1/secrets/pull", access.Pull, revalidated(answer((*door).Pull))},
		{get, "/v1/secrets/view", access.SecretView, answer((*door).ViewSecret)},

		{get, envs, access.EnvironmentList, answer((*door).Environments)},
		{post, envs, access.EnvironmentCreate, answer((*door).CreateEnvironment)},
		{patch, envs + "/:name", access.EnvironmentRename, answer((*door).RenameEnvironment)},
		{remove, envs + "/:name", access.EnvironmentDelete, answer((*door).DeleteEnvironment)},
		{patch, envs + "/:name/type", access.EnvironmentRetype, answer((*door).RetypeEnvironment)},

		{get, "/v1/users/me", access.UserMe, answer((*door).Me)},
		{get, "/v1/users/me/usage", access.UserUsage, answer((*door).Usage)},
		{get, "/v1/activity", access.ActivityList, page((*door).Activity)},

		{get, "/v1/api-keys", access.KeyList, answer((*door).Keys)},
		{post, "/v1/api-keys", access.KeyCreate, answer((*door).CreateKey)},
		{get, "/v1/api-keys/:id", access.KeyGet, answer((*door).Key)},
		{remove, "/v1/api-keys/:id", access.KeyRevoke, nothing((*door).RevokeKey)},
		{post, "/v1/auth/token/validate", access.TokenValidate, answer((*door).ValidateToken)},

		{post, "/v1/sys/seal", access.SystemSeal, nothing(seal)},
		{post, "/v1/operator/users", access.LocalUserAdd, answer((*door).AddLocalUser)},
		{post, "/v1/operator/orgs", access.LocalOrgAdd, answer((*door).AddLocalOrg)},
		{put, "/v1/operator/orgs/members", access.LocalMemberSet, nothing((*door).SetLocalMember)},
		{post, "/v1/operator/repos", access.LocalRepoAdd, answer((*door).AddLocalRepo)},
		{put, "/v1/operator/repos/grants", access.LocalRoleGrant, nothing((*door).GrantLocalRepo)},
		{post, "/v1/operator/tokens", access.TokenIssue, answer((*door).IssueToken)},
		{get, "/v1/operator/audit/export", access.AuditExport, download("audit.jsonl", exportAudit)},
		{post, "/v1/operator/audit/verify", access.AuditVerify, upload(verifyAudit)},
	}
	return append(gated, open...)
}

// open are the routes that need no credential.
var open = []route{
	{method: get, path: "/", run: root},
	{method: get, path: "/health", run: health},
	{method: get, path: "/ready", run: ready},
	{method: get, path: "/errors/:slug", run: errorPage},
	{method: get, path: "/v1/health", run: apiHealth},
	{method: get, path: "/v1/sys/status", run: systemStatus},
	{method: post, path: "/v1/sys/init", run: initialize},
	{method: post, path: "/v1/sys/unseal", run: unseal},
}

// lasting are the actions without a time limit: they go on as long as they move.
var lasting = map[access.Action]bool{
	access.VaultActivityExport: true,
	access.AuditExport:         true,
	access.AuditVerify:         true,
}

func seal(w *door, ctx context.Context, who warden.Caller, _ api.Empty) error {
	return w.Seal(ctx, who)
}

// revalidated lets clients keep an answer if they ask each time whether it
// still holds.
func revalidated(run operation) operation {
	value := []string{"private, no-cache"}
	return func(x *exchange) error {
		x.w.Header()["Cache-Control"] = value
		return run(x)
	}
}
