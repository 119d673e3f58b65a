/* bcryptprimitives.dll with the one function that Go's runtime asks it for at start and that Wine 8 lacks. */
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE b, SIZE_T n) { return RtlGenRandom(b, (ULONG)n); }
