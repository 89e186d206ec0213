package warden

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"maps"
	"slices"
	"strings"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/store"
)

// ChangedLately is how long a change counts as a recent one.
const ChangedLately = 7 * 24 * time.Hour

// Filters of a matrix.
const (
	MatrixMissing = "missing" // keys that some environment lacks
	MatrixDiffers = "differs" // keys whose values are not all the same
	MatrixChanged = "changed" // keys that changed lately somewhere
)

// MatrixQuery asks for a matrix, or for the part of it whose keys contain a text,
// in any case, and that a filter lets through. What is empty filters nothing.
type MatrixQuery struct {
	api.Ref
	Query, Show   string
	Limit, Offset int // of rows; a limit of zero is none
}

// Matrix shows which key is set in which environment, of those that the caller may
// read.
type Matrix struct {
	Columns []MatrixColumn
	Rows    []MatrixRow // a page of them, by key
	Total   int         // of rows that query and filter let through

	// How many keys the query finds, in all and by filter.
	All, Missing, Differs, Changed int
}

// MatrixColumn is an environment.
type MatrixColumn struct {
	Name, Type string
	Revision   uint64
	Secrets    int
	CanWrite   bool // the caller may change its secrets
}

// MatrixRow is a key, with a cell for each column.
type MatrixRow struct {
	Key                       string
	Cells                     []MatrixCell
	Missing, Differs, Changed bool
}

// MatrixCell is a key in an environment. Where it is not set, the cell is zero.
type MatrixCell struct {
	SecretID string
	Version  uint32
	Same     int // cells of a row with the same number have the same value; from 1
	Updated  time.Time
	By       string // who changed it last, or ""
	Changed  bool   // lately
}

// Matrix is the matrix of a vault. To fill it, values are opened and compared, but
// it says of them only which are the same, and only to somebody who may read each
// of them; so it is recorded as little as a list of keys is.
func (w *Warden) Matrix(ctx context.Context, who Caller, req MatrixQuery) (*Matrix, error) {
	var m *Matrix
	err := w.read(ctx, who, access.SecretList, req.Repository(), func(v *visit) (err error) {
		m, err = v.lookAcross(req)
		return err
	})
	return m, err
}

func (v *visit) lookAcross(req MatrixQuery) (*Matrix, error) {
	envs := v.readable()
	m := &Matrix{}
	reason, err := v.books.readOnly(v.vault)
	if err != nil {
		return nil, err
	}
	for _, e := range envs {
		m.Columns = append(m.Columns, MatrixColumn{Name: e.Name, Type: e.Type, Revision: e.Revision, Secrets: e.Secrets,
			CanWrite: v.rights(e).Write && reason == billing.Writable})
	}
	all, err := v.across(envs, strings.ToUpper(strings.TrimSpace(req.Query)))
	if err != nil {
		return nil, err
	}
	alike, err := newAlike(v, envs)
	if err != nil {
		return nil, err
	}
	var rows []MatrixRow
	for _, key := range slices.Sorted(maps.Keys(all)) {
		row, err := v.row(key, all[key], alike)
		if err != nil {
			return nil, err
		}
		if m.tally(row, req.Show) {
			rows = append(rows, row)
		}
	}
	m.Total = len(rows)
	rows = rows[min(max(0, req.Offset), len(rows)):]
	if req.Limit > 0 {
		rows = rows[:min(req.Limit, len(rows))]
	}
	m.Rows = rows
	return m, nil
}

// across gathers what environments have for each key that contains a text. Keys
// without a value in an environment have the zero Newest there.
func (v *visit) across(envs []*store.Environment, part string) (map[string][]store.Newest, error) {
	all := make(map[string][]store.Newest)
	for i, e := range envs {
		newest, err := v.Newest(*e)
		if err != nil {
			return nil, err
		}
		for _, n := range newest {
			if !strings.Contains(n.Key, part) {
				continue
			}
			if all[n.Key] == nil {
				all[n.Key] = make([]store.Newest, len(envs))
			}
			all[n.Key][i] = n
		}
	}
	return all, nil
}

func (v *visit) row(key string, values []store.Newest, alike *alike) (MatrixRow, error) {
	row := MatrixRow{Key: key, Cells: make([]MatrixCell, len(values))}
	same, err := alike.classes(values)
	if err != nil {
		return row, err
	}
	for i, n := range values {
		if same[i] == 0 {
			row.Missing = true
			continue
		}
		by, err := v.person(n.ModifiedBy)
		if err != nil {
			return row, err
		}
		c := MatrixCell{SecretID: n.Secret.String(), Version: n.Number, Same: same[i], Updated: n.Updated.Time(),
			Changed: n.Updated.Time().After(v.now.Add(-ChangedLately))}
		if by != nil {
			c.By = by.Login
		}
		row.Cells[i] = c
		row.Changed = row.Changed || c.Changed
		row.Differs = row.Differs || c.Same > 1
	}
	return row, nil
}

// tally counts a row, and reports whether a filter lets it through.
func (m *Matrix) tally(row MatrixRow, show string) bool {
	through := show == ""
	m.All++
	for _, f := range []struct {
		name  string
		is    bool
		count *int
	}{{MatrixMissing, row.Missing, &m.Missing}, {MatrixDiffers, row.Differs, &m.Differs}, {MatrixChanged, row.Changed, &m.Changed}} {
		if f.is {
			*f.count++
			through = through || show == f.name
		}
	}
	return through
}

// alike tells which values are the same. It keeps no value: only a fingerprint of
// each, of one row at a time, under a key that nobody else ever has.
type alike struct {
	v     *visit
	envs  []*store.Environment
	mac   hash.Hash
	plain []byte // of the value looked at last
}

func newAlike(v *visit, envs []*store.Environment) (*alike, error) {
	var key [sha256.Size]byte
	if _, err := rand.Read(key[:]); err != nil {
		return nil, err
	}
	return &alike{v: v, envs: envs, mac: hmac.New(sha256.New, key[:])}, nil
}

// classes numbers a key's values from 1, the same ones alike; 0 is none.
func (a *alike) classes(values []store.Newest) ([]int, error) {
	same := make([]int, len(values))
	var first []fingerprint // of each class
	for i, n := range values {
		if n.Secret.IsZero() {
			continue
		}
		f := fingerprint{length: len(n.Sealed)}
		if lengthTwice(values, len(n.Sealed)) {
			var err error
			if f.sum, err = a.sum(a.envs[i], n); err != nil {
				return nil, err
			}
		}
		same[i] = slices.Index(first, f) + 1
		if same[i] == 0 {
			first = append(first, f)
			same[i] = len(first)
		}
	}
	return same, nil
}

// fingerprint stands for a value among those of one row.
type fingerprint struct {
	length int
	sum    [sha256.Size]byte
}

// lengthTwice reports whether more than one value is that long. Sealing adds the
// same to each, so one that is alone in its length need not be opened.
func lengthTwice(values []store.Newest, length int) bool {
	n := 0
	for _, other := range values {
		if !other.Secret.IsZero() && len(other.Sealed) == length {
			n++
		}
	}
	return n > 1
}

func (a *alike) sum(e *store.Environment, n store.Newest) (sum [sha256.Size]byte, err error) {
	k, err := a.v.key(uint64(n.Generation))
	if err != nil {
		return sum, err
	}
	if a.plain, err = k.Open(a.plain[:0], n.Sealed, newestContext(e, n)); err != nil {
		return sum, err
	}
	a.mac.Reset()
	a.mac.Write(a.plain)
	a.mac.Sum(sum[:0])
	return sum, nil
}
