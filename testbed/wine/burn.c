// burn.c: a Windows service for the test bed, two of whose threads use CPUs for half of the time, until it is stopped.
#include <windows.h>

static SERVICE_STATUS_HANDLE handle;
static SERVICE_STATUS status = {SERVICE_WIN32_OWN_PROCESS, SERVICE_RUNNING, SERVICE_ACCEPT_STOP, 0, 0, 0, 0};

static void WINAPI control(DWORD code) {
    if (code == SERVICE_CONTROL_STOP) {
        status.dwCurrentState = SERVICE_STOPPED;
        SetServiceStatus(handle, &status);
        ExitProcess(0);
    }
    SetServiceStatus(handle, &status);
}

static DWORD WINAPI burn(void *unused) {
    for (;;) {
        for (ULONGLONG end = GetTickCount64() + 50; GetTickCount64() < end;) {}
        Sleep(50);
    }
    return 0;
}

static void WINAPI begin(DWORD argc, LPSTR *argv) {
    handle = RegisterServiceCtrlHandlerA("burn", control);
    SetServiceStatus(handle, &status);
    CreateThread(NULL, 0, burn, NULL, 0, NULL);
    burn(NULL);
}

int main(void) {
    SERVICE_TABLE_ENTRYA table[] = {{"burn", begin}, {NULL, NULL}};
    return !StartServiceCtrlDispatcherA(table);
}
