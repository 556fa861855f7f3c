/* Long programs as C99: loops over the cells of arrays instead of a statement for each.
 *
 * A plan (vectorise.c) has found what is equal for neighbours; each of its operations is one line,
 *
 *     for (int i = 0; i < 1000; i++) room[7000 + i] = room[3000 + i] * in[12 + i];
 *
 * so that the text does not grow with the number of cells, beyond the tables that say which results
 * are the outputs. Results are not local variables but stand in the caller's room. The operations and
 * their order within a number are those of the plain program: the same bits. Not for plans with
 * matrices, and not where the text would not become much shorter. */
#include "base/base.h"
#include "expr/emit.h"
#include "expr/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Programs of fewer instructions stay statements over local variables, which need no room; a text
 * becomes loops where that makes it a quarter. */
enum { FEW = 1000, SHORTER = 4, MOST_ROOM = 1 << 22 };

static size_t inputs_begin(const cls_program *p) {
    return p->plan->n_constants;
}

static size_t room_begin(const cls_program *p) {
    return p->plan->n_constants + p->n_inputs;
}

size_t clsi_program_loops_room(const cls_program *p) {
    if (!p || !p->plan || p->n_parameters || p->n_instructions < FEW) return 0;
    size_t lines = 0;
    for (size_t k = 0; k < p->plan->n_ops; k++) {
        const clsi_vector_op *op = &p->plan->ops[k];
        lines += op->kind == CLSI_VECTOR_EACH ? 1 : op->n;
    }
    size_t room = p->plan->n_registers - room_begin(p);
    return SHORTER * lines < p->n_instructions && room <= MOST_ROOM ? room : 0;
}

/* ---- operands ---- */

typedef struct loops {
    const cls_program *p;
    const char *name;
    clsi_text *out;
} loops;

/* A register, or the i-th of those that follow it. */
static void append_place(const loops *e, uint32_t reg, unsigned step) {
    size_t in = inputs_begin(e->p), room = room_begin(e->p);
    if (reg < in)
        clsi_text_printf(e->out, "%s_constants[%u", e->name, (unsigned)reg);
    else if (reg < room)
        clsi_text_printf(e->out, "in[%zu", reg - in);
    else
        clsi_text_printf(e->out, "room[%zu", reg - room);
    clsi_text_append(e->out, step == 0 ? "]" : step == 1 ? " + i]" : " + 2*i]");
}

static const char *operator_of(int code) {
    static const char *const signs[] = {
        [CLSI_ADD] = " + ", [CLSI_SUB] = " - ", [CLSI_MUL] = "*", [CLSI_DIV] = "/"};
    return signs[code];
}

/* The value of an operation on the operands a and b. */
static void append_value(const loops *e, const clsi_instruction *in, uint32_t a, unsigned step_a,
                         uint32_t b, unsigned step_b) {
    clsi_text *out = e->out;
    switch ((clsi_code)in->code) {
    case CLSI_NEG: clsi_text_append(out, "-"); break;
    case CLSI_POWI: clsi_text_append(out, "clsi_k_powi("); break;
    case CLSI_POW: clsi_text_append(out, "clsi_k_pow("); break;
    case CLSI_CALL: clsi_emit_call(out, in); break;
    case CLSI_QUOTIENT: clsi_emit_quotient(out, in); break;
    default: break;
    }
    append_place(e, a, step_a);
    switch ((clsi_code)in->code) {
    case CLSI_ADD:
    case CLSI_SUB:
    case CLSI_MUL:
    case CLSI_DIV:
        clsi_text_append(out, operator_of(in->code));
        append_place(e, b, step_b);
        break;
    case CLSI_SQUARE:
        clsi_text_append(out, "*");
        append_place(e, a, step_a);
        break;
    case CLSI_POWI: clsi_text_printf(out, ", %d)", (int)in->power); break;
    case CLSI_CALL: clsi_text_append(out, ")"); break;
    case CLSI_POW:
    case CLSI_QUOTIENT:
        clsi_text_append(out, ", ");
        append_place(e, b, step_b);
        if (in->code == CLSI_QUOTIENT) {
            clsi_text_append(out, ", ");
            clsi_emit_literal(out, in->function == CLS_FN_POWER ? in->exponent : 0);
        }
        clsi_text_append(out, ")");
        break;
    default: break;
    }
    clsi_text_append(out, ";\n");
}

static void append_op(const loops *e, const clsi_vector_op *op) {
    const clsi_plan *plan = e->p->plan;
    size_t first = op->result - room_begin(e->p);
    if (op->kind == CLSI_VECTOR_EACH) {
        clsi_text_printf(e->out, "  for (int i = 0; i < %u; i++) room[%zu + i] = ", (unsigned)op->n,
                         first);
        append_value(e, &plan->code[op->first], op->a, op->step_a, op->b, op->step_b);
        return;
    }
    for (size_t k = 0; k < op->n; k++) {
        const clsi_instruction *in = &plan->code[op->first + k];
        clsi_text_printf(e->out, "  room[%zu] = ", first + k);
        append_value(e, in, in->a, 0, in->b, 0);
    }
}

/* ---- tables ---- */

static void append_constants(const loops *e) {
    const clsi_plan *plan = e->p->plan;
    clsi_text_printf(e->out, "static const volatile double %s_constants[] = {", e->name);
    for (size_t k = 0; k < plan->n_constants; k++) {
        clsi_text_append(e->out, k % 8 ? ", " : k ? ",\n  " : "\n  ");
        clsi_emit_literal(e->out, plan->constants[k]);
    }
    clsi_text_append(e->out, plan->n_constants ? "};\n" : "0};\n");
}

/* Outputs first .. last that stand in [low, high) of the registers: where they go, and whence. */
typedef struct copies {
    const char *name, *from;
    size_t low, high;
} copies;

/* Slopes are mostly zeros, which are not listed. */
static int is_zero(const loops *e, size_t output) {
    uint32_t reg = e->p->plan->outputs[output];
    double value = reg < inputs_begin(e->p) ? e->p->plan->constants[reg] : 1;
    return value == 0 && !signbit(value);
}

static int is_copied(const loops *e, size_t output, const copies *c) {
    uint32_t reg = e->p->plan->outputs[output];
    return reg >= c->low && reg < c->high && !is_zero(e, output);
}

static void append_table(const loops *e, const char *kind, size_t first, size_t last,
                         const copies *c, int whence) {
    size_t n = 0;
    clsi_text_printf(e->out, "static const int %s_%s_%s_%s[] = {", e->name, kind, c->name,
                     whence ? "from" : "to");
    for (size_t k = first; k < last; k++) {
        if (!is_copied(e, k, c)) continue;
        clsi_text_append(e->out, n % 16 ? "," : n ? ",\n  " : "\n  ");
        clsi_text_printf(e->out, "%zu", whence ? e->p->plan->outputs[k] - c->low : k);
        n++;
    }
    clsi_text_append(e->out, "};\n");
}

static size_t count_copies(const loops *e, size_t first, size_t last, const copies *c) {
    size_t n = 0;
    for (size_t k = first; k < last; k++) n += (size_t)is_copied(e, k, c);
    return n;
}

static void list_copies(const loops *e, copies out[3]) {
    size_t in = inputs_begin(e->p), room = room_begin(e->p);
    out[0] = (copies){"constant", NULL, 0, in};
    out[1] = (copies){"input", "in", in, room};
    out[2] = (copies){"result", "room", room, e->p->plan->n_registers};
}

static void append_output_tables(const loops *e, const char *kind, size_t first, size_t last) {
    copies all[3];
    list_copies(e, all);
    for (int c = 0; c < 3; c++) {
        if (!count_copies(e, first, last, &all[c])) continue;
        append_table(e, kind, first, last, &all[c], 0);
        append_table(e, kind, first, last, &all[c], 1);
    }
}

static void append_outputs(const loops *e, const char *kind, size_t first, size_t last) {
    copies all[3];
    size_t zeros = 0;
    list_copies(e, all);
    for (size_t k = first; k < last; k++) zeros += (size_t)is_zero(e, k);
    if (zeros)
        clsi_text_printf(e->out, "  for (int i = %zu; i < %zu; i++) out[i] = 0;\n", first, last);
    for (int c = 0; c < 3; c++) {
        size_t n = count_copies(e, first, last, &all[c]);
        if (!n) continue;
        clsi_text_printf(e->out, "  for (int i = 0; i < %zu; i++) out[%s_%s_%s_to[i]] = ", n,
                         e->name, kind, all[c].name);
        if (all[c].from)
            clsi_text_append(e->out, all[c].from);
        else
            clsi_text_printf(e->out, "%s_constants", e->name);
        clsi_text_printf(e->out, "[%s_%s_%s_from[i]];\n", e->name, kind, all[c].name);
    }
}

/* ---- functions ---- */

static void append_body(const loops *e, const char *kind, size_t first_op, size_t last_op,
                        size_t first, size_t last) {
    clsi_text_append(e->out, "  (void)in;\n  (void)room;\n  (void)out;\n");
    for (size_t k = first_op; k < last_op; k++) append_op(e, &e->p->plan->ops[k]);
    append_outputs(e, kind, first, last);
    clsi_text_append(e->out, "}\n");
}

/* The text of the functions, behind the constants if it names them: what is not used is not declared. */
static void append_functions(const loops *e, const clsi_text *body, clsi_text *out) {
    char constants[128];
    loops before = {e->p, e->name, out};
    snprintf(constants, sizeof constants, "%.100s_constants", e->name);
    if (body->data && strstr(body->data, constants)) append_constants(&before);
    clsi_text_append_n(out, body->data ? body->data : "", body->length);
    out->failed |= body->failed;
}

void clsi_emit_loops(const cls_program *p, const char *name, clsi_text *whole) {
    clsi_text body = {0}, *out = &body;
    loops e = {p, name, out};
    append_output_tables(&e, "all", 0, p->n_outputs);
    clsi_text_printf(out, "static void %s(const double *in, double *room, double *out) {\n", name);
    append_body(&e, "all", 0, p->plan->n_ops, 0, p->n_outputs);
    append_functions(&e, &body, whole);
    clsi_text_clear(&body);
}

void clsi_emit_loops_staged(const cls_program *p, const char *name, clsi_text *whole) {
    static const char *const stages[CLSI_STAGES] = {"early", "first", "rest"};
    clsi_text body = {0}, *out = &body;
    loops e = {p, name, out};
    for (int s = 0; s < CLSI_STAGES; s++) {
        size_t first = s == CLSI_STAGE_REST ? p->n_first_outputs : 0;
        size_t last = s == CLSI_STAGE_EARLY   ? 0
                      : s == CLSI_STAGE_FIRST ? p->n_first_outputs
                                              : p->n_outputs;
        append_output_tables(&e, stages[s], first, last);
        clsi_text_printf(out, "static void %s_%s(const double *in, double *room, double *out) {\n",
                         name, stages[s]);
        append_body(&e, stages[s], s ? p->plan->end[s - 1] : 0, p->plan->end[s], first, last);
        clsi_text_append(out, "\n");
    }
    append_functions(&e, &body, whole);
    clsi_text_clear(&body);
}
