package setting

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"
)

// A journal is JSON lines, each {"crc":"1a2b3c4d","rec":{...}} with the CRC-32C of rec's
// bytes. What the kernel holds ends with its boot, so only what must be known after a
// power cut is synced before a write: the intent. A line that says how a write went is
// for the next process of the same boot, and is in the page cache when we are killed.
//
//	head   the format, and the machine that it belongs to
//	intend what will be changed, with what is there: synced before the first write
//	go     the write of one object begins; with marked, the file of marks is on the disk
//	done   it has ended; what the object and those it disturbs read
//	end    the set has ended
//	is     what an object was found to read, restored by another program
//	drop   layers that are put back, or given up
//	object all that is known of an object, where the journal was rewritten
//	damage what is known to be missing from the journal, until the user gives it up
//	mark   in the file of marks: the journal of this ID has n lines
type record struct {
	N    int    `json:"n"` // 1, 2, ...: a gap shows that a line was lost
	Kind string `json:"kind"`

	// head
	Format  int    `json:"format,omitempty"`
	Host    string `json:"host,omitempty"`
	Journal string `json:"journal,omitempty"` // an ID of the file; of a mark too
	Lines   int    `json:"lines,omitempty"`   // that the file had when it was renamed into its place

	// intend
	Set     int       `json:"set,omitempty"` // of go and end too; of head, the one that was not ended
	Owner   string    `json:"owner,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Boot    string    `json:"boot,omitempty"`
	Objects []planned `json:"objects,omitempty"`

	// go, done, is
	ID     int               `json:"id,omitempty"`
	To     string            `json:"to,omitempty"`
	Marked bool              `json:"marked,omitempty"`
	Any    bool              `json:"any,omitempty"`   // it may read anything afterwards
	Sides  []sideways        `json:"sides,omitempty"` // what may change with it
	Read   *string           `json:"read,omitempty"`  // nil: it could not be read
	Saw    map[string]string `json:"saw,omitempty"`   // by path, what its sides read

	// drop
	Layers []int `json:"layers,omitempty"`
	Pass   bool  `json:"pass,omitempty"` // the layer above gets the original

	// object
	Object *object `json:"object,omitempty"`

	// damage
	What string `json:"what,omitempty"`

	// mark
	Settings []string `json:"settings,omitempty"` // what the marked lines may change
}

// planned is one object of an intend.
type planned struct {
	ID      int    `json:"id"` // of the object
	Setting string `json:"setting"`
	Name    string `json:"name,omitempty"`
	Path    string `json:"path"`
	Lasting bool   `json:"lasting,omitempty"`
	// Layer is the number of a new layer with From as its original; 0: the owner has one.
	Layer int    `json:"layer,omitempty"`
	From  string `json:"from"`
	To    string `json:"to,omitempty"`   // what the set will make of it; "" of a side
	Side  string `json:"side,omitempty"` // the setting that disturbs it
	// Fresh forgets what we knew of the object: another program, or a reboot, changed it.
	Fresh bool `json:"fresh,omitempty"`
}

// sideways is an object that a write may change as well.
type sideways struct {
	Path    string   `json:"path"`
	Becomes []string `json:"becomes,omitempty"`
	Any     bool     `json:"any,omitempty"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeRecord(r *record) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "{\"crc\":\"%08x\",\"rec\":%s}\n", crc32.Checksum(b, castagnoli), b), nil
}

// decodeRecord reads a line without its newline. It takes exactly what encodeRecord
// writes, so that no damage is read as something else.
func decodeRecord(line []byte) (*record, error) {
	text, err := intact(line)
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	return r, nil
}

// intact returns a line's record, which is as it was written; the error says why it is not.
func intact(line []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"crc":"`))
	if !ok || len(rest) < 8 {
		return nil, fmt.Errorf("it is not a line of a journal")
	}
	sum, rest := rest[:8], rest[8:]
	rest, ok = bytes.CutPrefix(rest, []byte(`","rec":`))
	if !ok || !bytes.HasSuffix(rest, []byte("}")) {
		return nil, fmt.Errorf("it is not a line of a journal")
	}
	rest = rest[:len(rest)-1]
	if fmt.Sprintf("%08x", crc32.Checksum(rest, castagnoli)) != string(sum) {
		return nil, fmt.Errorf("its checksum does not fit")
	}
	return rest, nil
}
