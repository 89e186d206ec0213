package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// StartDevice begins a device login. It needs no token.
func (c *Client) StartDevice(ctx context.Context, s api.StartDevice) (*api.StartedDevice, error) {
	return call[api.StartedDevice](ctx, c, device("start", s))
}

// PollDevice asks how a device login stands. It needs no token.
func (c *Client) PollDevice(ctx context.Context, deviceCode api.Revealed) (*api.PolledDevice, error) {
	return call[api.PolledDevice](ctx, c, device("poll", map[string]api.Revealed{"deviceCode": deviceCode}))
}

// VerifyDevice shows which program a user code would sign in. It and deciding take
// a session of the web UI, which a transport has to add.
func (c *Client) VerifyDevice(ctx context.Context, userCode string) (*api.VerifiedDevice, error) {
	return call[api.VerifiedDevice](ctx, c, device("verify", api.VerifyDevice{UserCode: userCode}))
}

// ApproveDevice signs the program in that a confirm token was made for.
func (c *Client) ApproveDevice(ctx context.Context, confirmToken api.Revealed) (*api.DecidedDevice, error) {
	return c.decideDevice(ctx, "approve", confirmToken)
}

// DenyDevice refuses the program that a confirm token was made for.
func (c *Client) DenyDevice(ctx context.Context, confirmToken api.Revealed) (*api.DecidedDevice, error) {
	return c.decideDevice(ctx, "deny", confirmToken)
}

func (c *Client) decideDevice(ctx context.Context, how string, confirmToken api.Revealed) (*api.DecidedDevice, error) {
	return call[api.DecidedDevice](ctx, c, device(how, map[string]api.Revealed{"confirmToken": confirmToken}))
}

func device(step string, body any) request {
	return request{method: http.MethodPost, path: []string{"auth", "device", step}, body: body}
}
