// Package syncplan decides what a sync does: for every key whether it is created,
// updated, deleted, skipped or kept, and why. It knows no clock, no network and no
// store; the same state always gives the same plan.
package syncplan
