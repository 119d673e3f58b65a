// Package model predicts what a power policy costs a workload. It simulates
// logical CPUs that run slices of work and wait in between, the rule by which an
// operating system sets their frequency from their utilisation, and what follows:
// step time, CPU seconds, throughput, frequency while busy, energy.
//
// The mechanism is the whole point: a request computes for tens of milliseconds,
// waits for the database, the processor falls to a lower frequency meanwhile, and
// the next slice starts slow. On a loaded host the processor never falls.
//
// What is not known is a named parameter (Parameter.Known is false), never a
// constant in the code, and Sensitivity says how much the answer depends on it.
// Everything is in base units: seconds, hertz, joules, watts, fractions of 1.
//
// Start with Machines, Workloads and ParsePolicy for the parts of a Case, and
// with Compare, which simulates policies with common random numbers.
package model
