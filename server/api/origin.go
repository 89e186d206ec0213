package api

import (
	"net/url"
	"slices"
	"strings"
)

// Origin is the origin of an address as browsers write it: in lower case and
// without the port that its scheme has anyway (RFC 6454, section 6.2). It is ""
// for what has none.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return u.Scheme + "://" + host
}

// LeadsTo reports whether a browser that is given an address goes to one of these
// origins, as [Origin] writes them. Browsers take backslashes for slashes and leave
// out tabs and line breaks, so an address with one leads nowhere for sure.
func LeadsTo(address string, origins []string) bool {
	u, err := url.Parse(address)
	return err == nil && u.User == nil && !strings.ContainsAny(address, "\\\t\r\n ") && slices.Contains(origins, Origin(address))
}
