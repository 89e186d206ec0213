package depot

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3 says how a bucket is reached.
type S3 struct {
	Endpoint   string // with its scheme; default Amazon's
	Region     string // default us-east-1
	Addressing string // "path": the bucket is in the path, "host": in the name of the host, "auto" or "": as its provider likes it
	AccessKey  string
	SecretKey  string
	CA         *x509.CertPool // who vouches for the endpoint, instead of the system's
}

const (
	amazon = "https://s3.amazonaws.com"

	// partSize is what is held in memory of a backup on its way out. A bucket
	// takes 10,000 parts: 160 GB.
	partSize = 16 << 20

	tries = 4                // of each request
	quiet = 2 * time.Minute  // with no byte in either direction ends a connection
	grace = 3 * time.Second  // to clean up after the end of a context
	asked = 30 * time.Second // for whatever moves no backup
)

// bucketDepot keeps each backup in an object. An object is there at once or not
// at all, which is the store's promise.
type bucketDepot struct {
	where, bucket, prefix string
	endpoint              string
	client                *minio.Core
}

func openS3(c Config) (Depot, error) {
	name, prefix, err := bucket(c.To)
	if err != nil {
		return nil, err
	}
	lookups := map[string]minio.BucketLookupType{
		"": minio.BucketLookupAuto, "auto": minio.BucketLookupAuto, "path": minio.BucketLookupPath, "host": minio.BucketLookupDNS,
	}
	lookup, known := lookups[c.S3.Addressing]
	if !known {
		return nil, fmt.Errorf("addressing is %q; it is auto, path or host", c.S3.Addressing)
	}
	if c.S3.AccessKey == "" || c.S3.SecretKey == "" {
		return nil, errors.New("a bucket takes an access key and a secret key")
	}
	endpoint := strings.TrimRight(cmp.Or(c.S3.Endpoint, amazon), "/")
	at, err := url.Parse(endpoint)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || at.User != nil || at.Path != "" || at.RawQuery != "" || at.Fragment != "" {
		return nil, fmt.Errorf("endpoint is %q; write it like https://s3.example.com", c.S3.Endpoint)
	}
	client, err := minio.NewCore(at.Host, &minio.Options{
		Creds: credentials.NewStaticV4(c.S3.AccessKey, c.S3.SecretKey, ""), Secure: at.Scheme == "https",
		Transport: newTransport(c.S3.CA), Region: cmp.Or(c.S3.Region, "us-east-1"), BucketLookup: lookup, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", endpoint, err)
	}
	client.SetAppInfo(cmp.Or(c.Agent, "coffer"), "1")
	return &bucketDepot{strings.TrimRight(c.To, "/"), name, prefix, endpoint, client}, nil
}

func newTransport(ca *x509.CertPool) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: ca, MinVersion: tls.VersionTLS12}
	t.DialContext = dialWatched
	t.DisableCompression = true // a backup is what it is
	t.MaxIdleConns, t.IdleConnTimeout = 2, 10*time.Second
	return bounded{t}
}

func (d *bucketDepot) Where() string { return d.where }

func (d *bucketDepot) Check(ctx context.Context, instance string) error {
	ctx, cancel := context.WithTimeout(ctx, asked)
	defer cancel()
	key := d.prefix + checkName(instance)
	const text = "coffer looks whether it may write here\n"
	_, err := d.client.Client.PutObject(ctx, d.bucket, key, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{SendContentMd5: true})
	if err != nil {
		return d.explain("write", err)
	}
	return d.explain("delete", d.client.RemoveObject(ctx, d.bucket, key, minio.RemoveObjectOptions{}))
}

// Put sends parts of partSize, one after the other, and has the store join them.
func (d *bucketDepot) Put(ctx context.Context, name Name, r io.Reader) (int64, error) {
	source := &remembering{r: during{ctx, r}}
	info, err := d.client.Client.PutObject(outlasting(ctx), d.bucket, d.prefix+name.String(), source, -1, minio.PutObjectOptions{
		PartSize: partSize, SendContentMd5: true, ContentType: "application/age",
	})
	switch {
	case source.err != nil:
		return source.n, source.err // what was to be put, not the store
	case err != nil:
		return source.n, d.explain("write", err)
	}
	return info.Size, nil
}

func (d *bucketDepot) List(ctx context.Context, instance string) ([]Object, error) {
	ctx, cancel := context.WithTimeout(ctx, asked)
	defer cancel()
	var all []Object
	for o := range d.client.Client.ListObjects(ctx, d.bucket, minio.ListObjectsOptions{Prefix: d.prefix + begin(instance)}) {
		if o.Err != nil {
			return nil, d.explain("list", o.Err)
		}
		if name, ok := ours(instance, strings.TrimPrefix(o.Key, d.prefix)); ok {
			all = append(all, Object{name, o.Size})
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, d.explain("list", err)
	}
	slices.SortFunc(all, func(a, b Object) int { return a.Name.compare(b.Name) })
	return all, nil
}

func (d *bucketDepot) Get(ctx context.Context, name Name) (io.ReadCloser, error) {
	body, _, _, err := d.client.GetObject(ctx, d.bucket, d.prefix+name.String(), minio.GetObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil, ErrAbsent
	}
	if err != nil {
		return nil, d.explain("read", err)
	}
	return body, nil
}

func (d *bucketDepot) Delete(ctx context.Context, name Name) error {
	ctx, cancel := context.WithTimeout(ctx, asked)
	defer cancel()
	return d.explain("delete", d.client.RemoveObject(ctx, d.bucket, d.prefix+name.String(), minio.RemoveObjectOptions{}))
}

// Clean ends uploads that were begun and never completed: nobody sees their parts,
// and the store keeps them, and the bill, for ever.
func (d *bucketDepot) Clean(ctx context.Context, instance string) error {
	ctx, cancel := context.WithTimeout(ctx, asked)
	defer cancel()
	for u := range d.client.ListIncompleteUploads(ctx, d.bucket, d.prefix+begin(instance), true) {
		if u.Err != nil {
			return d.explain("list unfinished uploads", u.Err)
		}
		if _, ok := ours(instance, strings.TrimPrefix(u.Key, d.prefix)); !ok {
			continue
		}
		if err := d.client.AbortMultipartUpload(ctx, d.bucket, u.Key, u.UploadID); err != nil {
			return d.explain("end an unfinished upload", err)
		}
	}
	return nil
}

func (d *bucketDepot) Free() (uint64, bool) { return 0, false }

// remembering keeps the error of what is read, which a client of others wraps as
// it likes, and counts.
type remembering struct {
	r   io.Reader
	n   int64
	err error
}

func (m *remembering) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	if err != nil && err != io.EOF {
		m.err = err
	}
	return n, err
}
