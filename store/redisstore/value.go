package redisstore

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// What a key holds starts with two bytes that keep their place in every
// version:
//
//	0  format version, '1'
//	1  state, 'C' claimed or 'D' done, frozen for ever
//
// and goes on, in version 1, with
//
//	C  the owner, 22 bytes
//	D  when it was done by the server's clock, "seconds:microseconds"
//
// The key expires when the lease or the retention ends, so neither end is in
// the value. A script recognises its owner's claim by comparing whole values:
// a claim that this version cannot read is somebody else's.
const (
	claimPrefix = "1C"
	claimLen    = len(claimPrefix) + 22
)

// claimValue returns the claim of the owner with that token. A hash stands for
// the token, so that claims are small and of one width.
func claimValue(token string) string {
	sum := sha256.Sum256([]byte(token))
	value := append(make([]byte, 0, claimLen), claimPrefix...)
	return string(base64.RawURLEncoding.AppendEncode(value, sum[:16]))
}

// parseDoneAt returns zero for a time that this version cannot read.
func parseDoneAt(at string) time.Time {
	s, us, _ := strings.Cut(at, ":")
	seconds, err1 := strconv.ParseInt(s, 10, 64)
	micros, err2 := strconv.ParseInt(us, 10, 64)
	if err1 != nil || err2 != nil || micros < 0 || micros >= 1e6 {
		return time.Time{}
	}
	return time.Unix(seconds, micros*1e3)
}
