package keyextract

import (
	"fmt"
	"strings"
)

// reserved are the characters that query languages for JSON give a meaning. A
// path that uses one unescaped was probably written in such a language.
const reserved = `*?#@|!{}[]()$`

// parsePath splits "order.lines.0" into its names. A backslash takes the next
// character as it is.
func parsePath(path string) ([]string, error) {
	var (
		names []string
		name  strings.Builder
	)
	for rest := path; ; {
		at := strings.IndexAny(rest, `\.`+reserved)
		if at < 0 {
			name.WriteString(rest)
			rest = ""
		} else {
			name.WriteString(rest[:at])
			rest = rest[at:]
		}
		switch {
		case rest == "" || rest[0] == '.':
			if name.Len() == 0 {
				return nil, fmt.Errorf("path %q has an empty name", path)
			}
			names = append(names, name.String())
			name.Reset()
			if rest == "" {
				return names, nil
			}
			rest = rest[1:]
		case rest == `\`:
			return nil, fmt.Errorf("path %q ends in a backslash", path)
		case rest[0] == '\\':
			name.WriteByte(rest[1])
			rest = rest[2:]
		default:
			return nil, fmt.Errorf(`path %q: write member names and array indexes with dots between, as in "order.lines.0", and a backslash before a %q that belongs to a name`, path, rest[0])
		}
	}
}
