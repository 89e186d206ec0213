package forge

import "context"

// Installer is a forge where repositories must be opened to the instance first:
// its application is installed on their account.
type Installer interface {
	// InstallURL is the page on which people install the application. It is ""
	// when none is configured, or while the host does not say.
	InstallURL(ctx context.Context) string

	// InstallationID is the host's number for the installation that covers a
	// repository. Where there is none it is ErrNotFound.
	InstallationID(ctx context.Context, repo Repository) (string, error)

	// InstalledOn reports whether the application is installed on an organization.
	InstalledOn(ctx context.Context, org Organization) (bool, error)
}
