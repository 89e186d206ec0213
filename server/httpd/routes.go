package httpd

import (
	"context"
	"net/http"
	"slices"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/warden"
)

// route is one operation of the API and the address it has.
type route struct {
	method, path string
	action       access.Action // none on a route that needs no credential
	bucket       bucket        // its requests are counted in
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
		org     = "/v1/orgs/:org"
		methods = "/v1/operator/unseal-methods"
	)
	gated := []route{
		{get, "/v1/vaults", access.VaultList, inGeneral, page((*door).ListVaults)},
		{post, "/v1/vaults", access.VaultCreate, inGeneral, answer((*door).CreateVault)},
		{get, vault, access.VaultGet, inGeneral, answer((*door).Vault)},
		{remove, vault, access.VaultDelete, inGeneral, nothing((*door).DeleteVault)},
		{get, vault + "/collaborators", access.CollaboratorList, inGeneral, answer((*door).Collaborators)},
		{get, vault + "/activity", access.VaultActivity, inGeneral, page((*door).VaultActivity)},
		{get, vault + "/activity/export", access.VaultActivityExport, inGeneral, download("vault-activity.jsonl", (*door).ExportVaultActivity)},

		{get, vault + "/secrets", access.SecretList, inGeneral, page((*door).Secrets)},
		{post, vault + "/secrets", access.SecretCreate, inGeneral, answer((*door).SetSecret)},
		{patch, secret, access.SecretUpdate, inGeneral, answer((*door).PatchSecret)},
		{remove, secret, access.SecretDelete, inGeneral, nothing((*door).TrashSecret)},
		{get, secret + "/value", access.SecretValue, inValue, answer((*door).RevealSecret)},
		{get, secret + "/versions", access.VersionList, inGeneral, answer((*door).Versions)},
		{get, version + "/value", access.VersionValue, inValue, answer((*door).RevealVersion)},
		{post, version + "/restore", access.VersionRestore, inGeneral, answer((*door).RestoreVersion)},

		{get, trash, access.TrashList, inGeneral, page((*door).Trash)},
		{remove, trash, access.TrashEmpty, inGeneral, answer((*door).EmptyTrash)},
		{post, trash + "/:secretId/restore", access.TrashRestore, inGeneral, answer((*door).RestoreSecret)},
		{remove, trash + "/:secretId", access.TrashDelete, inGeneral, nothing((*door).DestroySecret)},

		{post, "/v1/secrets/push", access.Push, inBulk, answer((*door).Push)},
		{get, "/v1/secrets/pull", access.Pull, inBulk, revalidated(answer((*door).Pull))},
		{get, "/v1/secrets/view", access.SecretView, inGeneral, answer((*door).ViewSecret)},

		{get, envs, access.EnvironmentList, inGeneral, answer((*door).Environments)},
		{post, envs, access.EnvironmentCreate, inGeneral, answer((*door).CreateEnvironment)},
		{patch, envs + "/:name", access.EnvironmentRename, inGeneral, answer((*door).RenameEnvironment)},
		{remove, envs + "/:name", access.EnvironmentDelete, inGeneral, answer((*door).DeleteEnvironment)},
		{patch, envs + "/:name/type", access.EnvironmentRetype, inGeneral, answer((*door).RetypeEnvironment)},
		{patch, envs + "/:name/order", access.EnvironmentMove, inGeneral, answer((*door).MoveEnvironment)},

		{get, "/v1/users/me", access.UserMe, inGeneral, answer((*door).Me)},
		{get, "/v1/users/me/usage", access.UserUsage, inGeneral, answer((*door).Usage)},
		{get, "/v1/activity", access.ActivityList, inGeneral, page((*door).Activity)},

		{get, "/v1/api-keys", access.KeyList, inGeneral, answer((*door).Keys)},
		{post, "/v1/api-keys", access.KeyCreate, inGeneral, answer((*door).CreateKey)},
		{get, "/v1/api-keys/:id", access.KeyGet, inGeneral, answer((*door).Key)},
		{remove, "/v1/api-keys/:id", access.KeyRevoke, inGeneral, nothing((*door).RevokeKey)},
		{get, vault + "/permissions/effective", access.PermissionEffective, inGeneral, answer((*door).EffectivePermissions)},
		{get, vault + "/permissions/defaults", access.PermissionDefaults, inGeneral, answer((*door).DefaultPermissions)},
		{get, vault + "/permissions/overrides", access.OverrideList, inGeneral, answer((*door).Overrides)},
		{post, vault + "/permissions/overrides", access.OverrideCreate, inGeneral, answer((*door).CreateOverride)},
		{put, vault + "/permissions/overrides/:id", access.OverrideUpdate, inGeneral, answer((*door).UpdateOverride)},
		{remove, vault + "/permissions/overrides/:id", access.OverrideDelete, inGeneral, answer((*door).DeleteOverride)},
		{remove, vault + "/permissions/reset", access.OverrideReset, inGeneral, answer((*door).ResetOverrides)},

		{get, "/v1/orgs", access.OrgList, inGeneral, answer((*door).Orgs)},
		{get, org, access.OrgGet, inGeneral, answer((*door).Org)},
		{put, org, access.OrgUpdate, inGeneral, answer((*door).UpdateOrg)},
		{get, org + "/members", access.OrgMembers, inGeneral, answer((*door).OrgMembers)},
		{post, org + "/members/sync", access.OrgMembersSync, inGeneral, answer((*door).SyncMembers)},
		{get, org + "/billing", access.OrgBilling, inGeneral, answer((*door).OrgBilling)},
		{post, org + "/billing/checkout", access.OrgCheckout, inGeneral, answer((*door).OpenCheckout)},
		{post, org + "/billing/portal", access.OrgPortal, inGeneral, answer((*door).OpenPortal)},
		{get, org + "/trial", access.OrgTrial, inGeneral, answer((*door).OrgTrial)},
		{post, org + "/trial/start", access.OrgTrialStart, inGeneral, answer((*door).StartTrial)},

		{get, "/v1/github/repo-ids", access.RepositoryIDs, inGeneral, answer((*door).RepositoryIDs)},
		{post, "/v1/github/check-installation", access.CheckInstallation, inGeneral, answer((*door).CheckInstallation)},

		{post, "/v1/auth/logout", access.Logout, inGeneral, logout},
		{get, "/v1/auth/sessions", access.SessionList, inGeneral, answer((*door).Sessions)},
		{remove, "/v1/auth/sessions/:id", access.SessionRevoke, inGeneral, nothing((*door).EndSession)},
		{post, "/v1/auth/token/validate", access.TokenValidate, inGeneral, answer((*door).ValidateToken)},

		{post, "/v1/auth/device/verify", access.DeviceVerify, inVerify, answer((*door).VerifyDevice)},
		{post, "/v1/auth/device/approve", access.DeviceApprove, inGeneral, answer((*door).ApproveDevice)},
		{post, "/v1/auth/device/deny", access.DeviceDeny, inGeneral, answer((*door).DenyDevice)},

		{post, "/v1/sys/seal", access.SystemSeal, inGeneral, nothing(seal)},
		{get, methods, access.UnsealMethodList, inGeneral, answer((*door).UnsealMethods)},
		{post, methods, access.UnsealMethodAdd, inGeneral, proven((*door).AddUnsealMethod)},
		{remove, methods + "/:id", access.UnsealMethodRemove, inGeneral, proven((*door).RemoveUnsealMethod)},
		{post, "/v1/operator/users", access.LocalUserAdd, inGeneral, answer((*door).AddLocalUser)},
		{put, "/v1/operator/users/disabled", access.LocalUserDisable, inGeneral, answer((*door).DisableLocalUser)},
		{put, "/v1/operator/users/password", access.LocalPasswordSet, inGeneral, answer((*door).SetLocalPassword)},
		{post, "/v1/operator/orgs", access.LocalOrgAdd, inGeneral, answer((*door).AddLocalOrg)},
		{put, "/v1/operator/orgs/members", access.LocalMemberSet, inGeneral, nothing((*door).SetLocalMember)},
		{post, "/v1/operator/repos", access.LocalRepoAdd, inGeneral, answer((*door).AddLocalRepo)},
		{put, "/v1/operator/repos/grants", access.LocalRoleGrant, inGeneral, nothing((*door).GrantLocalRepo)},
		{put, "/v1/operator/plans", access.PlanSet, inGeneral, answer((*door).SetPlan)},
		{post, "/v1/operator/sessions", access.SignIn, inGeneral, answer((*door).SignIn)},
		{post, "/v1/operator/tokens", access.TokenIssue, inGeneral, answer((*door).IssueToken)},
		{get, "/v1/operator/jobs", access.JobList, inGeneral, listJobs},
		{post, "/v1/operator/jobs/:name/run", access.JobRun, inGeneral, runJob},
		{get, doctorPath, access.Doctor, inGeneral, examine},
		{post, "/v1/operator/forge/check", access.ForgeCheck, inGeneral, answer((*door).CheckForge)},
		{post, "/v1/operator/rekey", access.Rekey, inGeneral, rekey},
		{post, "/v1/operator/rotations", access.KeysRotate, inGeneral, answer((*door).Rotate)},
		{get, "/v1/operator/rotations", access.RotationList, inGeneral, answer((*door).Rotations)},
		{get, "/v1/operator/audit/export", access.AuditExport, inGeneral, download("audit.jsonl", exportAudit)},
		{post, "/v1/operator/audit/verify", access.AuditVerify, inGeneral, upload(verifyAudit)},
		{get, "/v1/operator/storage", access.DataMeasure, inGeneral, answer((*door).Storage)},
		{post, "/v1/operator/compactions", access.DataCompact, inGeneral, answer((*door).Compact)},
		{get, "/v1/operator/erasures", access.ErasureList, inGeneral, answer((*door).Erasures)},
		{post, "/v1/operator/erasures", access.VaultErase, inGeneral, answer((*door).EraseVault)},
		{get, "/v1/operator/erasures/:id", access.ErasureGet, inGeneral, answer((*door).Erasure)},
		{post, backupPath, access.BackupCreate, inGeneral, makeBackup},
		{get, backupPath, access.BackupList, inGeneral, answer((*door).KeptBackups)},
		{get, backupPath + "/:file", access.BackupFetch, inGeneral, fetchBackup},
	}
	return slices.Concat(gated, integrationRoutes(), open)
}

// open are the routes that need no credential. Those that try a key have a
// throttle of their own.
var open = []route{
	{method: get, path: "/", bucket: inGeneral, run: root},
	{method: get, path: "/health", bucket: exempt, run: health},
	{method: get, path: "/ready", bucket: exempt, run: ready},
	{method: get, path: "/metrics", bucket: exempt, run: guardedScrape},
	{method: get, path: "/errors/:slug", bucket: exempt, run: errorPage},
	{method: get, path: "/v1/health", bucket: exempt, run: apiHealth},
	{method: get, path: openAPIPath, bucket: exempt, run: openAPI},
	{method: post, path: "/v1/github/webhook", bucket: exempt, run: webhook("github")},
	{method: post, path: "/v1/webhooks/github", bucket: exempt, run: webhook("github")},
	{method: post, path: "/v1/webhooks/gitea", bucket: exempt, run: webhook("gitea")},
	{method: post, path: "/v1/webhooks/gitlab", bucket: exempt, run: webhook("gitlab")},
	{method: post, path: "/v1/billing/webhook", bucket: exempt, run: paymentEvent},
	{method: get, path: integrationsPath, bucket: inGeneral, run: listProviders},
	{method: get, path: integrationsPath + "/:provider/callback", bucket: inGeneral, run: always(returnFromProvider)},
	{method: post, path: "/v1/auth/device/start", bucket: inGeneral, run: startDevice},
	{method: post, path: "/v1/auth/device/poll", bucket: inPoll, run: pollDevice},
	{method: get, path: "/v1/sys/status", bucket: inGeneral, run: systemStatus},
	{method: post, path: "/v1/sys/init", bucket: exempt, run: initialize},
	{method: post, path: "/v1/sys/unseal", bucket: exempt, run: unseal},
}

// lasting are the actions without a time limit: they go on as long as they move.
var lasting = map[access.Action]bool{
	access.VaultActivityExport: true,
	access.AuditExport:         true,
	access.AuditVerify:         true,
	access.BackupCreate:        true,
	access.BackupFetch:         true,
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
