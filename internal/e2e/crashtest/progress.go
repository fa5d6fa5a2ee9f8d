package main

import (
	"io"
	"os"
	"time"
)

// progress is a line that tells a waiting person what happens. It is silent
// where nobody watches, which is where the output is not a terminal.
type progress struct {
	out  io.Writer
	last time.Time
}

func newProgress(f *os.File) *progress {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	return &progress{out: f}
}

const eraseLine = "\r\x1b[K"

// due tells whether the line is old enough to be written again.
func (p *progress) due() bool { return p.out != nil && time.Since(p.last) >= 250*time.Millisecond }

func (p *progress) show(text string) {
	if p.out != nil {
		p.last = time.Now()
		_, _ = io.WriteString(p.out, eraseLine+text)
	}
}

// clear makes room for other output.
func (p *progress) clear() {
	if p.out != nil {
		_, _ = io.WriteString(p.out, eraseLine)
	}
}
