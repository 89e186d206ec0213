// Package depottest stands in for a store that speaks S3, and holds what every
// depot must keep to.
package depottest

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/standin"
)

// The one bucket of the stand-in, and the keys that open it.
const (
	Bucket    = "safe"
	AccessKey = "AKIDEXAMPLE"
	SecretKey = "c4n4ry-s3-secret-key"
)

// S3 is a store with one bucket, which is reached by path and takes requests that
// are signed with its keys.
type S3 struct {
	*standin.Fake

	mu      sync.Mutex
	objects map[string][]byte
	uploads map[string]*upload
	count   int
	now     func() time.Time
}

type upload struct {
	key   string
	parts map[int][]byte
}

// NewS3 starts one until the test ends.
func NewS3(t testing.TB) *S3 {
	s := &S3{objects: make(map[string][]byte), uploads: make(map[string]*upload), now: time.Now}
	s.Fake = standin.New(t, func() []string { return []string{SecretKey} }, s)
	return s
}

// Objects are the keys of all objects, in order.
func (s *S3) Objects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Uploads counts those that were begun and neither completed nor ended.
func (s *S3) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

// Object is what an object holds, nil when there is none.
func (s *S3) Object(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key]
}

// SetObject puts an object there, or with nil removes it, behind every client's back.
func (s *S3) SetObject(key string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if body == nil {
		delete(s.objects, key)
		return
	}
	s.objects[key] = body
}

// BeginUpload begins an upload that nobody will complete.
func (s *S3) BeginUpload(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(key)
}

func (s *S3) begin(key string) string {
	s.count++
	id := fmt.Sprintf("upload-%d", s.count)
	s.uploads[id] = &upload{key, make(map[int][]byte)}
	return id
}

// Refuse answers like S3 does, with a code.
func Refuse(status int, code string) standin.Fault {
	return func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		refuse(rw, status, code)
	}
}

func refuse(rw http.ResponseWriter, status int, code string) {
	type answer struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}
	answerXML(rw, status, answer{Code: code, Message: "c4n4ry: what the store says itself, with " + SecretKey})
}

func answerXML(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/xml")
	rw.WriteHeader(status)
	_ = xml.NewEncoder(rw).Encode(body) // a client that left is no concern of ours
}

// ServeHTTP answers as the store.
func (s *S3) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if code := badSignature(r, s.now()); code != "" {
		refuse(rw, http.StatusForbidden, code)
		return
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if bucket != Bucket {
		refuse(rw, http.StatusNotFound, "NoSuchBucket")
		return
	}
	body, err := content(r)
	if err != nil {
		refuse(rw, http.StatusBadRequest, "IncompleteBody")
		return
	}
	if sum := r.Header.Get("Content-Md5"); sum != "" && sum != sumOf(body) {
		refuse(rw, http.StatusBadRequest, "BadDigest")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == "" {
		s.bucket(rw, r)
		return
	}
	s.object(rw, r, key, body)
}

func sumOf(body []byte) string {
	sum := md5.Sum(body)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func etag(body []byte) string {
	sum := md5.Sum(body)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// content is the body, out of the chunks that a client signs one by one.
func content(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	var body bytes.Buffer
	in := bufio.NewReader(r.Body)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		if _, err := io.CopyN(&body, in, n); err != nil {
			return nil, err
		}
		if _, err := in.Discard(2); err != nil {
			return nil, err
		}
	}
	if want := r.Header.Get("X-Amz-Decoded-Content-Length"); want != strconv.Itoa(body.Len()) {
		return nil, io.ErrUnexpectedEOF
	}
	return body.Bytes(), nil
}

type listedObject struct {
	Key          string
	LastModified string
	ETag         string
	Size         int
}

type listedUpload struct {
	Key       string
	UploadId  string
	Initiated string
}

const longAgo = "2024-01-01T00:00:00.000Z"

func (s *S3) bucket(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && q.Has("uploads"):
		type answer struct {
			XMLName xml.Name `xml:"ListMultipartUploadsResult"`
			Bucket  string
			Upload  []listedUpload
		}
		a := answer{Bucket: Bucket}
		for _, id := range slices.Sorted(maps.Keys(s.uploads)) {
			if u := s.uploads[id]; strings.HasPrefix(u.key, q.Get("prefix")) {
				a.Upload = append(a.Upload, listedUpload{u.key, id, longAgo})
			}
		}
		answerXML(rw, http.StatusOK, a)
	case r.Method == http.MethodGet && q.Get("list-type") == "2":
		s.list(rw, r)
	default:
		refuse(rw, http.StatusNotImplemented, "NotImplemented")
	}
}

func (s *S3) list(rw http.ResponseWriter, r *http.Request) {
	type answer struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Name, Prefix          string
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []listedObject
	}
	q := r.URL.Query()
	a := answer{Name: Bucket, Prefix: q.Get("prefix")}
	asked, _ := strconv.Atoi(q.Get("max-keys"))
	size := s.PageSize(asked, 1000, 1000)
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		rest, ok := strings.CutPrefix(key, a.Prefix)
		if !ok || key <= q.Get("continuation-token") || q.Get("delimiter") != "" && strings.Contains(rest, q.Get("delimiter")) {
			continue
		}
		if len(a.Contents) == size {
			a.IsTruncated, a.NextContinuationToken = true, a.Contents[size-1].Key
			break
		}
		a.Contents = append(a.Contents, listedObject{key, longAgo, etag(s.objects[key]), len(s.objects[key])})
	}
	answerXML(rw, http.StatusOK, a)
}

func (s *S3) object(rw http.ResponseWriter, r *http.Request, key string, body []byte) {
	q := r.URL.Query()
	u := s.uploads[q.Get("uploadId")]
	switch {
	case q.Has("uploadId") && (u == nil || u.key != key):
		refuse(rw, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPost && q.Has("uploads"):
		answerXML(rw, http.StatusOK, struct {
			XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
			Bucket   string
			Key      string
			UploadId string
		}{Bucket: Bucket, Key: key, UploadId: s.begin(key)})
	case r.Method == http.MethodPut && u != nil:
		n, _ := strconv.Atoi(q.Get("partNumber"))
		u.parts[n] = body
		rw.Header().Set("ETag", etag(body))
	case r.Method == http.MethodPost && u != nil:
		s.complete(rw, q.Get("uploadId"), body)
	case r.Method == http.MethodDelete && u != nil:
		delete(s.uploads, q.Get("uploadId"))
		rw.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		s.objects[key] = body
		rw.Header().Set("ETag", etag(body))
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		rw.WriteHeader(http.StatusNoContent)
	case s.objects[key] == nil:
		refuse(rw, http.StatusNotFound, "NoSuchKey")
	default:
		rw.Header().Set("ETag", etag(s.objects[key]))
		rw.Header().Set("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
		rw.Header().Set("Content-Length", strconv.Itoa(len(s.objects[key])))
		_, _ = rw.Write(s.objects[key])
	}
}

// complete joins the parts, each of which but the last must have 5 MiB.
func (s *S3) complete(rw http.ResponseWriter, id string, body []byte) {
	var asked struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	u := s.uploads[id]
	if xml.Unmarshal(body, &asked) != nil || len(asked.Part) == 0 {
		refuse(rw, http.StatusBadRequest, "MalformedXML")
		return
	}
	var whole []byte
	for i, p := range asked.Part {
		part, ok := u.parts[p.PartNumber]
		switch {
		case !ok || strings.Trim(p.ETag, `"`) != strings.Trim(etag(part), `"`):
			refuse(rw, http.StatusBadRequest, "InvalidPart")
			return
		case len(part) < 5<<20 && i < len(asked.Part)-1:
			refuse(rw, http.StatusBadRequest, "EntityTooSmall")
			return
		}
		whole = append(whole, part...)
	}
	delete(s.uploads, id)
	s.objects[u.key] = append([]byte{}, whole...)
	answerXML(rw, http.StatusOK, struct {
		XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket  string
		Key     string
		ETag    string
	}{Bucket: Bucket, Key: u.key, ETag: etag(whole)})
}
