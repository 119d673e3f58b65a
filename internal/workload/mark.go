package workload

// markVariable is set in the environment of all programs that workloads start.
const markVariable = "HOSTLAB_WORK"

// Mark is an environment variable for programs that a workload starts, by which
// what they leave running is found after hostlab was killed. It has the workload's
// directory.
func Mark(work string) string { return markVariable + "=" + work }
