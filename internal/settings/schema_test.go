package settings

import (
	"reflect"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/setting"
	"hostlab/internal/testkit"
)

// docs/schema/settings.schema.json describes what settings, set, verify and revert write as JSON.
func TestSchema(t *testing.T) {
	form := func(kind string) document.Head { return document.Head{Kind: kind, Schema: Schema} }
	testkit.Schema{Title: "Output of hostlab settings, set, verify and revert with --format json",
		Description: "settings prints what there is; set, verify and revert print what became of each object. Values are " +
			"the kernel's own text.",
		Forms: []any{All{Head: form("settings")}, Change{Head: form("change")}, Change{Head: form("verify")}},
		Words: map[reflect.Type][]any{reflect.TypeFor[Action](): {DoSet, DoVerify, DoRevert, Plan},
			reflect.TypeFor[setting.Result](): {setting.Changed, setting.Unchanged, setting.Rounded, setting.Restored,
				setting.Foreign, setting.Gone,
				setting.Forgotten, setting.Failed, setting.Moved, setting.Planned, setting.Same, setting.Skipped}},
	}.Equal(t, "settings.schema.json")
}
