package pdh

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	dll         = windows.NewLazySystemDLL("pdh.dll")
	openQuery   = dll.NewProc("PdhOpenQueryW")
	addCounter  = dll.NewProc("PdhAddEnglishCounterW")
	collect     = dll.NewProc("PdhCollectQueryData")
	formatArray = dll.NewProc("PdhGetFormattedCounterArrayW")
	closeQuery  = dll.NewProc("PdhCloseQuery")
)

// item is PDH_FMT_COUNTERVALUE_ITEM_W of pdh.h with a double, 64-bit layout.
type item struct {
	name   *uint16
	status uint32
	_      uint32
	value  float64
}

// Sample reads counters with wildcards for their instances, such as \Processor Information(*)\% Processor Performance, as
// their means over a time: most of them are rates. It returns one series for each path. When ctx ends, it fails.
func Sample(ctx context.Context, over time.Duration, paths []string) ([]Series, error) {
	for _, p := range []*windows.LazyProc{openQuery, addCounter, collect, formatArray, closeQuery} {
		if err := p.Find(); err != nil {
			return nil, err
		}
	}
	var query uintptr
	if err := status(openQuery.Call(0, 0, uintptr(unsafe.Pointer(&query)))); err != nil {
		return nil, fmt.Errorf("PdhOpenQuery: %w", err)
	}
	defer closeQuery.Call(query) //nolint:errcheck // its status says nothing that could be acted on
	out, counters, added := make([]Series, len(paths)), make([]uintptr, len(paths)), 0
	for i, path := range paths {
		name, err := windows.UTF16PtrFromString(path)
		if err != nil {
			return nil, err
		}
		if out[i].Err = status(addCounter.Call(query, uintptr(unsafe.Pointer(name)), 0, uintptr(unsafe.Pointer(&counters[i])))); out[i].Err == nil {
			added++
		}
	}
	if added == 0 {
		return out, nil // nothing to wait for
	}
	if err := status(collect.Call(query)); err != nil {
		return nil, fmt.Errorf("PdhCollectQueryData: %w", err)
	}
	select {
	case <-time.After(over):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := status(collect.Call(query)); err != nil {
		return nil, fmt.Errorf("PdhCollectQueryData: %w", err)
	}
	for i, c := range counters {
		if out[i].Err == nil {
			out[i].Values, out[i].Err = values(c)
		}
	}
	return out, nil
}

// values reads all instances of a counter. Some may come or go between the two calls.
func values(counter uintptr) ([]Value, error) {
	const double, uncapped = 0x200, 0x8000 // PDH_FMT_DOUBLE; PDH_FMT_NOCAP100: turbo is above 100 %
	var buf []item                         // of items, so that it is aligned; their names stand behind them
	for range 4 {
		size, count := uint32(len(buf))*uint32(unsafe.Sizeof(item{})), uint32(0)
		var at uintptr
		if len(buf) > 0 {
			at = uintptr(unsafe.Pointer(&buf[0]))
		}
		err := status(formatArray.Call(counter, double|uncapped, uintptr(unsafe.Pointer(&size)), uintptr(unsafe.Pointer(&count)), at))
		if errors.Is(err, MoreData) {
			buf = make([]item, size/uint32(unsafe.Sizeof(item{}))+1)
			continue
		}
		if err != nil {
			return nil, err
		}
		list := make([]Value, 0, count)
		for _, it := range buf[:min(int(count), len(buf))] {
			v := Value{Instance: windows.UTF16PtrToString(it.name), Value: it.value}
			if it.status > 1 { // PDH_CSTATUS_VALID_DATA, PDH_CSTATUS_NEW_DATA
				v.Err = Error(it.status)
			}
			list = append(list, v)
		}
		return list, nil
	}
	return nil, errors.New("the counter's instances keep changing")
}

func status(r, _ uintptr, _ error) error {
	if r == 0 {
		return nil
	}
	return Error(uint32(r))
}
