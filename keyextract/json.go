package keyextract

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/tidwall/gjson"
)

// JSON returns the string or number at a path in a JSON payload. The path is
// member names and array indexes with dots between: "order.id", "lines.0.sku".
// A backslash takes the next character of the path as it is.
//
// A number is taken as it is written, with all its digits: 12345678901234567890
// stays what it is, and 1 and 1.0 are two keys. The string "1" and the number 1
// are one key, because producers in different languages send either for the
// same job.
//
// ErrNoKey is returned for a payload that is not valid JSON, and where the
// path leads nowhere, to an empty string, or to null, a boolean, an object or
// an array. It is also returned where an object on the way has the name twice:
// which of the two the handler will read depends on its JSON decoder.
//
// It panics if the path is malformed.
func JSON(path string) Func {
	names, err := parsePath(path)
	if err != nil {
		panic("keyextract: JSON: " + err.Error())
	}
	return func(msg *message.Message) (string, error) {
		// encoding/json bounds the nesting. gjson.ValidBytes does not: a deeply
		// nested payload overflows its stack, which ends the program.
		if !json.Valid(msg.Payload) {
			return "", noKey("the payload is not valid JSON")
		}
		key, err := textAt(gjson.ParseBytes(msg.Payload), names)
		if err != nil {
			return "", noKey("JSON path %q %v", path, err)
		}
		return key, nil
	}
}

func textAt(value gjson.Result, names []string) (string, error) {
	for _, name := range names {
		var err error
		if value, err = child(value, name); err != nil {
			return "", err
		}
	}
	var text string
	switch value.Type {
	case gjson.Number:
		text = value.Raw
	case gjson.String:
		text = value.Str
	default:
		return "", errors.New("leads to neither a string nor a number")
	}
	if text == "" {
		return "", errors.New("leads to an empty string")
	}
	return strings.Clone(text), nil // or the key keeps the whole payload in memory
}

// child returns the value of an object's member or of an array's element.
func child(parent gjson.Result, name string) (gjson.Result, error) {
	if !parent.IsObject() && !parent.IsArray() {
		return gjson.Result{}, errors.New("leads nowhere")
	}
	var (
		found gjson.Result
		times int
		index = -1
	)
	parent.ForEach(func(key, value gjson.Result) bool {
		index++
		if key.Type == gjson.String && key.Str == name || key.Type == gjson.Number && strconv.Itoa(index) == name {
			found = value
			times++
		}
		return times < 2
	})
	switch times {
	case 0:
		return gjson.Result{}, errors.New("leads nowhere")
	case 1:
		return found, nil
	default:
		return gjson.Result{}, errors.New("is ambiguous, a name occurs twice in one object")
	}
}
