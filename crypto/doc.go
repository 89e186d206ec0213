// Package crypto holds every key and every cryptographic decision of coffer.
//
// The flow, from start to a value:
//
//  1. An unseal method (passphrase, key file, recovery key) opens one small
//     age file and yields the [Master].
//  2. The master opens the age file of the [Root] key, and can then be dropped.
//  3. The root key opens the age file of a vault's [DataKey].
//  4. The data key seals and opens values, each bound to its place by a context.
//
// Beside that it makes and checks tokens, signs service JWTs, hashes passwords,
// links the records of a log and signs statements about it, and hardens the
// process.
//
// The package knows no database, no HTTP and no user; it takes and returns
// bytes, and who may ask for them is decided elsewhere. Its invariant: key
// material leaves it only sealed, or through a method named Reveal or File, and
// nothing it returns prints a secret in any form fmt, log/slog or encoding/json
// offer.
package crypto
