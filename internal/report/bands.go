package report

import (
	"encoding/json"
	"path/filepath"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/result"
	"hostlab/internal/ring"
)

// bandsDir is where a ring has its bands, for longer than it has all else.
const bandsDir = "bands"

// bands makes bands of what a keeper sees, and follows their trend.
type bands struct {
	into   *ring.Writer
	trends Trends
	open   Band // zero: none is
	rising bool
	standing
}

// standing is how a service does beside other days.
type standing struct {
	rise      *Rise   // the last that was known
	known     bool    // whether there is one
	low, high float64 // s that a transaction usually takes now; NaN: not known
}

// openBands goes on with those of a ring.
func openBands(dir string) (*bands, error) {
	dir = filepath.Join(dir, bandsDir)
	into, err := ring.Open(dir, keptBands)
	if err != nil {
		return nil, err
	}
	b := &bands{into: into}
	err = readBands(dir, time.Now().Add(time.Hour), func(one Band) {
		if rise, known := b.trends.Add(one); known {
			b.rise, b.rising, b.known = rise, rise != nil, true
		}
	})
	if err != nil {
		into.Close()
	}
	b.low, b.high = b.trends.Usual(time.Now())
	return b, err
}

// readBands hands over those that began before a moment; none where there are none.
func readBands(dir string, before time.Time, each func(Band)) error {
	if !ring.Is(dir) {
		return nil
	}
	_, err := ring.Read(dir, time.Time{}, before, func(_ time.Time, document []byte) error {
		var b Band
		if json.Unmarshal(document, &b) == nil {
			each(b)
		}
		return nil
	})
	return err
}

// add takes a stretch. What it returns is news: of a rise, or that one is over; "": none.
func (b *bands) add(at time.Time, m *assess.Minute) (news string, err error) {
	if began := at.Truncate(bandFor); !began.Equal(b.open.At) {
		if news, err = b.close(); err != nil {
			return "", err
		}
		b.open = Band{At: began}
		b.low, b.high = b.trends.Usual(began)
	}
	b.open.add(m)
	return news, nil
}

// close ends the open band. One of which less than half was seen says nothing.
func (b *bands) close() (news string, err error) {
	one := b.open
	if one.Wall < bandFor.Seconds()/2 {
		return "", nil
	}
	text, err := result.RecordJSON(one)
	if err == nil {
		err = b.into.Append(one.At, text)
	}
	if err != nil {
		return "", err
	}
	rise, known := b.trends.Add(one)
	if !known {
		return "", nil
	}
	b.rise, b.known = rise, true
	if b.rising == (rise != nil) {
		return "", nil
	}
	if b.rising = rise != nil; b.rising {
		return rise.Text(), nil
	}
	return "transactions take as long as at this time on other days again", nil
}

// risen is the rise of a ring's trend that began before the end of a time and was not over at its beginning, and since
// when; nil: there was none, or it is not known. days is by how much equal times of days differ, as a standard
// deviation; 0: not known.
func (h *History) risen() (rise *Rise, since time.Time, days float64) {
	var t Trends
	over := false
	_ = readBands(filepath.Join(h.Dir, bandsDir), h.To, func(b Band) { // a ring without bands has its times
		r, known := t.Add(b)
		switch {
		case r != nil:
			if rise == nil || over {
				since = b.At.Add(bandFor - lastBands*bandFor)
			}
			rise, over = r, false
		case known && b.At.Before(h.From):
			rise = nil
		case known:
			over = true
		}
	})
	days, _ = t.noise()
	return rise, since, days
}
