package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Records of GetLogicalProcessorInformationEx, 64-bit layout (winnt.h,
// SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX): relationship and size, 32 bits each,
// then the relationship's own part, which ends in affinity masks of groups.
const (
	relCore      = 0
	relNUMA      = 1
	relCache     = 2
	relPackage   = 3
	relDie       = 5
	relNUMAEx    = 6
	groupMask    = 16 // size of GROUP_AFFINITY: mask, group, three reserved words
	winTopSource = "GetLogicalProcessorInformationEx"
)

type winRecord struct {
	rel  uint32
	body []byte // from the start of the record
	cpus []int  // 64 x group + bit, the numbers used all over hostlab
}

// windowsTopology builds the topology from the call's buffer.
func windowsTopology(buf []byte, err error) Topology {
	var records []winRecord
	if err == nil {
		records, err = winRecords(buf)
	}
	top := Topology{Caches: []Cache{}, NUMA: []NUMANode{}, CoreTypes: []CoreType{}, CPUs: []CPU{}}
	if err != nil {
		unknown(&top, winTopSource, err)
		return top
	}
	top.SMTControl = Unknown[string](winTopSource, errForeign)
	cpus := map[int]*CPU{}
	classes := map[byte][]int{}
	count := map[uint32]int{}
	smt := false
	for _, r := range records {
		if r.rel != relCore {
			continue
		}
		smt = smt || r.body[8] == 1 // LTP_PC_SMT
		classes[r.body[9]] = append(classes[r.body[9]], r.cpus...)
		for _, c := range r.cpus {
			cpus[c] = &CPU{ID: c, Core: Known(count[relCore], "", winTopSource), Siblings: Known(r.cpus, "", winTopSource)}
		}
		count[relCore]++
	}
	for _, r := range records {
		n := count[r.rel]
		switch r.rel {
		case relNUMA, relNUMAEx:
			addWinNode(&top, r)
		case relCache:
			addWinCache(&top, r)
		case relPackage, relDie:
			count[r.rel]++
		}
		for _, c := range r.cpus {
			if cpu := cpus[c]; cpu != nil {
				switch r.rel {
				case relPackage:
					cpu.Socket = Known(n, "", winTopSource)
				case relDie:
					cpu.Die = Known(n, "", winTopSource)
				case relNUMA, relNUMAEx:
					cpu.NUMANode = Known(int(binary.LittleEndian.Uint32(r.body[8:])), "", winTopSource)
				}
			}
		}
	}
	online := slices.Sorted(maps.Keys(cpus))
	top.CoreTypes = winCoreTypes(classes, online)
	for _, c := range online {
		for _, t := range top.CoreTypes {
			if slices.Contains(t.CPUs, c) {
				cpus[c].CoreType = t.Name
			}
		}
		top.CPUs = append(top.CPUs, *cpus[c])
	}
	top.Online, top.Threads = Known(online, "", winTopSource), Known(len(online), "", winTopSource)
	top.Cores, top.Sockets = counted(count[relCore], winTopSource), counted(count[relPackage], winTopSource)
	top.SMTActive = Known(smt, "", winTopSource)
	return top
}

// winRecords splits the buffer. A group count of 0 stands for 1: Windows before
// Server 2022, and Wine, left that field of caches and nodes unset.
func winRecords(buf []byte) ([]winRecord, error) {
	var records []winRecord
	for len(buf) > 0 {
		if len(buf) < 8 {
			return nil, errors.New("the buffer ends within a record")
		}
		r := winRecord{rel: binary.LittleEndian.Uint32(buf)}
		size := binary.LittleEndian.Uint32(buf[4:])
		if size < 8 || uint64(size) > uint64(len(buf)) {
			return nil, fmt.Errorf("a record of %d bytes", size)
		}
		r.body, buf = buf[:size], buf[size:]
		counter, masks := 30, 32
		switch r.rel {
		case relCache:
			counter, masks = 38, 40
		case relCore, relNUMA, relPackage, relDie, relNUMAEx:
		default:
			continue
		}
		if int(size) < masks+groupMask {
			return nil, fmt.Errorf("a record of %d bytes", size)
		}
		groups := max(int(binary.LittleEndian.Uint16(r.body[counter:])), 1)
		for at := masks; groups > 0 && at+groupMask <= int(size); at, groups = at+groupMask, groups-1 {
			mask := binary.LittleEndian.Uint64(r.body[at:])
			group := int(binary.LittleEndian.Uint16(r.body[at+8:]))
			for bit := range 64 {
				if mask>>bit&1 == 1 {
					r.cpus = append(r.cpus, group*64+bit)
				}
			}
		}
		r.cpus = ascending(r.cpus)
		records = append(records, r)
	}
	return records, nil
}

func addWinNode(top *Topology, r winRecord) {
	id := int(binary.LittleEndian.Uint32(r.body[8:]))
	for i := range top.NUMA {
		if n := &top.NUMA[i]; n.ID == id {
			n.CPUs.Value = ascending(append(n.CPUs.Value, r.cpus...))
			return
		}
	}
	top.NUMA = append(top.NUMA, NUMANode{ID: id, CPUs: Known(r.cpus, "", winTopSource)})
}

func addWinCache(top *Topology, r winRecord) {
	types := []string{"Unified", "Instruction", "Data", "Trace"}
	typ := binary.LittleEndian.Uint32(r.body[16:])
	if int(typ) >= len(types) || len(r.cpus) == 0 {
		return
	}
	c := Cache{
		Level: int(r.body[8]), Type: types[typ], CPUs: r.cpus,
		Size: Known(int64(binary.LittleEndian.Uint32(r.body[12:])), "B", winTopSource),
		Line: Known(int64(binary.LittleEndian.Uint16(r.body[10:])), "B", winTopSource),
		Ways: Known(int64(r.body[9]), "", winTopSource), // 255: fully associative
	}
	top.Caches = append(top.Caches, c)
}

// winCoreTypes orders the efficiency classes: a higher one is faster.
func winCoreTypes(classes map[byte][]int, online []int) []CoreType {
	if len(classes) < 2 {
		return oneType(online, make([]Fact[int64], len(online)))
	}
	return ranked(classes, func(level byte) CoreType { return CoreType{Name: fmt.Sprintf("class-%d", level)} })
}
