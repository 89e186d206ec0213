package warden

import (
	"context"
	"time"

	"coffer/server/api"
)

// restoringTime is how long the setup is kept for a browser that is sending a
// backup. It ends with the sending.
const restoringTime = 24 * time.Hour

// ChooseRestore makes the next step the one of sending a backup.
func (w *Warden) ChooseRestore(_ context.Context, ticket api.Secret) error {
	z, err := w.hold(ticket)
	if err != nil {
		return err
	}
	defer w.sealing.Unlock()
	z.draft, z.key, z.saved, z.restore = nil, nil, false, true
	z.until = w.now().Add(wizardTime)
	return nil
}

// BeginRestore keeps the setup for a browser while it sends a backup: nothing else
// can be done with the instance before end is called.
func (w *Warden) BeginRestore(_ context.Context, ticket api.Secret) (end func(), err error) {
	z, err := w.hold(ticket)
	if err != nil {
		return nil, err
	}
	defer w.sealing.Unlock()
	if !z.restore {
		return nil, errStepMissing()
	}
	z.busy, z.until = true, w.now().Add(restoringTime)
	return func() {
		w.sealing.Lock()
		defer w.sealing.Unlock()
		if z.busy {
			z.busy, z.until = false, w.now().Add(wizardTime)
		}
	}, nil
}

// errRestoring answers who would do something else meanwhile.
func errRestoring() *api.Error {
	return api.Errorf(api.Conflict, "A backup is being restored in a browser just now. Wait until that is done.")
}
