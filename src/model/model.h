/* The inside of a cls_model: a system's text, its learned parts, and one block of parameters. */
#ifndef CLSI_MODEL_H
#define CLSI_MODEL_H

#include "base/base.h"
#include "field/field.h"
#include "system/system.h"
#include <clausius/model.h>

/* How the fields of a friction on n > 1 momenta make a force that dissipates (clsi_part_force). */
typedef enum clsi_friction_form { CLSI_ROTATION, CLSI_MATRIX, CLSI_CHOLESKY } clsi_friction_form;

/* One learned part: phi of scaled inputs, (input - center)/half, the inputs written in the language
 * over the system's variables ("x", "v.x^2", "log(T1)"). */
typedef struct clsi_learned {
    char *part;
    /* of a function of the file: 1 + the place in the system's uses that inputs are for; 0: not at
     * any. Its inputs are written over its arguments. Not in the file of a model. */
    size_t use;
    size_t slot; /* a friction on n > 1 momenta has n diagonal and n(n-1)/2 other fields */
    clsi_friction_form form;
    clsi_field *field;
    size_t d;
    char *input[CLSI_FIELD_MAX_INPUTS];
    double center[CLSI_FIELD_MAX_INPUTS], half[CLSI_FIELD_MAX_INPUTS];
    double low[CLSI_FIELD_MAX_INPUTS], high[CLSI_FIELD_MAX_INPUTS]; /* range of the data */
    size_t offset;                                                  /* of its parameters in theta */
    double scale; /* the part is scale * phi: frictions are learned in units of their size */
    /* > 0: the part is made positive by (u + sqrt(u^2 + floor^2))/2, u = scale phi; with
     * CLSI_MATRIX the same is done to F.v/v.v (slot 0 has it) */
    double floor;
    int square;      /* the part is made positive by scale phi^2 instead: the paper's form */
    int exponential; /* or by scale exp(phi): phi is the logarithm of a coefficient */
    /* of a whole thermal lagrangian: G = scale phi + trunk sum_i T_i (log T_i - 1). Where the data
     * cannot tell the heat capacity at rest, this is it */
    double trunk;
} clsi_learned;

/* A floor far below the mean size of a part. That of one which is zero wherever there are data still has a square: without it
 * the slope of the form would be 0/0 there. */
static inline double clsi_floor_of(double mean) {
    return 1e-6 * mean + 1e-150;
}

struct cls_model {
    char *name, *text; /* the system's */
    size_t n_set;
    char **set_names;
    double *set_values;
    char **set_formulas; /* of inputs, for this run (cls_model_set); NULL, or NULL for numbers */
    size_t n_learned, n_theta;
    clsi_learned *learned;
    double *theta;
    size_t n_start; /* the start in native variables: entropies have no origin once G is learned */
    double *start;
    char *provenance; /* JSON */
    /* the same as it was read when the model was built, so that what asks for it needs no memory; NULL: there is none,
     * or it is not JSON */
    struct json_t *told;
    cls_system *system;
    /* while others of its parts are being learned: parts that were learned before, as numbers.
     * Borrowed, never written. */
    const cls_model *given;
    /* while they are learned: parameters of the file that are symbols theta'k as well, from
     * open_first on. Borrowed. */
    size_t n_open, open_first;
    const char *const *open;
};

/* CLS_USAGE, and which name, where an input has a name that a learned part cannot depend on. */
cls_status clsi_learned_check(const clsi_learned *l, const cls_system *s, cls_error *error);
/* The scaled inputs of a learned part as nodes of a system's graph (d of them). */
cls_status clsi_learned_inputs(const clsi_learned *l, const cls_system *s, cls_node *x);
/* The places of a part in a system one after the other, from *turn = 0 on: sets l->use. 0: there are
 * no more. A part that is no function has one. */
int clsi_learned_turn(clsi_learned *l, const cls_system *s, size_t *turn);
/* phi made into the part's value: scale, and positive where asked. */
cls_node clsi_learned_value(const clsi_learned *l, cls_graph *g, cls_node phi);
/* sum_i T_i (log T_i - 1), times `trunk`. */
cls_node clsi_learned_trunk(const clsi_learned *l, const cls_system *s);
/* Number of fields of a part of this kind. */
size_t clsi_field_count(const cls_system *s, const char *part, clsi_part_kind kind,
                        const char *spec);
/* Force of the friction `part` on momentum j, one of the n that it acts on (clsi_part_acts_on),
 * dissipative for every value of the fields (decisions 13 and 18); v are the velocities of these:
 *   F = -Q D Q^T v   CLSI_ROTATION: values[0..n) are the diagonal of D, positive by form, the next
 *                    n(n-1)/2 the angles of Q, a product of plane rotations
 *   F = -C C^T v     CLSI_CHOLESKY: values[0..n) are the diagonal of C, positive by form, the next
 *                    n(n-1)/2 what stands below it, column by column
 *   F = -L v         CLSI_MATRIX: L symmetric, values[0..n) its diagonal, then its upper triangle:
 *                    linear in the fields. With floor > 0 made dissipative for all values: with
 *                    d = F.v/v.v the force -(d + sqrt(d^2 + floor^2))/2 v is added, next to nothing
 *                    where F dissipates
 * The rest, where the friction is gyroscopic, is a skew matrix A: A v is added, and does no work.
 */
cls_node clsi_part_force(const cls_system *s, const char *part, clsi_friction_form form,
                         double floor, size_t n_values, const cls_node *values, size_t j);
/* Is the range of input k in the data known? */
int clsi_has_range(const clsi_learned *l, size_t k);
/* All inputs of learned parts at a state, not scaled, borrowed; the place of input k of a part among
 * them, SIZE_MAX: it has no range. */
const double *clsi_range_inputs(cls_range *r, const double *state);
size_t clsi_range_find(const cls_range *r, const clsi_learned *l, size_t k);
/* Learned parts as JSON text, and back: the note "unknown" of a container. `offset` follows from
 * the order. */
char *clsi_learned_describe(size_t n, const clsi_learned *list);
struct clsi_container;
cls_status clsi_learned_read(const char *path, const struct clsi_container *c, size_t n_theta,
                             clsi_learned **list, size_t *n, cls_error *error);
/* ---- convex.c ---- */

/* How an input depends on what an energy is convex in: velocities and temperatures, or momenta and
 * entropies. EVEN: linear in velocities (momenta) alone, so that it changes its sign with them.
 * THERMAL and COLD: affine in entropies of a hamiltonian, increasing in all of them, or not. */
typedef enum clsi_bend {
    CLSI_BEND_NONE,
    CLSI_BEND_EVEN,
    CLSI_BEND_AFFINE,
    CLSI_BEND_THERMAL,
    CLSI_BEND_COLD,
    CLSI_BEND_OTHER
} clsi_bend;
clsi_bend clsi_input_bend(const cls_system *s, cls_node x);
/* "T*(log(T/300)-1)" with the reference rounded, the caller's; NULL: no memory. */
char *clsi_heat_input(const char *temperature, double reference);
/* Why a part with a convex field is not what the word promises; NULL when it is, or when the field
 * is of another kind. */
const char *clsi_learned_not_convex(const clsi_learned *l, const cls_system *s);
/* ", convex in p.x, S, even in p.x, increasing in S", nothing for other fields. */
void clsi_learned_tell_convex(const clsi_learned *l, clsi_text *t);

/* Adds to `list` (room for m->n_learned more) what puts the learned parts of m into a text, with
 * their parameters as numbers, but for those that are in the list already. *context, which they
 * need, is the caller's to free. */
cls_status clsi_model_fill(const cls_model *m, clsi_replacement *list, size_t *n, void **context);
/* The parts of `from` that m does not have, with their parameters, become m's own. */
cls_status clsi_model_take(cls_model *m, const cls_model *from, cls_error *error);
/* Builds model->system from text, learned parts and theta. */
cls_status clsi_model_build(cls_model *m, cls_error *error);
/* The same system with theta as symbols, for derivatives of motions in theta: it has a form, but no
 * rows and no start. m->theta is not looked at. As nodes, kinds that have kernels (networks) are field
 * nodes: for programs with clsi_parameters, and gradients in theta by clsi_program_create_reverse. */
typedef enum clsi_opening { CLSI_CLOSED, CLSI_FORMULAS, CLSI_NODES } clsi_opening;
cls_status clsi_model_open(const cls_model *m, clsi_opening how, cls_system **out,
                           cls_error *error);
/* The symbol of parameter i there. */
cls_node clsi_model_symbol(const cls_system *s, size_t i);
/* The system again (of the model, where m is not NULL), with these parameters as symbols, their own:
 * it has a form, but no rows and no start. */
cls_status clsi_system_settable(const cls_system *from, const cls_model *m,
                                const cls_assignments *set, size_t n_free, const char *const *names,
                                cls_system **out, cls_error *error);
void clsi_learned_clear(clsi_learned *l);

#endif
