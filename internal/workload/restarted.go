package workload

// Restarted is the error of a run that watched a service which has ended or was restarted meanwhile.
type Restarted struct{ Err error }

func (r *Restarted) Error() string { return r.Err.Error() }
func (r *Restarted) Unwrap() error { return r.Err }
