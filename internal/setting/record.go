package setting

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"time"
)

// format is the version of the journal's lines.
const format = 1

// A journal is JSON lines, each {"crc":"1a2b3c4d","rec":{...}} with the CRC-32C of rec's
// bytes. What the kernel holds ends with its boot, so only what must be known after a
// power cut is synced before a write: the intent. A line that says how a write went is
// for the next process of the same boot, and is in the page cache when we are killed.
type record struct {
	N     int             `json:"n"`     // 1, 2, ...: a gap shows that a line was lost
	Kind  string          `json:"kind"`  // the name of the event's type
	Event json.RawMessage `json:"event"` // an event
}

// event is what a line says. apply takes it into the state, and checks it: root will write to the paths in it.
type event interface{ apply(st *state) error }

// head is the first line: whose journal it is.
type head struct {
	Format int    `json:"format"`
	Host   string `json:"host"`
	Lines  int    `json:"lines"`         // that the file had when it was renamed into its place
	Set    int    `json:"set,omitempty"` // the set that had not ended then
}

// intend is what a set will change, with what is there: synced before the first write.
type intend struct {
	Set     int       `json:"set"`
	Owner   string    `json:"owner"`
	At      time.Time `json:"at,omitzero"`
	Boot    string    `json:"boot"`
	Objects []planned `json:"objects"`
}

type planned struct {
	ID      int    `json:"id"` // of the object; they grow
	Setting string `json:"setting"`
	Name    string `json:"name,omitempty"`
	Path    string `json:"path"`
	Lasting bool   `json:"lasting,omitempty"`
	From    string `json:"from"`
	To      string `json:"to,omitempty"`   // what the set will make of it; "" of a side
	Side    string `json:"side,omitempty"` // the setting that disturbs it
	// Fresh forgets what we knew of the object: another program, or a reboot, changed it.
	Fresh bool `json:"fresh,omitempty"`
}

// begin says that the write of an object begins.
type begin struct {
	Set   int        `json:"set"`
	Path  string     `json:"path"`
	To    string     `json:"to"`
	Any   bool       `json:"any,omitempty"`   // it may read anything afterwards
	Sides []sideways `json:"sides,omitempty"` // what may change with it
}

// sideways is an object that a write may change as well.
type sideways struct {
	Path    string   `json:"path"`
	Becomes []string `json:"becomes,omitempty"`
	Any     bool     `json:"any,omitempty"`
}

// done says that a write has ended.
type done struct {
	Path string            `json:"path"`
	Read *string           `json:"read"`          // nil: it could not be read
	Saw  map[string]string `json:"saw,omitempty"` // by path, what its sides read
}

// drop names objects that are put back, or given up.
type drop struct {
	Paths []string `json:"paths"`
}

type end struct {
	Set int `json:"set"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// kinds are those of events, by their names.
var kinds = func() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, e := range []event{&head{}, &object{}, &intend{}, &begin{}, &done{}, &drop{}, &end{}} {
		of := reflect.TypeOf(e).Elem()
		out[of.Name()] = of
	}
	return out
}()

func encodeLine(n int, e event) ([]byte, error) {
	b, err := json.Marshal(e)
	if err == nil {
		b, err = json.Marshal(record{n, reflect.TypeOf(e).Elem().Name(), b})
	}
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "{\"crc\":\"%08x\",\"rec\":%s}\n", crc32.Checksum(b, castagnoli), b), nil
}

// decodeLine reads a line without its newline. It takes exactly what encodeLine
// writes, so that no damage is read as something else.
func decodeLine(line []byte) (n int, e event, err error) {
	text, err := intact(line)
	if err != nil {
		return 0, nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return 0, nil, err
	}
	of, known := kinds[r.Kind]
	if !known {
		return r.N, nil, fmt.Errorf("%q is no kind of line", r.Kind)
	}
	e = reflect.New(of).Interface().(event) //nolint:forcetypeassert // kinds holds no other
	return r.N, e, json.Unmarshal(r.Event, e)
}

// intact returns a line's record, which is as it was written; the error says why it is not.
func intact(line []byte) ([]byte, error) {
	const frame = len(`{"crc":"12345678","rec":}`)
	if len(line) < frame {
		return nil, errors.New("it is not a line of a journal")
	}
	sum, rec := line[len(`{"crc":"`):][:8], line[frame-1:len(line)-1]
	if want := fmt.Sprintf(`{"crc":"%s","rec":%s}`, sum, rec); !bytes.Equal(line, []byte(want)) {
		return nil, errors.New("it is not a line of a journal")
	}
	if string(sum) != fmt.Sprintf("%08x", crc32.Checksum(rec, castagnoli)) {
		return nil, errors.New("its checksum does not fit")
	}
	return rec, nil
}
