package cli

import (
	"net/url"
	"os/exec"
	"runtime"
)

// noBrowser opens nothing.
func noBrowser(string) bool { return false }

// openBrowser asks the system to show a page, and reports whether there was
// anything to ask. It does not wait: what becomes of it, the user sees.
func (a *app) openBrowser(page string) bool {
	command := browserCommand(runtime.GOOS, a.env, page)
	if command == nil {
		return false
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = a.env
	if cmd.Start() != nil {
		return false
	}
	go func() { _ = cmd.Wait() }() // so that it does not stay a zombie
	return true
}

// browserCommand is the command that shows a page, or nil where there is no
// display, or one far away from whoever types here.
func browserCommand(system string, env environ, page string) []string {
	// The address comes from a server: it must not become another command.
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil
	}
	page = u.String()
	switch {
	case first(env.get("SSH_CONNECTION"), env.get("SSH_TTY"), env.get("SSH_CLIENT")) != "":
		return nil
	case system == "darwin":
		return []string{"open", page}
	case system == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", page}
	case first(env.get("DISPLAY"), env.get("WAYLAND_DISPLAY")) == "":
		return nil
	}
	return []string{"xdg-open", page}
}
