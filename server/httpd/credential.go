package httpd

import (
	"net/http"
	"net/netip"
	"strings"

	"coffer/server/warden"
)

// maxUserAgent is how much of a User-Agent is kept.
const maxUserAgent = 512

// identify learns from the warden who asks.
func (x *exchange) identify() error {
	c := x.credential()
	if c.Bearer == "" && c.Cookie != "" {
		if err := x.ours(); err != nil {
			return err
		}
	}
	c.Exhausted = func() bool { return x.full(inLogin, addressOf(c.IP)) }
	who, err := x.gate.Identify(x.ctx, c)
	if err != nil {
		return x.limitFailure(c, err)
	}
	x.who = who
	return nil
}

// credential is what the request brought along to say who asks. A cookie is not
// looked for on the operator's socket, where no browser comes.
func (x *exchange) credential() warden.Credential {
	c := warden.Credential{
		Bearer:    bearer(x.r.Header),
		Operator:  x.operator,
		IP:        x.clientIP(),
		UserAgent: userAgent(x.r.Header),
		RequestID: x.id,
	}
	if !x.operator {
		c.Cookie = x.cookie(sessionCookie)
	}
	return c
}

// bearer is the token of the one Authorization header. Two of them are no
// credential: we could not know which one a proxy in front of us has checked.
func bearer(h http.Header) string {
	values := h["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(token, " ")
}

func userAgent(h http.Header) string {
	text := h.Get("User-Agent")
	if len(text) > maxUserAgent {
		text = text[:maxUserAgent]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// clientIP is the socket's peer. Behind a trusted proxy it is the right-most
// address of X-Forwarded-For that is no trusted proxy: what stands left of it
// was written by whoever sent the request. Who comes by a Unix socket has no
// address and is a trusted proxy: its mode says who may.
func (x *exchange) clientIP() netip.Addr {
	peer, _ := netip.ParseAddrPort(x.r.RemoteAddr)
	ip := peer.Addr().Unmap().WithZone("")
	hops := x.r.Header["X-Forwarded-For"]
	for i := len(hops) - 1; i >= 0; i-- {
		for rest := hops[i]; rest != ""; {
			if !x.trusted(ip) {
				return ip
			}
			cut := strings.LastIndexByte(rest, ',')
			hop, ok := parseHop(rest[cut+1:])
			if !ok {
				return ip
			}
			ip, rest = hop, rest[:max(cut, 0)]
		}
	}
	return ip
}

func (x *exchange) trusted(ip netip.Addr) bool {
	if !ip.IsValid() {
		return !x.operator
	}
	for _, p := range x.TrustedProxies {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// parseHop reads an address as proxies write it, with or without a port.
func parseHop(s string) (netip.Addr, bool) {
	s = strings.Trim(s, " \t")
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(s)
		if err != nil {
			return netip.Addr{}, false
		}
		ip = withPort.Addr()
	}
	return ip.Unmap().WithZone(""), true
}

// unmapped writes ranges of IPv4 addresses inside IPv6 as what they are.
func unmapped(prefixes []netip.Prefix) []netip.Prefix {
	clean := make([]netip.Prefix, 0, len(prefixes))
	for _, p := range prefixes {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		clean = append(clean, p)
	}
	return clean
}
