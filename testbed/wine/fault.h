// fault.h: faults on demand. An environment variable lists them, separated by blanks: NAME=CODE fails a function with that
// code; NAME=CODE@N does so at its Nth call of the process; NAME@N happens at the Nth call; NAME alone always.
#include <windows.h>
#include <stdio.h>
#include <string.h>

// fault is a fault's number; 0: the variable lists none of that name, or not for this call.
static DWORD fault(const char *variable, const char *name, int call) {
    char all[1000], *at = NULL;
    if (!GetEnvironmentVariableA(variable, all, sizeof all)) return 0;
    for (char *f = strtok_r(all, " ", &at); f; f = strtok_r(NULL, " ", &at)) {
        size_t n = strlen(name);
        unsigned long code = 0;
        int nth = 0;
        if (strncmp(f, name, n)) continue;
        if (f[n] == '@' && sscanf(f + n, "@%d", &nth) == 1 && nth == call) return 1;
        if (f[n] == '=' && sscanf(f + n, "=%lu@%d", &code, &nth) >= 1 && (nth == 0 || nth == call)) return code;
        if (f[n] == 0) return 1;
    }
    return 0;
}

// FAIL counts the calls of a function, and returns what it is to fail with at this one.
#define FAIL(variable, name)                        \
    do {                                            \
        static int calls;                           \
        DWORD code = fault(variable, name, ++calls); \
        if (code) return code;                      \
    } while (0)
