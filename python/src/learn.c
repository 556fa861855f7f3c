/* Learning: tables and options in, a model out, with signals and progress on the way. */
#include "core.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct learning {
    core_work work;
    const core_dynamics *system;
    cls_assignments set;
    cls_learn_options options;
    cls_identify_options identify;
    int qp;
    Py_ssize_t n;
    const cls_table **tables;
    const char **names;
    cls_model *model;
    cls_learn_info info;
    cls_identified *identified;
    cls_identify_info identify_info;
    cls_learn_progress now;
    cls_status status;
    cls_error error;
} learning;

static PyObject *describe(core_work *w) {
    const cls_learn_progress *p = &((learning *)w->job)->now;
    return Py_BuildValue("(sKKdddn)", p->phase ? p->phase : "", (unsigned long long)p->done,
                         (unsigned long long)p->total, p->loss, p->seconds, p->validation,
                         (Py_ssize_t)p->restart);
}

static int progress(void *context, const cls_learn_progress *p) {
    learning *l = context;
    l->now = *p;
    return core_work_check(&l->work);
}

static int interrupted(void *context) {
    return core_work_check(&((learning *)context)->work);
}

/* What learn reports of a convex identification. */
static void summarise(learning *l) {
    const cls_identify_info *f = &l->identify_info;
    l->info = (cls_learn_info){.parameters = f->energy.terms + f->friction.terms,
                               .samples = f->equations,
                               .loss_initial = NAN,
                               .loss_final =
                                   f->energy.unknowns ? f->energy.residual : f->friction.residual,
                               .loss_validation = NAN,
                               .seconds = f->seconds,
                               .rank = f->energy.rank + f->friction.rank,
                               .nullity = f->energy.nullity + f->friction.nullity,
                               .condition = fmax(f->energy.condition, f->friction.condition),
                               .kkt = fmax(f->energy.kkt, f->friction.kkt),
                               .rollout = NAN,
                               .rollout_still = NAN,
                               .optimizer = "qp"};
}

static void learn_alone(learning *l) {
    if (l->qp) {
        l->status = cls_identify(l->system->system, &l->set, (size_t)l->n, l->tables, l->names,
                                 &l->identify, &l->identified, &l->identify_info, &l->error);
        if (!l->status) l->model = cls_identified_take_model(l->identified);
        if (!l->status) summarise(l);
        return;
    }
    l->status = cls_learn(l->system->system, &l->set, (size_t)l->n, l->tables, l->names,
                          &l->options, &l->model, &l->info, &l->error);
}

static void learn(core_work *w) {
    learning *l = w->job;
    pthread_mutex_lock(&((core_dynamics *)l->system)->making);
    learn_alone(l);
    pthread_mutex_unlock(&((core_dynamics *)l->system)->making);
}

static PyObject *terms_of(const cls_identified *id) {
    PyObject *out = PyList_New(0);
    for (size_t i = 0; id && out && i < cls_identified_terms(id); i++) {
        const char *part = "";
        double value = 0;
        const char *term = cls_identified_term(id, i, &part, &value);
        PyObject *item = Py_BuildValue("(ssd)", part, term, value);
        if (!item || PyList_Append(out, item) < 0) Py_CLEAR(out);
        Py_XDECREF(item);
    }
    return out;
}

/* ---- of recordings ---- */

static PyObject *numbers(size_t n, const double *x) {
    PyObject *out = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; out && i < n; i++)
        PyTuple_SetItem(out, (Py_ssize_t)i, PyFloat_FromDouble(x[i]));
    return out;
}

static int append(PyObject *list, PyObject *item) {
    int bad = !item || PyList_Append(list, item) < 0;
    Py_XDECREF(item);
    return !bad;
}

static PyObject *parameters_of(const cls_learn_report *r) {
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < r->n_parameters; i++) {
        const cls_learned_parameter *p = &r->parameters[i];
        if (!append(out, Py_BuildValue("{s:s,s:d,s:d,s:d,s:d,s:d,s:O}", "name", p->name, "value",
                                       p->value, "error", p->error, "low", p->low, "high", p->high,
                                       "scatter", p->scatter, "at_bound",
                                       p->at_bound ? Py_True : Py_False)))
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *channels_of(const cls_learn_report *r) {
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < r->n_channels; i++) {
        const cls_learned_channel *c = &r->channels[i];
        if (!append(out, Py_BuildValue(
                             "{s:s,s:z,s:n,s:n,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:N,s:N,s:N}", "name",
                             c->name, "unit", c->unit, "rows", (Py_ssize_t)c->rows, "test_rows",
                             (Py_ssize_t)c->test_rows, "noise", c->noise, "fitted", c->fitted,
                             "run", c->run, "run_persistence", c->run_persistence, "run_mean",
                             c->run_mean, "run_before", c->run_before, "run_arx", c->run_arx,
                             "ahead", numbers(r->n_horizons, c->ahead), "ahead_persistence",
                             numbers(r->n_horizons, c->ahead_persistence), "ahead_arx",
                             numbers(r->n_horizons, c->ahead_arx))))
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *report_of(const cls_learn_report *r) {
    if (!r) return Py_NewRef(Py_None);
    PyObject *parameters = parameters_of(r), *channels = parameters ? channels_of(r) : NULL;
    if (!channels) {
        Py_XDECREF(parameters);
        return NULL;
    }
    PyObject *better = r->better < 0 ? Py_None : r->better ? Py_True : Py_False;
    return Py_BuildValue("{s:s,s:s,s:N,s:N,s:N,s:n,s:d,s:O}", "choice", r->choice ? r->choice : "",
                         "notes", r->notes ? r->notes : "", "parameters", parameters, "channels",
                         channels, "horizons", numbers(r->n_horizons, r->horizon), "window",
                         (Py_ssize_t)r->window, "time_scale", r->time_scale, "better", better);
}

static PyObject *info_of(const learning *l) {
    const cls_learn_info *i = &l->info;
    return Py_BuildValue(
        "{s:n,s:n,s:n,s:d,s:d,s:d,s:K,s:d,s:s,s:n,s:n,s:d,s:O,s:d,s:n,s:i,s:d,s:d,s:d,s:n,s:s,s:n,"
        "s:O,s:N,s:s,s:s,s:s,s:n,s:n,s:n,s:d,s:s,s:N}",
        "parameters", (Py_ssize_t)i->parameters, "samples", (Py_ssize_t)i->samples,
        "validation_samples", (Py_ssize_t)i->validation_samples, "loss_initial", i->loss_initial,
        "loss", i->loss_final, "loss_validation", i->loss_validation, "iterations",
        (unsigned long long)i->iterations, "seconds", i->seconds, "optimizer", i->optimizer, "rank",
        (Py_ssize_t)i->rank, "null_space", (Py_ssize_t)i->nullity, "condition", i->condition,
        "normalised", i->normalised ? Py_True : Py_False, "kkt", i->kkt, "negative",
        (Py_ssize_t)i->negative, "stopped", i->stopped, "rollout", i->rollout, "rollout_still",
        i->rollout_still, "rollout_fine", i->rollout_parts ? i->rollout_fine : i->rollout,
        "restart", (Py_ssize_t)i->restart, "ended", i->ended, "ended_early",
        (Py_ssize_t)i->ended_early, "isothermal", i->isothermal ? Py_True : Py_False, "terms",
        terms_of(l->identified), "words", l->identified ? cls_identified_words(l->identified) : "",
        "formulas", l->identified ? cls_identified_formulas(l->identified) : "", "notes", i->notes,
        "windows", (Py_ssize_t)i->windows, "runs", (Py_ssize_t)i->runs, "runs_stopped",
        (Py_ssize_t)i->runs_stopped, "runs_after", i->runs_after, "runs_why", i->runs_why, "report",
        report_of(i->report));
}

static int take_tables(learning *l, PyObject *list) {
    l->n = PyTuple_Size(list);
    if (l->n < 0) return 0;
    l->tables = calloc((size_t)l->n + 1, sizeof *l->tables);
    if (!l->tables) PyErr_NoMemory();
    for (Py_ssize_t i = 0; l->tables && i < l->n; i++) {
        PyObject *o = PyTuple_GetItem(list, i);
        if (!PyObject_TypeCheck(o, (PyTypeObject *)core.table)) {
            core_usage("tables are needed");
            return 0;
        }
        l->tables[i] = ((core_table *)o)->table;
    }
    return l->tables != NULL;
}

/* What was learned before: `from` to begin there; a model as the system keeps its other parts. */
static int take_models(learning *l, PyObject *from) {
    if (from != Py_None) {
        if (!PyObject_TypeCheck(from, (PyTypeObject *)core.dynamics) ||
            !((core_dynamics *)from)->model) {
            core_usage("`from` is a model");
            return 0;
        }
        l->options.from = ((core_dynamics *)from)->model;
    }
    l->options.given = l->system->model;
    return 1;
}

/* (horizons, how many tables at the end are for testing) */
static int take_test(learning *l, PyObject *test) {
    PyObject *horizons = PyTuple_GetItem(test, 0);
    Py_ssize_t n = horizons ? PyTuple_Size(horizons) : -1;
    if (n > CLS_MAX_HORIZONS) core_usage("horizon: at most %d times", (int)CLS_MAX_HORIZONS);
    if (n < 0 || n > CLS_MAX_HORIZONS) return 0;
    l->options.n_horizons = (size_t)n;
    for (Py_ssize_t i = 0; i < n; i++)
        l->options.horizon[i] = PyFloat_AsDouble(PyTuple_GetItem(horizons, i));
    l->options.n_test = PyLong_AsSize_t(PyTuple_GetItem(test, 1));
    return !PyErr_Occurred();
}

/* (system, tables, names, unknown, options, from or None, progress or None, test)
 * -> model or None, info, how it was stopped */
PyObject *core_learn(PyObject *type, PyObject *const *args, Py_ssize_t n) {
    learning l = {.options = cls_learn_defaults(), .identify = cls_identify_defaults()};
    PyObject *names = NULL, *unknown = NULL, *result = NULL;
    Py_ssize_t n_names = 0, n_unknown = 0;
    if (n != 8 || !PyObject_TypeCheck(args[0], (PyTypeObject *)core.dynamics))
        return core_usage("_learn takes a system and seven more arguments");
    l.system = (core_dynamics *)args[0];
    l.set = (cls_assignments){l.system->n_set, (const char *const *)l.system->set_names,
                              l.system->set_values, (const char *const *)l.system->set_formulas};
    if (!core_options_set(cls_learn_option_table, args[4], &l.options) ||
        !core_options_set(cls_identify_option_table, args[4], &l.identify) ||
        !take_tables(&l, args[1]))
        return NULL;
    l.names = core_texts(args[2], &n_names, &names);
    const char **parts = l.names ? core_texts(args[3], &n_unknown, &unknown) : NULL;
    if (parts && n_names == l.n && take_models(&l, args[5]) && take_test(&l, args[7])) {
        l.identify.n_unknown = l.options.n_unknown = (size_t)n_unknown;
        l.identify.unknown = l.options.unknown = parts;
        l.qp = l.options.optimizer && !strcmp(l.options.optimizer, "qp");
        l.options.progress = progress;
        l.options.interrupted = interrupted;
        l.options.context = &l;
        l.work = (core_work){.run = learn,
                             .job = &l,
                             .describe = describe,
                             .progress = args[6] == Py_None ? NULL : args[6]};
        core_work_do(&l.work);
        if (core_work_end(&l.work) == 0 && l.status && l.status != CLS_INTERRUPTED)
            core_fail(&l.error);
    } else if (parts && !PyErr_Occurred())
        core_usage("each table has a name");
    if (!PyErr_Occurred() && l.model) {
        PyObject *model = core_dynamics_new((PyTypeObject *)type, NULL, l.model, NULL);
        l.model = NULL;
        if (model) result = Py_BuildValue("(NNi)", model, info_of(&l), l.work.stop);
    } else if (!PyErr_Occurred())
        result = Py_BuildValue("(ONi)", Py_None, info_of(&l), l.work.stop);
    cls_learn_report_free(&l.info.report);
    cls_model_free(&l.model);
    cls_identified_free(&l.identified);
    free(l.tables);
    free(l.names);
    free(parts);
    Py_XDECREF(names);
    Py_XDECREF(unknown);
    return result;
}
