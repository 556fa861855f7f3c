/* What programs as C need besides their statements: a name, the kernels and weights of their fields, and
 * which functions of kernels.inc they call. */
#include "base/base.h"
#include "expr/emit.h"
#include <string.h>

/* ---- the name ---- */

static const char *const taken[] = {
    "auto",     "break",  "case",     "char",   "const",  "continue", "default",  "do",
    "double",   "else",   "enum",     "extern", "float",  "for",      "goto",     "if",
    "inline",   "int",    "long",     "main",   "pow",    "register", "restrict", "return",
    "short",    "signed", "sizeof",   "static", "struct", "switch",   "typedef",  "union",
    "unsigned", "void",   "volatile", "while",  "fabs",   "ldexp",    "INFINITY", "NAN"};

cls_status clsi_check_function_name(const char *name, cls_error *error) {
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

/* ---- fields ---- */

/* What programs call for one field: a point, its further passes, a pair of points. */
static void append_field_calls(clsi_text *out, const char *call, const char *name, size_t shape) {
    clsi_text_printf(out,
                     "CLSI_KERNEL void %s_at(const double *x, double *own) {\n"
                     "  %s(clsi_net%zu, %s, %d, x, own, own, own);\n}\n\n"
                     "CLSI_KERNEL void %s_pass(int pass, double *own) {\n"
                     "  %s(clsi_net%zu, %s, pass, own, own, own, own);\n}\n\n"
                     "CLSI_KERNEL void %s_pair(int pass, double *own, double *u, double *w) {\n"
                     "  %s(clsi_net%zu, %s, pass, own, own, u, w);\n}\n\n",
                     name, call, shape, name, (int)CLSI_PASS_VALUE, name, call, shape, name, name,
                     call, shape, name);
}

/* The number of the shape in `shapes`, texts of one line each, where it is written now if it is new. */
static size_t place_shape(const clsi_graph_field *f, clsi_text *shapes, clsi_text *out) {
    clsi_text own = {0};
    size_t number = 0;
    f->kind->emit_shape(f, &own);
    const char *text = own.data ? own.data : "\n", *at = shapes->data ? shapes->data : "";
    for (; *at && strncmp(at, text, strlen(text)) != 0; number++) at = strchr(at, '\n') + 1;
    if (!*at) {
        clsi_text_append(shapes, text);
        clsi_text_printf(out, "static const int clsi_net%zu%s", number, text);
    }
    out->failed |= own.failed || shapes->failed;
    clsi_text_clear(&own);
    return number;
}

static int uses_field(const cls_program *p, size_t field) {
    for (size_t k = 0; k < p->n_calls; k++)
        if (p->calls[k].field == field) return 1;
    return 0;
}

/* Among programs before `last`. */
static int is_written(size_t last, const cls_program *const *programs, size_t field,
                      const clsi_graph_field_kind *kind) {
    for (size_t i = 0; i < last; i++)
        for (size_t k = 0; programs[i] && k < programs[i]->n_calls; k++) {
            uint32_t one = programs[i]->calls[k].field;
            if (kind ? programs[i]->fields[one]->kind == kind : one == field) return 1;
        }
    return 0;
}

void clsi_programs_emit_fields(size_t n, const cls_program *const *programs, clsi_text *kernels,
                               clsi_text *weights, clsi_text *calls) {
    clsi_text shapes = {0};
    for (size_t i = 0; i < n; i++) {
        const cls_program *p = programs[i];
        for (size_t k = 0; p && k < p->n_fields; k++) {
            const clsi_graph_field_kind *kind = p->fields[k]->kind;
            char name[32];
            if (!uses_field(p, k) || is_written(i, programs, k, NULL)) continue;
            int first = !is_written(i, programs, 0, kind);
            for (size_t j = 0; j < k; j++) first &= !uses_field(p, j) || p->fields[j]->kind != kind;
            size_t shape = place_shape(p->fields[k], &shapes, kernels);
            if (first) clsi_text_printf(kernels, "%s\n", kind->text);
            snprintf(name, sizeof name, "clsi_field%zu", k);
            kind->emit(p->fields[k], name, weights);
            append_field_calls(calls, kind->call, name, shape);
        }
    }
    clsi_text_clear(&shapes);
}

/* ---- functions ---- */

/* What the kernels of a function call themselves. */
static const cls_function within[][2] = {{CLS_FN_SIGMOID, CLS_FN_TANH},
                                         {CLS_FN_ACOS, CLS_FN_ASIN},
                                         {CLS_FN_EXPM1, CLS_FN_EXP},
                                         {CLS_FN_POWER, CLS_FN_SQRT}};

/* Has clsi_k_q3 a form for it at any distance? Whole and other powers, ends that are far, have none. */
static int has_closed_form(const clsi_instruction *in) {
    static const cls_function closed[] = {CLS_FN_EXP,  CLS_FN_EXPM1, CLS_FN_LOG, CLS_FN_LOG1P,
                                          CLS_FN_SQRT, CLS_FN_SIN,   CLS_FN_COS, CLS_FN_TANH};
    for (size_t k = 0; k < sizeof closed / sizeof *closed; k++)
        if (in->function == closed[k]) return in->i + in->j <= 3;
    return in->function != CLS_FN_POWER && in->i + in->j == 2;
}

void clsi_programs_used(size_t n, const cls_program *const *programs, clsi_programs_use *use) {
    memset(use, 0, sizeof *use);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; programs[i] && k < programs[i]->n_instructions; k++) {
            const clsi_instruction *in = &programs[i]->code[k];
            if (in->code != CLSI_QUOTIENT && in->code != CLSI_QUOTIENT_FROM) continue;
            use->function[in->function] = 1; /* those of calls stand in the text by name */
            use->general |= !has_closed_form(in);
        }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; programs[i] && k < programs[i]->n_calls; k++) {
            const clsi_field_call *c = &programs[i]->calls[k];
            const clsi_graph_field *f = programs[i]->fields[c->field];
            int function = f->kind->function(f);
            if (function >= 0) use->function[function] = 1;
            use->general |= function == CLS_FN_SOFTPLUS;
            use->activation[function >= 0 ? function : CLS_FN_TANH] = 1;
            use->pass[c->pass] = 1;
            if (f->d > use->inputs) use->inputs = f->d;
        }
    use->function[CLS_FN_COS] |= use->function[CLS_FN_SIN]; /* the slope of a sine */
    for (size_t k = 0; k < sizeof within / sizeof *within; k++)
        use->function[within[k][1]] |= use->function[within[k][0]];
}
