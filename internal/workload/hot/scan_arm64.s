#include "textflag.h"

// func scan(p *uint64, n uint64, stop *Word, rounds *uint64)
TEXT ·scan(SB), NOSPLIT, $0-32
	MOVD p+0(FP), R8
	MOVD n+8(FP), R9
	MOVD stop+16(FP), R1
	MOVD rounds+24(FP), R2
	ADD  R8, R9
again:
	MOVD R8, R0
	PCALIGN $64
line:
	STP  (ZR, ZR), (R0)
	STP  (ZR, ZR), 16(R0)
	STP  (ZR, ZR), 32(R0)
	STP  (ZR, ZR), 48(R0)
	ADD  $64, R0
	CMP  R9, R0
	BLO  line
	MOVD (R2), R3
	ADD  $1, R3
	MOVD R3, (R2)
	MOVWU (R1), R3
	CBZW R3, again
	RET
