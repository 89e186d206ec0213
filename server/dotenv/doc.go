// Package dotenv reads and writes the .env dialect: the wire's content
// (Encode), what existing clients make of it (ClientParse), files that people
// keep (Parse) and files that we write for them (Write).
//
// It knows no vault, no HTTP and no file system; every function is pure.
//
// The invariant: a value is never altered silently. Parse reads what Write
// wrote exactly, and reads what Encode wrote exactly wherever Encode wrote two
// different texts for two different values. It does not always: a line break
// and the two characters \n become the same text in a value that holds CR or
// LF, and in one that holds ' beside " \ $ or `. Such a text is read as a line
// break; Entry.Encodes recognises the stored value all the same.
//
// Encode and Write are told apart by the end of the text: Encode never ends in
// a line feed, Write always does.
package dotenv
