// Package audit judges whether a sequence of records is a log that nobody
// tampered with, and reads and writes the files that a log is exported to.
//
// It is pure: records, links and signatures come from outside, and so do the
// functions that know the keys. It knows no storage, no callers and no network.
// Its invariant: what [Judge] and [CheckFile] call intact and complete is proven
// by links and signatures alone; nothing else in a file is taken at its word.
package audit

// Link authenticates a record and all before it.
type Link = [32]byte
