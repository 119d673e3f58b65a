#include "textflag.h"

// func scan(p *uint64, n, part uint64, stop *Word, parts *uint64)
TEXT ·scan(SB), NOSPLIT, $0-40
	MOVD p+0(FP), R8
	MOVD n+8(FP), R9
	MOVD part+16(FP), R10
	MOVD stop+24(FP), R1
	MOVD parts+32(FP), R2
	ADD  R8, R9
again:
	MOVD R8, R0
part:
	ADD  R10, R0, R11
	CMP  R9, R11
	CSEL HI, R9, R11, R11
	PCALIGN $64
line:
	STP  (ZR, ZR), (R0)
	STP  (ZR, ZR), 16(R0)
	STP  (ZR, ZR), 32(R0)
	STP  (ZR, ZR), 48(R0)
	ADD  $64, R0
	CMP  R11, R0
	BLO  line
	MOVD (R2), R3
	ADD  $1, R3
	MOVD R3, (R2)
	MOVWU (R1), R3
	CBNZW R3, done
	CMP  R9, R0
	BLO  part
	B    again
done:
	RET
