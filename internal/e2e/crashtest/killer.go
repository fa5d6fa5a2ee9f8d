package main

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// killPoint is a place where a consumer process can die.
type killPoint string

const (
	beforeClaim   killPoint = "before-claim"
	afterClaim    killPoint = "after-claim"
	beforeEffect  killPoint = "before-effect"
	afterEffect   killPoint = "after-effect"
	afterComplete killPoint = "after-complete"
	afterAck      killPoint = "after-ack"
)

var allKillPoints = []killPoint{beforeClaim, afterClaim, beforeEffect, afterEffect, afterComplete, afterAck}

// killer ends its own process the first time that the process comes to a
// point after it was armed. The zero value never does.
type killer struct {
	point killPoint
	armed atomic.Bool
	kill  func() // tests replace it
}

// arm lets the process die from now plus delay on.
func (k *killer) arm(delay time.Duration) {
	time.AfterFunc(delay, func() { k.armed.Store(true) })
}

// reached does not return if the process dies here.
func (k *killer) reached(p killPoint) {
	if p != k.point || !k.armed.Load() {
		return
	}
	if k.kill != nil {
		k.kill()
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal may need a moment
}
