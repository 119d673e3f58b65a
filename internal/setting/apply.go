package setting

import "context"

func Apply(ctx context.Context, sys *System, j *Journal, owner string, p *Plan, keep bool) ([]Outcome, error) {
	panic("not written")
}
func Revert(ctx context.Context, sys *System, j *Journal, owner string, force bool) ([]Outcome, error) {
	panic("not written")
}
func Verify(sys *System, dir string) ([]Outcome, error) { panic("not written") }
