package counters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"hostlab/internal/proc"

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

// Query holds counters open, which are read again and again. It is not safe for concurrent use.
type Query struct {
	handle   uintptr
	counters []uintptr
	errs     []error // why a counter was not added
}

// Open opens counters with wildcards for their instances, such as \Processor Information(*)\% Processor Performance.
// One that is not there is no error: its series has it.
func Open(paths []string) (*Query, error) {
	for _, p := range []*windows.LazyProc{openQuery, addCounter, collect, formatArray, closeQuery} {
		if err := p.Find(); err != nil {
			return nil, err
		}
	}
	q := &Query{counters: make([]uintptr, len(paths)), errs: make([]error, len(paths))}
	if err := status(openQuery.Call(0, 0, uintptr(unsafe.Pointer(&q.handle)))); err != nil {
		return nil, fmt.Errorf("PdhOpenQuery: %w", err)
	}
	for i, path := range paths {
		name, err := windows.UTF16PtrFromString(path)
		if err == nil {
			err = status(addCounter.Call(q.handle, uintptr(unsafe.Pointer(name)), 0, uintptr(unsafe.Pointer(&q.counters[i]))))
		}
		q.errs[i] = err
	}
	return q, nil
}

// Collect takes the counters' values. Two collections make a mean; Microsoft asks for a second or more between them.
func (q *Query) Collect() error {
	if !slices.Contains(q.errs, nil) {
		return nil // no counter was added
	}
	if err := status(collect.Call(q.handle)); err != nil {
		return fmt.Errorf("PdhCollectQueryData: %w", err)
	}
	return nil
}

// Series tells the means between the last two collections, one series for each path.
func (q *Query) Series() []Series {
	out := make([]Series, len(q.counters))
	for i, c := range q.counters {
		if out[i].Err = q.errs[i]; out[i].Err == nil {
			out[i].Values, out[i].Err = values(c)
		}
	}
	return out
}

// Close closes the counters.
func (q *Query) Close() {
	closeQuery.Call(q.handle) //nolint:errcheck // its status says nothing that could be acted on
}

// Between collects twice, with so long between, and tells the means. When ctx ends, it fails.
func (q *Query) Between(ctx context.Context, over time.Duration) ([]Series, error) {
	if !slices.Contains(q.errs, nil) {
		return q.Series(), nil // nothing to wait for
	}
	if err := q.Collect(); err != nil {
		return nil, err
	}
	if proc.Sleep(ctx, over) != nil {
		return nil, context.Cause(ctx)
	}
	if err := q.Collect(); err != nil {
		return nil, err
	}
	return q.Series(), nil
}

// Sample reads counters once, as their means over a time: most of them are rates. It returns one series for each path.
func Sample(ctx context.Context, over time.Duration, paths []string) ([]Series, error) {
	q, err := Open(paths)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	return q.Between(ctx, over)
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
		err := status(formatArray.Call(counter, double|uncapped, uintptr(unsafe.Pointer(&size)),
			uintptr(unsafe.Pointer(&count)), at))
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
