/* Laws of a system or of a learned model that nobody declared: found numerically.
 *
 * Over y = (q, p, S) the rate of every linear and quadratic function is known at any state. What
 * vanishes at all of many states spread over the region of the motion (and of the data, for a
 * model) is an invariant. Affine maps of the coordinates that leave the energy unchanged are
 * symmetries, each with its momentum (Noether); what every energy keeps, because the bracket does,
 * is a Casimir function. Of the function G and the frictions F of a thermal lagrangian (and of a
 * lagrangian) some combinations have no effect on what can be observed: gauge directions
 * (docs/physics/vnots.md, lemma 3.2). Each finding is tried at states that it was not found from.
 *
 * With a scheme the same is asked of its step (the discrete Noether theorem): functions whose value is
 * the same before and after a step from any state, symmetries of the discrete Lagrangian with their
 * momenta, and which of them the flow keeps and the scheme does not. */
#ifndef CLAUSIUS_INVARIANTS_H
#define CLAUSIUS_INVARIANTS_H

#include <clausius/model.h>
#include <clausius/status.h>
#include <clausius/system.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cls_found_kind {
    CLS_FOUND_LINEAR,    /* an invariant, linear in (q, p, S) */
    CLS_FOUND_QUADRATIC, /* an invariant, quadratic; no function of the linear ones and the energy */
    CLS_FOUND_SYMMETRY,  /* of the energy, whose momentum the frictions or forces change */
    CLS_FOUND_CASIMIR,   /* kept by the bracket, whatever the energy is */
    CLS_FOUND_GAUGE      /* a change of (G, F) that no observation can tell */
} cls_found_kind;
CLS_API const char *cls_found_kind_name(cls_found_kind kind);

typedef struct cls_found {
    cls_found_kind kind;
    const char *formula;  /* in the language: what is constant; of a gauge what is changed */
    const char *name;     /* "x1, x2 shifted together", "origin of S1"; the declared name; or "" */
    const char *why;      /* one sentence */
    const char *fixed_by; /* gauge: what fixes it; else "" */
    int open;             /* gauge: 1 where nothing in the system or the model fixes it */
    int exact;            /* to round-off; 0: nearly, as the digits say */
    double digits;        /* -log10 of its rate over the rates of its terms, at most 16; of a gauge
                           * of the change of the equations over their terms */
    double rate;  /* casimir, symmetry: the same ratio for the motion with friction: 0 is kept */
    double drift; /* largest change along the default motion, by the scheme if there is one, over
                   * its terms; NAN: not run */
} cls_found;

typedef struct cls_invariants_options {
    size_t size;
    /* States to try (n_states, stride), as cls_system_state_name; NULL: found around the default
     * motion, inside the range of the data for a model. */
    const double *states;
    size_t n_states, stride;
    uint64_t seed;
    double least_digits; /* what is not exact is reported from so many digits on; of a system 10 */
    const char *scheme;  /* whose step is asked; NULL: the equations of motion themselves */
    double h;            /* its length; 0: the system's own */
} cls_invariants_options;
CLS_API cls_invariants_options cls_invariants_defaults(void);

typedef struct cls_invariants cls_invariants;
/* Of a model (its system may be NULL), or of a system (model NULL). */
CLS_API cls_status cls_invariants_find(const cls_system *system, const cls_model *model,
                                       const cls_invariants_options *options, cls_invariants **out,
                                       cls_error *error);
CLS_API void cls_invariants_free(cls_invariants **found);
CLS_API size_t cls_invariants_count(const cls_invariants *found);
/* Owned by `found`; NULL beyond the end. */
CLS_API const cls_found *cls_invariants_at(const cls_invariants *found, size_t i);
CLS_API size_t cls_invariants_states(const cls_invariants *found); /* that were tried */
/* For a person: a table, then what was not looked for. Free with cls_text_free. */
CLS_API cls_status cls_invariants_show(const cls_invariants *found, char **text, cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
