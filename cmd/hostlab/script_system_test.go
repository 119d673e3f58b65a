//go:build system

package main

import "testing"

func TestSystemScripts(t *testing.T) { scripts(t, "testdata/system") }
