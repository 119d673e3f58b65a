//go:build !system

package main

const systemTests = false
