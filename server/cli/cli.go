// Package cli is the command line: it reads flags, asks the server through the
// client, and prints. One file per noun; config.go is the only user of viper.
//
// It holds no rules: what is allowed is the server's to say, here a refusal only
// gets an exit code and a next step. Its invariant: stdout carries the data that
// was asked for and nothing else, and no value or token is ever printed unasked.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coffer/server/client"
)

// version is set by the linker: -X coffer/server/cli.version=1.2.3.
var version string

// Main runs the program for the process it is in, and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the work in order; the second one ends the process.
	defer context.AfterFunc(ctx, stop)()
	return Run(ctx, Process{
		Args:   os.Args[1:],
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Env:    os.Environ(),
	})
}

// Process is all that a run sees of the world: what main passes in, and what a
// test may replace.
type Process struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            []string // KEY=value
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, p Process) int {
	a := &app{env: environ(p.Env), out: newConsole(p)}
	cmd := newRoot(a)
	cmd.SetArgs(p.Args)
	cmd.SetIn(p.Stdin)
	cmd.SetOut(p.Stdout)
	cmd.SetErr(p.Stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	return a.out.fail(a.refused(err))
}

// app is one run: its environment, its global flags and where it prints.
type app struct {
	env    environ
	out    *console
	server string
	place
	tokenRead string      // from COFFER_TOKEN_FILE
	connected string      // address of the server that connect leads to
	stored    login       // with which; none when the environment gives the token
	pin       *client.Pin // what the server is known by, or nil
}

// place is where a command works: an environment in the vault of a repository.
type place struct{ repo, environment string }

const defaultEnvironment = "development"

func newRoot(a *app) *cobra.Command {
	root := group("coffer", "A self-hosted vault for the secrets of your repositories")
	section(root, "Secrets:", newPush(a), newPull(a), newRun(a), newDiff(a),
		newSet(a), newGet(a), newLs(a), newRm(a), newHistory(a), newRollback(a), newTrash(a))
	section(root, "Hosting providers:", newConnect(a), newConnections(a), newSync(a))
	section(root, "Vaults and access:", newLogin(a), newLogout(a), newWhoami(a), newSessions(a),
		newVault(a), newEnv(a), newOrg(a), newKeys(a), newActivity(a), newOffline(a))
	section(root, "Server:", newInit(a), newServe(a), newStatus(a), newHealth(a), newUnseal(a), newUnsealMethod(a), newSeal(a), newRekey(a), newRotate(a), newAdmin(a), newForge(a), newAudit(a), newCheck(a),
		newBackup(a), newVerify(a), newRestore(a), newCompact(a), newErase(a), newReceipt(a), newDoctor(a), newRollbackUpgrade(a))
	root.Long = `coffer keeps the secrets of a team's repositories: one vault for each
repository, environments in a vault, secrets in an environment.

Start here:
  coffer serve --dev          a server with throw-away data, to try things
  coffer login URL            sign in to a server
  coffer push                 send .env to the vault of this checkout
  coffer run -- COMMAND       run a command with the secrets in its environment

Exit codes: 0 ok, 1 error, 2 sign in first, 3 not found, 4 not allowed,
5 server not reached, 6 conflict, 7 sealed, 8 too many requests, 9 invalid,
64 wrong usage or a confirmation is needed.`
	root.Version = programVersion()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetVersionTemplate("coffer {{.Version}}\n")
	// The line of a runnable group says the same already.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"{{if .HasAvailableSubCommands}}\n", "{{if and .HasAvailableSubCommands (not .Runnable)}}\n", 1))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s.\nSee: %s --help", strings.TrimSuffix(err.Error(), "."), cmd.CommandPath())
	})
	f := root.PersistentFlags()
	f.BoolVar(&a.out.json, "json", false, "print JSON")
	f.BoolVarP(&a.out.yes, "yes", "y", false, "answer every question with yes")
	f.StringVar(&a.server, "server", "", "address of the server, also --url (COFFER_URL; default: the last login)")
	f.StringVar(&a.repo, "repo", "", "repository, as owner/name (COFFER_REPO; default: the git remote upstream, else origin)")
	f.StringVarP(&a.place.environment, "env", "e", "", "environment (COFFER_ENV; default: "+defaultEnvironment+")")
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "url" {
			name = "server"
		}
		return pflag.NormalizedName(name)
	})
	return root
}

// section adds commands under a title of their own.
func section(root *cobra.Command, title string, subs ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, sub := range subs {
		sub.GroupID = title
	}
	root.AddCommand(subs...)
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use + " COMMAND", Short: short, RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			cmd.SetOut(cmd.ErrOrStderr())
			return cmp.Or(cmd.Help(), error(quietExit(exitUsage)))
		}
		word, _, _ := strings.Cut(args[0], "=") // behind it a value may stand
		text := fmt.Sprintf("There is no command %q.", cmd.CommandPath()+" "+word)
		if near := cmd.SuggestionsFor(word); len(near) > 0 {
			text += fmt.Sprintf(" Did you mean %s?", near[0])
		}
		return usagef("%s\nSee: %s --help", text, cmd.CommandPath())
	}}
	cmd.Args = cobra.ArbitraryArgs
	cmd.DisableFlagsInUseLine = true
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(subs...)
	return cmd
}

// args wants between low and high arguments; high < 0 is any number.
func args(low, high int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < low || high >= 0 && len(args) > high {
			return usagef("Use it like this: %s", cmd.UseLine())
		}
		return nil
	}
}

// oneOf wants at most one of some flags.
func oneOf(cmd *cobra.Command, flags ...string) error {
	var set []string
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			set = append(set, "--"+name)
		}
	}
	if len(set) > 1 {
		return usagef("Give one of %s, not both.", strings.Join(set, " and "))
	}
	return nil
}

// environ is an environment as os.Environ gives it.
type environ []string

// get is the value of a variable, or "".
func (e environ) get(name string) string {
	value := ""
	for _, pair := range e {
		if k, v, _ := strings.Cut(pair, "="); k == name {
			value = v
		}
	}
	return value
}

func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "dev"
}
