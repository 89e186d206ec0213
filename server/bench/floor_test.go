//go:build unix

package bench

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/gin-gonic/gin"

	"coffer/store/kv"
	"coffer/store/kv/bolt"
)

// floor is what the bare handler does: it answers Answer. With Put it first
// makes bytes durable with one put in a group commit: those of the request's
// body, or without one Audit bytes, the size of the record that a read leaves.
type floor struct {
	Answer []byte
	Put    bool
	Audit  int
}

// floorDir is the environment variable for the directory of the floor's file.
const floorDir = "COFFER_BENCH_FLOOR"

// startFloor starts the bare handler.
func startFloor(b testing.TB, f floor) *child {
	b.Helper()
	c := startChild(b, "floor", floorDir+"="+b.TempDir())
	text, err := json.Marshal(f)
	if err == nil {
		_, err = c.tell(string(text))
	}
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// serveFloor is the child: gin with its fewest middlewares, which is none.
func serveFloor() error {
	db, err := bolt.Open(filepath.Join(os.Getenv(floorDir), "floor.db"), bolt.Options{})
	if err != nil {
		return err
	}
	s := &floorServer{db: db}
	gin.SetMode(gin.ReleaseMode)
	g := gin.New()
	g.GET("/v1/secrets/view", s.serve)
	g.GET("/v1/secrets/pull", s.serve)
	g.POST("/v1/secrets/push", s.serve)
	g.POST("/v1/vaults/:owner/:repo/secrets", s.serve)
	g.GET("/", s.serve)
	g.GET("/vaults/:owner/:repo", s.serve)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = (&http.Server{Handler: g}).Serve(tcp) }()
	err = obey(tcp.Addr().String(), func(line string) (string, error) {
		var f floor
		err := json.Unmarshal([]byte(line), &f)
		s.floor.Store(&f)
		return "", err
	})
	_ = tcp.Close()
	return err
}

type floorServer struct {
	floor atomic.Pointer[floor]
	db    *bolt.DB
	last  atomic.Uint64
}

func (s *floorServer) serve(c *gin.Context) {
	f := s.floor.Load()
	if f.Put {
		if err := s.put(c.Request, f.Audit); err != nil {
			c.String(http.StatusInternalServerError, "%v", err)
			return
		}
	}
	// Without it net/http would send longer answers in chunks.
	c.Header("Content-Length", strconv.Itoa(len(f.Answer)))
	c.Data(http.StatusOK, "application/json; charset=utf-8", f.Answer)
}

func (s *floorServer) put(r *http.Request, audit int) error {
	value := make([]byte, audit)
	if r.Method != http.MethodGet {
		var err error
		if value, err = readAll(r); err != nil {
			return err
		}
	}
	key := binary.BigEndian.AppendUint64(nil, s.last.Add(1))
	return s.db.Update(context.WithoutCancel(r.Context()), func(tx kv.Tx) error { return tx.Put(key, value) })
}

func readAll(r *http.Request) ([]byte, error) {
	b := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, b)
	return b, err
}
