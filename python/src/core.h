/* The Python module, inside: what its files share. Limited API of Python 3.11 only; arrays come in
 * through the buffer protocol and go out as numpy arrays that numpy made, so that numpy is needed
 * when the module runs and not when it is built. */
#ifndef CLAUSIUS_PYTHON_CORE_H
#define CLAUSIUS_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>

#include <clausius/audit.h>
#include <clausius/export.h>
#include <clausius/flow.h>
#include <clausius/graph.h>
#include <clausius/identify.h>
#include <clausius/learn.h>
#include <clausius/model.h>
#include <clausius/options.h>
#include <clausius/report.h>
#include <clausius/scheme.h>
#include <clausius/simulate.h>
#include <clausius/start.h>
#include <clausius/steps.h>
#include <clausius/system.h>
#include <clausius/table.h>

/* What the module holds; filled when it is imported, read only after that. */
typedef struct core_module {
    PyObject *numpy_empty, *numpy_contiguous, *numpy_float64;
    PyObject *fail; /* clausius._errors.fail(status, message, line, column) -> exception */
    PyObject *dynamics, *table, *column, *stepper; /* the types */
} core_module;
extern core_module core;

/* Sets the exception of a status; returns NULL. */
PyObject *core_fail(const cls_error *error);
PyObject *core_usage(const char *format, ...) CLS_PRINTF(1, 2);

/* ---- arrays.c ---- */

/* Numbers of the caller's array, C-contiguous doubles; converted (one copy) if they are not. */
typedef struct core_array {
    Py_buffer view;
    const double *data;
    Py_ssize_t n; /* numbers */
} core_array;
int core_array_take(PyObject *o, core_array *a); /* 0: an exception is set */
/* The same where the numbers are written; nothing is converted. */
int core_array_fill(PyObject *o, core_array *a, double **data);
void core_array_release(core_array *a);
/* A new numpy array of doubles; `data` points into it. NULL: an exception is set. */
PyObject *core_array_new(Py_ssize_t n_dimensions, const Py_ssize_t *shape, double **data);
/* A list of texts; the pointers live as long as `owner`, which is the caller's to release. */
const char **core_texts(PyObject *sequence, Py_ssize_t *n, PyObject **owner);
/* {"m": 2.0} or None as assignments; released by core_assignments_release. */
typedef struct core_assignments {
    cls_assignments list;
    PyObject *owner;
} core_assignments;
int core_assignments_take(PyObject *dict, core_assignments *a);
void core_assignments_release(core_assignments *a);

/* ---- work.c ---- */

/* Long work is done without the interpreter's lock. `check` is called by the work now and then; it
 * takes the lock, lets signals be handled and calls `report`, a Python function or NULL, at most
 * twenty times a second. Non-zero: stop. */
typedef struct core_work {
    void (*run)(struct core_work *work);
    void *job;
    PyObject *progress; /* called with the arguments of `describe`; NULL: none */
    PyObject *(*describe)(struct core_work *work); /* a tuple, made with the lock held */
    pthread_t thread; /* that of the work: others that help it only look at `stop` */
    double last;
    _Atomic int stop; /* 1: Ctrl-C, 2: progress said so, 3: an exception of progress is kept */
    PyObject *raised; /* of that kind */
} core_work;
void core_work_do(core_work *work);
int core_work_check(core_work *work);
/* 0, or -1 with the exception that progress raised set. */
int core_work_end(core_work *work);
int core_work_init(void);
/* True in a child of a process that had used several threads (fork): see work.c. */
int core_forked(void);

/* ---- options.c ---- */

/* cls_learn_option_table and the like */
typedef const cls_option *(*core_rows)(size_t *n);
/* Sets the members of *options that the dict names; others stay. Texts live as long as the dict. */
int core_options_set(core_rows table, PyObject *dict, void *options);
/* {"learn": [(name, type, default, doc, words), ...], ...} */
PyObject *core_options_tables(PyObject *self, PyObject *unused);

/* ---- the types ---- */

typedef struct core_table {
    PyObject_HEAD cls_table *table;
    PyObject *owner; /* of borrowed columns */
    Py_buffer *views;
    Py_ssize_t n_views;
} core_table;
int core_table_type(PyObject *module);

/* Steps of a scheme, kept once they were made. */
typedef struct core_steps {
    const char *scheme;
    cls_steps *steps;
    struct core_steps *next;
} core_steps;

/* A system, or a learned model: with parameters, a start, motions. */
typedef struct core_dynamics {
    PyObject_HEAD cls_system *own; /* NULL for a model */
    cls_model *model;
    const cls_system *system;
    cls_starter *starter;
    size_t n_set; /* parameter values that replace the file's */
    char **set_names;
    double *set_values;
    char **set_formulas; /* of inputs; NULL where it is a number */
    /* Compiling a scheme writes to the system's graph: one thread at a time holds this. */
    pthread_mutex_t making;
    cls_flow *flow;     /* NULL until it is asked for */
    cls_flow_work *few; /* for few states, used with the interpreter's lock held */
    core_steps *steps;
} core_dynamics;
void core_dynamics_lock(core_dynamics *self);
void core_dynamics_unlock(core_dynamics *self);
void core_evaluate_clear(core_dynamics *self);
PyObject *core_energy(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *core_entropy(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *core_rates(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *core_jacobian(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *core_step(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *core_shoot(PyObject *self, PyObject *const *args, Py_ssize_t n);
int core_dynamics_type(PyObject *module);
/* A new object of `type`; takes over system or model also when it fails. */
PyObject *core_dynamics_new(PyTypeObject *type, cls_system *system, cls_model *model,
                            const cls_assignments *set);
PyObject *core_simulate(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *core_follow(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *core_ensemble(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *core_audit(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *core_export(PyObject *self, PyObject *args);
PyObject *core_report(PyObject *self, PyObject *args);
PyObject *core_invariants(PyObject *self, PyObject *args);
PyObject *core_formulas(PyObject *self, PyObject *args);
PyObject *core_learn(PyObject *type, PyObject *const *args, Py_ssize_t n);

#endif
