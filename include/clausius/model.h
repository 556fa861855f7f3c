/* Model files: one safetensors file that holds what was learned and where it comes from.
 *
 * Header (JSON, key "__metadata__", all values strings): format ("clausius-model 1"), system (the
 * text of the .clausius file), system_name, set, unknown (a JSON array as text: for each field its
 * part, spec, inputs, scaling), provenance (a JSON object as text: data files with SHA-256, seed,
 * options, version, losses; no times, so that the same learning gives the same bytes). Tensors
 * (F64): theta, the one block of parameters; start, the default start in native variables. Written
 * atomically; read defensively: every length is checked against the file's before anything is
 * allocated. */
#ifndef CLAUSIUS_MODEL_H
#define CLAUSIUS_MODEL_H

#include <clausius/status.h>
#include <clausius/system.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_model cls_model;

/* Is the name that of a model file (ends in .safetensors)? */
CLS_API int cls_model_is_path(const char *path);
CLS_API cls_status cls_model_read(const char *path, cls_model **out, cls_error *error);
CLS_API cls_status cls_model_write(const cls_model *m, const char *path, cls_error *error);
CLS_API void cls_model_free(cls_model **m);
/* The system with the learned parts in their places: simulate, audit and show it like any other.
 * Owned by the model. */
CLS_API const cls_system *cls_model_system(const cls_model *m);
/* Other values for parameters of the system that what was learned does not depend on (else the error
 * says which can be changed), and for inputs. The model's system is made anew. */
CLS_API cls_status cls_model_set(cls_model *m, const cls_assignments *set, cls_error *error);
/* Parameters that were learned with standard errors: cls_model_doubt_count of them (0: none).
 * cls_model_member gives values that are consistent with the data: member `number` of the ensemble
 * that was learned (cls_learn_options.ensemble; cls_model_member_count, 0: none), else a draw from
 * their covariance that depends on the number only. names (borrowed) and values: (doubt_count). */
CLS_API size_t cls_model_doubt_count(const cls_model *m);
CLS_API size_t cls_model_member_count(const cls_model *m);
CLS_API cls_status cls_model_member(const cls_model *m, uint64_t number, const char **names,
                                    double *values, cls_error *error);
/* 1: functions were learned whose coefficients have a covariance. Then cls_model_vary makes the model one
 * that the data allow as well, a draw that depends on the number only, and its system anew; what was set
 * (cls_model_set) stays. */
CLS_API int cls_model_can_vary(const cls_model *m);
CLS_API cls_status cls_model_vary(cls_model *m, uint64_t number, cls_error *error);
/* The time from which rows of the recording that it was learned from were kept back, NAN: none were, or
 * it was learned from several motions. */
CLS_API double cls_model_test_from(const cls_model *m);
CLS_API size_t cls_model_parameter_count(const cls_model *m);
CLS_API const double *cls_model_parameters(const cls_model *m);
/* Parameter i of cls_model_parameters: the part it belongs to (borrowed from the model) and its term
 * as text of at most `size` bytes: "T1(x) T2(v.x*v.x)" or "x^2*v.x" of bases (their inputs are scaled:
 * the range of the data is -1 to 1), the user's own formula, else "parameter 17" of its part. An
 * index that is too large: CLS_USAGE. */
CLS_API cls_status cls_model_parameter_name(const cls_model *m, size_t i, const char **part,
                                            size_t size, char *text, cls_error *error);
/* A description: unknown parts and their forms, data, errors, what is not identifiable. */
CLS_API cls_status cls_model_show(const cls_model *m, char **text, cls_error *error);

/* A learned component of a system of components, alone in a file: for `use "FILE" as NAME`. */
CLS_API cls_status cls_model_extract(const cls_model *m, const char *component, const char *path,
                                     cls_error *error);
/* cls_system_load for files that may use learned components: one of *system and *model is set. */
CLS_API cls_status cls_model_compose(const char *name_or_path, const cls_assignments *set,
                                     cls_system **system, cls_model **model, cls_error *error);

/* Where a learned part would have to extrapolate: an input outside the range of the data. */
typedef struct cls_outside {
    const char *part, *input; /* owned by the model */
    double value, low, high;
} cls_outside;
typedef struct cls_range cls_range;
CLS_API cls_status cls_range_create(const cls_model *m, cls_range **out, cls_error *error);
CLS_API void cls_range_free(cls_range **range);
/* 1 when the state leaves the range; *out says where it does so most. */
CLS_API int cls_range_check(cls_range *range, const double *state, cls_outside *out);

#ifdef __cplusplus
}
#endif
#endif
