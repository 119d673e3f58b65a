// pdh.c: Windows' performance counters as a file, for the test bed. Wine 8 has two of them, and ends a program that asks for
// all instances of one. PDH_FILE names the file: a line with a counter's path, then a line for each instance, up to the next path.
//
//	\Processor Information(*)\Parking Status
//	0,0 1
//	0,1 invalid                         an instance whose value is not valid
//
// As in Windows, a counter has values after two collections; here, at least 0.9 s apart. PDH_FAULT lists faults (fault.h);
// codes are decimal. A counter that the file does not have is one that Windows does not have.
#include "fault.h"
#include <pdh.h>
#include <pdhmsg.h>
#include <stdlib.h>

#define API __declspec(dllexport) PDH_STATUS WINAPI
#define VARIABLE "PDH_FAULT"
#define MOST 600

typedef struct {
    char path[200];
} counter_t;

static int collections;
static ULONGLONG before, last;

static FILE *file(void) {
    char name[MAX_PATH];
    return GetEnvironmentVariableA("PDH_FILE", name, sizeof name) ? fopen(name, "r") : NULL;
}

static char *line(char *buf, int size, FILE *f) {
    if (!fgets(buf, size, f)) return NULL;
    buf[strcspn(buf, "\r\n")] = 0;
    return buf;
}

API PdhOpenQueryW(LPCWSTR source, DWORD_PTR user, PDH_HQUERY *out) {
    FAIL(VARIABLE, "PdhOpenQueryW");
    *out = malloc(1);
    collections = 0;
    return 0;
}

API PdhCloseQuery(PDH_HQUERY q) {
    free(q);
    return 0;
}

API PdhAddEnglishCounterW(PDH_HQUERY q, LPCWSTR path, DWORD_PTR user, PDH_HCOUNTER *out) {
    FAIL(VARIABLE, "PdhAddEnglishCounterW");
    counter_t *c = calloc(1, sizeof *c);
    char buf[200];
    WideCharToMultiByte(CP_UTF8, 0, path, -1, c->path, sizeof c->path, NULL, NULL);
    FILE *f = file();
    while (f && line(buf, sizeof buf, f))
        if (!strcmp(buf, c->path)) {
            fclose(f);
            *out = c;
            return 0;
        }
    if (f) fclose(f);
    free(c);
    return PDH_CSTATUS_NO_COUNTER;
}

API PdhCollectQueryData(PDH_HQUERY q) {
    FAIL(VARIABLE, "PdhCollectQueryData");
    before = last;
    last = GetTickCount64();
    collections++;
    return 0;
}

API PdhGetFormattedCounterArrayW(PDH_HCOUNTER h, DWORD format, LPDWORD size, LPDWORD count, PDH_FMT_COUNTERVALUE_ITEM_W *items) {
    FAIL(VARIABLE, "PdhGetFormattedCounterArrayW");
    counter_t *c = h;
    char buf[200], names[MOST][40], values[MOST][40];
    DWORD n = 0, chars = 0;
    int mine = 0;
    if (collections < 2 || last - before < 900) return PDH_INVALID_DATA;
    if (format != (PDH_FMT_DOUBLE | PDH_FMT_NOCAP100)) return PDH_INVALID_ARGUMENT;
    FILE *f = file();
    if (!f) return PDH_NO_DATA;
    while (n < MOST && line(buf, sizeof buf, f)) {
        if (*buf == '\\')
            mine = !strcmp(buf, c->path);
        else if (mine && sscanf(buf, "%39s %39s", names[n], values[n]) == 2)
            chars += (DWORD)strlen(names[n++]) + 1;
    }
    fclose(f);
    if (!n) return PDH_NO_DATA;
    DWORD need = n * (DWORD)sizeof *items + chars * (DWORD)sizeof(WCHAR);
    *count = n;
    if (*size < need) {
        *size = need;
        return PDH_MORE_DATA;
    }
    *size = need;
    WCHAR *text = (WCHAR *)(items + n); // the names stand behind the items, as in Windows
    for (DWORD i = 0; i < n; i++) {
        int length = (int)strlen(names[i]) + 1;
        MultiByteToWideChar(CP_UTF8, 0, names[i], length, text, length);
        items[i].szName = text;
        items[i].FmtValue.CStatus = strcmp(values[i], "invalid") ? PDH_CSTATUS_VALID_DATA : PDH_CSTATUS_INVALID_DATA;
        items[i].FmtValue.doubleValue = atof(values[i]);
        text += length;
    }
    return 0;
}
