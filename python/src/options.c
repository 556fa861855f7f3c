/* Options: one table for each struct. From it come the keywords of the Python functions, their
 * defaults, their texts and the stubs. Names are those of the program's flags. */
#include "core.h"
#include <string.h>

#define LEARN(name, kind, member, doc)                                                             \
    { name, CORE_##kind, offsetof(cls_learn_options, member), doc }
const core_option core_learn_options[] = {
    LEARN("field", TEXT, field,
          "chebyshev(DEGREE), monomial(DEGREE), network(WIDTH, ...); else chosen"),
    LEARN(
        "loss", TEXT, loss,
        "residual, multiple-shooting (windows simulated from free starts, terms chosen: for noisy "
        "data), shooting or derivative; else chosen by the noise"),
    LEARN("scheme", TEXT, scheme,
          "the residual: quadrature (order 4), vnots-symmetric, vnots, discrete-gradient, "
          "implicit-midpoint "
          "(hamiltonians); of positions alone: weak (order 8), discrete-gradient, leapfrog, euler. "
          "With shooting "
          "the scheme that simulates"),
    LEARN("window", COUNT, window, "intervals of the data in a window of the loss; 0: chosen"),
    LEARN("substeps", COUNT, substeps, "shooting: scheme steps in an interval of the data; 0: one"),
    LEARN("adjoint", TEXT, adjoint,
          "shooting by lbfgs or adam: discrete (exact, the default) or continuous"),
    LEARN("optimizer", TEXT, optimizer, "auto, linear, lm, spring, lbfgs, adam or qp; else auto"),
    LEARN("weights", TEXT, weights,
          "of the residual: balanced (small friction counts) or equal; else balanced"),
    LEARN("rate", REAL, rate, "adam begins with this rate; 0: 0.01"),
    LEARN("last_rate", REAL, last_rate, "adam ends with this rate; 0: a thousandth of the first"),
    LEARN("anchor_weight", REAL, anchor_weight,
          "networks: weight of the anchors' mean square error beside that of the residual; 0: so "
          "much that they "
          "hold to a thousandth"),
    LEARN("seed", WIDE, seed, "the seed of everything random"),
    LEARN("validate", REAL, validate, "the fraction of trajectories kept to validate"),
    LEARN("max_windows", WIDE, max_windows,
          "at most so many windows of the data, spread evenly; 0: chosen"),
    LEARN("epochs", WIDE, max_iterations, "at most so many iterations; 0: the optimizer's own"),
    LEARN("batch", WIDE, batch,
          "adam, spring: rows in a batch, a window has one for each equation; 0: chosen"),
    LEARN("constant_rate", FLAG, constant_rate, "adam: the rate does not fall"),
    LEARN("last", FLAG, last, "adam: keep the last parameters, not the best"),
    LEARN("decay", REAL, decay, "adam: weight decay"),
    LEARN("restarts", COUNT, restarts, "begin so often from new parameters and keep the best"),
    LEARN("patience", WIDE, patience,
          "stop after so many reports without better validation; 0: never"),
    LEARN("checkpoint", TEXT, checkpoint, "file that keeps the state of the training"),
    LEARN("checkpoint_every", REAL, checkpoint_every, "seconds between two checkpoints"),
    LEARN("resume", FLAG, resume, "go on from the checkpoint, bit for bit"),
    LEARN("time_limit", REAL, time_limit,
          "stop after so many seconds with the best there is; 0: never"),
    LEARN("threads", INT, threads, "threads, the result does not depend on it; 0: all cores"),
    {0},
};

#define IDENTIFY(name, kind, member, doc)                                                          \
    { name, CORE_##kind, offsetof(cls_identify_options, member), doc }
const core_option core_identify_options[] = {
    IDENTIFY("dictionary", TEXT, dictionary,
             "qp: what parts are made of, \"E: polynomial(2), lambda_a; M: polynomial(1; s_a)\""),
    IDENTIFY("symmetry", TEXT, symmetries,
             "qp: invariants of the file that the energy must keep, \"J\""),
    IDENTIFY("rates", INT, rates,
             "qp: measured (columns d.NAME), weak or local; else the first there is"),
    IDENTIFY("sparse", REAL, sparse, "qp: leave out terms that contribute less than this fraction"),
    {0},
};

#define SIMULATE(name, kind, member, doc)                                                          \
    { name, CORE_##kind, offsetof(cls_simulate_options, member), doc }
const core_option core_simulate_options[] = {
    SIMULATE("scheme", TEXT, scheme,
             "the scheme (see clausius.schemes); else the system's default"),
    SIMULATE("h", REAL, h, "the step; 0: the system's"),
    SIMULATE("tolerance", REAL, tolerance, "where Newton stops (relative update)"),
    SIMULATE("max_iterations", INT, max_iterations, "of Newton in a step"),
    SIMULATE("max_halvings", INT, max_halvings,
             "a step that Newton cannot solve is split in halves up to this often"),
    SIMULATE("first_step", INT, first_step,
             "dtel's first step: momentum, or paper (q1 = q0 + h v0)"),
    SIMULATE("reference_tolerance", REAL, reference_tolerance, "relative tolerance of bdf"),
    SIMULATE("accuracy", REAL, accuracy, "local error that an adaptive scheme allows, relative"),
    SIMULATE("max_internal", WIDE, max_internal, "internal steps of an adaptive scheme in a step"),
    {0},
};

#define AUDIT(name, kind, member, doc)                                                             \
    { name, CORE_##kind, offsetof(cls_audit_options, member), doc }
const core_option core_audit_options[] = {
    AUDIT("energy_limit", REAL, energy_limit, "relative energy drift allowed"),
    AUDIT("invariant_limit", REAL, invariant_limit, "relative drift of invariants allowed"),
    AUDIT("entropy_limit", REAL, entropy_limit,
          "a row may lie this part of |S| below the highest before it"),
    AUDIT("beyond", REAL, beyond,
          "the state laws are also checked in a box this much larger than the data"),
    AUDIT("samples", COUNT, samples, "points of that box"),
    AUDIT("order_expected", REAL, order_expected, "0: order is printed, not judged"),
    {0},
};

/* ---- setting ---- */

static int set_number(const core_option *o, PyObject *value, char *place) {
    if (o->kind == CORE_REAL) {
        double x = PyFloat_AsDouble(value);
        if (PyErr_Occurred()) return 0;
        memcpy(place, &x, sizeof x);
        return 1;
    }
    PyObject *index =
        o->kind == CORE_FLAG ? PyLong_FromLong(PyObject_IsTrue(value)) : PyNumber_Index(value);
    if (!index) return 0;
    if (o->kind == CORE_INT || o->kind == CORE_FLAG) {
        int x = (int)PyLong_AsLong(index);
        memcpy(place, &x, sizeof x);
    } else {
        uint64_t x = PyLong_AsUnsignedLongLong(index);
        size_t y = (size_t)x;
        memcpy(place, o->kind == CORE_WIDE ? (void *)&x : (void *)&y,
               o->kind == CORE_WIDE ? sizeof x : sizeof y);
    }
    Py_DECREF(index);
    return !PyErr_Occurred();
}

static int set_text(PyObject *value, char *place) {
    const char *text = value == Py_None ? NULL : PyUnicode_AsUTF8AndSize(value, NULL);
    if (PyErr_Occurred()) return 0;
    memcpy(place, &text, sizeof text);
    return 1;
}

int core_options_set(const core_option *list, PyObject *dict, void *options) {
    for (const core_option *o = list; o->name; o++) {
        PyObject *value = PyDict_GetItemString(dict, o->name); /* borrowed */
        if (!value) continue;
        char *place = (char *)options + o->offset;
        if (o->kind == CORE_TEXT ? set_text(value, place) : set_number(o, value, place)) continue;
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s: %s, got %R", o->name, o->doc, value);
        return 0;
    }
    return 1;
}

/* ---- the tables themselves ---- */

static PyObject *value_at(const core_option *o, const void *options) {
    const char *place = (const char *)options + o->offset;
    switch (o->kind) {
    case CORE_TEXT: {
        const char *text;
        memcpy(&text, place, sizeof text);
        return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
    }
    case CORE_REAL: {
        double x;
        memcpy(&x, place, sizeof x);
        return PyFloat_FromDouble(x);
    }
    case CORE_FLAG:
    case CORE_INT: {
        int x;
        memcpy(&x, place, sizeof x);
        return o->kind == CORE_FLAG ? PyBool_FromLong(x) : PyLong_FromLong(x);
    }
    case CORE_COUNT: {
        size_t x;
        memcpy(&x, place, sizeof x);
        return PyLong_FromSize_t(x);
    }
    case CORE_WIDE: break;
    }
    uint64_t x;
    memcpy(&x, place, sizeof x);
    return PyLong_FromUnsignedLongLong(x);
}

static PyObject *describe(const core_option *list, const void *options) {
    static const char *const kinds[] = {"str", "float", "int", "int", "int", "bool"};
    PyObject *out = PyList_New(0);
    for (; out && list->name; list++) {
        PyObject *value = value_at(list, options);
        PyObject *item =
            value ? Py_BuildValue("(ssNs)", list->name, kinds[list->kind], value, list->doc) : NULL;
        if (!item || PyList_Append(out, item) < 0) Py_CLEAR(out);
        Py_XDECREF(item);
    }
    return out;
}

PyObject *core_options_tables(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    cls_learn_options learn = cls_learn_defaults();
    cls_identify_options identify = cls_identify_defaults();
    cls_simulate_options simulate = cls_simulate_defaults();
    cls_audit_options audit = cls_audit_defaults();
    return Py_BuildValue("{s:N,s:N,s:N,s:N}", "learn", describe(core_learn_options, &learn),
                         "identify", describe(core_identify_options, &identify), "simulate",
                         describe(core_simulate_options, &simulate), "audit",
                         describe(core_audit_options, &audit));
}
