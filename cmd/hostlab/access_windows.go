package main

// accessDir leaves the answer to the write itself: Windows has no cheap question.
func accessDir(string) error { return nil }
