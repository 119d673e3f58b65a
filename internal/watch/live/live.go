// Package live fills a terminal with what internal/watch samples.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"hostlab/internal/watch"
)

// Screen shows samples until q or Ctrl-C is pressed, the last has been taken, one fails
// or the context ends, whose error it then returns. The terminal is as before on
// every way out: also after a panic, which bubbletea prints below it.
func (w *Watch) Screen(ctx context.Context, in io.Reader, out io.Writer, color bool) error {
	inner, stop := context.WithCancel(ctx) // a sample on its way ends with the screen
	defer stop()
	m := &model{ctx: inner, watch: w, view: View{Interval: w.Interval, Color: color}}
	options := []tea.ProgramOption{tea.WithContext(inner), tea.WithInput(in), tea.WithOutput(out),
		tea.WithoutSignalHandler(), // signals end the context, as everywhere in hostlab
		tea.WithFPS(10)}
	if !color {
		options = append(options, tea.WithColorProfile(colorprofile.Ascii))
	}
	_, err := tea.NewProgram(m, options...).Run()
	switch {
	case m.err != nil:
		return m.err
	case errors.Is(err, tea.ErrProgramPanic):
		return errors.New("the screen failed, see above; --format text works without it")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

// model is the program: keys and samples in, View out.
type model struct {
	ctx   context.Context
	watch *Watch
	view  View
	err   error
}

type (
	due   struct{}
	taken struct {
		sample watch.Sample
		info   watch.Info
		note   string
		over   bool
		err    error
	}
)

func (m *model) Init() tea.Cmd {
	m.view.Info = m.watch.Counter.Info()
	return m.wait()
}

func (m *model) wait() tea.Cmd {
	return tea.Tick(m.watch.left(), func(time.Time) tea.Msg { return due{} })
}

// sample runs beside the keys: a commit can take seconds on a device that stalls.
func (m *model) sample() tea.Msg {
	s, err := m.watch.Next(m.ctx)
	return taken{s, m.watch.Counter.Info(), m.watch.note(), m.watch.over(), err}
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.view.Width, m.view.Height = msg.Width, msg.Height
	case due:
		return m, m.sample
	case taken:
		if msg.err != nil {
			m.err = msg.err
			return m, tea.Quit
		}
		m.view.Note = msg.note
		if !m.view.Paused {
			m.view.Info, m.view.Sample = msg.info, &msg.sample
		}
		if msg.over {
			return m, tea.Quit
		}
		return m, m.wait()
	case tea.KeyPressMsg:
		switch key := msg.String(); key {
		case "q", "ctrl+c":
			return m, tea.Quit
		case "ctrl+z":
			return m, tea.Suspend
		default:
			m.view.Key(key)
		}
	}
	return m, nil
}

func (m *model) View() tea.View {
	v := tea.NewView(m.view.Render())
	v.AltScreen = true
	v.WindowTitle = "hostlab watch"
	return v
}

// No meaning hangs on colour alone: levels have characters of their own.
var (
	dimmed  = lipgloss.NewStyle().Faint(true)
	bolded  = lipgloss.NewStyle().Bold(true)
	byLevel = []lipgloss.Style{dimmed, ink(lipgloss.Green), ink(lipgloss.Green), ink(lipgloss.Green), ink(lipgloss.Yellow),
		ink(lipgloss.Yellow), ink(lipgloss.Red)}
	unlisted = dimmed
)

func ink(c interface {
	RGBA() (r, g, b, a uint32)
}) lipgloss.Style {
	return lipgloss.NewStyle().Foreground(c)
}

func (v *View) style(s lipgloss.Style, text string) string {
	if !v.Color || text == "" {
		return text
	}
	return s.Render(text)
}

func (v *View) dim(text string) string  { return v.style(dimmed, text) }
func (v *View) bold(text string) string { return v.style(bolded, text) }

func (v *View) paint(level int, text string) string {
	if level < 0 || level >= len(byLevel) {
		return v.style(unlisted, text)
	}
	return v.style(byLevel[level], text)
}

func share(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*x)
}

func hertz(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.2fG", x/1e9)
}
