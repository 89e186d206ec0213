// Coffer is a self-hosted vault for the secrets of a team's repositories.
package main

import (
	"os"

	"coffer/server/cli"
)

func main() { os.Exit(cli.Main()) }
