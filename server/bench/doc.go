// Package bench measures coffer against floors of the same machine in the same
// run: what a request costs over what the same bytes cost without any rules.
// It holds benchmarks only, and asserts nothing about time.
//
// Three processes share the cores. This one, the test binary, makes the load
// with a raw keep-alive client (load_test.go). Two children of it serve: one is
// coffer with its default settings (subject_test.go), one a bare gin handler
// with the same answer (floor_test.go). They take turns, so that a disturbance
// hits a pair and not one side, and each tells what processor time it used, so
// that the load's own does not count.
//
// docs/benchmarks.md says how to run it and what came out.
package bench
