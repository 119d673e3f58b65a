package hot

// run has a loop of its own for what is tried and counted in it: an empty critical
// section must cost no test of what else it might have been.
func (t *Taker) run(k Kind) {
	t.lse = lse
	loop := empty
	switch {
	case t.Waits != nil:
		loop = timed
	case t.Critical > 0 || t.Parallel > 0 || t.Touch:
		loop = work
	}
	wait := 0
	if t.NoPause {
		wait = 1
	}
	loop[k][wait](t)
}

// Mutex takes and releases a mutex as C libraries on Linux do, with 1 for taken and
// 2 for taken and waited for, until it has to sleep, to wake another or to stop: these
// are for the operating system, and so the caller's. It looks at neither NoPause nor Node.
func (t *Taker) Mutex(from Point) Point {
	t.lse = lse
	if t.Waits != nil {
		return mutexTimed(t, from)
	}
	return mutex(t, from)
}

// The loops by Kind, with and without Pause's instruction.
type loops [kinds][2]func(*Taker)

var (
	empty = loops{{tas, tasHot}, {ttas, ttasHot}, {ticket, ticketHot}, {mcs, mcsHot}}
	work  = loops{{tasWork, tasWorkHot}, {ttasWork, ttasWorkHot}, {ticketWork, ticketWorkHot}, {mcsWork, mcsWorkHot}}
	timed = loops{{tasTimed, tasTimedHot}, {ttasTimed, ttasTimedHot}, {ticketTimed, ticketTimedHot}, {mcsTimed, mcsTimedHot}}
)

func tas(t *Taker)
func tasHot(t *Taker)
func tasWork(t *Taker)
func tasWorkHot(t *Taker)
func tasTimed(t *Taker)
func tasTimedHot(t *Taker)

func ttas(t *Taker)
func ttasHot(t *Taker)
func ttasWork(t *Taker)
func ttasWorkHot(t *Taker)
func ttasTimed(t *Taker)
func ttasTimedHot(t *Taker)

func ticket(t *Taker)
func ticketHot(t *Taker)
func ticketWork(t *Taker)
func ticketWorkHot(t *Taker)
func ticketTimed(t *Taker)
func ticketTimedHot(t *Taker)

func mcs(t *Taker)
func mcsHot(t *Taker)
func mcsWork(t *Taker)
func mcsWorkHot(t *Taker)
func mcsTimed(t *Taker)
func mcsTimedHot(t *Taker)

func mutex(t *Taker, from Point) Point
func mutexTimed(t *Taker, from Point) Point
