//go:build !unix

package explain

// processCPU is not needed where the server's side is never known.
func processCPU() float64 { return 0 }
