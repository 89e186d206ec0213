package access

const (
	scopeR = Scopes(1 << ReadSecrets)
	scopeW = Scopes(1 << WriteSecrets)
	scopeD = Scopes(1 << DeleteSecrets)
	scopeK = Scopes(1 << AdminKeys)
)

var (
	envR  = Rights{Read: true}
	envW  = Rights{Write: true}
	envRW = Rights{Read: true, Write: true}
)

// rows is the contract's columns "scope" and "right", one line per operation.
// What depends on more than the table's facts stays with warden: minting rules
// of API keys, lists and bulk removals that skip environments, the creator of
// a link, SyncNeedsAdmin, and quotas.
var rows = [actionEnd]Row{
	KeyCreate: {Name: "key_create", Scopes: scopeK, Kinds: Minters},
	KeyList:   {Name: "key_list", Scopes: scopeK, Kinds: Any},
	KeyGet:    {Name: "key_get", Scopes: scopeK, Kinds: Any},
	KeyRevoke: {Name: "key_revoke", Scopes: scopeK, Kinds: Any},

	VaultList:        {Name: "vault_list", Scopes: scopeR, Kinds: Any},
	VaultCreate:      {Name: "vault_create", Scopes: scopeW, Kinds: Any, Role: Admin},
	VaultGet:         {Name: "vault_get", Scopes: scopeR, Kinds: Any, Role: Read},
	VaultDelete:      {Name: "vault_delete", Scopes: scopeD, Kinds: Any, Role: Admin, Test: Never},
	CollaboratorList: {Name: "collaborator_list", Scopes: scopeR, Kinds: Any, Role: Admin},

	SecretList:   {Name: "secret_list", Scopes: scopeR, Kinds: Any, Role: Read},
	SecretCreate: {Name: "secret_create", Scopes: scopeW, Kinds: Any, Role: Read, Rights: envW, Writable: true},
	SecretUpdate: {Name: "secret_update", Scopes: scopeW, Kinds: Any, Role: Read, Rights: envW, Writable: true},
	SecretDelete: {Name: "secret_delete", Scopes: scopeD, Kinds: Any, Role: Read, Rights: envW, Writable: true},
	SecretValue:  {Name: "secret_value", Scopes: scopeR, Kinds: Any, Role: Read, Rights: envR},
	SecretView:   {Name: "secret_view", Scopes: scopeR, Kinds: Any, Role: Read, Rights: envR},

	VersionList:    {Name: "version_list", Scopes: scopeR, Kinds: Any, Role: Read, Rights: envR},
	VersionValue:   {Name: "version_value", Scopes: scopeR, Kinds: Any, Role: Read, Rights: envR},
	VersionRestore: {Name: "version_restore", Scopes: scopeW, Kinds: Any, Role: Read, Rights: envW, Writable: true},

	TrashList:    {Name: "trash_list", Scopes: scopeR | scopeD, Kinds: Any, Role: Read},
	TrashRestore: {Name: "trash_restore", Scopes: scopeD, Kinds: Any, Role: Read, Rights: envW, Writable: true},
	TrashDelete:  {Name: "trash_delete", Scopes: scopeD, Kinds: Any, Role: Read, Rights: envW},
	TrashEmpty:   {Name: "trash_empty", Scopes: scopeD, Kinds: Any, Role: Admin},

	Push:       {Name: "push", Scopes: scopeW, Kinds: Any, Role: Read, Rights: envW, Writable: true},
	PushDryRun: {Name: "push_dry_run", Scopes: scopeW, Kinds: Any, Role: Read, Rights: envRW, Writable: true},
	Pull:       {Name: "pull", Scopes: scopeR, Kinds: Any, Role: Read, Rights: envR},

	// Pages have it; a program does the same by a pull and a push.
	Rollback: {Name: "rollback", Scopes: scopeW, Kinds: Any, Role: Read, Rights: envRW, Writable: true},

	EnvironmentList:   {Name: "environment_list", Scopes: scopeR, Kinds: Any, Role: Read},
	EnvironmentCreate: {Name: "environment_create", Scopes: scopeW, Kinds: Any, Role: Admin, Writable: true, Test: Unguarded},
	EnvironmentRename: {Name: "environment_rename", Scopes: scopeW, Kinds: Any, Role: Admin, Test: Unguarded},
	EnvironmentDelete: {Name: "environment_delete", Scopes: scopeD, Kinds: Any, Role: Admin, Test: Unguarded},
	EnvironmentRetype: {Name: "environment_retype", Scopes: scopeW, Kinds: Any, Role: Admin, Test: Unguarded},
	EnvironmentMove:   {Name: "environment_move", Scopes: scopeW, Kinds: Any, Role: Admin, Test: Unguarded},

	UserMe:        {Name: "user_me", Scopes: scopeR, Kinds: Any},
	UserUsage:     {Name: "user_usage", Scopes: scopeR, Kinds: Any},
	ActivityList:  {Name: "activity_list", Scopes: scopeR, Kinds: Any},
	VaultActivity: {Name: "vault_activity", Scopes: scopeR, Kinds: Any, Role: Admin},

	VaultActivityExport: {Name: "vault_activity_export", Scopes: scopeR, Kinds: Any, Role: Admin},

	ConnectionList:      {Name: "connection_list", Scopes: scopeR, Kinds: Any},
	ConnectionAuthorize: {Name: "connection_authorize", Scopes: scopeW, Kinds: Any},
	ConnectionTicket:    {Name: "connection_ticket", Scopes: scopeW, Kinds: Any},
	ConnectionCreate:    {Name: "connection_create", Scopes: scopeW, Kinds: Any},
	ConnectionDelete:    {Name: "connection_delete", Scopes: scopeW, Kinds: Any},
	ProjectList:         {Name: "project_list", Scopes: scopeR, Kinds: Any},
	ProjectListAll:      {Name: "project_list_all", Scopes: scopeR, Kinds: Any},

	SyncPreview:    {Name: "sync_preview", Scopes: scopeR, Kinds: Any, Role: Read, Rights: envR},
	SyncPush:       {Name: "sync_push", Scopes: scopeW, Kinds: Any, Role: Read, Rights: envR},
	SyncPull:       {Name: "sync_pull", Scopes: scopeW, Kinds: Any, Role: Read, Rights: envW, Writable: true},
	SyncStatus:     {Name: "sync_status", Scopes: scopeR, Kinds: Any, Role: Read, Rights: envR},
	SyncDiff:       {Name: "sync_diff", Scopes: scopeR, Kinds: Any, Role: Read, Rights: envR},
	SyncLinkSave:   {Name: "sync_link_save", Scopes: scopeW, Kinds: Any, Role: Read, Rights: envR},
	SyncLinkDelete: {Name: "sync_link_delete", Scopes: scopeW, Kinds: Any, Role: Read},
	SyncJob:        {Name: "sync_job", Scopes: scopeR, Kinds: Any},
	SyncCancel:     {Name: "sync_cancel", Scopes: scopeW, Kinds: Any},

	OrgList:        {Name: "org_list", Scopes: scopeR, Kinds: Any},
	OrgGet:         {Name: "org_get", Scopes: scopeR, Kinds: Any, Standing: Member},
	OrgUpdate:      {Name: "org_update", Kinds: People, Standing: Owner},
	OrgMembers:     {Name: "org_members", Scopes: scopeR, Kinds: Any, Standing: Member},
	OrgMembersSync: {Name: "org_members_sync", Kinds: People, Standing: Owner},
	OrgBilling:     {Name: "org_billing", Scopes: scopeR, Kinds: Any, Standing: Member},
	OrgCheckout:    {Name: "org_checkout", Kinds: People, Standing: Owner},
	OrgPortal:      {Name: "org_portal", Kinds: People, Standing: Owner},
	OrgTrial:       {Name: "org_trial", Scopes: scopeR, Kinds: Any, Standing: Member},
	OrgTrialStart:  {Name: "org_trial_start", Kinds: People, Standing: Installer},

	DeviceVerify:  {Name: "device_verify", Kinds: Session},
	DeviceApprove: {Name: "device_approve", Kinds: Session},
	DeviceDeny:    {Name: "device_deny", Kinds: Session},

	TokenValidate:     {Name: "token_validate", Kinds: Any},
	Logout:            {Name: "logout", Kinds: SignedIn},
	SessionList:       {Name: "session_list", Kinds: SignedIn},
	SessionRevoke:     {Name: "session_revoke", Kinds: SignedIn},
	RepositoryIDs:     {Name: "repository_ids", Scopes: scopeR, Kinds: Any},
	CheckInstallation: {Name: "check_installation", Scopes: scopeR, Kinds: Any},

	PermissionEffective: {Name: "permission_effective", Scopes: scopeR, Kinds: Any, Role: Read},
	PermissionDefaults:  {Name: "permission_defaults", Scopes: scopeR, Kinds: Any, Role: Read},
	OverrideList:        {Name: "override_list", Scopes: scopeR, Kinds: Any, Role: Read},
	OverrideCreate:      {Name: "override_create", Kinds: People, Role: Admin, Standing: Owner},
	OverrideUpdate:      {Name: "override_update", Kinds: People, Role: Admin, Standing: Owner},
	OverrideDelete:      {Name: "override_delete", Kinds: People, Role: Admin, Standing: Owner},
	OverrideReset:       {Name: "override_reset", Kinds: People, Role: Admin, Standing: Owner},

	BillingPrices:       {Name: "billing_prices", Scopes: scopeR, Kinds: Any},
	BillingSubscription: {Name: "billing_subscription", Scopes: scopeR, Kinds: Any},
	BillingCheckout:     {Name: "billing_checkout", Kinds: People},
	BillingManage:       {Name: "billing_manage", Kinds: People},

	LocalUserAdd:  {Name: "local_user_add", Kinds: Operators},
	LocalUserList: {Name: "local_user_list", Kinds: Operators},

	LocalUserDisable: {Name: "local_user_disable", Kinds: Operators},
	LocalPasswordSet: {Name: "local_password_set", Kinds: Operators},

	LocalOrgAdd:    {Name: "local_org_add", Kinds: Operators},
	LocalOrgList:   {Name: "local_org_list", Kinds: Operators},
	LocalMemberSet: {Name: "local_member_set", Kinds: Operators},
	LocalRepoAdd:   {Name: "local_repo_add", Kinds: Operators},
	LocalRepoList:  {Name: "local_repo_list", Kinds: Operators},
	LocalRoleGrant: {Name: "local_role_grant", Kinds: Operators},
	PlanSet:        {Name: "plan_set", Kinds: Operators},
	TokenIssue:     {Name: "token_issue", Kinds: Operator}, // in somebody else's name: on the server's own machine only
	SignIn:         {Name: "sign_in", Kinds: Operator},     // likewise
	SystemSeal:     {Name: "system_seal", Kinds: Operators},

	// Who adds or removes one shows another besides: rights alone do not lead to keys.
	UnsealMethodList:   {Name: "unseal_method_list", Kinds: Operators},
	UnsealMethodAdd:    {Name: "unseal_method_add", Kinds: Operators},
	UnsealMethodRemove: {Name: "unseal_method_remove", Kinds: Operators},

	JobList:     {Name: "job_list", Kinds: Operators},
	JobRun:      {Name: "job_run", Kinds: Operators},
	Doctor:      {Name: "doctor", Kinds: Operators},
	ForgeCheck:  {Name: "forge_check", Kinds: Operators},
	AuditExport: {Name: "audit_export", Kinds: Operators},
	AuditVerify: {Name: "audit_verify", Kinds: Operators},
	DataMeasure: {Name: "data_measure", Kinds: Operators},
	DataCompact: {Name: "data_compact", Kinds: Operators},
	VaultErase:  {Name: "vault_erase", Kinds: Operators},
	ErasureList: {Name: "erasure_list", Kinds: Operators},
	ErasureGet:  {Name: "erasure_get", Kinds: Operators},

	Rekey:        {Name: "rekey", Kinds: Operators}, // who asks for it shows an unseal method besides
	KeysRotate:   {Name: "keys_rotate", Kinds: Operators},
	RotationList: {Name: "rotation_list", Kinds: Operators},

	BackupCreate: {Name: "backup_create", Kinds: Operators},
	BackupList:   {Name: "backup_list", Kinds: Operators},
	BackupFetch:  {Name: "backup_fetch", Kinds: Operators},
}
