package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/setting"
)

// highPerformance is the plan that asks for the top state with turbo and parks nothing.
const highPerformance = "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c"

// processor is the subgroup of power settings for processors.
const processor = "54533251-82be-4824-96c1-47b60b740d00"

// WindowsNames are the settings that powercfg and dsc have a counterpart for.
func WindowsNames() (names []string) {
	for _, s := range setting.All() {
		if _, ok := s.Word("windows"); ok {
			names = append(names, s.Name)
		}
	}
	return names
}

// powerSetting is one of Windows' processor power settings.
type powerSetting struct {
	alias, guid, about string
	value              int
}

var powerGUIDs = map[string]string{
	"PROCTHROTTLEMIN": "893dee8e-2bef-41e0-89c6-b55d0929964c", "PROCTHROTTLEMAX": "bc5038f7-23e0-4960-96da-33abaf5935ec",
	"PERFBOOSTMODE": "be337238-0d82-4146-a960-4f3749d470c7", "PERFEPP": "36687f9e-e3a5-4dbf-b1dc-15eb381c6863",
}

// windows translates what Windows has a counterpart for. Its values are whole numbers, mostly shares.
func windows(items []item) (plan bool, list []powerSetting, missing lacks) {
	for _, i := range items {
		word, has := i.s.Word("windows")
		value, known := word.Values[i.Value]
		share, err := percent(cmp.Or(value, i.Value))
		switch {
		case i.Object != "":
			missing.add(i, "Windows sets all processors alike")
			continue
		case !has:
			missing.add(i, "Windows has no counterpart that a power plan holds")
			continue
		case word.Only != "" && !known && (word.Values != nil || !strings.HasSuffix(i.Value, "%") && i.Value != "max"),
			err != nil:
			missing.add(i, word.Only)
			continue
		case powerGUIDs[word.Option] == "":
			plan = true
			continue
		}
		s := powerSetting{word.Option, powerGUIDs[word.Option], i.String(), share}
		if n := slices.IndexFunc(list, func(o powerSetting) bool { return o.alias == s.alias }); n >= 0 {
			list[n] = s // two of ours are one of theirs
			continue
		}
		list = append(list, s)
	}
	return plan, list, missing
}

// percent reads a share of the highest frequency as Windows takes it.
func percent(value string) (int, error) {
	if value == "max" {
		return 100, nil
	}
	share, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
	return int(share + 0.5), err
}

// powercfg writes a command file. Its lines end as cmd.exe wants them.
func powercfg(head Head, items []item) Profile {
	plan, list, missing := windows(items)
	var b strings.Builder
	b.WriteString("@echo off\nrem " + cmdText(head.Title) +
		"\nrem Run it as administrator. A plan that group policy sets wins " +
		"over this one.\n")
	for _, m := range missing.lines() {
		b.WriteString("rem Not in here: " + cmdText(m) + "\n")
	}
	if plan {
		b.WriteString("rem governor=performance: the plan High performance\npowercfg /setactive SCHEME_MIN || exit /b 1\n")
	}
	for _, s := range list {
		fmt.Fprintf(&b, "rem %s\npowercfg /setacvalueindex SCHEME_CURRENT SUB_PROCESSOR %s %d || exit /b 1\n",
			cmdText(s.about),
			s.alias, s.value)
	}
	if len(list) > 0 {
		b.WriteString("powercfg /setactive SCHEME_CURRENT\n")
	}
	return Profile{Files: []File{{Text: strings.ReplaceAll(b.String(), "\n", "\r\n")}}, lacks: missing}
}

// cmdText makes a comment safe: cmd.exe expands % also behind rem, and looks for redirections.
func cmdText(s string) string {
	return strings.NewReplacer("%", " percent", "<", "(", ">", ")", "|", "/", "&", "and", "^", "").Replace(s)
}

// dsc writes a configuration for Desired State Configuration (PowerShell 5.1). Values are
// looked up in the registry, since what powercfg prints is translated.
func dsc(head Head, items []item) Profile {
	plan, list, missing := windows(items)
	var b strings.Builder
	b.WriteString("# " + head.Title + "\n")
	comments(&b, missing.lines())
	b.WriteString("# Needs the module ComputerManagementDsc. Compile: . .\\hostlab.ps1; HostlabPower\n# Apply: " +
		"Start-DscConfiguration -Path .\\HostlabPower -Wait\n\n")
	b.WriteString("Configuration HostlabPower\n{\n    Import-DscResource -ModuleName PSDesiredStateConfiguration\n")
	if plan {
		b.WriteString("    Import-DscResource -ModuleName ComputerManagementDsc\n")
	}
	b.WriteString("\n    Node localhost\n    {\n")
	depends := ""
	if plan {
		fmt.Fprintf(&b, "        PowerPlan HighPerformance\n        {\n            IsSingleInstance = 'Yes'\n            "+
			"Name             = '%s'\n        }\n", highPerformance)
		depends = "            DependsOn  = '[PowerPlan]HighPerformance'\n"
	}
	for _, s := range list {
		key := "'HKLM:\\SYSTEM\\CurrentControlSet\\Control\\Power\\User\\PowerSchemes'"
		read := fmt.Sprintf("$all = %s\n                $plan = (Get-ItemProperty $all).ActivePowerScheme\n"+
			"                $value = (Get-ItemProperty \"$all\\$plan\\%s\\%s\" -ErrorAction SilentlyContinue).ACSettingIndex\n",
			key, processor, s.guid)
		fmt.Fprintf(&b, `
        # %s
        Script %s
        {
            GetScript  = {
                %s                @{ Result = "$value" }
            }
            TestScript = {
                %s                $value -eq %d
            }
            SetScript  = {
                powercfg /setacvalueindex SCHEME_CURRENT SUB_PROCESSOR %s %d
                if ($LASTEXITCODE -ne 0) { throw 'powercfg refused %s' }
                powercfg /setactive SCHEME_CURRENT
            }
%s        }
`, s.about, s.alias, read, read, s.value, s.alias, s.value, s.alias, depends)
	}
	b.WriteString("    }\n}\n")
	return Profile{Files: []File{{Text: b.String()}}, lacks: missing}
}
