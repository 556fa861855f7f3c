/* Programs out of graphs: instructions for what the outputs are made of, stage by stage.
 *
 * A program is numbered once: constants, inputs, then one register for each instruction, those of the
 * early stage first (program.h). Then it is planned in vectors (vectorise.c), or registers of lanes are
 * used again (slots.c). Costs a walk down and one up over what the outputs are made of and a byte for each node
 * of the graph, and one over the instructions. */
#include "base/base.h"
#include "base/misuse.h"
#include "expr/graph.h"
#include "expr/outline.h"
#include "expr/program.h"
#include <stdlib.h>
#include <string.h>

int clsi_is_unary(const clsi_instruction *in) {
    return in->code == CLSI_NEG || in->code == CLSI_SQUARE || in->code == CLSI_POWI ||
           in->code == CLSI_CALL;
}

/* What is known of a node while a program is written, in one byte. */
enum { REACHED = 1, WANTED_FIRST = 2, LATE = 4, INPUT = 8 };

/* What the outputs are made of: passes go over these, ascending, eight that are not there at a time, for the
 * graph of a large system has many times as much. */
typedef struct reached {
    size_t top;
    unsigned char *mark; /* (graph) */
} reached;

/* The first one from k on; r->top: none. */
static inline size_t next_reached(const reached *r, size_t k) {
    if (k < r->top && r->mark[k] & REACHED) return k; /* mostly */
    do k += clsi_unmarked(r->mark + k, r->top - k);
    while (k < r->top && !(r->mark[k] & REACHED) && ++k);
    return k;
}

#define EACH_REACHED(k, r)                                                                         \
    for (size_t k = next_reached(r, 0); k < (r)->top; k = next_reached(r, k + 1))

static int stage_of(unsigned char mark) {
    if (!(mark & LATE)) return CLSI_STAGE_EARLY;
    return mark & WANTED_FIRST ? CLSI_STAGE_FIRST : CLSI_STAGE_REST;
}

/* One walk down the graph: what is reached, and what is needed for the first outputs. */
static void mark_reached(const cls_graph *g, size_t n_first, size_t n_outputs,
                         const cls_node *outputs, reached *r) {
    unsigned char *mark = r->mark;
    size_t top = 0;
    for (size_t k = 0; k < n_outputs; k++) {
        mark[outputs[k]] |= (unsigned char)(k < n_first ? REACHED | WANTED_FIRST : REACHED);
        if ((size_t)outputs[k] + 1 > top) top = (size_t)outputs[k] + 1;
    }
    for (size_t k = top; k-- > 0;) {
        uint64_t eight = 0;
        while (k >= 8 && !mark[k] && (memcpy(&eight, mark + k - 7, 8), !eight)) k -= 8;
        if (!mark[k]) continue;
        size_t args = clsi_arg_count(g, k);
        for (size_t i = 0; i < args; i++) mark[clsi_arg(g, k, i)] |= mark[k];
        if (clsi_block(g, k) != CLS_NO_NODE) mark[clsi_block(g, k)] |= mark[k];
    }
    r->top = top;
}

static int is_leaf(const cls_graph *g, size_t k) {
    return g->nodes[k].op == CLS_OP_CONSTANT || g->nodes[k].op == CLS_OP_SYMBOL;
}

/* One walk up: what is late because it contains a late input. Counts what there is. */
static cls_status count_reached(const cls_graph *g, const cls_node *inputs, reached *r,
                                cls_program *p, cls_error *error) {
    unsigned char *mark = r->mark;
    for (size_t k = 0; k < p->n_inputs; k++)
        mark[inputs[k]] |= (unsigned char)(k < p->n_early_inputs ? INPUT : INPUT | LATE);
    EACH_REACHED(k, r) {
        if (is_leaf(g, k)) {
            if (g->nodes[k].op == CLS_OP_SYMBOL && !(mark[k] & INPUT))
                return clsi_fail(error, CLS_SYSTEM, "the symbol '%s' has no value here",
                                 cls_node_name(g, (cls_node)k));
            p->n_constants += g->nodes[k].op == CLS_OP_CONSTANT;
            continue;
        }
        size_t args = clsi_arg_count(g, k);
        unsigned late = 0;
        for (size_t i = 0; i < args; i++) late |= mark[clsi_arg(g, k, i)];
        mark[k] |= (unsigned char)(late & LATE);
        p->end[stage_of(mark[k])]++;
    }
    for (int now = 1; now < CLSI_STAGES; now++) p->end[now] += p->end[now - 1];
    p->n_instructions = p->end[CLSI_STAGES - 1];
    return CLS_OK;
}

/* Two neighbours out of +, -, * share one jump; a pair does not reach over the end of a range. A
 * square root is one operation of the processor: it has a jump of its own. */
enum { PAIRS = CLSI_FIELD + 1, ROOT = PAIRS + 9 };

void clsi_find_pairs(clsi_instruction *code, size_t n) {
    for (size_t k = 0; k < n; k++) {
        int root = code[k].code == CLSI_CALL && code[k].function == CLS_FN_SQRT;
        code[k].jump = root ? ROOT : code[k].code;
    }
    for (size_t k = 0; k + 1 < n; k++) {
        if (code[k].code > CLSI_MUL || code[k + 1].code > CLSI_MUL) continue;
        code[k].jump = (uint8_t)(PAIRS + 3 * code[k].code + code[k + 1].code);
        k++;
    }
}

/* Gives every reached node its register, stage by stage, and outlines its instruction: what it is made of has
 * registers already. */
static cls_status fill(const cls_graph *g, const reached *r, const cls_node *inputs,
                       const cls_node *outputs, uint32_t *reg, cls_program *p, clsi_outline *o) {
    size_t first = p->n_constants + p->n_inputs;
    uint32_t constant = 0, next[CLSI_STAGES];
    for (int now = 0; now < CLSI_STAGES; now++)
        next[now] = (uint32_t)(first + (now ? p->end[now - 1] : (size_t)0));
    for (size_t k = 0; k < p->n_inputs; k++) reg[inputs[k]] = (uint32_t)(p->n_constants + k);
    EACH_REACHED(k, r) {
        const clsi_node *n = &g->nodes[k];
        if (n->op == CLS_OP_CONSTANT) {
            p->constants[constant] = clsi_value(n);
            reg[k] = constant++;
        } else if (n->op != CLS_OP_SYMBOL) {
            reg[k] = next[stage_of(r->mark[k])]++;
            if (p->node) p->node[reg[k] - first] = (cls_node)k;
            if (!clsi_outline_put(o, reg[k] - first, g, (cls_node)k, reg)) return CLS_MEMORY;
        }
    }
    for (size_t k = 0; k < p->n_outputs; k++) p->outputs[k] = reg[outputs[k]];
    return CLS_OK;
}

static cls_status write_code(const clsi_outline *o, cls_program *p) {
    size_t done = 0;
    if (!(p->code = clsi_outline_write(o, p->n_instructions))) return CLS_MEMORY;
    for (int now = 0; now < CLSI_STAGES; done = p->end[now], now++)
        clsi_find_pairs(p->code + done, p->end[now] - done);
    return CLS_OK;
}

static cls_status plan_fields(const cls_graph *g, const reached *r, const uint32_t *reg,
                              cls_program *p, cls_error *error) {
    unsigned char *marks = clsi_calloc(g->n, 2), *stage = marks + g->n;
    if (!marks) return CLS_MEMORY;
    EACH_REACHED(k, r) {
        marks[k] = 1;
        stage[k] = (unsigned char)stage_of(r->mark[k]);
    }
    cls_status status = clsi_program_plan_fields(g, marks, stage, reg, p, error);
    free(marks);
    return status;
}

/* Marks parameter registers among those from a on. */
static void mark_direct(const cls_program *p, size_t first, uint32_t a, size_t n,
                        unsigned char *direct) {
    for (size_t k = 0; k < n; k++)
        if (a + k >= first && a + k < first + p->n_parameters) direct[a + k - first] = 1;
}

static void mark_code(const cls_program *p, size_t first, const clsi_instruction *in, size_t n,
                      unsigned char *direct) {
    for (const clsi_instruction *end = in + n; in < end; in++) {
        mark_direct(p, first, in->a, 1, direct);
        mark_direct(p, first, in->b, 1, direct);
    }
}

static void mark_plan(const cls_program *p, size_t first, unsigned char *direct) {
    const clsi_plan *plan = p->plan;
    for (size_t k = 0; k < plan->n_ops; k++) {
        const clsi_vector_op *op = &plan->ops[k];
        if (op->kind == CLSI_VECTOR_SCALARS)
            mark_code(p, first, plan->code + op->first, op->n, direct);
        if (op->kind != CLSI_VECTOR_EACH) continue;
        mark_direct(p, first, op->a, (op->n - 1) * op->step_a + 1, direct);
        mark_direct(p, first, op->b, (op->n - 1) * op->step_b + 1, direct);
    }
}

/* Lanes need a row for each of these. */
static cls_status list_direct(cls_program *p, cls_error *error) {
    unsigned char *direct = clsi_calloc(p->n_parameters, 1);
    p->direct = clsi_calloc(p->n_parameters, sizeof *p->direct);
    if (direct && p->direct) {
        size_t first = (p->plan ? p->plan->n_constants : p->n_constants) + p->first_parameter;
        const uint32_t *outputs = p->plan ? p->plan->outputs : p->outputs;
        if (p->plan)
            mark_plan(p, first, direct);
        else
            mark_code(p, first, p->code, p->n_instructions, direct);
        for (size_t k = 0; k < p->n_outputs; k++) mark_direct(p, first, outputs[k], 1, direct);
        for (size_t k = 0; k < p->n_parameters; k++)
            if (direct[k]) p->direct[p->n_direct++] = (uint32_t)k;
    }
    free(direct);
    return direct && p->direct ? CLS_OK : clsi_no_memory(error);
}

static cls_status check_outputs(const cls_graph *g, const cls_program *p, const cls_node *outputs,
                                cls_error *error) {
    for (size_t k = 0; k < p->n_outputs; k++) {
        if (outputs[k] != CLS_NO_NODE) continue;
        cls_status status = cls_graph_status(g, error);
        return status != CLS_OK
                   ? status
                   : clsi_fail(error, CLS_SYSTEM, "an output of the program is absent");
    }
    return CLS_OK;
}

/* Who only runs a long program wants its plan, and not the instructions that it was made of. */
static int is_lean(const cls_graph *g, const cls_program *p, int lean) {
    return lean && !g->n_fields && !p->n_parameters && p->n_instructions >= CLSI_MANY_CODE;
}

/* What is needed of the graph is given back before plans are made. */
static cls_status outline(const cls_graph *g, int lean, const cls_node *inputs,
                          const cls_node *outputs, cls_program *p, clsi_outline *o,
                          cls_error *error) {
    reached r = {.mark = clsi_calloc(g->n, 1)};
    cls_status status = CLS_MEMORY;
    uint32_t *reg = NULL;
    if (r.mark) {
        mark_reached(g, p->n_first_outputs, p->n_outputs, outputs, &r);
        status = count_reached(g, inputs, &r, p, error);
    }
    if (status == CLS_OK) {
        lean = is_lean(g, p, lean);
        reg = clsi_malloc(g->n * sizeof *reg); /* read where a node is reached or an input */
        if (4 * p->n_instructions > g->n) clsi_expect_use(reg, g->n * sizeof *reg);
        p->constants = clsi_calloc(p->n_constants, sizeof *p->constants);
        p->node = lean ? NULL : clsi_calloc(p->n_instructions, sizeof *p->node);
        p->outputs = clsi_calloc(p->n_outputs, sizeof *p->outputs);
        int good = reg && p->constants && (lean || p->node) && p->outputs;
        if (!good || !clsi_outline_open(o, p->n_instructions)) status = CLS_MEMORY;
    }
    if (status == CLS_OK) status = fill(g, &r, inputs, outputs, reg, p, o);
    if (status == CLS_OK && !lean) status = write_code(o, p);
    if (status == CLS_OK && g->n_fields) status = plan_fields(g, &r, reg, p, error);
    free(r.mark);
    free(reg);
    return status == CLS_MEMORY ? clsi_no_memory(error) : status;
}

static cls_status plan(cls_program *p, const clsi_outline *o, cls_error *error) {
    cls_status status = p->n_takes ? CLS_OK : clsi_plan_create(p, o, &p->plan, error);
    if (status != CLS_OK || p->plan || p->code) return status;
    return write_code(o, p) == CLS_OK ? CLS_OK : clsi_no_memory(error);
}

/* `last`: the graph itself, which is not needed any more when the outline is there; else NULL. */
static cls_status compile(const cls_graph *g, cls_graph *last, int lean, const cls_node *inputs,
                          const cls_node *outputs, cls_program *p, cls_error *error) {
    clsi_outline o = {0};
    cls_status status = check_outputs(g, p, outputs, error);
    if (status == CLS_OK) status = outline(g, lean, inputs, outputs, p, &o, error);
    if (last) clsi_graph_empty(last);
    if (status == CLS_OK) status = plan(p, &o, error);
    clsi_outline_close(&o);
    if (status == CLS_OK && !p->plan && p->n_early_inputs < p->n_inputs)
        status = clsi_program_use_values(p, error);
    if (status == CLS_OK && !p->plan) clsi_program_find_norms(p);
    if (status == CLS_OK && !p->plan && !p->n_takes && p->n_instructions <= CLSI_SLOTS_MOST)
        status = clsi_program_find_slots(p, NULL, error);
    return status == CLS_OK && p->n_parameters ? list_direct(p, error) : status;
}

cls_status clsi_program_create_staged(const cls_graph *g, size_t n_early_inputs, size_t n_inputs,
                                      const cls_node *inputs, size_t n_first_outputs,
                                      size_t n_outputs, const cls_node *outputs, cls_program **out,
                                      cls_error *error) {
    return clsi_program_create_open(g, (clsi_parameters){0, 0}, n_early_inputs, n_inputs, inputs,
                                    n_first_outputs, n_outputs, outputs, out, error);
}

static cls_status create(const cls_graph *g, cls_graph *last, int lean, clsi_parameters parameters,
                         size_t n_early_inputs, size_t n_inputs, const cls_node *inputs,
                         size_t n_first_outputs, size_t n_outputs, const cls_node *outputs,
                         cls_program **out, cls_error *error) {
    *out = NULL;
    cls_program *p = clsi_calloc(1, sizeof *p);
    if (!p) return clsi_no_memory(error);
    p->n_inputs = n_inputs;
    p->first_parameter = parameters.first;
    p->n_parameters = parameters.n;
    p->n_early_inputs = n_early_inputs;
    p->n_first_outputs = n_first_outputs;
    p->n_outputs = n_outputs;
    cls_status status = compile(g, last, lean, inputs, outputs, p, error);
    if (status == CLS_OK)
        *out = p;
    else
        cls_program_free(&p);
    return status;
}

cls_status clsi_program_create_open(const cls_graph *g, clsi_parameters parameters,
                                    size_t n_early_inputs, size_t n_inputs, const cls_node *inputs,
                                    size_t n_first_outputs, size_t n_outputs,
                                    const cls_node *outputs, cls_program **out, cls_error *error) {
    return create(g, NULL, 0, parameters, n_early_inputs, n_inputs, inputs, n_first_outputs,
                  n_outputs, outputs, out, error);
}

cls_status clsi_program_create_lean(cls_graph *g, int last, size_t n_early_inputs, size_t n_inputs,
                                    const cls_node *inputs, size_t n_first_outputs,
                                    size_t n_outputs, const cls_node *outputs, cls_program **out,
                                    cls_error *error) {
    return create(g, last ? g : NULL, 1, (clsi_parameters){0, 0}, n_early_inputs, n_inputs, inputs,
                  n_first_outputs, n_outputs, outputs, out, error);
}

cls_status clsi_program_create_split(const cls_graph *g, size_t n_early_inputs, size_t n_inputs,
                                     const cls_node *inputs, size_t n_outputs,
                                     const cls_node *outputs, cls_program **out, cls_error *error) {
    return clsi_program_create_staged(g, n_early_inputs, n_inputs, inputs, n_outputs, n_outputs,
                                      outputs, out, error);
}

cls_status cls_program_create(const cls_graph *g, size_t n_inputs, const cls_node *inputs,
                              size_t n_outputs, const cls_node *outputs, cls_program **out,
                              cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, g);
    NEED(error, inputs || !n_inputs);
    NEED(error, outputs || !n_outputs);
    for (size_t i = 0; i < n_inputs + n_outputs; i++) {
        cls_node a = i < n_inputs ? inputs[i] : outputs[i - n_inputs];
        if (a >= g->n && a != CLS_NO_NODE)
            return clsi_fail(error, CLS_USAGE, "%s %zu is no node of the graph",
                             i < n_inputs ? "input" : "output", i < n_inputs ? i : i - n_inputs);
    }
    return clsi_program_create_split(g, n_inputs, n_inputs, inputs, n_outputs, outputs, out, error);
}
