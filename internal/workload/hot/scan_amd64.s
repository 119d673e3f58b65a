#include "textflag.h"

// func scan(p *uint64, n uint64, stop *Word, rounds *uint64)
TEXT ·scan(SB), NOSPLIT, $0-32
	MOVQ  p+0(FP), R8
	MOVQ  n+8(FP), R9
	MOVQ  stop+16(FP), SI
	MOVQ  rounds+24(FP), DX
	ADDQ  R8, R9
	PXOR  X0, X0
again:
	MOVQ  R8, DI
	PCALIGN $64
line:
	MOVUPS X0, (DI)
	MOVUPS X0, 16(DI)
	MOVUPS X0, 32(DI)
	MOVUPS X0, 48(DI)
	ADDQ  $64, DI
	CMPQ  DI, R9
	JCS   line
	INCQ  (DX)
	CMPL  (SI), $0
	JEQ   again
	RET
