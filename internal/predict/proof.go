package predict

import "hostlab/internal/model"

// TestCommand is a command of this tool that would test an answer about the workload
// on the host it is for, with a note that says what it shows.
func TestCommand(w model.Workload) (command, note string) {
	_ = w
	return "", ""
}
