//go:build unix

package bench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestTheLoadIsWhatTheServerSees(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer s.Close()
	l, err := newLoad(strings.TrimPrefix(s.URL, "http://"), []script{
		{newRequest("GET", "/", "t", nil)},
		{newRequest("POST", "/", "", []byte("one")), newRequest("POST", "/", "", []byte("three"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.run(20 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
	if got.requests == 0 || int64(got.requests) != asked.Load() {
		t.Errorf("counted %d requests, the server saw %d", got.requests, asked.Load())
	}
}

func TestAnAnswerThatIsNoSuccessEndsTheLoad(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	l, err := newLoad(strings.TrimPrefix(s.URL, "http://"), []script{{newRequest("GET", "/gone", "", nil)}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if _, err := l.run(time.Minute); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v, want an error about status 404", err)
	}
}
