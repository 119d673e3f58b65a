#include "textflag.h"

// The passes of scan in parts of R10 bytes, the last one shorter, with LINES as the
// stores to 128 bytes.
#define PASSES(LINES) \
	MOVQ p+0(FP), R8; \
	MOVQ n+8(FP), R9; \
	MOVQ part+16(FP), R10; \
	MOVQ stop+24(FP), SI; \
	MOVQ parts+32(FP), DX; \
	ADDQ R8, R9; \
again: \
	MOVQ R8, DI; \
part: \
	LEAQ (DI)(R10*1), R11; \
	CMPQ R11, R9; \
	CMOVQHI R9, R11; \
	PCALIGN $64; \
line: \
	LINES; \
	SUBQ $-128, DI; \
	CMPQ DI, R11; \
	JCS  line; \
	INCQ (DX); \
	CMPL (SI), $0; \
	JNE  done; \
	CMPQ DI, R9; \
	JCS  part; \
	JMP  again; \
done:

#define LINESAVX \
	VMOVDQU Y0, (DI); \
	VMOVDQU Y0, 32(DI); \
	VMOVDQU Y0, 64(DI); \
	VMOVDQU Y0, 96(DI)

#define LINESSSE \
	MOVUPS X0, (DI); \
	MOVUPS X0, 16(DI); \
	MOVUPS X0, 32(DI); \
	MOVUPS X0, 48(DI); \
	MOVUPS X0, 64(DI); \
	MOVUPS X0, 80(DI); \
	MOVUPS X0, 96(DI); \
	MOVUPS X0, 112(DI)

// func scanAVX(p *uint64, n, part uint64, stop *Word, parts *uint64)
TEXT ·scanAVX(SB), NOSPLIT, $0-40
	VPXOR Y0, Y0, Y0
	PASSES(LINESAVX)
	VZEROUPPER
	RET

// func scanSSE(p *uint64, n, part uint64, stop *Word, parts *uint64)
TEXT ·scanSSE(SB), NOSPLIT, $0-40
	XORPS X0, X0
	PASSES(LINESSSE)
	RET
