// Package access says who may do what: which credential, scope, role and
// environment right each operation needs, and which rights a role, an
// override or an organization's defaults give.
//
// It holds tables and pure functions only. It knows no user, no store, no code
// host and no HTTP; warden finds the facts and asks here.
//
// The invariant: everything not granted is denied. Who has no role on a
// repository has nothing there, whatever overrides say, and each later rule
// (test keys, read-only vaults) only removes.
package access
