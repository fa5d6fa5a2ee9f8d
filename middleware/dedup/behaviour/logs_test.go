package behaviour_test

import (
	"fmt"
	"strings"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
)

// logs keeps what was logged. Loggers made by With share it.
type logs struct {
	mu     sync.Mutex
	lines  []string
	errors []string
}

func (l *logs) add(isError bool, msg string, err error, fields watermill.LogFields) {
	line := fmt.Sprint(msg, " err=", err, " ", fields)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	if isError {
		l.errors = append(l.errors, line)
	}
}

func (l *logs) Error(msg string, err error, fields watermill.LogFields) {
	l.add(true, msg, err, fields)
}
func (l *logs) Info(msg string, fields watermill.LogFields)  { l.add(false, msg, nil, fields) }
func (l *logs) Debug(msg string, fields watermill.LogFields) { l.add(false, msg, nil, fields) }
func (l *logs) Trace(string, watermill.LogFields)            {}
func (l *logs) With(watermill.LogFields) watermill.LoggerAdapter {
	return l
}

// errorsWith returns the error lines that contain text.
func (l *logs) errorsWith(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return containing(l.errors, text)
}

// linesWith returns the lines of any level that contain text.
func (l *logs) linesWith(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return containing(l.lines, text)
}

func containing(lines []string, text string) (found []string) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}
