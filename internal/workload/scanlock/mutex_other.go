//go:build !linux && !windows

package scanlock

import (
	"fmt"
	"runtime"

	"hostlab/internal/workload/hot"
)

func mutex(*hot.Taker) (func(), error) {
	return nil, fmt.Errorf("lock mutex: hostlab knows no system call for it on %s", runtime.GOOS)
}
