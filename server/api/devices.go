package api

// StartDevice asks for a device login: a way for a program to be signed in by
// somebody in a browser. All of it may be absent.
type StartDevice struct {
	Repository *string `json:"repository"` // what the program is to be used for, as owner/repo
	OwnerID    *HostID `json:"ownerId"`
	RepoID     *HostID `json:"repoId"`
}

// Check holds the repository against the rule of its name.
func (r StartDevice) Check(f *Fields) {
	if r.Repository != nil {
		f.repo("repository", *r.Repository)
	}
}

// HostID is the number of something at the code host. In a request it may stand
// as a number or as a string of digits.
type HostID uint64

// StartedDevice carries the codes of a new device login, the only time they are
// shown.
type StartedDevice struct {
	DeviceCode              Revealed `json:"deviceCode"`
	UserCode                string   `json:"userCode"`
	VerificationURI         string   `json:"verificationUri"`
	VerificationURIComplete string   `json:"verificationUriComplete"`
	ExpiresIn               int      `json:"expiresIn"` // seconds
	Interval                int      `json:"interval"`  // seconds between two polls
	GitHubAppInstallURL     *string  `json:"githubAppInstallUrl"`
}

// PollDevice asks how a device login stands.
type PollDevice struct {
	DeviceCode Secret `json:"deviceCode" need:"true"`
}

// Check finds nothing wrong: a malformed code is simply not known.
func (PollDevice) Check(*Fields) {}

// What a poll is told.
const (
	DevicePending  = "pending"
	DeviceApproved = "approved"
	DeviceExpired  = "expired"
	DeviceDenied   = "denied"
)

// PolledDevice says how a device login stands: approved carries a service token,
// expired and denied a message.
type PolledDevice struct {
	Status      string   `json:"status"`
	KeywayToken Revealed `json:"keywayToken,omitempty"`
	GitHubLogin string   `json:"githubLogin,omitempty"` // name of the user, at whatever code host
	ExpiresAt   *Time    `json:"expiresAt,omitempty"`   // of the token
	Message     string   `json:"message,omitempty"`
}

// VerifyDevice asks which program a user code belongs to.
type VerifyDevice struct {
	UserCode string `json:"userCode" need:"true"`
}

// Check finds nothing wrong: a malformed code is simply not known.
func (VerifyDevice) Check(*Fields) {}

// VerifiedDevice is what to compare before approving, and the token to approve or
// to deny it with. Repository and UserAgent are what the program says of itself.
type VerifiedDevice struct {
	ConfirmToken Revealed `json:"confirmToken"`
	UserCode     string   `json:"userCode"`
	Repository   *string  `json:"repository"`
	RequestIP    *string  `json:"requestIp"`
	UserAgent    *string  `json:"userAgent"`
	RequestedAt  Time     `json:"requestedAt"`
	ExpiresAt    Time     `json:"expiresAt"`
}

// DecideDevice asks to approve or to deny what a confirm token was made for.
type DecideDevice struct {
	ConfirmToken Secret `json:"confirmToken" need:"true"`
}

// Check finds nothing wrong: a malformed token is simply not known.
func (DecideDevice) Check(*Fields) {}

// DecidedDevice says what became of a device login.
type DecidedDevice struct {
	Status string `json:"status"`
}
