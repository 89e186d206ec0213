package api

import (
	"net/netip"
	"strconv"
	"unicode/utf8"
)

// Scopes of an API key, as the wire spells them.
const (
	ReadSecrets   = "read:secrets"
	WriteSecrets  = "write:secrets"
	DeleteSecrets = "delete:secrets"
	AdminAPIKeys  = "admin:api-keys"
)

const (
	maxKeyName    = 100
	maxKeyDays    = 365
	maxKeySources = 50
)

// CreateAPIKey asks for an API key of the caller's own.
type CreateAPIKey struct {
	Name          string   `json:"name" need:"true"`
	Environment   string   `json:"environment" need:"true"`
	Scopes        []string `json:"scopes" need:"true"`
	ExpiresInDays *int     `json:"expiresInDays"`
	AllowedIPs    []string `json:"allowedIps"`
}

// Check holds every field against its rule.
func (r CreateAPIKey) Check(f *Fields) {
	switch n := utf8.RuneCountInString(r.Name); {
	case n == 0:
		f.Add("name", TooShort, "At least one character.")
	case n > maxKeyName:
		f.Add("name", TooLong, "At most %d characters.", maxKeyName)
	}
	f.oneOf("environment", r.Environment, "live", "test")
	if len(r.Scopes) == 0 {
		f.Add("scopes", TooShort, "At least one scope.")
	}
	for i, s := range r.Scopes {
		f.oneOf("scopes."+strconv.Itoa(i), s, ReadSecrets, WriteSecrets, DeleteSecrets, AdminAPIKeys)
	}
	f.between("expiresInDays", r.ExpiresInDays, 1, maxKeyDays)
	if len(r.AllowedIPs) > maxKeySources {
		f.Add("allowedIps", TooLong, "At most %d ranges.", maxKeySources)
	}
	for i, s := range r.AllowedIPs {
		if _, err := ParseSource(s); err != nil {
			f.Add("allowedIps."+strconv.Itoa(i), InvalidFormat, "An address or a CIDR range, like 10.0.0.0/8 or 2001:db8::/32.")
		}
	}
}

// ParseSource reads a CIDR range or a bare address, and clears the host bits.
func ParseSource(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	a = a.Unmap().WithZone("")
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// APIKey is an API key without its token.
type APIKey struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Prefix        string   `json:"prefix"`
	Environment   string   `json:"environment"`
	Scopes        []string `json:"scopes"`
	ExpiresAt     *Time    `json:"expiresAt"`
	AllowedIPs    []string `json:"allowedIps"`
	LastUsedAt    *Time    `json:"lastUsedAt"`
	UsageCount    uint64   `json:"usageCount"`
	CreatedAt     Time     `json:"createdAt"`
	RevokedAt     *Time    `json:"revokedAt"`
	RevokedReason *string  `json:"revokedReason"`
	IsActive      bool     `json:"isActive"`
}

// CreatedAPIKey carries the token, the only time it is shown.
type CreatedAPIKey struct {
	APIKey
	Token Revealed `json:"token"`
}

// Created says where the new key is found.
func (k CreatedAPIKey) Created() (bool, string) { return true, "/v1/api-keys/" + k.ID }

// APIKeys lists a user's keys, newest first.
type APIKeys struct {
	Keys []APIKey `json:"keys"`
}

// IDRef names a record by its id in a path.
type IDRef struct {
	ID string `path:"id" id:"true"`
}

// Check finds nothing wrong: a malformed id is simply not found.
func (IDRef) Check(*Fields) {}
