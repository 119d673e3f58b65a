#include "textflag.h"

// func ctr() uint64
TEXT ·ctr(SB), NOSPLIT, $0-8
	MRS  CTR_EL0, R0
	MOVD R0, ret+0(FP)
	RET

// func cvap(start, end, line uintptr)
TEXT ·cvap(SB), NOSPLIT, $0-24
	MOVD start+0(FP), R0
	MOVD end+8(FP), R1
	MOVD line+16(FP), R2
again:
	CMP  R1, R0
	BHS  done
	WORD $0xd50b7c20 // DC CVAP, X0: SYS #3, C7, C12, #1; the assembler has no name for it
	ADD  R2, R0
	JMP  again
done:
	DSB  $15 // SY
	RET
