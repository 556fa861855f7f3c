/* Programs as C99 source: one function of plain double arithmetic and <math.h>, no allocation.
 *
 * The bits are those of cls_program_run: the same operations in the same order, the same kernels
 * (kernels.inc is pasted when it is needed), constants as hex floats, contraction switched off.
 * One trap remains: a compiler that sees exp(3.0) or pow(2.0, x) may compute the first itself,
 * rounded better than libm does, and turn the second into exp2(x). So constants that reach a
 * kernel or pow are read through volatile; those of plain arithmetic, which has only one correct
 * result, are literals. The promise holds on the same libm. Cost: linear in the program. */
#include "base/base.h"
#include "expr/kernels.h"
#include "expr/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USED = 1, OPAQUE = 2 }; /* what a register is needed for */

/* ---- the name ---- */

static const char *const taken[] = {
    "auto",     "break",  "case",     "char",   "const",  "continue", "default",  "do",
    "double",   "else",   "enum",     "extern", "float",  "for",      "goto",     "if",
    "inline",   "int",    "long",     "main",   "pow",    "register", "restrict", "return",
    "short",    "signed", "sizeof",   "static", "struct", "switch",   "typedef",  "union",
    "unsigned", "void",   "volatile", "while",  "fabs",   "ldexp",    "INFINITY", "NAN"};

static cls_status check_name(const char *name, cls_error *error) {
    const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (!*name || !strchr(letters, *name) || name[n])
        return clsi_fail(error, CLS_USAGE,
                         "'%.80s' is not a name for a C function: a letter, then letters, digits "
                         "and _",
                         name);
    int clash = strncmp(name, "clsi_", 5) == 0 || strncmp(name, "CLSI_", 5) == 0;
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) clash |= !strcmp(name, taken[k]);
    for (int f = 0; f < CLS_FN_COUNT; f++)
        clash |= !strcmp(name, cls_function_name((cls_function)f));
    if (clash)
        return clsi_fail(error, CLS_USAGE,
                         "'%.80s' is taken in C or in <math.h>; choose another name for the "
                         "function",
                         name);
    return CLS_OK;
}

/* ---- what is needed ---- */

static int is_opaque(const clsi_instruction *in) {
    return in->code == CLSI_POW || in->code == CLSI_CALL || in->code == CLSI_QUOTIENT;
}

static void mark(const cls_program *p, unsigned char *need) {
    for (size_t k = 0; k < p->n_instructions; k++) {
        const clsi_instruction *in = &p->code[k];
        unsigned char how = is_opaque(in) ? USED | OPAQUE : USED;
        need[in->a] |= how;
        if (!clsi_is_unary(in)) need[in->b] |= how;
    }
    for (size_t k = 0; k < p->n_outputs; k++) need[p->outputs[k]] |= USED;
}

static int needs_kernels(const cls_program *p) {
    for (size_t k = 0; k < p->n_instructions; k++) {
        uint8_t code = p->code[k].code;
        if (code == CLSI_CALL || code == CLSI_POWI || code == CLSI_QUOTIENT) return 1;
    }
    return 0;
}

/* ---- the pieces ---- */

static void append_literal(clsi_text *out, double value) {
    if (isnan(value))
        clsi_text_append(out, "NAN");
    else if (isinf(value))
        clsi_text_append(out, value < 0 ? "(-INFINITY)" : "INFINITY");
    else
        clsi_text_printf(out, signbit(value) ? "(%a)" : "%a", value);
}

/* A register: a constant (k or a literal), an input (x) or a result (r). */
static void append_register(clsi_text *out, const cls_program *p, uint32_t reg, int opaque) {
    if (reg >= p->n_constants + p->n_inputs)
        clsi_text_printf(out, "r%zu", reg - p->n_constants - p->n_inputs);
    else if (reg >= p->n_constants)
        clsi_text_printf(out, "x%zu", reg - p->n_constants);
    else if (opaque)
        clsi_text_printf(out, "k%u", (unsigned)reg);
    else
        append_literal(out, p->constants[reg]);
}

/* Before, between and after the operands; the middle is written only when there are two. */
static void append_instruction(clsi_text *out, const cls_program *p, size_t k) {
    const clsi_instruction *in = &p->code[k];
    static const char *const between[] = {
        [CLSI_ADD] = " + ",    [CLSI_SUB] = " - ", [CLSI_MUL] = " * ",    [CLSI_DIV] = " / ",
        [CLSI_SQUARE] = " * ", [CLSI_POW] = ", ",  [CLSI_QUOTIENT] = ", "};
    clsi_text_printf(out, "    const double r%zu = ", k);
    switch (in->code) {
    case CLSI_NEG: clsi_text_append(out, "-"); break;
    case CLSI_POWI: clsi_text_append(out, "clsi_k_powi("); break;
    case CLSI_POW: clsi_text_append(out, "pow("); break;
    case CLSI_CALL: clsi_text_printf(out, "clsi_k_function_value(%d, ", in->function); break;
    case CLSI_QUOTIENT:
        clsi_text_printf(out, "clsi_k_quotient_value(%d, %d, %d, ", in->function, in->i, in->j);
        break;
    }
    append_register(out, p, in->a, is_opaque(in));
    if (between[in->code]) {
        clsi_text_append(out, between[in->code]);
        append_register(out, p, in->code == CLSI_SQUARE ? in->a : in->b, is_opaque(in));
    }
    switch (in->code) {
    case CLSI_POWI: clsi_text_printf(out, ", %d)", (int)in->power); break;
    case CLSI_POW: clsi_text_append(out, ")"); break;
    case CLSI_CALL: clsi_text_printf(out, "); /* %s */\n", cls_function_name(in->function)); return;
    case CLSI_QUOTIENT:
        if (in->function == CLS_FN_POWER)
            clsi_text_printf(out, ", e%zu)", k);
        else
            clsi_text_append(out, ", 0.0)");
        clsi_text_printf(out, "; /* %s */\n", cls_function_name(in->function));
        return;
    }
    clsi_text_append(out, ";\n");
}

static void append_constants(clsi_text *out, const cls_program *p, const unsigned char *need) {
    for (size_t k = 0; k < p->n_constants; k++) {
        if (!(need[k] & OPAQUE)) continue;
        clsi_text_printf(out, "    static const volatile double k%zu = ", k);
        append_literal(out, p->constants[k]);
        clsi_text_append(out, ";\n");
    }
    for (size_t k = 0; k < p->n_instructions; k++) {
        const clsi_instruction *in = &p->code[k];
        if (in->code != CLSI_QUOTIENT || in->function != CLS_FN_POWER) continue;
        clsi_text_printf(out, "    static const volatile double e%zu = ", k);
        append_literal(out, in->exponent);
        clsi_text_append(out, ";\n");
    }
}

static void append_head(clsi_text *out, const cls_program *p, const char *name) {
    clsi_text_printf(out,
                     "/* %s: %zu inputs, %zu outputs, %zu instructions. Written by clausius %s.\n"
                     " * C99, needs <math.h> only, allocates nothing. */\n"
                     "#include <math.h>\n\n"
                     "/* a*b + c is rounded twice, as clausius does. */\n"
                     "#if defined(__GNUC__) && !defined(__clang__)\n"
                     "#pragma GCC optimize(\"fp-contract=off\")\n"
                     "#else\n"
                     "#pragma STDC FP_CONTRACT OFF\n"
                     "#endif\n\n",
                     name, p->n_inputs, p->n_outputs, p->n_instructions, cls_version());
    if (needs_kernels(p)) {
        clsi_text_append(out, clsi_kernels_text);
        clsi_text_append(out, "\n");
    }
}

static void append_body(clsi_text *out, const cls_program *p, const char *name,
                        const unsigned char *need) {
    /* a prototype first: no warning about a missing one, and a line to copy into a header */
    clsi_text_printf(out, "void %s(const double *in, double *out);\n\n", name);
    clsi_text_printf(out, "void %s(const double *in, double *out) {\n", name);
    append_constants(out, p, need);
    int reads = 0;
    for (size_t k = 0; k < p->n_inputs; k++) {
        if (!need[p->n_constants + k]) continue;
        clsi_text_printf(out, "    const double x%zu = in[%zu];\n", k, k);
        reads = 1;
    }
    if (!reads) clsi_text_append(out, "    (void)in;\n");
    if (!p->n_outputs) clsi_text_append(out, "    (void)out;\n");
    for (size_t k = 0; k < p->n_instructions; k++) append_instruction(out, p, k);
    for (size_t k = 0; k < p->n_outputs; k++) {
        clsi_text_printf(out, "    out[%zu] = ", k);
        append_register(out, p, p->outputs[k], 0);
        clsi_text_append(out, ";\n");
    }
    clsi_text_append(out, "}\n");
}

cls_status cls_program_emit_c(const cls_program *p, const char *name, char **out,
                              cls_error *error) {
    *out = NULL;
    cls_status status = check_name(name, error);
    if (status != CLS_OK) return status;
    unsigned char *need = clsi_calloc(p->n_constants + p->n_inputs + p->n_instructions, 1);
    if (!need) return clsi_no_memory(error);
    mark(p, need);
    clsi_text text = {0};
    append_head(&text, p, name);
    append_body(&text, p, name, need);
    free(need);
    *out = clsi_text_take(&text);
    return *out ? CLS_OK : clsi_no_memory(error);
}
