package check

import (
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

// pages is what a source says of transparent huge pages for an engine.
type pages struct {
	engine Engine
	here   func(f *host.Facts) bool // nil: on any host
	accept []string                 // the first is what the source asks for
}

// unasked are the values with which no program gets huge pages that it has not asked for: what
// holds for any database of which no source says otherwise.
var unasked = []string{"madvise", "never"}

// pagesFor are the sources of MEM-001, the first that fits a server deciding.
var pagesFor = []pages{
	{Engine{Kind: "mongodb", From: "8"}, newTCMalloc, []string{"always"}},
	{Engine{Kind: "mongodb"}, nil, []string{"never", "madvise"}},
	{Engine{Kind: "sqlserver"}, nil, []string{"always", "madvise"}},
	{Engine{Kind: "hana"}, suse(12, 0, 15, 4), []string{"never"}},
	{Engine{Kind: "hana"}, suse(15, 5, 16, 99), []string{"madvise"}},
}

const docsOfTHP = "the kernel's documentation on transparent huge pages names its values"

// newTCMalloc says where MongoDB 8 has the allocator that wants huge pages.
func newTCMalloc(f *host.Facts) bool {
	return slices.Contains([]string{"amd64", "arm64"}, f.Identity.Arch.Or(""))
}

// suse fits SLES from one version and service pack to another.
func suse(version, pack, lastVersion, lastPack int) func(f *host.Facts) bool {
	return func(f *host.Facts) bool {
		v, p, ok := slesOf(f)
		return ok && (v > version || v == version && p >= pack) && (v < lastVersion || v == lastVersion && p <= lastPack)
	}
}

// slesOf reads version and service pack of "SUSE Linux Enterprise Server 15 SP5", and of 16.0.
func slesOf(f *host.Facts) (version, pack int, ok bool) {
	name := f.Identity.OS.Or("")
	if !strings.HasPrefix(name, "SUSE Linux Enterprise Server") && !strings.HasPrefix(name, "SLES") {
		return 0, 0, false
	}
	for _, w := range strings.Fields(strings.ReplaceAll(strings.ReplaceAll(name, ".", " "), "-", " ")) {
		rest, isPack := strings.CutPrefix(w, "SP")
		n, err := strconv.Atoi(rest)
		switch {
		case err != nil:
		case isPack:
			pack = n
		case version == 0:
			version, ok = n, true
		}
	}
	return version, pack, ok
}

// ask is what one server wants: any of some values.
type ask struct {
	product string
	values  []string
}

// thpAccepted are the values that suit all servers of a host, the first being what to set, and
// those that each asks for. unsure is a server whose source depends on a version that is not known.
func thpAccepted(f *host.Facts) (accepted []string, asks []ask, unsure *host.Database) {
	accepted = unasked
	for _, d := range servers(f) {
		its := unasked
		for _, p := range pagesFor {
			yes, known := p.engine.is(d)
			if !known {
				return nil, nil, &d
			}
			if yes && (p.here == nil || p.here(f)) {
				its = p.accept
				break
			}
		}
		if len(asks) == 0 {
			accepted = its
		}
		accepted = slices.DeleteFunc(slices.Clone(accepted), func(v string) bool { return !slices.Contains(its, v) })
		if !slices.ContainsFunc(asks, func(a ask) bool { return a.product == d.Product() }) {
			asks = append(asks, ask{d.Product(), its})
		}
	}
	return accepted, asks, nil
}

func lookTHP(f *host.Facts, _ Role) view {
	accepted, asks, unsure := thpAccepted(f)
	now := f.Memory.THPEnabled
	switch {
	case unsure != nil && now.Value.Active != "":
		return view{readings: []reading{aside(now)}, absent: "no file tells the version of " + nameOf(*unsure) +
			": MongoDB from 8.0 wants always, earlier ones do not"}
	case len(accepted) == 0 && now.Value.Active != "":
		return view{readings: []reading{aside(now)}, absent: "the servers here want different values: " + asked(asks)}
	}
	v := see(read(now, func(c host.Choice) bool { return slices.Contains(accepted, c.Active) }).
		unless(slices.Contains([]string{"always", "madvise", "never"}, now.Value.Active), docsOfTHP))
	var names []string
	for _, a := range asks {
		names = append(names, a.product)
	}
	who := inWords(names, "and")
	switch active := now.Value.Active; {
	case slices.Equal(accepted, unasked) || slices.Contains(accepted, "never") && active == "always":
	case active == "always":
		v.ok = "what " + who + " wants"
	default:
		v.bad, v.ok = who+" wants "+inWords(accepted, "or"), "what "+who+" wants"
	}
	if !slices.Contains(accepted, "always") {
		return v.andSizes(f)
	}
	return v
}

// asked says what each server wants: "MongoDB always; SAP HANA never".
func asked(asks []ask) string {
	parts := make([]string, len(asks))
	for i, a := range asks {
		parts[i] = a.product + " " + inWords(a.values, "or")
	}
	return strings.Join(parts, "; ")
}

func adviseTHP(f *host.Facts, _ Role) []setting.Assignment {
	accepted, _, unsure := thpAccepted(f)
	if unsure != nil || len(accepted) == 0 || slices.Contains(accepted, f.Memory.THPEnabled.Value.Active) {
		return nil // or a single size or shared memory is the finding
	}
	return []setting.Assignment{{Name: "thp", Value: accepted[0]}}
}
