package setting

import "fmt"

// OwnerSet is the owner of what 'hostlab set' has changed. Others are directories of experiments.
const OwnerSet = "set"

// Owned says that another owner has changed an object. An object has one owner at a time, who alone puts it back.
type Owned struct {
	Setting string
	Object  Object
	Owner   string
}

func (e *Owned) Error() string {
	who := "'hostlab set'"
	if e.Owner != OwnerSet {
		who = "the experiment in " + e.Owner
	}
	return fmt.Sprintf("%s is changed by %s, and only one at a time can change it; restore it by 'hostlab revert "+
		"--owner %s', or add --forget to keep its value for good", Label(e.Setting, e.Object.Name), who, e.Owner)
}

// Free is an *Owned if another owner has changed an object of a plan, or one that the plan changes beside them.
func (v *View) Free(owner string, p *Plan) error {
	for _, step := range p.Steps {
		paths := []string{step.Path}
		for _, side := range v.sys.setting(step.Setting).sides(v.sys, step.Object) {
			paths = append(paths, side.Object.Path)
		}
		for _, path := range paths {
			if o := v.st.objects[path]; o != nil && o.Owner != owner && !o.rebooted(v.boot) {
				return &Owned{o.Setting, o.object(), o.Owner}
			}
		}
	}
	return nil
}
