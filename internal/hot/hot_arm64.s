#include "textflag.h"

#define ADDS4 ADD R2, R0; ADD R2, R0; ADD R2, R0; ADD R2, R0
#define ADDS16 ADDS4; ADDS4; ADDS4; ADDS4
#define ZEROS4 ADD R3, R0; ADD R3, R0; ADD R3, R0; ADD R3, R0
#define ZEROS16 ZEROS4; ZEROS4; ZEROS4; ZEROS4

// func Adds(n uint64) uint64
TEXT ·Adds(SB), NOSPLIT, $0-16
	MOVD n+0(FP), R1
	MOVD $0, R0
	MOVD $1, R2
	PCALIGN $64
adds:
	ADDS16
	ADDS16
	ADDS16
	ADDS16
	CMP R1, R0
	BLO adds
	MOVD R0, ret+8(FP)
	RET

#define ALUROW \
	ADD R2, R3; \
	ADD R2, R4; \
	ADD R2, R5; \
	ADD R2, R6; \
	ADD R2, R7; \
	ADD R2, R8; \
	ADD R2, R9; \
	ADD R2, R10
#define MULROW \
	MUL R2, R11; \
	MUL R2, R12

// func ALU(n uint64) uint64
TEXT ·ALU(SB), NOSPLIT, $0-16
	MOVD n+0(FP), R1
	MOVD $1, R2
	MOVD $0, R3
	MOVD $0, R4
	MOVD $0, R5
	MOVD $0, R6
	MOVD $0, R7
	MOVD $0, R8
	MOVD $0, R9
	MOVD $0, R10
	MOVD $3, R11
	MOVD $5, R12
	PCALIGN $64
alu:
	ALUROW
	MULROW
	ALUROW
	ALUROW
	MULROW
	ALUROW
	ALUROW
	MULROW
	ALUROW
	ALUROW
	MULROW
	SUBS $1, R1
	BNE alu
	MOVD R3, ret+8(FP)
	RET

// F0 = F0 + F12*F13 and so on.
#define FMAROW \
	FMADDD F12, F0, F13, F0; \
	FMADDD F12, F1, F13, F1; \
	FMADDD F12, F2, F13, F2; \
	FMADDD F12, F3, F13, F3; \
	FMADDD F12, F4, F13, F4; \
	FMADDD F12, F5, F13, F5; \
	FMADDD F12, F6, F13, F6; \
	FMADDD F12, F7, F13, F7; \
	FMADDD F12, F8, F13, F8; \
	FMADDD F12, F9, F13, F9; \
	FMADDD F12, F10, F13, F10; \
	FMADDD F12, F11, F13, F11

// func fma(n uint64) float64
TEXT ·fma(SB), NOSPLIT, $0-16
	MOVD n+0(FP), R1
	FMOVD $1.0, F12
	FMOVD $1.0, F13
	FMOVD ZR, F0
	FMOVD ZR, F1
	FMOVD ZR, F2
	FMOVD ZR, F3
	FMOVD ZR, F4
	FMOVD ZR, F5
	FMOVD ZR, F6
	FMOVD ZR, F7
	FMOVD ZR, F8
	FMOVD ZR, F9
	FMOVD ZR, F10
	FMOVD ZR, F11
	PCALIGN $64
fma:
	FMAROW
	FMAROW
	FMAROW
	FMAROW
	SUBS $1, R1
	BNE fma
	FMOVD F0, ret+8(FP)
	RET

// func Chase(ring *uint64, at, n uint64) uint64
TEXT ·Chase(SB), NOSPLIT, $0-32
	MOVD ring+0(FP), R1
	MOVD at+8(FP), R0
	MOVD n+16(FP), R2
chase:
	MOVD (R1)(R0<<3), R0
	SUBS $1, R2
	BNE chase
	MOVD R0, ret+24(FP)
	RET

// func Mixed(ring *uint64, at, n uint64) uint64
TEXT ·Mixed(SB), NOSPLIT, $0-32
	MOVD ring+0(FP), R1
	MOVD at+8(FP), R0
	MOVD n+16(FP), R2
	MOVD $0, R3
	PCALIGN $64
mixed:
	MOVD (R1)(R0<<3), R0
	ZEROS16
	SUBS $1, R2
	BNE mixed
	MOVD R0, ret+24(FP)
	RET

// func PingPong(line *Line, first, n uint64, stop *Word) uint64
TEXT ·PingPong(SB), NOSPLIT, $0-40
	MOVD line+0(FP), R0
	MOVD first+8(FP), R1
	MOVD n+16(FP), R2
	MOVD stop+24(FP), R3
	MOVD $0, R4
	CBZ R2, done
wait:
	LDAR (R0), R5
	CMP R1, R5
	BEQ mine
	MOVWU (R3), R6
	CBZW R6, wait
	B done
mine:
	ADD $1, R1
	STLR R1, (R0)
	ADD $1, R1
	ADD $1, R4
	CMP R2, R4
	BLO wait
done:
	MOVD R4, ret+32(FP)
	RET

// func Ticks() uint64
TEXT ·Ticks(SB), NOSPLIT, $0-8
	ISB $15
	MRS CNTVCT_EL0, R0
	MOVD R0, ret+0(FP)
	RET
