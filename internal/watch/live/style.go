package live

import (
	"fmt"
	"math"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// No meaning hangs on colour alone: levels have characters of their own.
var (
	dimmed   = lipgloss.NewStyle().Faint(true)
	bolded   = lipgloss.NewStyle().Bold(true)
	byLevel  = []lipgloss.Style{dimmed, ink(lipgloss.Green), ink(lipgloss.Green), ink(lipgloss.Green), ink(lipgloss.Yellow), ink(lipgloss.Yellow), ink(lipgloss.Red)}
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

func clip(s string, width int) string { return ansi.Truncate(s, width, "") }

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
