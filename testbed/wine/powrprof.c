// powrprof.c: Windows' power schemes as a file, for the test bed. Wine 8 has none of these functions. What Windows keeps in
// its registry is in the file that POWRPROF_FILE names, one fact a line, replaced as a whole like a registry transaction:
//
//	active SCHEME                       the scheme in force
//	live SCHEME                         the scheme whose values act; "stale" where values were written since it was activated
//	scheme SCHEME NAME                  a scheme that there is
//	value SCHEME SETTING ac|dc NUMBER   an explicit value; without one the setting's default holds
//
// POWRPROF_FAULT lists faults (fault.h). Beside functions that fail with a Win32 code there are: kill@N ends the process before
// the Nth change, killed@N after it; clamp=N takes no value above N, with success; drop=SCHEME deletes a scheme just before the
// first write of a value; deaf takes values and keeps none.
#include "fault.h"

#define API __declspec(dllexport) DWORD WINAPI
#define MOST 200
#define LINE 200

static char lines[MOST][LINE];
static int count;
static HANDLE lock;
static int changes;

static void text(const GUID *g, char *out) {
    sprintf(out, "%08lx-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", (unsigned long)g->Data1, g->Data2, g->Data3, g->Data4[0],
            g->Data4[1], g->Data4[2], g->Data4[3], g->Data4[4], g->Data4[5], g->Data4[6], g->Data4[7]);
}

static void guid(const char *t, GUID *g) {
    unsigned long d1 = 0;
    unsigned d[10] = {0};
    sscanf(t, "%8lx-%4x-%4x-%2x%2x-%2x%2x%2x%2x%2x%2x", &d1, &d[0], &d[1], &d[2], &d[3], &d[4], &d[5], &d[6], &d[7], &d[8], &d[9]);
    g->Data1 = d1;
    g->Data2 = d[0];
    g->Data3 = d[1];
    for (int i = 0; i < 8; i++) g->Data4[i] = d[i + 2];
}

static void path(char *out, const char *end) {
    if (!GetEnvironmentVariableA("POWRPROF_FILE", out, MAX_PATH - 10)) strcpy(out, "Z:\\nonexistent");
    strcat(out, end);
}

static void enter(void) {
    char name[MAX_PATH], buf[LINE];
    lock = CreateMutexA(NULL, FALSE, "hostlab-testbed-powrprof");
    WaitForSingleObject(lock, INFINITE); // also where its last owner was killed
    count = 0;
    path(name, "");
    FILE *f = fopen(name, "r");
    if (!f) return;
    while (count < MOST && fgets(buf, sizeof buf, f)) {
        buf[strcspn(buf, "\r\n")] = 0;
        if (*buf) strcpy(lines[count++], buf);
    }
    fclose(f);
}

static DWORD leave(DWORD r) {
    ReleaseMutex(lock);
    CloseHandle(lock);
    return r;
}

// store replaces the file, or ends the process.
static DWORD store(void) {
    char name[MAX_PATH], next[MAX_PATH];
    changes++;
    if (fault("POWRPROF_FAULT", "kill", changes)) TerminateProcess(GetCurrentProcess(), 137);
    path(name, "");
    path(next, ".new");
    FILE *f = fopen(next, "wb");
    if (!f) return leave(ERROR_ACCESS_DENIED);
    for (int i = 0; i < count; i++) fprintf(f, "%s\n", lines[i]);
    fclose(f);
    if (!MoveFileExA(next, name, MOVEFILE_REPLACE_EXISTING)) return leave(GetLastError());
    if (fault("POWRPROF_FAULT", "killed", changes)) TerminateProcess(GetCurrentProcess(), 137);
    return leave(0);
}

// find is the line that starts so; -1: there is none.
static int find(const char *start) {
    for (int i = 0; i < count; i++)
        if (!strncmp(lines[i], start, strlen(start))) return i;
    return -1;
}

static void drop(int i) {
    memmove(lines[i], lines[i + 1], (size_t)(count - i - 1) * LINE);
    count--;
}

static int there(const char *scheme) {
    char start[LINE];
    sprintf(start, "scheme %s ", scheme);
    return find(start);
}

static void remove_scheme(const char *scheme) {
    char start[LINE];
    int i = there(scheme);
    if (i >= 0) drop(i);
    sprintf(start, "value %s ", scheme);
    while ((i = find(start)) >= 0) drop(i);
}

API PowerGetActiveScheme(HKEY root, GUID **out) {
    FAIL("POWRPROF_FAULT", "PowerGetActiveScheme");
    enter();
    int i = find("active ");
    if (i < 0) return leave(ERROR_FILE_NOT_FOUND);
    *out = LocalAlloc(LPTR, sizeof(GUID));
    guid(lines[i] + 7, *out);
    return leave(0);
}

API PowerSetActiveScheme(HKEY root, const GUID *scheme) {
    char t[40];
    text(scheme, t);
    FAIL("POWRPROF_FAULT", "PowerSetActiveScheme");
    enter();
    if (there(t) < 0) return leave(ERROR_FILE_NOT_FOUND);
    int a = find("active "), l = find("live ");
    if (a >= 0) sprintf(lines[a], "active %s", t);
    if (l >= 0) sprintf(lines[l], "live %s", t);
    return store();
}

API PowerEnumerate(HKEY root, const GUID *scheme, const GUID *sub, DWORD what, ULONG index, UCHAR *buf, DWORD *size) {
    FAIL("POWRPROF_FAULT", "PowerEnumerate");
    if (what != 16) return ERROR_INVALID_PARAMETER;
    enter();
    for (int i = 0; i < count; i++) {
        if (strncmp(lines[i], "scheme ", 7) || index--) continue;
        if (*size < sizeof(GUID)) return leave(ERROR_MORE_DATA);
        guid(lines[i] + 7, (GUID *)buf);
        *size = sizeof(GUID);
        return leave(0);
    }
    return leave(ERROR_NO_MORE_ITEMS);
}

API PowerReadFriendlyName(HKEY root, const GUID *scheme, const GUID *sub, const GUID *set, UCHAR *buf, DWORD *size) {
    char t[40];
    text(scheme, t);
    FAIL("POWRPROF_FAULT", "PowerReadFriendlyName");
    enter();
    int i = there(t);
    if (i < 0) return leave(ERROR_FILE_NOT_FOUND);
    const char *name = lines[i] + 7 + 37;
    DWORD need = (DWORD)(strlen(name) + 1) * 2;
    if (!buf || *size < need) {
        *size = need;
        return leave(buf ? ERROR_MORE_DATA : 0);
    }
    MultiByteToWideChar(CP_UTF8, 0, name, -1, (WCHAR *)buf, (int)need / 2);
    *size = need;
    return leave(0);
}

API PowerWriteFriendlyName(HKEY root, const GUID *scheme, const GUID *sub, const GUID *set, UCHAR *buf, DWORD size) {
    char t[40], name[80];
    text(scheme, t);
    FAIL("POWRPROF_FAULT", "PowerWriteFriendlyName");
    enter();
    int i = there(t);
    if (i < 0) return leave(ERROR_FILE_NOT_FOUND);
    WideCharToMultiByte(CP_UTF8, 0, (WCHAR *)buf, -1, name, sizeof name, NULL, NULL);
    sprintf(lines[i], "scheme %s %s", t, name);
    return store();
}

API PowerDuplicateScheme(HKEY root, const GUID *from, GUID **to) {
    char f[40], t[40], start[LINE], name[LINE];
    FAIL("POWRPROF_FAULT", "PowerDuplicateScheme");
    text(from, f);
    text(*to, t);
    enter();
    int i = there(f), n = count;
    if (i < 0) return leave(ERROR_FILE_NOT_FOUND);
    if (there(t) >= 0) return leave(ERROR_ALREADY_EXISTS);
    strcpy(name, lines[i] + 7 + 37);
    sprintf(lines[count++], "scheme %s %s", t, name);
    sprintf(start, "value %s ", f);
    for (i = 0; i < n && count < MOST; i++)
        if (!strncmp(lines[i], start, strlen(start))) sprintf(lines[count++], "value %s %s", t, lines[i] + strlen(start));
    return store();
}

API PowerDeleteScheme(HKEY root, const GUID *scheme) {
    char t[40], active[LINE];
    text(scheme, t);
    FAIL("POWRPROF_FAULT", "PowerDeleteScheme");
    enter();
    sprintf(active, "active %s", t);
    if (find(active) >= 0) return leave(ERROR_ACCESS_DENIED); // Windows keeps the one in force
    if (there(t) < 0) return leave(ERROR_FILE_NOT_FOUND);
    remove_scheme(t);
    return store();
}

// defaults are those of settings without an explicit value.
static const struct { const char *set; DWORD value; } defaults[] = {
    {"893dee8e-2bef-41e0-89c6-b55d0929964c", 5},  {"bc5038f7-23e0-4960-96da-33abaf5935ec", 100},
    {"be337238-0d82-4146-a960-4f3749d470c7", 3},  {"36687f9e-e3a5-4dbf-b1dc-15eb381c6863", 50},
    {"465e1f50-b610-473a-ab58-00d1077dc418", 0},  {"40fbefc7-2e9d-4d25-a185-0cfd8574bac6", 1},
    {"4d2b0152-7d5c-498b-88e2-34345392a2c5", 30}, {"0cc5b647-c1df-4637-891a-dec35c318583", 10},
    {"ea062031-0e34-4ff1-9b6d-eb1059334028", 100}, {"5d76a2ca-e8c0-402f-a133-2158492d58ad", 0},
};

static DWORD read_value(const GUID *scheme, const GUID *set, const char *source, DWORD *out) {
    char s[40], t[40], start[LINE];
    text(scheme, s);
    text(set, t);
    enter();
    if (there(s) < 0) return leave(ERROR_FILE_NOT_FOUND);
    sprintf(start, "value %s %s %s ", s, t, source);
    int i = find(start);
    if (i >= 0) {
        *out = strtoul(lines[i] + strlen(start), NULL, 10);
        return leave(0);
    }
    for (i = 0; i < (int)(sizeof defaults / sizeof *defaults); i++)
        if (!strcmp(defaults[i].set, t)) {
            *out = defaults[i].value;
            return leave(0);
        }
    return leave(ERROR_FILE_NOT_FOUND);
}

static DWORD write_value(const GUID *scheme, const GUID *set, const char *source, DWORD value) {
    char s[40], t[40], start[LINE], all[1000];
    static int writes;
    text(scheme, s);
    text(set, t);
    enter();
    if (!writes++ && GetEnvironmentVariableA("POWRPROF_FAULT", all, sizeof all) && strstr(all, "drop="))
        remove_scheme(strstr(all, "drop=") + 5);
    if (there(s) < 0) return leave(ERROR_FILE_NOT_FOUND);
    DWORD most = fault("POWRPROF_FAULT", "clamp", 0);
    if (most && value > most) value = most;
    if (fault("POWRPROF_FAULT", "deaf", 0)) return leave(0);
    sprintf(start, "value %s %s %s ", s, t, source);
    int i = find(start);
    if (i < 0) i = count++;
    sprintf(lines[i], "%s%lu", start, (unsigned long)value);
    sprintf(start, "active %s", s);
    int live = find("live ");
    if (find(start) >= 0 && live >= 0) strcpy(lines[live], "live stale");
    return store();
}

API PowerReadACValueIndex(HKEY root, const GUID *scheme, const GUID *sub, const GUID *set, DWORD *out) {
    FAIL("POWRPROF_FAULT", "PowerReadACValueIndex");
    return read_value(scheme, set, "ac", out);
}

API PowerReadDCValueIndex(HKEY root, const GUID *scheme, const GUID *sub, const GUID *set, DWORD *out) {
    FAIL("POWRPROF_FAULT", "PowerReadDCValueIndex");
    return read_value(scheme, set, "dc", out);
}

API PowerWriteACValueIndex(HKEY root, const GUID *scheme, const GUID *sub, const GUID *set, DWORD value) {
    FAIL("POWRPROF_FAULT", "PowerWriteACValueIndex");
    return write_value(scheme, set, "ac", value);
}

API PowerWriteDCValueIndex(HKEY root, const GUID *scheme, const GUID *sub, const GUID *set, DWORD value) {
    FAIL("POWRPROF_FAULT", "PowerWriteDCValueIndex");
    return write_value(scheme, set, "dc", value);
}

API PowerSettingAccessCheck(DWORD what, const GUID *set) {
    FAIL("POWRPROF_FAULT", "PowerSettingAccessCheck");
    return fault("POWRPROF_FAULT", "policy", 0) ? ERROR_ACCESS_DISABLED_BY_POLICY : 0;
}
