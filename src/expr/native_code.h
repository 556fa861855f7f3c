/* The writer of machine code (native_code.c), for the one who makes functions of it (native.c). */
#ifndef CLSI_NATIVE_CODE_H
#define CLSI_NATIVE_CODE_H

#include "expr/native.h"

enum { SCALAR = CLSI_NATIVE_ONE, HALF = CLSI_NATIVE_FOUR, WHOLE = CLSI_NATIVE_EIGHT, NOBODY = -1 };

typedef struct clsi_writer {
    const cls_program *p;
    const clsi_instruction *code; /* p->code, or p->slotted for lanes */
    uint32_t first;               /* register of the first instruction */
    /* (3 n) of each operand read: the next instruction that reads the same, or UINT32_MAX */
    uint32_t *next;
    uint32_t *begin;       /* of each register: the first read that is not yet over */
    unsigned char *output; /* of each register: is read behind the last instruction */
    int direct;            /* inputs are read where they are (clsi_native) */
    int width;             /* doubles of a machine register */
    /* machine registers from `low` on; n_machine is a scratch */
    int low, n_machine, holds[32], dirty[32];
    double *terms;        /* of powers: the next that are free */
    const uint32_t *same; /* of early instructions: registers of another program; NULL */
    double *pool;         /* numbers that stand before the code */
    size_t n_pool, pool_room;
    int *where; /* of each register of the program: which machine register holds it, or NOBODY */
    unsigned char *bytes;
    size_t length, room;
    int failed;
} clsi_writer;

/* ---- bytes: of the writer these look at nothing but the width, the bytes and the pool ---- */

enum {
    ROOT = 0x51,
    MULTIPLY = 0x59,
    ADD = 0x58,
    SUBTRACT = 0x5c,
    DIVIDE = 0x5e,
    LOAD = 0x10,
    STORE = 0x11,
    FLIP = 0xef,
    CLEAR = 0xdb, /* bits: and */
    MOVE = 0x28,
    COMPARE = 0x2e, /* of two numbers, to the flags */
    MASK = 0xc2,    /* of vectors, by a relation */
    SIGNS = 0x50    /* of a vector, to eax */
};
/* Prefix and opcode of a map (1, 2, 3): to <- one op other; `other` < 0: in memory, from -2 on by a register from r8
 * on. how: of 512 bits, that memory is one number for all. */
enum { CLSI_CODE_ALL = 0x10 };
void clsi_code_opcode(clsi_writer *w, int map, int opcode, int to, int one, int other,
                      unsigned how);
void clsi_code_registers(clsi_writer *w, int opcode, int to, int one, int other);
/* to <- one op the number, which the pool before the code has; `behind` bytes of the instruction follow. */
void clsi_code_pooled(clsi_writer *w, int opcode, int to, int one, double x, int behind);
size_t clsi_code_find_pooled(clsi_writer *w, double x);
void clsi_code_put_pooled(clsi_writer *w);
/* to <- from^power; n_machine is a scratch. */
void clsi_code_power(clsi_writer *w, int to, int from, unsigned power);
/* What to multiply by instead of dividing by x, a power of two; else 0. */
double clsi_code_inverse(double x);
#define CLSI_NO_SIGN (-0.0)     /* its bits: the sign alone */
double clsi_code_no_bits(void); /* all but the sign */
/* Memory that can be executed, never written and executed at once; what there is of it is to be unmapped. */
cls_status clsi_code_executable(const clsi_writer *w, void **code, size_t *size);

/* ---- programs ---- */

/* Nothing is over yet. */
void clsi_code_begin(clsi_writer *w);
/* What code reads beside registers, before all of it. */
void clsi_code_put_pool(clsi_writer *w);
void clsi_code_put(clsi_writer *w, size_t n, const unsigned char *bytes);
#define CODE(w, ...)                                                                               \
    clsi_code_put(w, sizeof((const unsigned char[]){__VA_ARGS__}),                                 \
                  (const unsigned char[]){__VA_ARGS__})
void clsi_code_put_number(clsi_writer *w, long long number);
/* Instruction k: arithmetic, a call of a kernel, or a number from the work of another program, which is in
 * r14. */
int clsi_code_is_native(const clsi_instruction *in);
void clsi_code_native(clsi_writer *w, size_t k);
void clsi_code_call(clsi_writer *w, size_t k);
void clsi_code_known(clsi_writer *w, size_t k);
/* Reads of instruction k are over. */
void clsi_code_pass(clsi_writer *w, size_t k);
/* Register r to place k of what r14 points to. */
void clsi_code_give(clsi_writer *w, uint32_t r, size_t k);
/* What is needed later goes to memory. */
void clsi_code_let_go(clsi_writer *w);

#endif
