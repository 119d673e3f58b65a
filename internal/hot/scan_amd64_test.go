package hot

func init() { scans["scanSSE"] = scanSSE } // which scan leaves out where there is AVX
