package client

import (
	"strings"
	"testing"

	"hostlab/internal/workload"
)

// TestServerParameters: parameters are for a private server, whose names need no quotes.
func TestServerParameters(t *testing.T) {
	for want, p := range map[string]*CopyParams{
		"": {Params: Params{Engine: inPostgres}},
		"is no parameter's name": {Params: Params{Engine: inPostgres},
			Logging: Logging{Server: map[string]workload.Word{"--datadir": "/"}}},
		"embedded engine": {Params: Params{Engine: embedded},
			Logging: Logging{Server: map[string]workload.Word{"jit": "on"}}},
		"not started anew": {Params: Params{Engine: inPostgres, DSN: "postgres://localhost/x"},
			Logging: Logging{Server: map[string]workload.Word{"jit": "on"}}},
	} {
		if err := check(p); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
