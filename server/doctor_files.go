package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"coffer/server/api"
	"coffer/server/depot"
)

// Room below which writing is about to fail.
const (
	littleRoom = 512 << 20
	noRoom     = 64 << 20
)

func (s *Server) examineFiles(ctx context.Context) []api.Diagnosis {
	return examineFiles(s.c, cmp.Or(s.c.Unseal.KeyFile, s.warden.KeyFile(ctx)))
}

// secretFiles are the files with secrets that the configuration names, by its keys.
func (c Config) secretFiles() [][2]string {
	return [][2]string{
		{"unseal.passphrase_file", c.Unseal.PassphraseFile},
		{"tls.key_file", c.TLS.KeyFile},
		{"forge.client_secret_file", c.Forge.ClientSecretFile},
		{"forge.webhook_secret_file", c.Forge.WebhookSecretFile},
		{"forge.token_file", c.Forge.TokenFile},
		{"forge.app_key_file", c.Forge.AppKeyFile},
		{"hosting.vercel.client_secret_file", c.Hosting.Vercel.ClientSecretFile},
		{"hosting.netlify.client_secret_file", c.Hosting.Netlify.ClientSecretFile},
		{"hosting.railway.client_secret_file", c.Hosting.Railway.ClientSecretFile},
		{"billing.stripe.secret_key_file", c.Billing.Stripe.SecretKeyFile},
		{"billing.stripe.webhook_secret_file", c.Billing.Stripe.WebhookSecretFile},
		{"metrics.token_file", c.Metrics.TokenFile},
	}
}

// examineFiles looks who may read what only the server should.
func examineFiles(c Config, keyFile string) []api.Diagnosis {
	var all []api.Diagnosis
	see := func(what, path string, needed bool) {
		if d, bad := openToOthers(what, path, needed); bad {
			all = append(all, d)
		}
	}
	see("The data directory", c.Data, true)
	see("The data file", filepath.Join(c.Data, DataFile), false)
	see("The operator's socket", filepath.Join(c.Data, socketName), false)
	for _, f := range c.secretFiles() {
		if f[1] != "" {
			see("The file of "+f[0]+",", f[1], true)
		}
	}
	if keyFile != "" {
		// One that is gone is said where the server is sealed for it.
		see("The key file", keyFile, false)
	}
	if len(all) == 0 {
		all = append(all, fine("Only the server's own user may read its files in "+c.Data+"."))
	}
	if keyFile != "" && sameDisk(keyFile, c.Data) {
		all = append(all, warning(
			fmt.Sprintf("The key file %s is on the same disk as the data. Whoever gets hold of that disk, or of a copy of it, has both and reads every secret.", keyFile),
			"Keep the key file on another disk or hand it over at start (a systemd credential, a mounted secret), and never copy both into one place."))
	}
	return all
}

// openToOthers says that more people than the owner may use a file.
func openToOthers(what, path string, needed bool) (api.Diagnosis, bool) {
	if runtime.GOOS == "windows" {
		return api.Diagnosis{}, false // permissions there are no bits
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !needed:
		return api.Diagnosis{}, false
	case err != nil:
		return problem(fmt.Sprintf("%s %s cannot be looked at: %v.", what, path, err), "Is the path right, and may the server's user reach it?"), true
	case info.Mode().Perm()&0o077 == 0:
		return api.Diagnosis{}, false
	}
	who := "its group"
	if info.Mode().Perm()&0o007 != 0 {
		who = "everybody on this machine"
	}
	mode := "600"
	if info.IsDir() {
		mode = "700"
	}
	return problem(fmt.Sprintf("%s %s is open to %s (mode %03o).", what, path, who, info.Mode().Perm()),
		fmt.Sprintf("chmod %s %s", mode, path)), true
}

func (s *Server) examineDisk(context.Context) []api.Diagnosis {
	all := examineRoom(s.c)
	st := s.db.Stats()
	if st.Stopped {
		return append(all, problem("The disk failed in the middle of a commit, so nothing is written any more.",
			"Look at the system's log, mend the disk, and start the server again. Then: coffer check."))
	}
	if st.Failed > 0 {
		all = append(all, warning(fmt.Sprintf("%s to the data file failed since the start.", count(int(st.Failed), "commit", "commits")),
			"The disk was full, or failed. Look at the system's log."))
	}
	if most, size := s.c.Store.MaxSize, s.db.Size(); most > 0 && size > most/10*9 {
		all = append(all, warning(fmt.Sprintf("The data file has %s of the %s that store.max_size allows. At the limit nothing is written.", bytesOf(size), bytesOf(most)),
			"Raise store.max_size, or shorten retention."))
	}
	return all
}

// examineRoom looks at the room on the disk: for writing, and for a second data file,
// which backups and compaction write.
func examineRoom(c Config) []api.Diagnosis {
	room, known := depot.Free(c.Data)
	if !known {
		return nil
	}
	free := int64(room)
	size := int64(0)
	if info, err := os.Stat(filepath.Join(c.Data, DataFile)); err == nil {
		size = info.Size()
	}
	has := fmt.Sprintf("The data file has %s, and its disk %s free", bytesOf(size), bytesOf(free))
	d := fine(has + ".")
	switch {
	case free < noRoom:
		d = problem(has+": writing is about to fail.", "Make room on that disk.")
	case free < size+size/4:
		d = warning(has+": not enough for a second file of that size, which a backup to the same disk and a compaction need.", "Make room on that disk, or back up to another one.")
	case free < littleRoom:
		d = warning(has+".", "Make room on that disk before it is full.")
	}
	d.Area = "disk"
	return []api.Diagnosis{d}
}

// bytesOf is a size for people.
func bytesOf(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", (n+1023)/1024)
}
