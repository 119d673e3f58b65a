package service

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/proc"
)

// Named is how a service that runs here is named, for help and errors.
const (
	Named     = "a " + sorts + " by its name, service:NAME or pid:N"
	sorts     = "database, Windows service or program"
	precisely = "pid:N or service:NAME"
)

// called reports whether a process's program has that name, as in sqlservr or sqlservr.exe.
func called(program proc.Stat, name string) bool {
	return strings.EqualFold(program.Name, name) || strings.EqualFold(program.Name+".exe", name)
}

// unit is a service that runs, as the service manager names it.
func unit(name string) (*Service, error) {
	s, err := host.ServiceNow(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing("no service " + name + " is installed here")
	case err != nil:
		return nil, fmt.Errorf("service %s: %w", name, err)
	case s.PID == 0:
		return nil, fmt.Errorf("service %s does not run: it is %s", name, s.State)
	case s.Shared:
		return nil, fmt.Errorf("service %s shares process %d with others; pid:%d watches them together", name, s.PID, s.PID)
	}
	root, err := proc.Read(s.PID)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", name, err)
	}
	return &Service{Kind: Windows, Name: name, PID: s.PID, root: root}, nil
}

// Units would be those that run: Windows' service manager is asked for one by its name.
func Units() []string { return nil }
