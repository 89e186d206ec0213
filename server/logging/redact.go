package logging

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

const hidden = "[redacted]"

// plain are names under which our own code logs words of its own, for each request.
// Looking for secrets in them would only take time.
var plain = map[string]bool{"method": true, "route": true, "caller": true, requestKey: true}

// secretNames are parts of names under which no value is shown.
var secretNames = []string{"token", "secret", "password", "passphrase", "authorization", "cookie", "credential", "private"}

// shapes are what credentials look like, ours and those of others, and what to write
// in their place. They may take away too much, never too little.
var shapes = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(-----END [A-Z0-9 ]*-----|$)`), hidden},
	{regexp.MustCompile(`(?i)\bAGE-(SECRET-KEY-[A-Z0-9-]+|PLUGIN-[A-Z0-9+._-]+-1[A-Z0-9]+)`), hidden},
	{regexp.MustCompile(`(?i)\bCOFFER[-_.\s]*SHARE[-_.0-9A-Z\s]*`), hidden},
	{regexp.MustCompile(`(?i)((?:set-)?cookie|(?:proxy-)?authorization|x-api-key|private-token)("?\s*[:=]\s*)("?)[^"\r\n]+`), "$1$2$3" + hidden},
	{regexp.MustCompile(`(?i)\b(bearer|basic|token)(\s+)[A-Za-z0-9._~+/=-]{8,}`), "$1$2" + hidden},
	{regexp.MustCompile(`\bcoffer_(live|test)_[0-9A-Za-z]+`), "coffer_${1}_" + hidden},
	{regexp.MustCompile(`\bcoffer(_[a-z]+)+_[0-9A-Za-z]{20,}`), hidden},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?`), hidden},
	{regexp.MustCompile(`\b(gh[opusr]_|github_pat_|glpat-|gloas-|glrt-|nfp_|nfo_|[sr]k_(live|test)_|whsec_|xox[a-z]-|AKIA)[0-9A-Za-z_-]{8,}`), hidden},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), hidden}, // Gitea's tokens
	{regexp.MustCompile(`(://[^/\s:@]*:)[^/\s]+@`), "${1}" + hidden + "@"},
	{regexp.MustCompile(`://[^/\s:@]{16,}@`), "://" + hidden + "@"},
	{regexp.MustCompile(`(?i)((?:\b|_)(?:token|secret|password|passphrase)(?:"\s*:\s*"?|:))[^\s",}\]]+`), "${1}" + hidden},
	{regexp.MustCompile(`(?i)([?&#; ](?:code|state|ticket|claim|(?:[a-z_]*_)?(?:token|secret|password|passphrase|key))=)[^&;\s"']+`), "${1}" + hidden},
}

// Redact takes out of a text whatever has the shape of a credential.
func Redact(text string) string {
	if len(text) < 8 {
		return text
	}
	for _, s := range shapes {
		if s.what.MatchString(text) {
			text = s.what.ReplaceAllString(text, s.by)
		}
	}
	return text
}

// secretName reports whether a value with this name is to be hidden whatever it is.
func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, part := range secretNames {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func redacted(a slog.Attr) slog.Attr {
	if plain[a.Key] {
		return a
	}
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		var all []slog.Attr
		for _, inner := range v.Group() {
			all = append(all, redacted(inner))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(all...)}
	case slog.KindString:
		if secretName(a.Key) {
			return slog.String(a.Key, hidden)
		}
		return slog.String(a.Key, Redact(v.String()))
	case slog.KindAny:
		if secretName(a.Key) {
			return slog.String(a.Key, hidden)
		}
		if b, ok := v.Any().([]byte); ok {
			return slog.String(a.Key, Redact(string(b)))
		}
		text := fmt.Sprint(v.Any())
		if clean := Redact(text); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
