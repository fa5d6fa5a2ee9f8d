package testserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below the range that Linux and macOS use for outgoing
// connections. A server that is down for a while could otherwise lose its port
// to a client, even to the very one that keeps redialling it.
const (
	firstPort = 20_000
	lastPort  = 32_767
)

// freePort returns a loopback port that nobody listened on a moment ago.
func freePort() (int, error) {
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, errors.New("found no free port")
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// onFreePort calls start with free ports until it does not fail for the port.
func onFreePort(start func(port int) error) error {
	var err error
	for range 5 {
		port, portErr := freePort()
		if portErr != nil {
			return portErr
		}
		if err = start(port); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return fmt.Errorf("gave up after five ports: %w", err)
}
