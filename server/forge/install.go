package forge

// Installer is a forge where repositories must be opened to the instance first:
// its application is installed on their account.
type Installer interface {
	// InstallURL is the page on which people install the application, or "" when
	// none is configured.
	InstallURL() string
}
