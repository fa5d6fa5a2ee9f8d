package testserver

import "errors"

// ErrMissing is matched by the error of a start that found neither the
// server's binaries nor a Docker daemon. The text says what to install.
var ErrMissing = errors.New("server is not installed")

// errPortTaken is matched where a start failed because somebody else had the
// port by then; another one is tried.
var errPortTaken = errors.New("port is taken")
