package cli

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checkKeys walks a mapping of the configuration file, notes the line of each
// key, and refuses one that coffer does not know.
func checkKeys(file, section string, node *yaml.Node, lines map[string]int) error {
	if node.Kind != yaml.MappingNode {
		return failf(exitInvalid, "%s, line %d: here stand keys with values, like: listen: 127.0.0.1:2633", file, node.Line)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		key := section + name.Value
		switch kind := keyKind(key); {
		case kind == isSection && value.Tag == "!!null":
		case kind == isSection:
			if err := checkKeys(file, key+".", value, lines); err != nil {
				return err
			}
		case kind == isEnvOnly:
			return failf(exitInvalid, "%s, line %d: %s does not belong in a file. Set %s, or use a file: %s_file", file, name.Line, key, variable(key), key)
		case kind == isUnknown:
			return failf(exitInvalid, "%s, line %d: there is no key %s.%s", file, name.Line, key, didYouMean(key, settingKeys()))
		}
		lines[key] = name.Line
	}
	return nil
}

type kindOfKey int

const (
	isUnknown kindOfKey = iota
	isKey
	isSection
	isEnvOnly
)

func keyKind(key string) kindOfKey {
	for _, s := range allSettings() {
		switch {
		case s.key == key && s.envOnly:
			return isEnvOnly
		case s.key == key:
			return isKey
		case strings.HasPrefix(s.key, key+"."):
			return isSection
		}
	}
	return isUnknown
}

// settingKeys are the keys that a file may have, and the sections they stand in.
func settingKeys() []string {
	var keys []string
	for _, s := range allSettings() {
		if s.envOnly {
			continue
		}
		keys = append(keys, s.key)
		for i, letter := range s.key {
			if section := s.key[:i]; letter == '.' && !slices.Contains(keys, section) {
				keys = append(keys, section)
			}
		}
	}
	return keys
}

// variable is the environment variable of a key.
func variable(key string) string {
	return "COFFER_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// didYouMean is a question after the nearest known word, or "".
func didYouMean(word string, known []string) string {
	if near := nearest(word, known, max(3, len(word)/2)); near != "" {
		return fmt.Sprintf(" Did you mean %s?", near)
	}
	return ""
}

func nearest(word string, known []string, within int) string {
	best, least := "", within+1
	for _, k := range known {
		if d := distance(strings.ToLower(word), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters must be added, dropped or replaced to turn one
// word into the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// userVariables belong to the commands of users, not to the server.
var userVariables = []string{"COFFER_URL", "COFFER_TOKEN", "COFFER_TOKEN_FILE", "COFFER_REPO", "COFFER_ENV", "COFFER_KEYRING", "COFFER_CONFIG"}

// misspelled are the variables that look like one of ours and are none. Others
// may begin with COFFER_ too: orchestrators name variables after a service.
func misspelled(env environ) []string {
	known := slices.Clone(userVariables)
	for _, s := range allSettings() {
		known = append(known, s.variable)
	}
	var found []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "COFFER_") {
			continue
		}
		if near := nearest(strings.ToLower(name), lower(known), 2); near != "" && !strings.EqualFold(near, name) {
			found = append(found, fmt.Sprintf("There is no variable %s. Did you mean %s?", name, strings.ToUpper(near)))
		}
	}
	return found
}

func lower(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ToLower(w)
	}
	return out
}
