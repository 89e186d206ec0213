package store

import (
	"encoding/binary"
	"strings"

	"coffer/store/kv"
)

// LocalUser is a user of the built-in code host.
type LocalUser struct {
	ID       uint64 `cbor:"1,keyasint"`
	Name     string `cbor:"2,keyasint"`
	Password string `cbor:"3,keyasint"` // argon2id hash
	Operator bool   `cbor:"4,keyasint"` // may administer this instance
	Created  Millis `cbor:"5,keyasint"`
}

// LocalOrg is an organization of the built-in code host.
type LocalOrg struct {
	ID      uint64 `cbor:"1,keyasint"`
	Name    string `cbor:"2,keyasint"`
	Created Millis `cbor:"3,keyasint"`
}

// LocalRepo is a repository of the built-in code host. Its owner is a user or an
// organization.
type LocalRepo struct {
	ID        uint64 `cbor:"1,keyasint"`
	OwnerKind string `cbor:"2,keyasint"` // OwnerUser or OwnerOrg
	Owner     uint64 `cbor:"3,keyasint"`
	Name      string `cbor:"4,keyasint"`
	Public    bool   `cbor:"5,keyasint"`
	Created   Millis `cbor:"6,keyasint"`
}

// LocalNamespace is what a name stands for: users and organizations share them.
type LocalNamespace struct {
	Kind string // OwnerUser or OwnerOrg
	ID   uint64
}

var (
	localUsers = table[LocalUser]{tagLocalUser, "local user"}
	localOrgs  = table[LocalOrg]{tagLocalOrg, "local organization"}
	localRepos = table[LocalRepo]{tagLocalRepo, "local repository"}
)

// LocalNamespace finds a user or an organization by name, in any case.
func (r Reader) LocalNamespace(name string) (LocalNamespace, error) {
	b, err := r.kv.Get(key(tagLocalName, strings.ToLower(name)))
	if err != nil {
		return LocalNamespace{}, err
	}
	kind := OwnerUser
	if b[0] == 'o' {
		kind = OwnerOrg
	}
	return LocalNamespace{kind, binary.BigEndian.Uint64(b[1:])}, nil
}

// LocalUser is the user with this id.
func (r Reader) LocalUser(id uint64) (LocalUser, error) { return localUsers.get(r.kv, id) }

// LocalOrg is the organization with this id.
func (r Reader) LocalOrg(id uint64) (LocalOrg, error) { return localOrgs.get(r.kv, id) }

// LocalRepo is the repository with this id.
func (r Reader) LocalRepo(id uint64) (LocalRepo, error) { return localRepos.get(r.kv, id) }

// LocalUsers lists all users, in the order in which they were added.
func (r Reader) LocalUsers() ([]LocalUser, error) { return localUsers.list(r.kv) }

// LocalOrgs lists all organizations, in the order in which they were added.
func (r Reader) LocalOrgs() ([]LocalOrg, error) { return localOrgs.list(r.kv) }

// LocalRepos lists all repositories, in the order in which they were added.
func (r Reader) LocalRepos() ([]LocalRepo, error) { return localRepos.list(r.kv) }

// LocalRepoNamed finds a repository by its owner and name, in any case.
func (r Reader) LocalRepoNamed(owner LocalNamespace, name string) (LocalRepo, error) {
	b, err := r.kv.Get(repoNameKey(owner.ID, name))
	if err != nil {
		return LocalRepo{}, err
	}
	return r.LocalRepo(binary.BigEndian.Uint64(b))
}

func repoNameKey(owner uint64, name string) []byte {
	return key(tagLocalRepoName, owner, "/", strings.ToLower(name))
}

// LocalReposOf lists the repositories of an owner, by name.
func (r Reader) LocalReposOf(owner uint64) ([]LocalRepo, error) {
	var all []LocalRepo
	err := r.kv.Scan(kv.Prefix(key(tagLocalRepoName, owner, "/")), func(_, id []byte) error {
		repo, err := r.LocalRepo(binary.BigEndian.Uint64(id))
		all = append(all, repo)
		return err
	})
	return all, err
}

// nextLocal gives out the next id. Users, organizations and repositories share
// one sequence, and no number is given out twice.
func (tx Tx) nextLocal() (uint64, error) {
	k := key(tagLocalLast)
	var last uint64
	b, err := tx.kv.Get(k)
	switch {
	case err == nil:
		last = binary.BigEndian.Uint64(b)
	case !isNotFound(err):
		return 0, err
	}
	return last + 1, tx.kv.Put(k, place(nil, last+1))
}

func (tx Tx) claimName(name string, kind byte) (uint64, error) {
	k := key(tagLocalName, strings.ToLower(name))
	if there, err := exists(tx.kv, k); err != nil {
		return 0, err
	} else if there {
		return 0, ErrExists
	}
	id, err := tx.nextLocal()
	if err != nil {
		return 0, err
	}
	return id, tx.kv.Put(k, place([]byte{kind}, id))
}

// AddLocalUser gives u an id and writes it, or fails with ErrExists when its
// name is taken.
func (tx Tx) AddLocalUser(u *LocalUser) (err error) {
	if u.ID, err = tx.claimName(u.Name, 'u'); err != nil {
		return err
	}
	return localUsers.put(tx.kv, *u, u.ID)
}

// PutLocalUser writes a user who is there already, and whose name stays.
func (tx Tx) PutLocalUser(u LocalUser) error { return localUsers.put(tx.kv, u, u.ID) }

// AddLocalOrg gives o an id and writes it, or fails with ErrExists when its name
// is taken.
func (tx Tx) AddLocalOrg(o *LocalOrg) (err error) {
	if o.ID, err = tx.claimName(o.Name, 'o'); err != nil {
		return err
	}
	return localOrgs.put(tx.kv, *o, o.ID)
}

// AddLocalRepo gives repo an id and writes it, or fails with ErrExists when its
// owner has one of that name.
func (tx Tx) AddLocalRepo(repo *LocalRepo) (err error) {
	k := repoNameKey(repo.Owner, repo.Name)
	if there, err := exists(tx.kv, k); err != nil {
		return err
	} else if there {
		return ErrExists
	}
	if repo.ID, err = tx.nextLocal(); err != nil {
		return err
	}
	if err := tx.kv.Put(k, place(nil, repo.ID)); err != nil {
		return err
	}
	return localRepos.put(tx.kv, *repo, repo.ID)
}

// LocalRole is the role that a user was given on a repository, or "".
func (r Reader) LocalRole(repo, user uint64) (string, error) {
	return r.word(key(tagLocalGrant, repo, user))
}

// LocalMembership is a user's role in an organization, or "" for strangers.
func (r Reader) LocalMembership(org, user uint64) (string, error) {
	return r.word(key(tagLocalMember, org, user))
}

func (r Reader) word(k []byte) (string, error) {
	b, err := r.kv.Get(k)
	if isNotFound(err) {
		return "", nil
	}
	return string(b), err
}

// LocalGrants lists who was given which role on a repository.
func (r Reader) LocalGrants(repo uint64) (map[uint64]string, error) {
	return r.words(key(tagLocalGrant, repo))
}

// LocalMembers lists who has which role in an organization.
func (r Reader) LocalMembers(org uint64) (map[uint64]string, error) {
	return r.words(key(tagLocalMember, org))
}

func (r Reader) words(prefix []byte) (map[uint64]string, error) {
	all := make(map[uint64]string)
	err := r.kv.Scan(kv.Prefix(prefix), func(k, role []byte) error {
		all[binary.BigEndian.Uint64(k[len(k)-8:])] = string(role)
		return nil
	})
	return all, err
}

// LocalOrgsOf lists the organizations a user belongs to.
func (r Reader) LocalOrgsOf(user uint64) ([]uint64, error) {
	return r.numbers(key(tagLocalMemberOf, user))
}

// LocalGrantedTo lists the repositories on which a user was given a role.
func (r Reader) LocalGrantedTo(user uint64) ([]uint64, error) {
	return r.numbers(key(tagLocalGrantedTo, user))
}

func (r Reader) numbers(prefix []byte) ([]uint64, error) {
	var all []uint64
	err := r.kv.Scan(kv.Prefix(prefix), func(k, _ []byte) error {
		all = append(all, binary.BigEndian.Uint64(k[len(k)-8:]))
		return nil
	})
	return all, err
}

// SetLocalRole gives a user a role on a repository; "" takes it away.
func (tx Tx) SetLocalRole(repo, user uint64, role string) error {
	return tx.pair(key(tagLocalGrant, repo, user), key(tagLocalGrantedTo, user, repo), role)
}

// SetLocalMember gives a user a role in an organization; "" takes it away.
func (tx Tx) SetLocalMember(org, user uint64, role string) error {
	return tx.pair(key(tagLocalMember, org, user), key(tagLocalMemberOf, user, org), role)
}

func (tx Tx) pair(forward, backward []byte, word string) error {
	if word == "" {
		if err := tx.kv.Delete(forward); err != nil {
			return err
		}
		return tx.kv.Delete(backward)
	}
	if err := tx.kv.Put(forward, []byte(word)); err != nil {
		return err
	}
	return tx.kv.Put(backward, nil)
}
