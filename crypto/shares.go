package crypto

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudflare/circl/group"
	"github.com/cloudflare/circl/secretsharing"
)

// MaxShares is how many shares a key may be split into.
const MaxShares = 32

var (
	// ErrTooFewShares says that more shares are needed.
	ErrTooFewShares = errors.New("too few shares")

	// ErrRepeatedShare says that the same share was given twice.
	ErrRepeatedShare = errors.New("the same share twice")

	// ErrForeignShare says that shares of different keys were given.
	ErrForeignShare = errors.New("shares of different keys")

	// ErrWrongShare says that shares which are well-formed do not give the key
	// that they name: at least one was forged.
	ErrWrongShare = errors.New("the shares do not give their key: at least one is forged")
)

// Share is one of n parts of an identity's secret. Any k of them give it back;
// fewer say nothing about it. It does not print itself.
type Share struct {
	redacted
	threshold, total, index int
	set                     [4]byte
	value                   Secret[[]byte]
}

// Threshold is how many shares are needed.
func (s *Share) Threshold() int { return s.threshold }

// Total is how many shares there are.
func (s *Share) Total() int { return s.total }

// Index is the number of the share, from 1.
func (s *Share) Index() int { return s.index }

// sharing is the group whose scalars shares are: ristretto255, because its
// arithmetic in circl takes the same time whatever the secret is, and because a
// scalar has 32 bytes, which somebody can type.
var sharing = group.Ristretto255

// NewShares generates an identity that any threshold of total shares give.
//
// The scalars of the group are a little fewer than the 2^256 seeds of an
// identity, so one is generated whose first four bits are zero. That leaves 252
// bits, and spares a second scalar, which would double what has to be typed.
//
// The shares come without commitments (Feldman's scheme). These would show
// which share is forged, and show the secret to whoever takes discrete
// logarithms: the key they belong to is meant to withstand that.
func NewShares(threshold, total int) (*Identity, []*Share, error) {
	if err := checkSplit(threshold, total); err != nil {
		return nil, nil, err
	}
	for {
		i, err := NewIdentity()
		if err != nil {
			return nil, nil, err
		}
		seed, err := seedOf(i)
		if err != nil {
			return nil, nil, err
		}
		if seed[0]>>4 != 0 {
			clear(seed)
			continue
		}
		return i, split(i, seed, threshold, total), nil
	}
}

func checkSplit(threshold, total int) error {
	if threshold < 2 || total < threshold || total > MaxShares {
		return fmt.Errorf("%d of %d shares: at least 2 must be needed, and at most %d made", threshold, total, MaxShares)
	}
	return nil
}

// split makes the shares of a seed below 2^252, and clears it.
func split(i *Identity, seed []byte, threshold, total int) []*Share {
	slices.Reverse(seed) // scalars are written with their lowest byte first
	secret := scalarOf(seed)
	clear(seed)
	var all []*Share
	// The library counts how many shares say nothing, we how many are needed.
	for n, part := range secretsharing.New(rand.Reader, uint(threshold-1), secret).Share(uint(total)) {
		value, err := part.Value.MarshalBinary()
		if err != nil {
			panic("crypto: internal error: " + err.Error())
		}
		all = append(all, &Share{threshold: threshold, total: total, index: n + 1, set: setOf(i), value: NewSecret(value)})
	}
	return all
}

// scalarOf is the scalar of its one encoding, nil if b is none.
func scalarOf(b []byte) group.Scalar {
	s := sharing.NewScalar()
	if len(b) != int(sharing.Params().ScalarLength) || s.UnmarshalBinary(b) != nil {
		return nil
	}
	again, err := s.MarshalBinary()
	if err != nil || !slices.Equal(again, b) {
		return nil
	}
	return s
}

// CombineShares gives the identity that shares are parts of. Order does not
// matter, and more than are needed may come. It fails with [ErrTooFewShares],
// [ErrRepeatedShare], [ErrForeignShare] or [ErrWrongShare].
func CombineShares(shares []*Share) (*Identity, error) {
	if len(shares) == 0 {
		return nil, ErrTooFewShares
	}
	first := shares[0]
	seen := make(map[int]bool)
	var parts []secretsharing.Share
	for _, s := range shares {
		if s.set != first.set || s.threshold != first.threshold || s.total != first.total {
			return nil, fmt.Errorf("%w: %s and %s", ErrForeignShare, first.Set(), s.Set())
		}
		if seen[s.index] {
			return nil, fmt.Errorf("%w: number %d", ErrRepeatedShare, s.index)
		}
		seen[s.index] = true
		parts = append(parts, secretsharing.Share{ID: sharing.NewScalar().SetUint64(uint64(s.index)), Value: scalarOf(s.value.Reveal())})
	}
	if len(parts) < first.threshold {
		return nil, fmt.Errorf("%w: %d of the %d that are needed", ErrTooFewShares, len(parts), first.threshold)
	}
	secret, err := secretsharing.Recover(uint(first.threshold-1), parts)
	if err != nil {
		return nil, err
	}
	seed, err := secret.MarshalBinary()
	if err != nil {
		return nil, err
	}
	defer clear(seed)
	slices.Reverse(seed)
	i, err := identityOf(seed)
	if err != nil || setOf(i) != first.set {
		return nil, ErrWrongShare
	}
	return i, nil
}

// An identity's text is Bech32: five bits a character, and a checksum of six.
// age makes and reads it with a package of its own, so the little that seeds need
// is here; age reads every text that it makes.
const (
	identityHRP  = "age-secret-key-pq-"
	bech32Digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
)

// seedOf are the 32 bytes that an identity is made of.
func seedOf(i *Identity) ([]byte, error) {
	text := strings.ToLower(i.Reveal())[len(identityHRP)+1:]
	seed, bits, have := make([]byte, 0, KeySize), 0, 0
	for _, c := range text[:len(text)-6] {
		bits, have = bits<<5|strings.IndexRune(bech32Digits, c), have+5
		if have >= 8 {
			have -= 8
			seed = append(seed, byte(bits>>have))
			bits &= 1<<have - 1
		}
	}
	if len(seed) != KeySize {
		return nil, fmt.Errorf("%w: its seed has %d bytes", ErrIdentity, len(seed))
	}
	return seed, nil
}

// identityOf is the identity of a seed.
func identityOf(seed []byte) (*Identity, error) {
	var values []byte
	bits, have := 0, 0
	for _, b := range seed {
		bits, have = bits<<8|int(b), have+8
		for have >= 5 {
			have -= 5
			values = append(values, byte(bits>>have))
			bits &= 1<<have - 1
		}
	}
	if have > 0 {
		values = append(values, byte(bits<<(5-have)))
	}
	text := []byte(identityHRP + "1")
	for _, v := range append(values, bech32Checksum(values)...) {
		text = append(text, bech32Digits[v])
	}
	defer clear(text)
	return parseIdentityLine(string(text))
}

// bech32Checksum is the checksum of BIP 173 for an identity.
func bech32Checksum(values []byte) []byte {
	var all []byte
	for _, c := range []byte(identityHRP) {
		all = append(all, c>>5)
	}
	all = append(all, 0)
	for _, c := range []byte(identityHRP) {
		all = append(all, c&31)
	}
	all = append(append(all, values...), 0, 0, 0, 0, 0, 0)
	sum := 1
	for _, v := range all {
		top := sum >> 25
		sum = (sum&0x1ffffff)<<5 ^ int(v)
		for i, g := range []int{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	sum ^= 1
	out := make([]byte, 6)
	for i := range out {
		out[i] = byte(sum >> (5 * (5 - i)) & 31)
	}
	return out
}
