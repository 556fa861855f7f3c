/* Laws that are not declared and short formulas for what was learned, as Python objects. Both take
 * seconds at most and run without the interpreter's lock. */
#include "core.h"
#include <clausius/formulas.h>
#include <clausius/invariants.h>
#include <stdlib.h>

static PyObject *text_of(char **text) {
    PyObject *out = PyUnicode_FromString(*text);
    cls_text_free(text);
    return out;
}

/* Takes over `item`; 0: an exception is set. */
static int append(PyObject *list, PyObject *item) {
    int good = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return good;
}

/* ---- invariants ---- */

typedef struct search {
    core_work work;
    core_dynamics *self;
    cls_invariants_options options;
    cls_invariants *found;
    cls_status status;
    cls_error error;
} search;

static void find_laws(core_work *w) {
    search *s = w->job;
    s->status = cls_invariants_find(s->self->model ? NULL : s->self->system, s->self->model,
                                    &s->options, &s->found, &s->error);
}

static PyObject *laws(const cls_invariants *found) {
    char *text = NULL;
    cls_error error = {0};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < cls_invariants_count(found); i++) {
        const cls_found *f = cls_invariants_at(found, i);
        if (!append(list,
                    Py_BuildValue("(sssssOOddd)", cls_found_kind_name(f->kind), f->formula, f->name,
                                  f->why, f->fixed_by, f->open ? Py_True : Py_False,
                                  f->exact ? Py_True : Py_False, f->digits, f->rate, f->drift)))
            Py_CLEAR(list);
    }
    if (!list) return NULL;
    if (cls_invariants_show(found, &text, &error)) {
        Py_DECREF(list);
        return core_fail(&error);
    }
    return Py_BuildValue("(NnN)", list, (Py_ssize_t)cls_invariants_states(found), text_of(&text));
}

/* (states (n, state count) or None, seed, scheme or None, h) -> [facts of one], states tried, text */
PyObject *core_invariants(PyObject *o, PyObject *args) {
    search s = {.self = (core_dynamics *)o, .options = cls_invariants_defaults()};
    unsigned long long seed;
    PyObject *states, *out = NULL;
    core_array a = {0};
    if (!PyArg_ParseTuple(args, "OKzd", &states, &seed, &s.options.scheme, &s.options.h))
        return NULL;
    s.options.seed = seed;
    if (states != Py_None) {
        if (!core_array_take(states, &a)) return NULL;
        s.options.stride = cls_system_state_count(s.self->system);
        s.options.states = a.data;
        s.options.n_states = (size_t)a.n / s.options.stride;
    }
    s.work = (core_work){.run = find_laws, .job = &s};
    core_dynamics_lock(s.self);
    core_work_do(&s.work);
    core_dynamics_unlock(s.self);
    if (a.data) core_array_release(&a);
    out = s.status ? core_fail(&s.error) : laws(s.found);
    cls_invariants_free(&s.found);
    return out;
}

/* ---- formulas ---- */

typedef struct distillation {
    core_work work;
    core_dynamics *self;
    cls_formulas_options options;
    cls_formulas *found;
    cls_status status;
    cls_error error;
} distillation;

static void find_formulas(core_work *w) {
    distillation *d = w->job;
    d->status = cls_formulas_find(d->self->model, &d->options, &d->found, &d->error);
}

static PyObject *formula(const cls_formula *f) {
    PyObject *terms = PyList_New(0), *steps = PyList_New(0);
    int good = terms && steps;
    for (size_t i = 0; good && i < f->n_terms; i++) {
        const cls_formula_term *t = &f->terms[i];
        good = append(terms, Py_BuildValue("(sssddd)", t->text, t->name, t->unit, t->value,
                                           t->error, t->price));
    }
    for (size_t i = 0; good && i < f->n_steps; i++) {
        const cls_formula_step *s = &f->steps[i];
        good = append(steps, Py_BuildValue("(nds)", (Py_ssize_t)s->terms, s->error, s->formula));
    }
    if (good)
        return Py_BuildValue("(ssssddNN)", f->part, f->what, f->reason, f->form, f->constant,
                             f->error, terms, steps);
    Py_XDECREF(terms);
    Py_XDECREF(steps);
    return NULL;
}

static PyObject *formulas(const cls_formulas *found) {
    char *text = NULL, *source = NULL;
    cls_error error = {0}, none = {0};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < cls_formulas_count(found); i++)
        if (!append(list, formula(cls_formulas_at(found, i)))) Py_CLEAR(list);
    if (!list) return NULL;
    if (cls_formulas_show(found, &text, &error)) {
        Py_DECREF(list);
        return core_fail(&error);
    }
    /* a part without a formula has no file: the sentence that says so instead */
    if (cls_formulas_source(found, &source, &none) == CLS_OK)
        return Py_BuildValue("(NNONO)", list, text_of(&text),
                             cls_formulas_refitted(found) ? Py_True : Py_False, text_of(&source),
                             Py_None);
    return Py_BuildValue("(NNOOs)", list, text_of(&text),
                         cls_formulas_refitted(found) ? Py_True : Py_False, Py_None, none.message);
}

/* (tables, names, terms, tolerance, seed) -> [facts of one], text, refitted, source, why not */
PyObject *core_formulas(PyObject *o, PyObject *args) {
    distillation d = {.self = (core_dynamics *)o, .options = cls_formulas_defaults()};
    PyObject *tables, *names, *owner = NULL, *out = NULL;
    Py_ssize_t terms, n = 0;
    unsigned long long seed;
    if (!PyArg_ParseTuple(args, "O!OndK", &PyTuple_Type, &tables, &names, &terms,
                          &d.options.tolerance, &seed))
        return NULL;
    const char **texts = core_texts(names, &n, &owner);
    const cls_table **list = texts ? calloc((size_t)n + 1, sizeof *list) : NULL;
    if (texts && !list) PyErr_NoMemory();
    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *t = PyTuple_GetItem(tables, i);
        if (t && PyObject_TypeCheck(t, (PyTypeObject *)core.table))
            list[i] = ((core_table *)t)->table;
        else if (!PyErr_Occurred())
            core_usage("tables are needed");
    }
    if (list && !PyErr_Occurred()) {
        d.options.terms = (size_t)terms;
        d.options.seed = seed;
        d.options.n_tables = (size_t)n;
        d.options.tables = list;
        d.options.names = texts;
        d.work = (core_work){.run = find_formulas, .job = &d};
        core_dynamics_lock(d.self);
        core_work_do(&d.work);
        core_dynamics_unlock(d.self);
        out = d.status ? core_fail(&d.error) : formulas(d.found);
        cls_formulas_free(&d.found);
    }
    free(list);
    free(texts);
    Py_XDECREF(owner);
    return out;
}
