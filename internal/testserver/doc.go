// Package testserver starts real Redis and Postgres servers for tests and
// experiments: on free loopback ports, in temporary folders, as children of
// this program.
//
// A server ends with Stop, or when this program ends in any way, SIGKILL
// included: a small shell process, the guard, waits for that. No goroutine and
// no thread of this program watches a server, so leak detectors see nothing.
//
// Binaries come from the PATH and from where distributions put them. Without
// them a Docker daemon is asked to run the official images. Run as root, the
// Postgres server drops to the user "postgres" or "nobody", because it refuses
// to run otherwise.
package testserver
