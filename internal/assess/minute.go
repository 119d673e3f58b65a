// Package assess watches a service for a minute under its own load, and says where its time
// went, what each lever on the platform could give it at most, and what to type next.
package assess

import (
	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/explain/pgbouncer"
	"hostlab/internal/explain/redis"
	"hostlab/internal/host"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/pods"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/trace"
)

// Minute is what was seen of a service.
type Minute struct {
	Service service.Service `json:"service"`
	Version string          `json:"version"` // "": not known
	// Report has its time by parts: of sessions where a database tells them, else of its
	// threads on CPUs and ready for one.
	Report explain.Report `json:"report"`
	// Connected is set where a database showed its sessions; Why is why not.
	Connected bool              `json:"connected"`
	Why       string            `json:"why,omitempty"`
	Readings  []service.Reading `json:"readings"`
	Throttled *float64          `json:"throttled"` // s that its CPU quota stopped it for; nil: no quota
	// Quota is the limit of its CPU time; nil: it has none that can be read.
	Quota *service.Quota `json:"quota"`
	// Memory is the limit of its memory, and how often it was reached meanwhile; nil: it has none that can be read.
	Memory *service.Ceiling `json:"memory"`
	// Throttles are the limits on devices of control groups around it that held.
	Throttles []Throttle `json:"throttles,omitempty"`
	// Claims are what its containers may use and asked for; of a pod or a container.
	Claims []host.Claims `json:"claims,omitempty"`
	// Takers are the other programs that used CPUs meanwhile, the largest first; Counted is set where they were.
	Takers  []Taker `json:"takers"`
	Counted bool    `json:"counted"`
	// Asked are the servers for whose answers its threads waited, those first that took most.
	Asked []Asked `json:"asked,omitempty"`
	// Full are its threads that mainly were at work, of Threads that were watched; of a service that tells no sessions.
	Full    []Full `json:"full,omitempty"`
	Threads int    `json:"threads,omitempty"`
	// Greedy are its sessions that always compute; nil: none stand out.
	Greedy *Greedy `json:"greedy,omitempty"`
	// Interpreter is its process of Python with several threads; nil: it is none.
	Interpreter *Interpreter `json:"interpreter,omitempty"`
	// Collector is what its threads that collect garbage did; nil: none did.
	Collector *Collector `json:"collector,omitempty"`
	// Kernel is what it does with its CPU time; nil: nobody looked.
	Kernel *Kernel `json:"kernel,omitempty"`
	// Commands are those of a Redis that took most, as it counts them.
	Commands []redis.Command `json:"commands,omitempty"`
	// Stopped are its threads that a signal, a debugger or a freezer stopped; nil: none.
	Stopped *Stopped `json:"stopped,omitempty"`
	// Reader takes what its threads wait to send, and Keeper holds the lock of a file that they wait for; nil: they wait for
	// neither.
	Reader *Other `json:"reader,omitempty"`
	Keeper *Other `json:"keeper,omitempty"`
	// Files is a call on files in which its threads wait, and Ender another program whose doing ends most of its waits of
	// a part; nil: there is none.
	Files *Other `json:"files,omitempty"`
	Ender *Other `json:"ender,omitempty"`
	// Child is a program that it has started and waits for; nil: it waits for none.
	Child *Child `json:"child,omitempty"`
	// Mover is who keeps a disk busy on which it has files; nil: nobody does.
	Mover *Mover `json:"mover,omitempty"`
	// Requests are those of its clients; nil: it has no connections, or tells its sessions.
	Requests *Requests `json:"requests,omitempty"`
	// Interrupts are those of all devices; nil: not counted, or there is one CPU.
	Interrupts *Interrupts `json:"interrupts,omitempty"`
	// Loads are what each CPU did; nil: not counted.
	Loads *Loads `json:"loads,omitempty"`
	// Traffic is what went between caches and memory; nil: it is not counted, and there is one node.
	Traffic *Traffic `json:"traffic,omitempty"`
	// Pools are those of poolers before it, or its own.
	Pools    []pgbouncer.Pool `json:"pools,omitempty"`
	Host     Host             `json:"host"`
	Clock    *Frequency       `json:"clock"`
	Wakeups  *Wakeups         `json:"wakeups"`
	Siblings *Siblings        `json:"siblings"`
	Alone    bool             `json:"alone"` // no CPU shares its core with another
	// Bounds are of levers that are only bounded, where the scheduler could not be asked.
	Bounds map[string]Bounded `json:"bounds"`
	Trips  *service.Trips     `json:"trips"`
	// Policies are what power policies would cost it.
	Policies Policies `json:"policies"`
	// Cloud is what limits of the cloud did; nil: this is no guest of one, or nobody looked.
	Cloud *Cloud `json:"cloud,omitempty"`
	Local bool   `json:"local"` // it has no clients but those on this host
	// Unseen says of a lever why nothing was seen, and what would show it.
	Unseen map[string]string `json:"unseen"`
	// CannotTry says of studies that a lever would name why they cannot run here.
	CannotTry map[string]string `json:"cannot_try,omitempty"`
	Ended     string            `json:"ended,omitempty"` // why it ended early
	// Scheduler is what the kernel's did with it; nil: it has no process here. Bursts are what it was made of.
	Scheduler *trace.Summary `json:"scheduler"`
	// Ends are what waits ended with, in the recorder's windows; nil: nobody followed them.
	Ends   *chain.Account `json:"ends"`
	Bursts *trace.Result  `json:"-"`
	// Sample are some of the bursts, which a ring keeps; nil: nobody recorded them.
	Sample *burstlog.Sample `json:"bursts,omitempty"`
	// Programs is the CPU time that the recorder's programs took in the kernel, s.
	Programs float64 `json:"-"`
}

// Taker is a program that used CPUs.
type Taker struct {
	proc.Taker
	Container *pods.Container `json:"container,omitempty"` // nil: it is in none
	Script    string          `json:"script,omitempty"`    // that its interpreter runs; "": it is none, or runs several
	// Sharing is how it and the service share CPUs.
	Sharing proc.Sharing `json:"sharing"`
	// Client is set where all its processes that are named have a connection to the service.
	Client bool `json:"client,omitempty"`
	// Unsure is set where this user may not see whether it is a client.
	Unsure bool `json:"unsure,omitempty"`
}

// Away reports that what is known of this host says nothing of the service: it is a database whose
// processes are not here.
func (m *Minute) Away() bool { return m.Service.Kind == service.Database && m.Service.PID == 0 }

// Host is what all did on the CPUs meanwhile.
type Host struct {
	CPUs    int      `json:"cpus"`
	Allowed int      `json:"allowed"`           // of them, that the service may use; 0: not known
	Sets    []string `json:"cpusets,omitempty"` // files of control groups that keep it from the others, the outermost first
	Busy    *float64 `json:"busy"`              // share of the CPUs' time, for anybody; nil, as the two below: not known
	Foreign *float64 `json:"foreign"`           // share, of others than the service
	Steal   *float64 `json:"steal"`             // share that the hypervisor took
	Guest   bool     `json:"guest,omitempty"`   // a hypervisor runs it, as far as is known
	Credits bool     `json:"credits,omitempty"` // its CPUs are its own for as long as it has credits
}

// Bound reports that the service may use some of the CPUs alone.
func (h *Host) Bound() bool { return h.Allowed > 0 && h.Allowed < h.CPUs }

// Frequency is the clock of the CPUs while the service ran on them, Hz.
type Frequency struct {
	Mean    float64 `json:"mean"`
	Low     float64 `json:"low"` // 95 % interval
	High    float64 `json:"high"`
	N       int     `json:"n"`       // stretches of the minute
	Highest float64 `json:"highest"` // what a busy loop on this host reaches
	Limit   float64 `json:"limit"`   // what the hardware has at most, as far as known
	Source  string  `json:"source"`
	// Evidence is measured, or emulated.
	Evidence result.Evidence `json:"evidence"`
}

// Wakeups are those of the service on idle CPUs.
type Wakeups struct {
	Wall      float64 `json:"wall"`      // s that were watched
	Seconds   float64 `json:"seconds"`   // from waking to running, in all, as far as an idle state can take
	Avoidable float64 `json:"avoidable"` // of that, beyond what the quickest tenth took
	// Low and Most are the 95 % interval's ends of Avoidable and of Seconds.
	Low    float64 `json:"low"`
	Most   float64 `json:"most"`
	Source string  `json:"source"`
}

// Bounded is what a lever gives at most.
type Bounded struct {
	Each     float64         `json:"each"` // s of all threads in each second
	Evidence result.Evidence `json:"evidence"`
	Source   string          `json:"source"`
}

// Siblings are how long the service ran beside a busy sibling of the same core.
type Siblings struct {
	Beside  float64 `json:"beside"` // share of its run time
	Likely  float64 `json:"likely"` // share of speed that a busy sibling takes
	AtMost  float64 `json:"at_most"`
	Assumes string  `json:"assumes"`
	Source  string  `json:"source"`
}
