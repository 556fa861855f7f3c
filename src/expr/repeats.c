/* Work on formulas that repeat: done for the first one, and mapped over the nodes of the others.
 *
 * The equations of the cells of an array have one shape: the same operations on the same constants, each
 * with symbols of its own. What is derived from one of them (slopes, a solution on paper) is derived from
 * all of them by the same steps. So the shape of a formula is looked up: its cone in ascending order,
 * arguments as positions, symbols without their names. The first formula of a shape is worked on, and
 * what came out of it is kept as a list of nodes to be made, in terms of the members of the cone. The
 * others make these nodes directly, without the walk, the simplification, and the nodes that were built on
 * the way and dropped.
 *
 * The result is what the walk would have given, up to round-off: rules of building look at operations,
 * constants and whether nodes are the same, all of which the shape has. Only the order of commuting
 * arguments follows the numbers of nodes; it is found anew here, but which factor a constant was pulled
 * out of stays as it was for the first. So cells get formulas of one form, as plans like them.
 * Neighbours have one shape mostly: whether a formula has that of a former one is seen by walking down
 * both, without its cone.
 * Formulas of more than MOST members (a few long ones in any system) and with fields are not looked up. */
#include "base/base.h"
#include "expr/graph.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, SHAPES = 256, SLOTS = 1024 };
/* A constant is one node wherever it stands, and no member: its number says who made it first. */
#define FIXED UINT32_C(0x80000000)

typedef struct shape {
    uint64_t hash;
    size_t n_key, n_members; /* key: members, then marks as nodes without operation */
    clsi_node *key;          /* arguments: a member, or FIXED | node */
    clsi_node *step;         /* arguments: a member, n_members + a former step, or FIXED | node */
    uint32_t *out;
    size_t n_steps, n_out;
} shape;

struct clsi_repeats {
    cls_graph *g;
    shape *list;
    size_t n, room;
    uint16_t slot[SLOTS];            /* shape + 1 */
    clsi_node key[2 * MOST + 1];     /* of the formula asked for last */
    cls_node made[MOST], node[MOST]; /* results of steps; members of that formula */
    uint16_t rank[MOST];             /* of its cone: which member */
    size_t n_key, n_members;         /* 0: not to be kept */
    uint64_t hash;
    uint16_t recent[2]; /* shapes + 1 that were found last: neighbours mostly have them */
    uint16_t matched;   /* shape + 1 of `node`, when members were asked for */
};

clsi_repeats *clsi_repeats_create(cls_graph *g) {
    clsi_repeats *r = clsi_calloc(1, sizeof *r);
    if (r) r->g = g;
    return r;
}

void clsi_repeats_free(clsi_repeats **repeats) {
    clsi_repeats *r = *repeats;
    for (size_t k = 0; r && k < r->n; k++) {
        free(r->list[k].key);
        free(r->list[k].step);
        free(r->list[k].out);
    }
    if (r) free(r->list);
    free(r);
    *repeats = NULL;
}

/* ---- the shape of a formula ---- */

/* The member that a node is. */
static uint32_t member(const clsi_repeats *r, const clsi_cone *cone, cls_node a) {
    uint32_t at = clsi_cone_at(cone, a);
    if (!at) return CLS_NO_NODE;
    return r->g->nodes[a].op == CLS_OP_CONSTANT ? FIXED | a : r->rank[at - 1];
}

static int write_member(clsi_repeats *r, const clsi_cone *cone, size_t k) {
    const cls_graph *g = r->g;
    clsi_node n = g->nodes[cone->node[k]];
    if (n.op == CLS_OP_CONSTANT) return 1;
    if (n.op == CLS_OP_FIELD) return 0;
    size_t args = clsi_arg_count(g, cone->node[k]);
    for (size_t i = 0; i < args; i++) n.arg[i] = member(r, cone, n.arg[i]);
    if (n.op == CLS_OP_SYMBOL) n.arg[0] = 0;
    r->rank[k] = (uint16_t)r->n_key;
    r->node[r->n_key] = cone->node[k];
    r->key[r->n_key++] = n;
    return 1;
}

static uint64_t hash_key(const clsi_node *key, size_t n) {
    uint64_t h = n;
    for (size_t k = 0; k < n; k++) {
        uint64_t word[2];
        memcpy(word, &key[k], sizeof word);
        for (int i = 0; i < 2; i++) h = (h ^ word[i] ^ h >> 29) * 0x9e3779b97f4a7c15u;
    }
    return h ^ h >> 32;
}

static int write_key(clsi_repeats *r, const clsi_cone *cone, size_t n_marks,
                     const cls_node *marks) {
    r->n_key = r->n_members = 0;
    if (cone->n > MOST || n_marks > MOST || r->g->n >= FIXED) return 0;
    for (size_t k = 0; k < cone->n; k++)
        if (!write_member(r, cone, k)) return 0;
    r->n_members = r->n_key;
    for (size_t k = 0; k < n_marks; k++)
        r->key[r->n_key++] = (clsi_node){.op = UINT8_MAX, .arg = {member(r, cone, marks[k])}};
    r->hash = hash_key(r->key, r->n_key);
    return 1;
}

static size_t slot_of(const clsi_repeats *r) {
    size_t s = r->hash % SLOTS;
    for (; r->slot[s]; s = (s + 1) % SLOTS) {
        const shape *x = &r->list[r->slot[s] - 1];
        if (x->hash == r->hash && x->n_key == r->n_key && x->n_members == r->n_members &&
            memcmp(x->key, r->key, r->n_key * sizeof *r->key) == 0)
            break;
    }
    return s;
}

/* ---- the same steps on other nodes ---- */

static cls_node node_of(const clsi_repeats *r, uint32_t ref) {
    if (ref & FIXED) return ref & ~FIXED;
    return ref < r->n_members ? r->node[ref] : r->made[ref - r->n_members];
}

/* As build.c orders arguments that commute. */
static void order(const cls_graph *g, clsi_node *n) {
    int swap = 0;
    cls_node a = n->arg[0], b = n->arg[1];
    if (n->op == CLS_OP_ADD || n->op == CLS_OP_MUL)
        swap = a > b && g->nodes[a].op != CLS_OP_CONSTANT && g->nodes[b].op != CLS_OP_CONSTANT;
    if (n->op == CLS_OP_QUOTIENT) swap = a > b;
    if (!swap) return;
    n->arg[0] = b;
    n->arg[1] = a;
    uint8_t i = n->i;
    n->i = n->j;
    n->j = i;
}

static void make_step(clsi_repeats *r, const clsi_node *step, size_t k) {
    clsi_node n = *step;
    for (size_t i = 0; i < 3; i++)
        if (n.arg[i] != CLS_NO_NODE) n.arg[i] = node_of(r, n.arg[i]);
    order(r->g, &n);
    r->made[k] = clsi_intern(r->g, &n);
}

static void remember(clsi_repeats *r, uint16_t which) {
    if (r->recent[0] == which) return;
    r->recent[1] = r->recent[0];
    r->recent[0] = which;
}

static int replay(clsi_repeats *r, uint16_t which, size_t *n_out, cls_node *out) {
    const shape *x = &r->list[which - 1];
    for (size_t k = 0; k < x->n_steps; k++) {
        make_step(r, &x->step[k], k);
        if (r->made[k] == CLS_NO_NODE) return 0;
    }
    for (size_t k = 0; k < x->n_out; k++) out[k] = node_of(r, x->out[k]);
    *n_out = x->n_out;
    remember(r, which);
    return 1;
}

/* One member as the shape wants it; its arguments become members. */
static int match_member(clsi_repeats *r, const clsi_node *want, cls_node a) {
    const cls_graph *g = r->g;
    const clsi_node *have = &g->nodes[a];
    if (have->op != want->op || have->function != want->function || have->i != want->i ||
        have->j != want->j)
        return 0;
    size_t args = clsi_arg_count(g, a);
    for (size_t i = 0; i < args; i++) {
        uint32_t ref = want->arg[i];
        cls_node b = have->arg[i];
        if (ref & FIXED) {
            if ((FIXED | b) != ref) return 0;
        } else if (r->node[ref] == CLS_NO_NODE && g->nodes[b].op != CLS_OP_CONSTANT) {
            r->node[ref] = b;
        } else if (r->node[ref] != b) {
            return 0;
        }
    }
    return 1;
}

/* Down from the formula: its members, where it has the shape. They must ascend, as those of the shape do. */
static int match(clsi_repeats *r, const shape *x, cls_node formula) {
    size_t n = x->n_members;
    for (size_t k = 0; k < n; k++) r->node[k] = CLS_NO_NODE;
    if (n) r->node[n - 1] = formula;
    for (size_t k = n; k-- > 0;) {
        cls_node a = r->node[k];
        if (a == CLS_NO_NODE || (k + 1 < n && a >= r->node[k + 1])) return 0;
        if (!match_member(r, &x->key[k], a)) return 0;
    }
    return n > 0;
}

size_t clsi_repeats_members(clsi_repeats *r, cls_node formula, const cls_node **members) {
    if (!r || formula >= r->g->n || r->g->n >= FIXED) return 0;
    r->matched = 0;
    for (int i = 0; i < 2 && !r->matched; i++)
        if (r->recent[i] && match(r, &r->list[r->recent[i] - 1], formula))
            r->matched = r->recent[i];
    if (!r->matched) return 0;
    *members = r->node;
    return r->n_members = r->list[r->matched - 1].n_members;
}

static uint32_t ref_of(const clsi_repeats *r, const cls_node *step, size_t n_steps, cls_node a);

int clsi_repeats_again(clsi_repeats *r, size_t n_marks, const cls_node *marks, size_t *n_out,
                       cls_node *out) {
    const shape *x = &r->list[r->matched - 1];
    if (x->n_key != x->n_members + n_marks) return 0;
    for (size_t k = 0; k < n_marks; k++) {
        if (marks[k] >= r->g->n || r->g->nodes[marks[k]].op == CLS_OP_CONSTANT) return 0;
        if (x->key[x->n_members + k].arg[0] != ref_of(r, NULL, 0, marks[k])) return 0;
    }
    return replay(r, r->matched, n_out, out);
}

int clsi_repeats_find(clsi_repeats *r, const clsi_cone *cone, size_t n_marks, const cls_node *marks,
                      size_t *n_out, cls_node *out) {
    if (!r || !write_key(r, cone, n_marks, marks)) return 0;
    size_t s = slot_of(r);
    if (!r->slot[s]) return 0;
    return replay(r, r->slot[s], n_out, out);
}

/* ---- keeping ---- */

static uint32_t ref_of(const clsi_repeats *r, const cls_node *step, size_t n_steps, cls_node a) {
    if (r->g->nodes[a].op == CLS_OP_CONSTANT) return FIXED | a;
    for (int steps = 0; steps < 2; steps++) { /* both ascend */
        const cls_node *list = steps ? step : r->node;
        size_t low = 0, high = steps ? n_steps : r->n_members;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (list[middle] == a) return (uint32_t)(middle + (steps ? r->n_members : 0));
            if (list[middle] < a)
                low = middle + 1;
            else
                high = middle;
        }
    }
    return CLS_NO_NODE;
}

/* What has to be made: members of the results that are neither constants nor members of the formula. */
static int write_steps(clsi_repeats *r, const clsi_cone *cone, shape *x) {
    const cls_graph *g = r->g;
    cls_node *step = r->made; /* not in use */
    for (size_t k = 0; k < cone->n; k++) {
        cls_node a = cone->node[k];
        if (ref_of(r, step, 0, a) != CLS_NO_NODE) continue;
        cls_op op = (cls_op)g->nodes[a].op;
        if (op == CLS_OP_SYMBOL || op == CLS_OP_FIELD || x->n_steps == MOST) return 0;
        step[x->n_steps++] = a;
    }
    x->step = clsi_malloc((x->n_steps + 1) * sizeof *x->step);
    for (size_t k = 0; k < x->n_steps && x->step; k++) {
        clsi_node n = g->nodes[step[k]];
        for (size_t i = 0; i < 3; i++)
            if (n.arg[i] != CLS_NO_NODE) n.arg[i] = ref_of(r, step, x->n_steps, n.arg[i]);
        x->step[k] = n;
    }
    return x->step != NULL;
}

static int fill_shape(clsi_repeats *r, size_t n_out, const cls_node *out, shape *x) {
    clsi_cone cone;
    if (!clsi_cone_create(r->g, n_out, out, &cone)) return 0;
    int good = write_steps(r, &cone, x);
    clsi_cone_free(&cone);
    x->key = good ? clsi_malloc(r->n_key * sizeof *x->key) : NULL;
    x->out = x->key ? clsi_malloc((n_out + 1) * sizeof *x->out) : NULL;
    if (!x->out) return 0;
    memcpy(x->key, r->key, r->n_key * sizeof *x->key);
    x->hash = r->hash;
    x->n_key = r->n_key;
    x->n_members = r->n_members;
    x->n_out = n_out;
    for (size_t k = 0; k < n_out; k++) x->out[k] = ref_of(r, r->made, x->n_steps, out[k]);
    return 1;
}

void clsi_repeats_keep(clsi_repeats *r, size_t n_out, const cls_node *out) {
    if (!r || !r->n_members || r->n == SHAPES) return;
    size_t s = slot_of(r);
    if (r->slot[s] || !clsi_grow(&r->list, &r->room, r->n + 1, sizeof *r->list)) return;
    for (size_t k = 0; k < n_out; k++)
        if (out[k] >= r->g->n) return;
    shape *x = &r->list[r->n];
    *x = (shape){0};
    if (fill_shape(r, n_out, out, x)) {
        r->slot[s] = (uint16_t)++r->n;
        remember(r, r->slot[s]);
        return;
    }
    free(x->key);
    free(x->step);
    free(x->out);
}
