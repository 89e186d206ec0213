package depot

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/minio/minio-go/v7"
)

// refusals are what to do about the codes of S3 that an operator can do something
// about.
var refusals = map[string]string{
	"AccessDenied":                 "the keys are not allowed to; give them the right to put, get, list and delete objects there",
	"AllAccessDisabled":            "the bucket is closed to everybody; ask whoever runs it",
	"InvalidAccessKeyId":           "it does not know the access key; look at backup.s3.access_key",
	"SignatureDoesNotMatch":        "the secret key does not belong to the access key; look at backup.s3.secret_key_file",
	"NoSuchBucket":                 "there is no such bucket; make it, or look at backup.to",
	"PermanentRedirect":            "the bucket is elsewhere; look at backup.s3.endpoint and backup.s3.region",
	"AuthorizationHeaderMalformed": "the bucket is in another region; look at backup.s3.region",
	"RequestTimeTooSkewed":         "the clocks of this machine and of the store differ too much; set them right",
	"EntityTooLarge":               "the store takes nothing so large",
	"QuotaExceeded":                "there is no room left; make some, or keep fewer backups",
	"XMinioStorageFull":            "there is no room left; make some, or keep fewer backups",
	"ServiceUnavailable":           "the store is not available; it is tried again later",
	"SlowDown":                     "the store is overloaded; it is tried again later",
	"InternalError":                "the store failed; it is tried again later",
}

// explain says in a sentence what to do about a failure. What the store says itself
// goes no further, but for its code: it may repeat what it was sent.
func (d *bucketDepot) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	say := func(text string) error {
		return fmt.Errorf("cannot %s in %s at %s: %s", what, d.where, d.endpoint, text)
	}
	if answer, ok := errors.AsType[minio.ErrorResponse](err); ok {
		if text := refusals[answer.Code]; text != "" {
			return say(text)
		}
		if answer.StatusCode >= 500 {
			return say(fmt.Sprintf("the store failed with %d; it is tried again later", answer.StatusCode))
		}
		if answer.StatusCode > 0 {
			return say(fmt.Sprintf("it answers %d %s; look at its log", answer.StatusCode, code(answer.Code)))
		}
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return say("its certificate is not known here; name one that vouches for it in backup.s3.ca_file")
	}
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("cannot %s in %s: %w", what, d.where, err)
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return say("it takes too long to answer; it is tried again later")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return say("the connection broke; it is tried again later")
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return say("it cannot be reached (" + failed.Err.Error() + "); look at the network and backup.s3.endpoint")
	}
	return say("it gives no proper answer; look whether backup.s3.endpoint is a store that speaks S3")
}

// code is a code of an answer, unless it is none.
func code(text string) string {
	if len(text) > 40 {
		return ""
	}
	for _, c := range text {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return ""
		}
	}
	return text
}
