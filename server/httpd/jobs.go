package httpd

import (
	"reflect"

	"coffer/server/api"
)

var jobBinder = newBinder(reflect.TypeFor[api.JobRef]())

// Jobs are none of the warden's, which only does what they call for. So these two
// have no operation of it behind them; ask has it admit the caller all the same.

func listJobs(x *exchange) error {
	if _, err := ask[api.Empty](x, emptyBinder); err != nil {
		return err
	}
	all, err := x.Jobs.List(x.ctx)
	if err != nil {
		return err
	}
	return x.send(all, nil)
}

func runJob(x *exchange) error {
	ref, err := ask[api.JobRef](x, jobBinder)
	if err != nil {
		return err
	}
	ran, err := x.runJob(ref.Name)
	if err != nil {
		return err
	}
	return x.send(ran, nil)
}

// runJob runs a job for a caller who was admitted, and has it recorded.
func (x *exchange) runJob(name string) (*api.Job, error) {
	ran, err := x.Jobs.RunNow(x.ctx, name)
	if err != nil {
		return nil, err
	}
	return ran, x.Warden.RecordJobRun(x.ctx, x.who, api.JobRef{Name: name})
}
