package counters

import (
	"fmt"
	"io/fs"
)

// Series is what a counter tells of each instance that it has, or why it tells nothing.
type Series struct {
	Values []Value
	Err    error
}

// Value is that of one instance, such as 0,3 for the fourth processor of node 0. It counts only while Err is nil.
type Value struct {
	Instance string
	Value    float64 // in the counter's own unit
	Err      error
}

// Error is a status of pdh.dll (pdhmsg.h).
type Error uint32

// Statuses that callers tell apart.
const (
	MoreData     Error = 0x800007d2 // PDH_MORE_DATA: the buffer is too small
	NoInstance   Error = 0x800007d1 // PDH_CSTATUS_NO_INSTANCE
	NoData       Error = 0x800007d5 // PDH_NO_DATA
	NoObject     Error = 0xc0000bb8 // PDH_CSTATUS_NO_OBJECT
	NoCounter    Error = 0xc0000bb9 // PDH_CSTATUS_NO_COUNTER
	InvalidValue Error = 0xc0000bba // PDH_CSTATUS_INVALID_DATA
	InvalidData  Error = 0xc0000bc6 // PDH_INVALID_DATA
	AccessDenied Error = 0xc0000bdb // PDH_ACCESS_DENIED
)

var meanings = map[Error]string{
	NoInstance: "the counter has no such instance", NoData: "the counter has no data",
	NoObject:  "this Windows has no such counter",
	NoCounter: "this Windows has no such counter", InvalidValue: "the counter's value is not valid",
	InvalidData: "the counter's value is not valid", AccessDenied: "permission denied: run hostlab as an administrator",
}

// Error says what the status means, and its number.
func (e Error) Error() string {
	if s := meanings[e]; s != "" {
		return fmt.Sprintf("%s (PDH status %#x)", s, uint32(e))
	}
	return fmt.Sprintf("PDH status %#x", uint32(e))
}

// Is says which statuses stand for what is not there, and which for what may not be read.
func (e Error) Is(target error) bool {
	switch e {
	case NoObject, NoCounter, NoInstance:
		return target == fs.ErrNotExist
	case AccessDenied, Error(5): // ERROR_ACCESS_DENIED
		return target == fs.ErrPermission
	}
	return false
}
