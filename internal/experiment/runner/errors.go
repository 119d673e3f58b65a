package runner

// Refused is the error of an experiment that was not begun, or not gone on with:
// nothing has happened.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *Refused) Unwrap() error { return r.Err }

// Cleanup is what could not be put back or removed at the end.
type Cleanup struct{ Err error }

func (c *Cleanup) Error() string { return c.Err.Error() }

// Unwrap returns Err.
func (c *Cleanup) Unwrap() error { return c.Err }
