#include "textflag.h"

#define LINES(FLUSH) \
	MOVQ start+0(FP), AX; \
	MOVQ end+8(FP), BX; \
	MOVQ line+16(FP), CX; \
again: \
	CMPQ AX, BX; \
	JCC  done; \
	FLUSH; \
	ADDQ CX, AX; \
	JMP  again; \
done: \
	SFENCE; \
	RET

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func clwb(start, end, line uintptr)
TEXT ·clwb(SB), NOSPLIT, $0-24
	LINES(CLWB (AX))

// func clflushopt(start, end, line uintptr)
TEXT ·clflushopt(SB), NOSPLIT, $0-24
	LINES(CLFLUSHOPT (AX))

// func clflush(start, end, line uintptr)
TEXT ·clflush(SB), NOSPLIT, $0-24
	LINES(CLFLUSH (AX))
