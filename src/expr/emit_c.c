/* Programs as C99 source: one function of plain double arithmetic and <math.h>, no allocation.
 *
 * The bits are those of cls_program_run: the same operations in the same order, the same kernels
 * (kernels.inc is pasted when it is needed), constants as hex floats, contraction switched off.
 * One trap remains: a compiler that sees exp(3.0) or pow(2.0, x) may compute the first itself,
 * rounded better than libm does, and turn the second into exp2(x). So constants that reach a
 * kernel or pow are read through volatile; those of plain arithmetic, which has only one correct
 * result, are literals. The promise holds on the same libm. Cost: linear in the program. */
#include "base/base.h"
#include "base/misuse.h"
#include "expr/emit.h"
#include "expr/kernels.h"
#include "expr/program.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of few figures are exact as decimals, and read better: 0.5, 12, not 0x1p-1. */
static int is_short(double value) {
    double scaled = fabs(value) * 1024;
    return scaled < 1024 * 1000 && scaled == floor(scaled) && (value != 0 || !signbit(value));
}

static int needs_kernels(const cls_program *p) {
    if (p->n_takes) return 1;
    for (size_t k = 0; k < p->n_instructions; k++) {
        if (clsi_is_opaque(&p->code[k]) || p->code[k].code == CLSI_POWI) return 1;
    }
    return 0;
}

/* ---- the pieces ---- */

void clsi_emit_literal(clsi_text *out, double value) {
    if (isnan(value))
        clsi_text_append(out, "NAN");
    else if (isinf(value))
        clsi_text_append(out, value < 0 ? "(-INFINITY)" : "INFINITY");
    else if (is_short(value))
        clsi_text_printf(out, value < 0 ? "(%.10g%s)" : "%.10g%s", value,
                         value == floor(value) ? ".0" : "");
    else
        clsi_text_printf(out, signbit(value) ? "(%a)" : "%a", value);
}

/* A register: a constant (k or a literal), an input (x), a result (r), or the operation itself. */
static void append_register(clsi_text *out, const clsi_piece *e, uint32_t reg, int opaque) {
    const cls_program *p = e->p;
    if (e->size[reg])
        clsi_emit_expression(out, e, reg - p->n_constants - p->n_inputs);
    else if (e->places)
        e->places->append(e->places->context, out, reg, opaque);
    else if (reg >= p->n_constants + p->n_inputs)
        clsi_text_printf(out, "r%zu", reg - p->n_constants - p->n_inputs);
    else if (reg >= p->n_constants)
        clsi_text_printf(out, "x%zu", reg - p->n_constants);
    else if (opaque)
        clsi_text_printf(out, "k%u", (unsigned)reg);
    else
        clsi_emit_literal(out, p->constants[reg]);
}

/* ---- fields ---- */

static int same_point(const cls_program *p, const clsi_field_call *a, const clsi_field_call *b) {
    size_t d = p->fields[a->field]->d;
    return b->pass == CLSI_PASS_VALUE && p->fields[b->field]->d == d &&
           !memcmp(p->field_inputs + a->x, p->field_inputs + b->x, d * sizeof *p->field_inputs);
}

/* The first call of the piece at the point of call c, which may be itself. */
static const clsi_field_call *call_at(const clsi_piece *e, const clsi_field_call *c) {
    const cls_program *p = e->p;
    for (const clsi_field_call *before = p->calls + e->first_call; before < c; before++)
        if (same_point(p, c, before)) return before;
    return c;
}

/* `room + n` is a pointer that src/export knows how to write in JavaScript. */
static void append_calls(clsi_text *out, const clsi_piece *e, size_t first, size_t n) {
    const cls_program *p = e->p;
    for (const clsi_field_call *c = p->calls + first; n > 0; c++, n--) {
        unsigned field = (unsigned)c->field;
        if (c->pass == CLSI_PASS_VALUE) {
            const clsi_field_call *own = call_at(e, c);
            size_t point = (size_t)(own - p->calls);
            for (size_t i = 0; own == c && i < p->fields[field]->d; i++) {
                if (i)
                    clsi_text_append(out, ", ");
                else
                    clsi_text_printf(out, "  const double point%zu[] = {", point);
                append_register(out, e, p->field_inputs[c->x + i], 0);
            }
            if (own == c) clsi_text_append(out, "};\n");
            clsi_text_printf(out, "  clsi_field%u_at(point%zu, room + %zu);\n", field, point,
                             c->own);
        } else if (c->pass < CLSI_PASS_PAIR) {
            clsi_text_printf(out, "  clsi_field%u_pass(%d, room + %zu);\n", field, c->pass, c->own);
        } else {
            clsi_text_printf(out, "  clsi_field%u_pair(%d, room + %zu, room + %zu, room + %zu);\n",
                             field, c->pass, c->own, c->u, c->w);
        }
    }
}

/* ---- instructions ---- */

/* `const double a = ..., b = ...,` as one declaration of many lines: half the text of one each. */
typedef struct declaration {
    clsi_text *out;
    size_t line; /* where the present line begins; 0: nothing is open */
} declaration;

static void declare(declaration *d, char letter, size_t k) {
    if (!d->line) {
        d->line = d->out->length + 1;
        clsi_text_append(d->out, "  const double ");
    } else if (d->out->length + 1 - d->line > 88) {
        clsi_text_append(d->out, ",\n");
        d->line = d->out->length + 1;
        clsi_text_append(d->out, "    ");
    } else {
        clsi_text_append(d->out, ", ");
    }
    clsi_text_printf(d->out, "%c%zu = ", letter, k);
}

/* What another stage reads is kept as it is computed. */
static void declare_result(declaration *d, const clsi_piece *e, size_t k) {
    declare(d, 'r', k);
    if (clsi_is_stored(e, k) && !(e->need[e->p->n_constants + e->p->n_inputs + k] & CLSI_ONCE))
        clsi_text_printf(d->out, "keep[%u] = ", (unsigned)e->slot[k]);
}

static void declared(declaration *d) {
    if (d->line) clsi_text_append(d->out, ";\n");
    d->line = 0;
}

/* How tightly an operation binds, so that brackets stand only where C needs them. */
static int binding(const clsi_instruction *in) {
    switch (in->code) {
    case CLSI_ADD:
    case CLSI_SUB: return 1;
    case CLSI_MUL:
    case CLSI_DIV:
    case CLSI_SQUARE: return 2;
    case CLSI_NEG: return 3;
    default: return 4;
    }
}

static void append_operand(clsi_text *out, const clsi_piece *e, const clsi_instruction *in,
                           uint32_t reg, int right) {
    const cls_program *p = e->p;
    int inner = e->size[reg] ? binding(&p->code[reg - p->n_constants - p->n_inputs]) : 4;
    int brackets = binding(in) < 4 && inner < binding(in) + right;
    clsi_text_append(out, brackets ? "(" : "");
    append_register(out, e, reg, clsi_is_opaque(in));
    clsi_text_append(out, brackets ? ")" : "");
}

/* The name of a function in kernels.inc. */
static void append_function(clsi_text *out, int function) {
    clsi_text_append(out, "CLSI_K_");
    for (const char *c = cls_function_name((cls_function)function); *c; c++)
        clsi_text_printf(out, "%c", toupper((unsigned char)*c));
}

/* Functions that <math.h> does not have, or not to the bit. */
static int is_own(cls_function f) {
    return f == CLS_FN_TANH || f == CLS_FN_SOFTPLUS || f == CLS_FN_SIGMOID || f == CLS_FN_EXP ||
           f == CLS_FN_EXPM1 || f == CLS_FN_LOG || f == CLS_FN_LOG1P;
}

void clsi_emit_call(clsi_text *out,
                    const clsi_instruction *in) { /* as clsi_k_function_value does */
    clsi_text_printf(out, "%s%s(", is_own(in->function) ? "clsi_k_" : "",
                     cls_function_name(in->function));
}

void clsi_emit_quotient(clsi_text *out, const clsi_instruction *in) {
    clsi_text_append(out, in->code == CLSI_QUOTIENT ? "clsi_k_quotient_value("
                                                    : "clsi_k_quotient_from(");
    append_function(out, in->function);
    clsi_text_printf(out, ", %d, %d, ", in->i, in->j);
}

/* The first quotient from a power that has the coefficients of instruction k. */
static size_t table_of(const clsi_piece *e, size_t k) {
    const clsi_instruction *in = &e->p->code[k], *x = &e->p->code[e->first];
    for (size_t j = e->first; j < k; j++, x++)
        if (e->live[j] && x->code == CLSI_QUOTIENT_FROM && x->function == CLS_FN_POWER &&
            x->i == in->i && x->j == in->j && !memcmp(&x->exponent, &in->exponent, sizeof(double)))
            return j;
    return k;
}

/* Coefficients of quotients from powers, before the function that reads them. */
static void append_tables(clsi_text *out, const clsi_piece *e) {
    double o[CLSI_POWER_TERMS];
    clsi_piece_mark(e);
    for (size_t k = e->first; k < e->last; k++) {
        const clsi_instruction *in = &e->p->code[k];
        if (!e->live[k] || in->code != CLSI_QUOTIENT_FROM || in->function != CLS_FN_POWER) continue;
        if (table_of(e, k) != k) continue;
        clsi_power_terms(in->i, in->j, in->exponent, o);
        clsi_text_printf(out, "static const double %s_o%zu[] = {", e->name, k);
        for (int i = 0; i < CLSI_POWER_TERMS; i++)
            clsi_text_printf(out, "%s%a", i ? i % 5 ? ", " : ",\n  " : "", o[i]);
        clsi_text_append(out, "};\n");
    }
}

/* A quotient of two ends, and beside it the one of three ends that another stage reads. */
static void append_pair(clsi_text *out, const clsi_piece *e, const clsi_instruction *in,
                        uint32_t other) {
    const clsi_instruction *more = &e->p->code[other];
    clsi_text_printf(out, "clsi_k_%s_pair(%d, %d, ", cls_function_name(in->function), more->i,
                     more->j);
    append_operand(out, e, in, in->a, 0);
    clsi_text_append(out, ", ");
    append_operand(out, e, in, in->b, 1);
    if (in->code == CLSI_QUOTIENT_FROM) clsi_text_append(out, ", ");
    if (in->code == CLSI_QUOTIENT_FROM) append_operand(out, e, in, in->v, 1);
    clsi_text_printf(out, ", keep + %u)", (unsigned)e->slot[other]);
}

/* Instruction k and its twin, at the first of them. */
static void append_twins(declaration *d, const clsi_piece *e, size_t k) {
    const clsi_instruction *in = &e->p->code[k];
    size_t other = e->pairs.twin[k - e->first];
    if (other < k) return; /* done */
    declare_result(d, e, k);
    clsi_text_printf(d->out, "%s(", clsi_pair_name(in));
    append_register(d->out, e, in->a, 1);
    clsi_text_append(d->out, ", ");
    append_register(d->out, e, e->p->code[other].a, 1);
    if (in->code == CLSI_POW) clsi_text_append(d->out, ", ");
    if (in->code == CLSI_POW) append_register(d->out, e, in->b, 1);
    clsi_text_append(d->out, ", &second)");
    declare_result(d, e, other);
    clsi_text_append(d->out, "second");
}

/* The instruction that stands where register reg is named; NULL for a name. */
static const clsi_instruction *inlined(const clsi_piece *e, uint32_t reg) {
    return e->size[reg] ? &e->p->code[reg - e->p->n_constants - e->p->n_inputs] : NULL;
}

/* sqrt(x*x + c) and sqrt(x*x): 1 when that was one of them. */
static int append_root(clsi_text *out, const clsi_piece *e, const clsi_instruction *in) {
    if (in->code != CLSI_CALL || in->function != CLS_FN_SQRT) return 0;
    const clsi_instruction *square = inlined(e, in->a);
    uint32_t c = CLSI_NOT_SHARED;
    if (square && square->code == CLSI_ADD) {
        int left = square->a < e->p->n_constants;
        c = left ? square->a : square->b;
        if (c >= e->p->n_constants || !(e->p->constants[c] >= 0)) return 0;
        square = inlined(e, left ? square->b : square->a);
    }
    if (!square || square->code != CLSI_SQUARE) return 0;
    clsi_text_append(out, "clsi_k_root(");
    append_register(out, e, square->a, 0);
    clsi_text_append(out, ", ");
    if (c == CLSI_NOT_SHARED)
        clsi_text_append(out, "0.0");
    else
        append_register(out, e, c, 0);
    clsi_text_append(out, ")");
    return 1;
}

static void append_exponent(clsi_text *out, const clsi_piece *e, size_t k) {
    if (e->places)
        e->places->append_exponent(e->places->context, out, e->p->code[k].exponent);
    else
        clsi_text_printf(out, "e%zu", k);
}

/* Before, between and after the operands; the middle is written only when there are two. */
void clsi_emit_expression(clsi_text *out, const clsi_piece *e, size_t k) {
    const clsi_instruction *in = &e->p->code[k];
    static const char *const between[] = {
        [CLSI_ADD] = " + ",     [CLSI_SUB] = " - ",          [CLSI_MUL] = "*",
        [CLSI_DIV] = "/",       [CLSI_SQUARE] = "*",         [CLSI_POW] = ", ",
        [CLSI_QUOTIENT] = ", ", [CLSI_QUOTIENT_FROM] = ", ", [CLSI_POW_FROM] = ", "};
    if (clsi_is_kept(e->partner, k)) {
        append_pair(out, e, in, e->partner[k]);
        return;
    }
    if (append_root(out, e, in)) return;
    switch (in->code) {
    case CLSI_FIELD: clsi_text_printf(out, "room[%zu]", in->take->at); return;
    case CLSI_NEG: clsi_text_append(out, "-"); break;
    case CLSI_POWI: clsi_text_append(out, "clsi_k_powi("); break;
    case CLSI_POW: clsi_text_append(out, "clsi_k_pow("); break;
    case CLSI_POW_FROM: clsi_text_printf(out, "clsi_k_pow_from(%d, ", in->i); break;
    case CLSI_CALL: clsi_emit_call(out, in); break;
    case CLSI_QUOTIENT_FROM:
        if (in->function == CLS_FN_POWER && e->name) {
            clsi_text_printf(out, "clsi_k_power_by(%s_o%zu, %d, %d, ", e->name, table_of(e, k),
                             in->i, in->j);
            break;
        } /* fallthrough */
    case CLSI_QUOTIENT: clsi_emit_quotient(out, in); break;
    }
    append_operand(out, e, in, in->a, in->code == CLSI_NEG);
    if (in->code == CLSI_POW_FROM) { /* the base, its power, the exponent */
        clsi_text_append(out, ", ");
        append_operand(out, e, in, in->v, 1);
    }
    if (between[in->code]) {
        clsi_text_append(out, between[in->code]);
        append_operand(out, e, in, in->code == CLSI_SQUARE ? in->a : in->b, 1);
    }
    if (in->code == CLSI_QUOTIENT_FROM) {
        clsi_text_append(out, ", ");
        append_operand(out, e, in, in->v, 1);
    }
    switch (in->code) {
    case CLSI_POWI: clsi_text_printf(out, ", %d)", (int)in->power); break;
    case CLSI_POW:
    case CLSI_POW_FROM:
    case CLSI_CALL: clsi_text_append(out, ")"); break;
    case CLSI_QUOTIENT:
    case CLSI_QUOTIENT_FROM:
        if (in->function == CLS_FN_POWER) {
            clsi_text_append(out, ", ");
            append_exponent(out, e, k);
            clsi_text_append(out, ")");
        } else {
            clsi_text_append(out, ", 0.0)");
        }
        break;
    }
}

static void append_instruction(declaration *d, const clsi_piece *e, size_t k) {
    const cls_program *p = e->p;
    const clsi_instruction *in = &p->code[k];
    if (!e->live[k]) return;
    if (in->code == CLSI_FIELD) {
        if (in->take->n) declared(d);
        append_calls(d->out, e, in->take->first, in->take->n);
    }
    if (e->size[p->n_constants + p->n_inputs + k]) return;
    if (clsi_has_twin(e, k)) {
        append_twins(d, e, k);
        return;
    }
    declare_result(d, e, k);
    clsi_emit_expression(d->out, e, k);
}

static void append_constants(clsi_text *out, const clsi_piece *e) {
    const cls_program *p = e->p;
    for (size_t k = 0; k < p->n_constants; k++) {
        if (!(e->need[k] & CLSI_OPAQUE)) continue;
        clsi_text_printf(out, "  static const volatile double k%zu = ", k);
        clsi_emit_literal(out, p->constants[k]);
        clsi_text_append(out, ";\n");
    }
    for (size_t k = e->first; k < e->last; k++) {
        const clsi_instruction *in = &p->code[k];
        if (!e->live[k]) continue;
        if (in->code != CLSI_QUOTIENT && in->code != CLSI_QUOTIENT_FROM) continue;
        if (in->function != CLS_FN_POWER) continue;
        clsi_text_printf(out, "  static const volatile double e%zu = ", k);
        clsi_emit_literal(out, in->exponent);
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
    clsi_programs_emit_fields(1, &p, out, out, out);
}

/* What the piece reads: inputs, and results of earlier pieces. */
static void append_reads(declaration *d, const clsi_piece *e) {
    const cls_program *p = e->p;
    size_t base = p->n_constants + p->n_inputs;
    for (size_t k = 0; k < p->n_inputs; k++) {
        if (!e->need[p->n_constants + k]) continue;
        declare(d, 'x', k);
        clsi_text_printf(d->out, "in[%zu]", k);
    }
    if (!d->line) clsi_text_append(d->out, "  (void)in;\n");
    for (size_t k = 0; (e->slot || e->known) && k < e->last; k++) {
        int known = clsi_is_kept(e->known, k);
        if (!e->need[base + k] || (k >= e->first && !known)) continue;
        declare(d, 'r', k);
        clsi_text_printf(d->out, "keep[%u]", (unsigned)(known ? e->known[k] : e->slot[k]));
    }
}

static int is_zero(const cls_program *p, size_t output) {
    uint32_t reg = p->outputs[output];
    return reg < p->n_constants && p->constants[reg] == 0 && !signbit(p->constants[reg]);
}

/* Slopes are mostly zeros: these by a loop. */
static void append_outputs(clsi_text *out, const clsi_piece *e) {
    const cls_program *p = e->p;
    size_t zeros = 0;
    for (size_t k = e->first_output; k < e->last_output; k++) zeros += (size_t)is_zero(p, k);
    if (zeros > 3)
        clsi_text_printf(out, "  for (int i = %zu; i < %zu; i++) out[i] = 0;\n", e->first_output,
                         e->last_output);
    for (size_t k = e->first_output; k < e->last_output; k++) {
        if (zeros > 3 && is_zero(p, k)) continue;
        clsi_text_printf(out, "  out[%zu] = ", k);
        append_register(out, e, p->outputs[k], 0);
        clsi_text_append(out, ";\n");
    }
}

static void append_piece(clsi_text *out, clsi_piece *e) {
    const cls_program *p = e->p;
    clsi_piece_mark(e);
    if (e->two && !clsi_find_twins(p, e->first, e->last, e->live, &e->pairs)) out->failed = 1;
    clsi_piece_inline(e);
    e->first_call = e->early && p->n_early_calls ? p->early_calls : p->n_calls;
    for (size_t k = e->first; k < e->last; k++)
        if (p->code[k].code == CLSI_FIELD && p->code[k].take->n &&
            p->code[k].take->first < e->first_call)
            e->first_call = p->code[k].take->first;
    if (e->pairs.twin) clsi_text_append(out, "  double second;\n");
    append_constants(out, e);
    declaration d = {out, 0};
    append_reads(&d, e);
    for (size_t k = e->first; k <= e->last; k++) {
        if (e->early && k == p->end[CLSI_STAGE_EARLY] && p->n_early_calls) {
            declared(&d);
            append_calls(out, e, p->early_calls, p->n_early_calls);
        }
        if (k < e->last)
            append_instruction(&d, e, e->pairs.twin ? e->pairs.order[k - e->first] : k);
    }
    declared(&d);
    for (size_t k = e->first; k < e->last; k++) { /* what nothing reads here, or is known */
        size_t reg = p->n_constants + p->n_inputs + k;
        if (!clsi_is_stored(e, k) || (e->live[k] && !(e->need[reg] & CLSI_ONCE))) continue;
        clsi_text_printf(out, "  keep[%u] = ", (unsigned)e->slot[k]);
        append_register(out, e, (uint32_t)reg, 0);
        clsi_text_append(out, ";\n");
    }
    append_outputs(out, e);
    clsi_text_append(out, "}\n");
    clsi_twins_clear(&e->pairs);
}

static void append_body(clsi_text *out, const char *name, clsi_piece *e) {
    /* a prototype first: no warning about a missing one, and a line to copy into a header */
    clsi_text_printf(out, "void %s(const double *in, double *out);\n\n", name);
    clsi_text_printf(out, "void %s(const double *in, double *out) {\n", name);
    if (!e->p->n_outputs) clsi_text_append(out, "  (void)out;\n");
    if (e->p->n_takes) clsi_text_printf(out, "  double room[%zu];\n", e->p->n_state);
    append_piece(out, e);
}

cls_status cls_program_emit_c(const cls_program *p, const char *name, char **out,
                              cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, p);
    NEED(error, name);
    cls_status status = clsi_check_function_name(name, error);
    if (status != CLS_OK) return status;
    clsi_text text = {0};
    append_head(&text, p, name);
    clsi_piece e = clsi_piece_whole(p);
    if (!e.need) {
        clsi_text_clear(&text);
        return clsi_no_memory(error);
    }
    append_body(&text, name, &e);
    free(e.need);
    *out = clsi_text_take(&text);
    return *out ? CLS_OK : clsi_no_memory(error);
}

/* ---- pieces of a larger file (src/export) ---- */

static int names(const clsi_text *text, const char *word) {
    size_t n = strlen(word);
    for (const char *s = text->data; s && (s = strstr(s, word)); s += n)
        if (!isalnum((unsigned char)s[n]) && s > text->data && !isalnum((unsigned char)s[-1]))
            return 1;
    return 0;
}

/* Results as r0, r1, ... in the order of the text, whatever numbers they have in the program. */
static void append_renumbered(clsi_text *out, const char *text, size_t n) {
    uint32_t *number = clsi_calloc(n + 1, sizeof *number), last = 0;
    const char *from = text;
    for (const char *s = text; number && *s;) {
        if (!isalnum((unsigned char)*s) && *s != '_') {
            s++;
            continue;
        }
        const char *end = s;
        while (isalnum((unsigned char)*end) || *end == '_') end++;
        size_t digits = strspn(s + 1, "0123456789");
        if (*s == 'r' && digits && s + 1 + digits == end) {
            uint32_t *own = &number[strtoul(s + 1, NULL, 10)];
            if (!*own) *own = ++last;
            clsi_text_append_n(out, from, (size_t)(s - from));
            clsi_text_printf(out, "r%u", (unsigned)(*own - 1));
            from = end;
        }
        s = end;
    }
    clsi_text_append(out, from);
    out->failed |= !number;
    free(number);
}

/* void name(in, keep, out) of a piece, with casts of those that it does not read. Fields compute behind what is kept. */
static cls_status append_static(clsi_text *out, const char *name, const char *keep, clsi_piece *e,
                                cls_error *error) {
    const char *const arguments[] = {"in", keep, "out"};
    clsi_text body = {0};
    e->name = name;
    append_tables(out, e);
    append_piece(&body, e);
    clsi_text_printf(out, "static void %s(const double *in, double *%s, double *out) {\n", name,
                     keep);
    int behind = e->p->n_takes && e->slot && names(&body, "room");
    for (int k = 0; k < 3; k++)
        if (!names(&body, arguments[k]) && !(k == 1 && behind))
            clsi_text_printf(out, "  (void)%s;\n", arguments[k]);
    if (behind) clsi_text_printf(out, "  double *room = keep + %zu;\n", e->n_slots);
    append_renumbered(out, body.data ? body.data : "", e->p->n_instructions);
    out->failed |= body.failed;
    clsi_text_clear(&body);
    return out->failed ? clsi_no_memory(error) : CLS_OK;
}

cls_status clsi_program_emit_function(const cls_program *p, const char *name, int two,
                                      clsi_text *out, cls_error *error) {
    clsi_piece e = clsi_piece_whole(p);
    if (!e.need) return clsi_no_memory(error);
    e.two = two;
    cls_status status = append_static(out, name, "room", &e, error);
    free(e.need);
    return status;
}

int clsi_stage_is_empty(const cls_program *p, int stage) {
    if (stage == CLSI_STAGE_EARLY) return !p->end[stage] && !p->n_early_calls;
    return stage == CLSI_STAGE_REST && p->end[stage] == p->end[stage - 1] &&
           p->n_outputs == p->n_first_outputs;
}

cls_status clsi_program_emit_stages(const cls_program *p, const char *name,
                                    const unsigned char *also, int two, uint32_t *slots,
                                    clsi_text *out, size_t *n_kept, cls_error *error) {
    static const char *const stages[CLSI_STAGES] = {"_early", "_first", "_rest"};
    size_t n = p->n_instructions, n_slots = 0;
    char full[80];
    uint32_t *own = clsi_calloc(3 * n, sizeof *own), *slot = slots ? slots : own;
    uint32_t *partner = own + n, *known = own + 2 * n;
    unsigned char *kept = clsi_calloc(n, 1);
    clsi_piece room = {.p = p};
    int whole_room = clsi_piece_room(&room) && own && kept;
    if (whole_room) {
        if (also) memcpy(kept, also, n);
        clsi_program_partners(p, kept, partner);
        n_slots = clsi_piece_slots(p, kept, slot, room.need);
        for (size_t k = 0; k < n; k++) known[k] = CLSI_NOT_SHARED;
        for (size_t k = 0; k < n; k++)
            if (partner[k] != CLSI_NOT_SHARED) known[partner[k]] = slot[partner[k]];
    }
    for (int s = 0; whole_room && s < CLSI_STAGES; s++) {
        clsi_piece e = clsi_piece_of(p, s, slot, &room);
        e.n_slots = n_slots;
        e.partner = partner;
        e.two = two;
        e.known =
            s == CLSI_STAGE_REST && !p->n_takes ? known : NULL; /* passes of fields are all run */
        if (clsi_stage_is_empty(p, s)) continue;
        snprintf(full, sizeof full, "%s%s", name, stages[s]);
        if (append_static(out, full, "keep", &e, error) == CLS_OK) clsi_text_append(out, "\n");
    }
    *n_kept = n_slots + p->n_state;
    free(own);
    free(kept);
    free(room.need);
    return !whole_room || out->failed ? clsi_no_memory(error) : CLS_OK;
}

cls_status clsi_program_emit_known(const cls_program *p, int stage, const char *name, int two,
                                   const uint32_t *slot, const uint32_t *known, clsi_text *out,
                                   cls_error *error) {
    clsi_piece room = {.p = p};
    if (!clsi_piece_room(&room)) return clsi_no_memory(error);
    clsi_piece e = clsi_piece_of(p, stage, slot, &room);
    e.known = known;
    e.two = two;
    cls_status status = append_static(out, name, "keep", &e, error);
    clsi_text_append(out, "\n");
    free(room.need);
    return status;
}
