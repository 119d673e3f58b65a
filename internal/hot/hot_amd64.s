#include "textflag.h"

// The assembler has no repetition, hence these.
#define ADDS4 ADDQ BX, AX; ADDQ BX, AX; ADDQ BX, AX; ADDQ BX, AX
#define ADDS16 ADDS4; ADDS4; ADDS4; ADDS4

// func Adds(n uint64) uint64
TEXT ·Adds(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), CX
	XORQ AX, AX
	MOVQ $1, BX
	PCALIGN $64
adds:
	ADDS16
	ADDS16
	ADDS16
	ADDS16
	CMPQ AX, CX
	JCS  adds
	MOVQ AX, ret+8(FP)
	RET

// Eight chains of additions and two of multiplications, each 3 cycles long, in
// turn: 8+2 operations, of which no two depend on each other.
#define ALUROW \
	ADDQ  BX, AX; \
	ADDQ  BX, DX; \
	ADDQ  BX, SI; \
	ADDQ  BX, DI; \
	ADDQ  BX, R8; \
	ADDQ  BX, R9; \
	ADDQ  BX, R10; \
	ADDQ  BX, R11
#define MULROW \
	IMULQ BX, R12; \
	IMULQ BX, R13

// func ALU(n uint64) uint64
TEXT ·ALU(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), CX
	MOVQ $1, BX
	XORQ AX, AX
	XORQ DX, DX
	XORQ SI, SI
	XORQ DI, DI
	XORQ R8, R8
	XORQ R9, R9
	XORQ R10, R10
	XORQ R11, R11
	MOVQ $3, R12
	MOVQ $5, R13
	PCALIGN $64
alu:
	// 7 rows of 8 additions and 4 rows of 2 multiplications, 64 operations. The
	// multiplications' chains last 12 cycles, no longer than 64 operations on 5 ports.
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
	DECQ CX
	JNZ  alu
	MOVQ AX, ret+8(FP)
	RET

#define FMAROW \
	VFMADD231PD Y12, Y13, Y0; \
	VFMADD231PD Y12, Y13, Y1; \
	VFMADD231PD Y12, Y13, Y2; \
	VFMADD231PD Y12, Y13, Y3; \
	VFMADD231PD Y12, Y13, Y4; \
	VFMADD231PD Y12, Y13, Y5; \
	VFMADD231PD Y12, Y13, Y6; \
	VFMADD231PD Y12, Y13, Y7; \
	VFMADD231PD Y12, Y13, Y8; \
	VFMADD231PD Y12, Y13, Y9; \
	VFMADD231PD Y12, Y13, Y10; \
	VFMADD231PD Y12, Y13, Y11

// func fma(n uint64) float64
TEXT ·fma(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), CX
	MOVQ $0x3FF0000000000000, AX // 1.0
	MOVQ AX, X12
	VBROADCASTSD X12, Y12
	VMOVAPD Y12, Y13
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7
	VXORPD Y8, Y8, Y8
	VXORPD Y9, Y9, Y9
	VXORPD Y10, Y10, Y10
	VXORPD Y11, Y11, Y11
	PCALIGN $64
fma:
	FMAROW
	FMAROW
	FMAROW
	FMAROW
	DECQ CX
	JNZ  fma
	VMOVAPD X0, X0
	MOVQ X0, AX
	VZEROUPPER
	MOVQ AX, ret+8(FP)
	RET

#define MULADDROW \
	ADDPD X12, X0; \
	MULPD X12, X1; \
	ADDPD X12, X2; \
	MULPD X12, X3; \
	ADDPD X12, X4; \
	MULPD X12, X5; \
	ADDPD X12, X6; \
	MULPD X12, X7; \
	ADDPD X12, X8; \
	MULPD X12, X9; \
	ADDPD X12, X10; \
	MULPD X12, X11

// func mulAdd(n uint64) float64
TEXT ·mulAdd(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), CX
	MOVQ $0x3FF0000000000000, AX // 1.0
	MOVQ AX, X12
	UNPCKLPD X12, X12
	XORPD X0, X0
	MOVAPD X12, X1
	XORPD X2, X2
	MOVAPD X12, X3
	XORPD X4, X4
	MOVAPD X12, X5
	XORPD X6, X6
	MOVAPD X12, X7
	XORPD X8, X8
	MOVAPD X12, X9
	XORPD X10, X10
	MOVAPD X12, X11
	PCALIGN $64
muladd:
	MULADDROW
	MULADDROW
	MULADDROW
	MULADDROW
	DECQ CX
	JNZ  muladd
	MOVQ X0, AX
	MOVQ AX, ret+8(FP)
	RET

// func Chase(ring *uint64, at, n uint64) uint64
TEXT ·Chase(SB), NOSPLIT, $0-32
	MOVQ ring+0(FP), SI
	MOVQ at+8(FP), AX
	MOVQ n+16(FP), CX
chase:
	MOVQ (SI)(AX*8), AX
	DECQ CX
	JNZ  chase
	MOVQ AX, ret+24(FP)
	RET

// func Mixed(ring *uint64, at, n uint64) uint64
TEXT ·Mixed(SB), NOSPLIT, $0-32
	MOVQ ring+0(FP), SI
	MOVQ at+8(FP), AX
	MOVQ n+16(FP), CX
	XORQ BX, BX
	PCALIGN $64
mixed:
	MOVQ (SI)(AX*8), AX
	ADDS16
	DECQ CX
	JNZ  mixed
	MOVQ AX, ret+24(FP)
	RET

// func PingPong(line *Line, first, n uint64, stop *Word) uint64
TEXT ·PingPong(SB), NOSPLIT, $0-40
	MOVQ line+0(FP), DI
	MOVQ first+8(FP), AX
	MOVQ n+16(FP), CX
	MOVQ stop+24(FP), SI
	XORQ BX, BX
	TESTQ CX, CX
	JZ   done
wait:
	// No PAUSE: it takes up to 140 cycles, several times what is measured.
	CMPQ (DI), AX
	JEQ  mine
	CMPL (SI), $0
	JEQ  wait
	JMP  done
mine:
	INCQ AX
	MOVQ AX, (DI)
	INCQ AX
	INCQ BX
	CMPQ BX, CX
	JCS  wait
done:
	MOVQ BX, ret+32(FP)
	RET

// func Ticks() uint64
TEXT ·Ticks(SB), NOSPLIT, $0-8
	LFENCE
	RDTSC
	LFENCE
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
