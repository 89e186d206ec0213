package store

// Org is an organization of the code host, recorded at first sight.
type Org struct {
	ID          ID                                    `cbor:"1,keyasint"`
	Forge       string                                `cbor:"2,keyasint"` // kind of code host
	Account     string                                `cbor:"3,keyasint"` // immutable id there
	Login       string                                `cbor:"4,keyasint"` // name there, refreshed
	DisplayName string                                `cbor:"5,keyasint"`
	Defaults    map[string]map[string]map[string]bool `cbor:"6,keyasint"` // role → type → read, write
	Created     Millis                                `cbor:"7,keyasint"`
	Updated     Millis                                `cbor:"8,keyasint"`
	AvatarURL   string                                `cbor:"9,keyasint"`
	People      int                                   `cbor:"10,keyasint"` // on the roster, with and without an account here
	RosterAt    Millis                                `cbor:"11,keyasint"` // when that was read last; 0 is never
	Named       bool                                  `cbor:"12,keyasint"` // an owner chose DisplayName here; else it is the code host's
}

// OrgMember is a user with an account here who is a member of an organization,
// as last recorded. It grants nothing: whoever asks is asked about live.
type OrgMember struct {
	Org    ID     `cbor:"1,keyasint"`
	User   ID     `cbor:"2,keyasint"`
	Role   string `cbor:"3,keyasint"` // owner or member
	Joined Millis `cbor:"4,keyasint"` // when first seen
}

var (
	orgs       = table[Org]{tagOrg, "organization"}
	orgMembers = table[OrgMember]{tagOrgMember, "member of an organization"}
)

// OrgAt is the organization of an account at the code host.
func (r Reader) OrgAt(forge, account string) (Org, error) {
	return orgs.get(r.kv, forge, "\x00", account)
}

// Orgs lists all organizations.
func (r Reader) Orgs() ([]Org, error) { return orgs.list(r.kv) }

// PutOrg writes an organization.
func (tx Tx) PutOrg(o Org) error { return orgs.put(tx.kv, o, o.Forge, "\x00", o.Account) }

// OrgMember is what is recorded of a user in an organization.
func (r Reader) OrgMember(org, user ID) (OrgMember, error) { return orgMembers.get(r.kv, org, user) }

// OrgMembers lists the users who are recorded as members of an organization.
func (r Reader) OrgMembers(org ID) ([]OrgMember, error) { return orgMembers.list(r.kv, org) }

// PutOrgMember writes a member.
func (tx Tx) PutOrgMember(m OrgMember) error { return orgMembers.put(tx.kv, m, m.Org, m.User) }

// DeleteOrgMember removes a member.
func (tx Tx) DeleteOrgMember(m OrgMember) error { return orgMembers.delete(tx.kv, m.Org, m.User) }
