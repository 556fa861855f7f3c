/* What programs as C need besides their statements: the kernels and weights of their fields, and
 * which functions of kernels.inc they call. */
#include "base/base.h"
#include "expr/program.h"
#include <string.h>

/* What programs call for one field: a point, its further passes, a pair of points. */
static void append_field_calls(clsi_text *out, const char *call, const char *name) {
    clsi_text_printf(out,
                     "CLSI_KERNEL void %s_at(const double *x, double *own) {\n"
                     "  %s(%s_shape, %s, %d, x, own, own, own);\n}\n\n"
                     "CLSI_KERNEL void %s_pass(int pass, double *own) {\n"
                     "  %s(%s_shape, %s, pass, own, own, own, own);\n}\n\n"
                     "CLSI_KERNEL void %s_pair(int pass, double *own, double *u, double *w) {\n"
                     "  %s(%s_shape, %s, pass, own, own, u, w);\n}\n\n",
                     name, call, name, name, (int)CLSI_PASS_VALUE, name, call, name, name, name,
                     call, name, name);
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
                               clsi_text *out) {
    for (size_t i = 0; i < n; i++) {
        const cls_program *p = programs[i];
        for (size_t k = 0; p && k < p->n_fields; k++) {
            const clsi_graph_field_kind *kind = p->fields[k]->kind;
            char name[32];
            if (!uses_field(p, k) || is_written(i, programs, k, NULL)) continue;
            int first = !is_written(i, programs, 0, kind);
            for (size_t j = 0; j < k; j++) first &= !uses_field(p, j) || p->fields[j]->kind != kind;
            if (first) clsi_text_printf(kernels, "%s\n", kind->text);
            snprintf(name, sizeof name, "clsi_field%zu", k);
            kind->emit(p->fields[k], name, out);
            append_field_calls(out, kind->call, name);
        }
    }
}

/* ---- functions ---- */

/* What the kernels of a function call themselves. */
static const cls_function within[][2] = {{CLS_FN_SIGMOID, CLS_FN_TANH},
                                         {CLS_FN_ACOS, CLS_FN_ASIN},
                                         {CLS_FN_EXPM1, CLS_FN_EXP},
                                         {CLS_FN_POWER, CLS_FN_SQRT}};

void clsi_programs_used(size_t n, const cls_program *const *programs, clsi_programs_use *use) {
    memset(use, 0, sizeof *use);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; programs[i] && k < programs[i]->n_instructions; k++) {
            const clsi_instruction *in = &programs[i]->code[k];
            if (in->code == CLSI_CALL || in->code == CLSI_QUOTIENT ||
                in->code == CLSI_QUOTIENT_FROM)
                use->function[in->function] = 1;
        }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; programs[i] && k < programs[i]->n_calls; k++) {
            const clsi_field_call *c = &programs[i]->calls[k];
            const clsi_graph_field *f = programs[i]->fields[c->field];
            int function = f->kind->function(f);
            if (function >= 0) use->function[function] = 1;
            use->activation[function >= 0 ? function : CLS_FN_TANH] = 1;
            use->pass[c->pass] = 1;
            if (f->d > use->inputs) use->inputs = f->d;
        }
    use->function[CLS_FN_COS] |= use->function[CLS_FN_SIN]; /* the slope of a sine */
    for (size_t k = 0; k < sizeof within / sizeof *within; k++)
        use->function[within[k][1]] |= use->function[within[k][0]];
}
