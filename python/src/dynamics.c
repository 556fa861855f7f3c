/* A system or a learned model as a Python object: how it is made, what it says of itself, starts.
 * The classes System and Model of the package derive from it. */
#include "core.h"
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

static void drop_set(core_dynamics *self) {
    for (size_t i = 0; i < self->n_set; i++) {
        free(self->set_names[i]);
        free(self->set_formulas[i]);
    }
    self->n_set = 0;
    free(self->set_names);
    free(self->set_values);
    free(self->set_formulas);
}

static int keep_set(core_dynamics *self, const cls_assignments *set) {
    size_t n = set ? set->n : 0;
    self->set_names = calloc(n + 1, sizeof *self->set_names);
    self->set_values = calloc(n + 1, sizeof *self->set_values);
    self->set_formulas = calloc(n + 1, sizeof *self->set_formulas);
    if (!self->set_names || !self->set_values || !self->set_formulas) return 0;
    for (size_t i = 0; i < n; i++) {
        const char *formula = set->formulas ? set->formulas[i] : NULL;
        if (!(self->set_names[i] = strdup(set->names[i]))) return 0;
        if (formula && !(self->set_formulas[i] = strdup(formula))) return 0;
        self->set_values[i] = set->values[i];
        self->n_set = i + 1;
    }
    return 1;
}

PyObject *core_dynamics_new(PyTypeObject *type, cls_system *system, cls_model *model,
                            const cls_assignments *set) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    core_dynamics *self = (core_dynamics *)allocate(type, 0);
    cls_error error = {0};
    if (!self) {
        cls_system_free(&system);
        cls_model_free(&model);
        return NULL;
    }
    pthread_mutex_init(&self->making, NULL);
    self->own = system;
    self->model = model;
    self->system = model ? cls_model_system(model) : system;
    if (!keep_set(self, set))
        PyErr_NoMemory();
    else if (cls_starter_create(self->system, model, &self->starter, &error))
        core_fail(&error);
    if (PyErr_Occurred()) Py_CLEAR(self);
    return (PyObject *)self;
}

/* Waits without the interpreter's lock, which the holder may want. */
void core_dynamics_lock(core_dynamics *self) {
    if (!pthread_mutex_trylock(&self->making)) return;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&self->making);
    Py_END_ALLOW_THREADS
}

void core_dynamics_unlock(core_dynamics *self) {
    pthread_mutex_unlock(&self->making);
}

static void dynamics_free(PyObject *o) {
    core_dynamics *self = (core_dynamics *)o;
    PyTypeObject *type = Py_TYPE(o);
    core_evaluate_clear(self);
    pthread_mutex_destroy(&self->making);
    cls_starter_free(&self->starter);
    cls_system_free(&self->own);
    cls_model_free(&self->model);
    drop_set(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(o);
    Py_DECREF(type);
}

/* load(name or path, {"m": 2} or None) */
static PyObject *load(PyObject *type, PyObject *args) {
    const char *name;
    PyObject *dict, *self = NULL;
    core_assignments set;
    cls_system *system = NULL;
    cls_model *model = NULL;
    cls_error error = {0};
    if (!PyArg_ParseTuple(args, "sO", &name, &dict)) return NULL;
    if (!core_assignments_take(dict, &set)) return NULL;
    if (cls_model_compose(name, &set.list, &system, &model, &error))
        core_fail(&error);
    else
        self = core_dynamics_new((PyTypeObject *)type, system, model, &set.list);
    core_assignments_release(&set);
    return self;
}

/* parse(text, name of the file, {"m": 2} or None) */
static PyObject *parse(PyObject *type, PyObject *args) {
    const char *text, *file;
    PyObject *dict, *self = NULL;
    core_assignments set;
    cls_system *system = NULL;
    cls_error error = {0};
    if (!PyArg_ParseTuple(args, "ssO", &text, &file, &dict)) return NULL;
    if (!core_assignments_take(dict, &set)) return NULL;
    if (cls_system_parse(text, file, &set.list, &system, &error))
        core_fail(&error);
    else
        self = core_dynamics_new((PyTypeObject *)type, system, NULL, &set.list);
    core_assignments_release(&set);
    return self;
}

static PyObject *read_model(PyObject *type, PyObject *path) {
    const char *text = PyUnicode_AsUTF8AndSize(path, NULL);
    cls_model *model = NULL;
    cls_error error = {0};
    if (!text) return NULL;
    if (cls_model_read(text, &model, &error)) return core_fail(&error);
    return core_dynamics_new((PyTypeObject *)type, NULL, model, NULL);
}

/* ---- what it is ---- */

static PyObject *names_of(const cls_system *s, size_t n,
                          const char *(*name)(const cls_system *, size_t)) {
    PyObject *out = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; out && i < n; i++)
        PyTuple_SetItem(out, (Py_ssize_t)i, PyUnicode_FromString(name(s, i)));
    return out;
}

static PyObject *parameters(const cls_system *s) {
    PyObject *out = PyDict_New();
    for (size_t i = 0; out && i < cls_system_parameter_count(s); i++) {
        PyObject *value = PyFloat_FromDouble(cls_system_parameter(s, i));
        if (!value || PyDict_SetItemString(out, cls_system_parameter_name(s, i), value) < 0)
            Py_CLEAR(out);
        Py_XDECREF(value);
    }
    return out;
}

static PyObject *given_set(const core_dynamics *self) {
    PyObject *out = PyDict_New();
    for (size_t i = 0; out && i < self->n_set; i++) {
        PyObject *value = self->set_formulas[i] ? PyUnicode_FromString(self->set_formulas[i])
                                                : PyFloat_FromDouble(self->set_values[i]);
        if (!value || PyDict_SetItemString(out, self->set_names[i], value) < 0) Py_CLEAR(out);
        Py_XDECREF(value);
    }
    return out;
}

static PyObject *facts(PyObject *o, PyObject *unused) {
    const core_dynamics *self = (core_dynamics *)o;
    const cls_system *s = self->system;
    size_t states = cls_system_state_count(s), accounts = cls_system_account_count(s);
    (void)unused;
    return Py_BuildValue(
        "{s:s,s:s,s:s,s:s,s:N,s:N,s:N,s:N,s:N,s:N,s:d,s:d,s:n,s:n,s:n,s:O,s:O,s:s,s:z}", "name",
        cls_system_name(s), "title", cls_system_title(s), "text", cls_system_text(s), "formalism",
        cls_formalism_name(cls_system_formalism(s)), "states",
        names_of(s, states, cls_system_state_name), "variables",
        names_of(s, states - accounts, cls_system_state_name), "columns",
        names_of(s, cls_system_column_count(s), cls_system_column), "inputs",
        names_of(s, cls_system_input_count(s), cls_system_input_name), "parameters", parameters(s),
        "set", given_set(self), "step_size", cls_system_default_step(s), "until",
        cls_system_default_until(s), "coordinates", (Py_ssize_t)cls_system_coordinate_count(s),
        "momenta", (Py_ssize_t)cls_system_momentum_count(s), "entropies",
        (Py_ssize_t)cls_system_entropy_count(s), "has_entropy",
        cls_system_has_entropy(s) ? Py_True : Py_False, "is_model",
        self->model ? Py_True : Py_False, "scheme", cls_scheme_default(s), "data_map",
        cls_system_data_map(s));
}

/* The unit that the system has a column in, or None. */
static PyObject *unit(PyObject *o, PyObject *column) {
    const char *name = PyUnicode_AsUTF8AndSize(column, NULL);
    char text[64];
    if (!name) return NULL;
    if (cls_system_unit(((core_dynamics *)o)->system, name, text))
        return PyUnicode_FromString(text);
    Py_RETURN_NONE;
}

static PyObject *show(PyObject *o, PyObject *what) {
    unsigned long flags = PyLong_AsUnsignedLong(what);
    char *text = NULL;
    cls_error error = {0};
    if (PyErr_Occurred()) return NULL;
    if (cls_system_show(((core_dynamics *)o)->system, (unsigned)flags, &text, &error))
        return core_fail(&error);
    PyObject *out = PyUnicode_FromString(text);
    cls_text_free(&text);
    return out;
}

/* ---- starts ---- */

static PyObject *start(PyObject *o, PyObject *dict) {
    core_dynamics *self = (core_dynamics *)o;
    core_assignments given;
    cls_error error = {0};
    double *state;
    if (!core_assignments_take(dict, &given)) return NULL;
    Py_ssize_t n = (Py_ssize_t)cls_system_state_count(self->system);
    PyObject *out = core_array_new(1, &n, &state);
    if (out && cls_starter_state(self->starter, &given.list, state, &error)) {
        Py_CLEAR(out);
        core_fail(&error);
    }
    core_assignments_release(&given);
    return out;
}

/* start_row(table, row or -1 for the last, name) -> time, state */
static PyObject *start_row(PyObject *o, PyObject *args) {
    core_dynamics *self = (core_dynamics *)o;
    PyObject *table;
    Py_ssize_t row;
    const char *name;
    double time = 0, *state;
    cls_error error = {0};
    if (!PyArg_ParseTuple(args, "O!ns", core.table, &table, &row, &name)) return NULL;
    Py_ssize_t n = (Py_ssize_t)cls_system_state_count(self->system);
    PyObject *out = core_array_new(1, &n, &state);
    if (!out) return NULL;
    if (!cls_start_from_data(self->system, self->starter, ((core_table *)table)->table,
                             row < 0 ? SIZE_MAX : (size_t)row, name, &time, state, NULL, &error))
        return Py_BuildValue("(dN)", time, out);
    Py_DECREF(out);
    return core_fail(&error);
}

static PyObject *applies(PyObject *o, PyObject *name) {
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    cls_error error = {0};
    if (!text) return NULL;
    if (!cls_scheme_find(text))
        return core_usage("there is no scheme '%s': see clausius.schemes()", text);
    if (cls_scheme_applies(text, ((core_dynamics *)o)->system, &error)) return core_fail(&error);
    Py_RETURN_NONE;
}

/* ---- of models only ---- */

static cls_model *model_of(PyObject *o) {
    cls_model *m = ((core_dynamics *)o)->model;
    if (!m) core_usage("this is a system, and nothing of it was learned");
    return m;
}

static PyObject *theta(PyObject *o, PyObject *unused) {
    const cls_model *m = model_of(o);
    double *data;
    (void)unused;
    if (!m) return NULL;
    Py_ssize_t n = (Py_ssize_t)cls_model_parameter_count(m);
    PyObject *out = core_array_new(1, &n, &data);
    if (out) memcpy(data, cls_model_parameters(m), (size_t)n * sizeof *data);
    return out;
}

static PyObject *write_model(PyObject *o, PyObject *path) {
    const cls_model *m = model_of(o);
    const char *text = m ? PyUnicode_AsUTF8AndSize(path, NULL) : NULL;
    cls_error error = {0};
    if (!text) return NULL;
    if (cls_model_write(m, text, &error)) return core_fail(&error);
    Py_RETURN_NONE;
}

/* Other values for parameters that what was learned does not depend on; for a model that nobody
 * else has yet. */
static PyObject *assign(PyObject *o, PyObject *dict) {
    core_dynamics *self = (core_dynamics *)o;
    cls_model *m = model_of(o);
    core_assignments set;
    cls_error error = {0};
    if (!m || !core_assignments_take(dict, &set)) return NULL;
    core_evaluate_clear(self);
    cls_starter_free(&self->starter);
    cls_status status = cls_model_set(m, &set.list, &error);
    self->system = cls_model_system(m);
    if (!status) status = cls_starter_create(NULL, m, &self->starter, &error);
    drop_set(self);
    int kept = keep_set(self, &set.list);
    core_assignments_release(&set);
    if (status) return core_fail(&error);
    if (!kept) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* [(part, term)] of the parameters */
static PyObject *terms(PyObject *o, PyObject *unused) {
    const cls_model *m = model_of(o);
    cls_error error = {0};
    char text[512];
    const char *part;
    (void)unused;
    PyObject *out = m ? PyList_New(0) : NULL;
    for (size_t i = 0; out && i < cls_model_parameter_count(m); i++) {
        if (cls_model_parameter_name(m, i, &part, sizeof text, text, &error)) {
            Py_DECREF(out);
            return core_fail(&error);
        }
        PyObject *item = Py_BuildValue("(ss)", part, text);
        if (!item || PyList_Append(out, item) < 0) Py_CLEAR(out);
        Py_XDECREF(item);
    }
    return out;
}

/* How many values the data allow as well were learned (0: they are drawn), or None. */
static PyObject *members(PyObject *o, PyObject *unused) {
    const cls_model *m = model_of(o);
    (void)unused;
    if (!m) return NULL;
    if (!cls_model_doubt_count(m)) Py_RETURN_NONE;
    return PyLong_FromSize_t(cls_model_member_count(m));
}

/* {parameter: value} that the data allow as well as those learned */
static PyObject *member(PyObject *o, PyObject *number) {
    const cls_model *m = model_of(o);
    unsigned long long k = m ? PyLong_AsUnsignedLongLong(number) : 0;
    cls_error error = {0};
    if (!m || PyErr_Occurred()) return NULL;
    size_t n = cls_model_doubt_count(m);
    const char **names = calloc(n + 1, sizeof *names);
    double *values = calloc(n + 1, sizeof *values);
    PyObject *out = NULL;
    if (!names || !values)
        PyErr_NoMemory();
    else if (cls_model_member(m, k, names, values, &error))
        core_fail(&error);
    else
        out = PyDict_New();
    for (size_t i = 0; out && i < n; i++) {
        PyObject *value = PyFloat_FromDouble(values[i]);
        if (!value || PyDict_SetItemString(out, names[i], value) < 0) Py_CLEAR(out);
        Py_XDECREF(value);
    }
    free(names);
    free(values);
    return out;
}

static PyObject *model_text(PyObject *o, PyObject *unused) {
    const cls_model *m = model_of(o);
    char *text = NULL;
    cls_error error = {0};
    (void)unused;
    if (!m) return NULL;
    if (cls_model_show(m, &text, &error)) return core_fail(&error);
    PyObject *out = PyUnicode_FromString(text);
    cls_text_free(&text);
    return out;
}

static PyObject *extract(PyObject *o, PyObject *args) {
    const char *component, *path;
    const cls_model *m = model_of(o);
    cls_error error = {0};
    if (!m || !PyArg_ParseTuple(args, "ss", &component, &path)) return NULL;
    if (cls_model_extract(m, component, path, &error)) return core_fail(&error);
    Py_RETURN_NONE;
}

/* outside(states (n, state count)): how many leave the range of the data, and where the first one
 * does so most: (rows, first, part, input, value, low, high), or None. */
static PyObject *outside(PyObject *o, PyObject *states) {
    const cls_model *m = model_of(o);
    core_array a;
    cls_range *range = NULL;
    cls_error error = {0};
    cls_outside here, first = {0};
    if (!m || !core_array_take(states, &a)) return NULL;
    Py_ssize_t width = (Py_ssize_t)cls_system_state_count(cls_model_system(m)), rows = 0, at = -1;
    if (cls_range_create(m, &range, &error)) {
        core_array_release(&a);
        return core_fail(&error);
    }
    for (Py_ssize_t i = 0; i < a.n / width; i++)
        if (cls_range_check(range, a.data + i * width, &here)) {
            if (!rows++) first = here, at = i;
        }
    cls_range_free(&range);
    core_array_release(&a);
    if (!rows) Py_RETURN_NONE;
    return Py_BuildValue("(nnssddd)", rows, at, first.part, first.input, first.value, first.low,
                         first.high);
}

static PyMethodDef methods[] = {
    {"_load", load, METH_VARARGS | METH_CLASS, "a built-in system, or that of a file"},
    {"_parse", parse, METH_VARARGS | METH_CLASS, "a system from its text"},
    {"_read", read_model, METH_O | METH_CLASS, "a model file"},
    {"_learn", (PyCFunction)(void (*)(void))core_learn, METH_FASTCALL | METH_CLASS,
     "a model from data"},
    {"_facts", facts, METH_NOARGS, "what it is, as a dict"},
    {"_unit", unit, METH_O, "the unit of a column"},
    {"_show", show, METH_O, "as text"},
    {"_start", start, METH_O, "a complete start"},
    {"_start_row", start_row, METH_VARARGS, "a start from a row of a table"},
    {"_applies", applies, METH_O, "raises when a scheme makes no sense here"},
    {"_simulate", (PyCFunction)(void (*)(void))core_simulate, METH_FASTCALL, "one motion"},
    {"_follow", (PyCFunction)(void (*)(void))core_follow, METH_FASTCALL, "beside measurements"},
    {"_ensemble", (PyCFunction)(void (*)(void))core_ensemble, METH_FASTCALL, "many motions"},
    {"_audit", (PyCFunction)(void (*)(void))core_audit, METH_FASTCALL, "the laws along a motion"},
    {"energy", (PyCFunction)(void (*)(void))core_energy, METH_FASTCALL,
     "energy(states, t=0)\n\nThe energy at states (..., state variables); a float for one state."},
    {"entropy", (PyCFunction)(void (*)(void))core_entropy, METH_FASTCALL,
     "entropy(states, t=0)\n\nThe entropy at states (..., state variables); a float for one "
     "state."},
    {"rates", (PyCFunction)(void (*)(void))core_rates, METH_FASTCALL,
     "rates(states, t=0)\n\nThe rates of the motion in continuous time, of the shape of the "
     "states."},
    {"jacobian", (PyCFunction)(void (*)(void))core_jacobian, METH_FASTCALL,
     "jacobian(states, t=0)\n\nThe derivatives of the rates, (..., state variables, state "
     "variables)."},
    {"_step", (PyCFunction)(void (*)(void))core_step, METH_FASTCALL, "a step, or its derivatives"},
    {"_shoot", (PyCFunction)(void (*)(void))core_shoot, METH_FASTCALL, "loss and gradients"},
    {"_export", core_export, METH_VARARGS, "as C or JavaScript"},
    {"_theta", theta, METH_NOARGS, "the learned parameters"},
    {"_assign", assign, METH_O, "other values of parameters that were not learned"},
    {"_terms", terms, METH_NOARGS, "what the parameters belong to"},
    {"_members", members, METH_NOARGS, "how many members were learned"},
    {"_member", member, METH_O, "values that the data allow as well"},
    {"_write", write_model, METH_O, "the model as a file"},
    {"_model_text", model_text, METH_NOARGS, "what was learned"},
    {"_extract", extract, METH_VARARGS, "a learned component alone in a file"},
    {"_invariants", core_invariants, METH_VARARGS, "laws that are not declared"},
    {"_formulas", core_formulas, METH_VARARGS, "short formulas for what was learned"},
    {"_outside", outside, METH_O, "where states leave the range of the data"},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, dynamics_free},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void *)"a system or a learned model"},
    {0},
};
static PyType_Spec spec = {
    "clausius._core.Dynamics", sizeof(core_dynamics), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

int core_dynamics_type(PyObject *module) {
    core.dynamics = PyType_FromModuleAndSpec(module, &spec, NULL);
    return core.dynamics ? PyModule_AddObjectRef(module, "Dynamics", core.dynamics) : -1;
}
