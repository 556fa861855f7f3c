/* Physical systems: read from the modelling language (docs/language.md) or built in.
 *
 * A system has coordinates q (velocities v.q, momenta p.q) and entropies S with temperatures T; it
 * may have momenta without a coordinate (a rigid body) and positions without a momentum. Its state
 * is native to its formalism: (q, p, S), (q, v, S) or (q, v, T); everything else is derived. A row
 * of output has cls_system_column_count columns: time, the state, the derived p.*, v.*, S*, T*,
 * energy, entropy, then work (only with external forces that have no potential), heat and
 * entropy.outside (only with heat sources or reservoirs), the inputs, the declared invariants and
 * the declared outputs. energy - work - heat is constant; entropy includes that of the outside. */
#ifndef CLAUSIUS_SYSTEM_H
#define CLAUSIUS_SYSTEM_H

#include <clausius/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_system cls_system;

typedef enum cls_formalism {
    CLS_LAGRANGIAN,
    CLS_HAMILTONIAN,
    CLS_THERMAL_LAGRANGIAN,
    CLS_METRIPLECTIC,
    CLS_ODE /* x' = f(x): no energy, no entropy, no law */
} cls_formalism;

/* Parameter values that replace the file's (--set). An unknown name is an error. */
typedef struct cls_assignments {
    size_t n;
    const char *const *names;
    const double *values;
    /* NULL, or for each name a formula of t and parameters in the place of the number (NULL: the
     * number); only inputs take one. */
    const char *const *formulas;
} cls_assignments;

/* A built-in name, or a path (it contains '/' or ends in .clausius). */
CLS_API cls_status cls_system_load(const char *name_or_path, const cls_assignments *set,
                                   cls_system **out, cls_error *error);
CLS_API cls_status cls_system_parse(const char *text, const char *file, const cls_assignments *set,
                                    cls_system **out, cls_error *error);
CLS_API void cls_system_free(cls_system **system);

/* The systems of a few variables come first, so many; fields in space and other arrays behind them,
 * until the name is NULL. */
CLS_API size_t cls_builtin_count(void);
CLS_API const char *cls_builtin_name(size_t i);
CLS_API const char *cls_builtin_title(size_t i); /* one line */
CLS_API const char *cls_builtin_text(size_t i);  /* the .clausius file */
CLS_API const char *cls_template_text(void);     /* the commented file of `clausius new` */

CLS_API const char *cls_system_name(const cls_system *s);  /* built-in name or file stem */
CLS_API const char *cls_system_title(const cls_system *s); /* from the file */
CLS_API const char *cls_system_text(const cls_system *s);  /* the source */
CLS_API cls_formalism cls_system_formalism(const cls_system *s);
CLS_API const char *cls_formalism_name(cls_formalism f);
CLS_API size_t cls_system_coordinate_count(const cls_system *s);           /* all positions */
CLS_API int cls_system_coordinate_is_angle(const cls_system *s, size_t i); /* modulo 2 pi */
CLS_API size_t cls_system_momentum_count(const cls_system *s); /* of momenta and velocities */
CLS_API size_t cls_system_entropy_count(const cls_system *s);
/* Frictions come with thermal noise: motions are random, see cls_simulate_options.seed. */
CLS_API int cls_system_is_noisy(const cls_system *s);
CLS_API int cls_system_has_entropy(const cls_system *s); /* entropies, or a total entropy */
CLS_API size_t cls_system_parameter_count(const cls_system *s);
CLS_API const char *cls_system_parameter_name(const cls_system *s, size_t i);
CLS_API double cls_system_parameter(const cls_system *s, size_t i);
/* `parameter k = unknown near 2 in (0, 10)`: to be learned. Its value is the initial guess. */
CLS_API int cls_system_parameter_is_unknown(const cls_system *s, size_t i);
CLS_API void cls_system_parameter_range(const cls_system *s, size_t i, double *low, double *high);
CLS_API double cls_system_default_step(const cls_system *s);  /* `step` of the file, else 0.01 */
CLS_API double cls_system_default_until(const cls_system *s); /* `until` of the file, else 10 */
CLS_API int cls_system_says_step(const cls_system *s);        /* 1: the file has a `step` */

/* Inputs: functions of time from outside. Their values come from data (cls_simulator_inputs), except
 * where the file or --set gives a formula. */
CLS_API size_t cls_system_input_count(const cls_system *s);
CLS_API const char *cls_system_input_name(const cls_system *s, size_t i);
CLS_API int cls_system_input_is_given(const cls_system *s, size_t i); /* by a formula */

/* State: positions, momenta (or velocities), entropies (or temperatures), plus one for `work` where
 * there are external forces without potential, plus two for `heat` and `entropy.outside` where
 * there are heat sources or reservoirs. */
CLS_API size_t cls_system_state_count(const cls_system *s);
CLS_API const char *cls_system_state_name(const cls_system *s, size_t i);
/* The last ones of the state that count what crossed the boundary (work, heat, entropy.outside); a
 * start has 0 there. */
CLS_API size_t cls_system_account_count(const cls_system *s);
CLS_API size_t cls_system_column_count(const cls_system *s);
CLS_API const char *cls_system_column(const cls_system *s, size_t i);
/* The unit in which the system has a column ("m", "m/s"), from the units that its file declares; 1
 * when it is known. Time is in s. */
CLS_API int cls_system_unit(const cls_system *s, const char *column, char unit[64]);
/* The `data` lines of the file as one list: x="position [mm]", time="t [ms]"; "" without any. */
CLS_API const char *cls_system_data_map(const cls_system *s);
/* The `picture` line of the file, "pendulum q1, q2"; "" without one. */
CLS_API const char *cls_system_picture(const cls_system *s);

/* Completes a start: any of q, v.q or p.q, S or T by name; what is not given comes from the file's
 * `start`. Solves the Legendre transform numerically where it has to. Errors: unknown name, both
 * v.q and p.q, something missing, outside the domain, not finite, Legendre transform without
 * solution. */
CLS_API cls_status cls_system_start(const cls_system *s, const cls_assignments *given,
                                    double *state, cls_error *error);
/* A complete row from a state. `row` has cls_system_column_count numbers. Inputs without a formula
 * are 0, or as given (cls_system_input_count numbers). */
CLS_API cls_status cls_system_row(const cls_system *s, double time, const double *state,
                                  double *row, cls_error *error);
CLS_API cls_status cls_system_row_driven(const cls_system *s, double time, const double *state,
                                         const double *inputs, double *row, cls_error *error);

/* What to show; or-ed. */
enum {
    CLS_SHOW_SUMMARY = 1,   /* name, variables, parameters, laws */
    CLS_SHOW_EQUATIONS = 2, /* formula and equations of motion, derived symbolically */
    CLS_SHOW_PARTS = 4,     /* names that --unknown can take */
    CLS_SHOW_LATEX = 8,     /* equations as LaTeX */
    CLS_SHOW_SOURCE = 16
};
CLS_API cls_status cls_system_show(const cls_system *s, unsigned what, char **text,
                                   cls_error *error); /* free with cls_text_free */

#ifdef __cplusplus
}
#endif
#endif
