package access

import "fmt"

// Action is an operation of the API that needs a credential. The list is
// closed: what is not here cannot be asked for.
type Action uint8

// Actions, in the contract's order.
const (
	KeyCreate Action = iota + 1
	KeyList
	KeyGet
	KeyRevoke

	VaultList
	VaultCreate
	VaultGet
	VaultDelete
	CollaboratorList

	SecretList
	SecretCreate
	SecretUpdate
	SecretDelete
	SecretValue
	SecretView

	VersionList
	VersionValue
	VersionRestore

	TrashList
	TrashRestore
	TrashDelete
	TrashEmpty

	Push
	PushDryRun
	Pull
	Rollback

	EnvironmentList
	EnvironmentCreate
	EnvironmentRename
	EnvironmentDelete
	EnvironmentRetype
	EnvironmentMove

	UserMe
	UserUsage
	ActivityList
	VaultActivity
	VaultActivityExport

	ConnectionList
	ConnectionAuthorize
	ConnectionTicket
	ConnectionCreate
	ConnectionDelete
	ProjectList
	ProjectListAll

	SyncPreview
	SyncPush
	SyncPull
	SyncStatus
	SyncDiff
	SyncLinkSave
	SyncLinkDelete
	SyncJob
	SyncCancel

	OrgList
	OrgGet
	OrgUpdate
	OrgMembers
	OrgMembersSync
	OrgBilling
	OrgCheckout
	OrgPortal
	OrgTrial
	OrgTrialStart

	DeviceVerify
	DeviceApprove
	DeviceDeny

	TokenValidate
	Logout
	SessionList
	SessionRevoke
	RepositoryIDs
	CheckInstallation

	PermissionEffective
	PermissionDefaults
	OverrideList
	OverrideCreate
	OverrideUpdate
	OverrideDelete
	OverrideReset

	BillingPrices
	BillingSubscription
	BillingCheckout
	BillingManage

	LocalUserAdd
	LocalUserList
	LocalUserDisable
	LocalPasswordSet
	LocalOrgAdd
	LocalOrgList
	LocalMemberSet
	LocalRepoAdd
	LocalRepoList
	LocalRoleGrant
	PlanSet
	TokenIssue
	SignIn
	SystemSeal
	UnsealMethodList
	UnsealMethodAdd
	UnsealMethodRemove
	JobList
	JobRun
	Doctor
	ForgeCheck
	AuditExport
	AuditVerify
	DataMeasure
	DataCompact
	VaultErase
	ErasureList
	ErasureGet
	Rekey
	KeysRotate
	RotationList
	BackupCreate
	BackupList
	BackupFetch

	actionEnd
)

// Actions returns all actions, in the contract's order.
func Actions() []Action {
	all := make([]Action, 0, actionEnd-1)
	for a := Action(1); a < actionEnd; a++ {
		all = append(all, a)
	}
	return all
}

// Row returns what the action needs.
func (a Action) Row() Row {
	if a == 0 || a >= actionEnd {
		panic(fmt.Sprintf("access: no action %d", uint8(a)))
	}
	return rows[a]
}

// String returns the name used in the audit log.
func (a Action) String() string {
	if a == 0 || a >= actionEnd {
		return fmt.Sprintf("action(%d)", uint8(a))
	}
	return rows[a].Name
}
