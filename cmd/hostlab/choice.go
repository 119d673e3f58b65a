package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hostlab/internal/screen"
)

// word is the value of a flag that takes one of a few words.
type word[T ~string] struct {
	flag   string
	target *T
	words  []T
}

func (w *word[T]) String() string { return string(*w.target) }
func (w *word[T]) Type() string   { return "string" }

// Set takes a word as it stands or in other letters, and refuses all that it does not know. Of an
// empty one notEmpty says more.
func (w *word[T]) Set(s string) error {
	if err := w.choose(s); err != nil {
		return usagef("--%s %w", w.flag, err)
	}
	return nil
}

func (w *word[T]) choose(s string) error {
	known := make([]string, len(w.words))
	for i, x := range w.words {
		if known[i] = string(x); strings.EqualFold(known[i], strings.TrimSpace(s)) {
			*w.target = x
			return nil
		}
	}
	if *w.target = ""; s == "" {
		return nil
	}
	return fmt.Errorf("%q: expected %s%s", s, strings.Join(known, ", "), meant(s, known))
}

// meant is a hint at the known word that is nearest to a slip; "" for none.
func meant(s string, known []string) string {
	if near := screen.Meant(s, known); near != "" && near != s {
		return "; did you mean " + near + "?"
	}
	return ""
}

// choiceFlag adds a flag that takes one of a few words, with completion.
func choiceFlag[T ~string](cmd *cobra.Command, target *T, name string, value T, usage string, words []T) {
	*target = value
	texts := names(words, func(x T) string { return string(x) })
	cmd.Flags().Var(&word[T]{name, target, words}, name, usage+": "+strings.Join(texts, ", "))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(texts, cobra.ShellCompDirectiveNoFileComp)))
}

// names are those of a list's members.
func names[T any](list []T, name func(T) string) (out []string) {
	for _, x := range list {
		out = append(out, name(x))
	}
	return out
}

// notEmpty refuses flags that were given without a value, as from a variable of a
// script that is not set: taken silently, they would mean something else.
func notEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
		}
		if slices.Contains(values, "") && err == nil {
			err = usagef("--%s is empty; is a variable unset?", f.Name)
		}
	})
	return err
}

// share reads a share above 0, as 5%, 5 % or 0.05.
func share(flag, text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	switch {
	case err != nil || math.IsNaN(v):
		return 0, usagef("--%s %q: expected a share above 0 and below 100 %%, such as 0.05 or 5%%", flag, text)
	case v <= 0:
		return 0, usagef("--%s %s: expected more than 0 and less than 100 %%", flag, text)
	case !percent && v > 1 && v < 100:
		return 0, usagef("--%s %s: expected more than 0 and less than 1; for %s %% write %s%%", flag, text, text, text)
	}
	return v, nil
}

// completeAlone has bash complete where the package bash-completion is not installed, too: cobra's script calls that
// for the words before the cursor, which bash itself parts at = and : as well (COMP_WORDBREAKS).
func completeAlone(bash *cobra.Command, std streams) {
	bash.Long = strings.ReplaceAll(bash.Long, "\nThis script depends on the 'bash-completion' package.\n"+
		"If it is not installed already, you can install it by your OS's package manager.\n", "")
	bash.RunE = func(cmd *cobra.Command, _ []string) error {
		var script strings.Builder
		plain, _ := cmd.Flags().GetBool("no-descriptions")
		if err := cmd.Root().GenBashCompletionV2(&script, !plain); err != nil {
			return err
		}
		_, err := strings.NewReplacer("    _get_comp_words_by_ref \"$@\" cur prev words cword\n", ownWords).
			WriteString(std.out, script.String())
		return err
	}
}

// ownWords sets words, cword, cur and prev: a word goes on where no space is before the next.
const ownWords = `    local left=${COMP_LINE:0:COMP_POINT} i word
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $i -eq 0 || ${left} == [[:space:]]* || -z ${left} ]]; then
            left=${left#"${left%%[![:space:]]*}"}
            words+=("")
        fi
        [[ $i -eq ${COMP_CWORD} ]] && word=${left}
        words[${#words[@]}-1]+=${word}
        left=${left#"${word}"}
    done
    cword=$((${#words[@]}-1))
    cur=${words[cword]}
    prev=${words[cword > 0 ? cword-1 : 0]}
`
