/* Tables of numbers, in both directions without a copy: a table lends its columns to numpy, and a
 * table can be made over columns that numpy has. */
#include "core.h"
#include <stdlib.h>

/* ---- a column that numpy may look at ---- */

typedef struct column {
    PyObject_HEAD PyObject *owner;
    double *data;
    Py_ssize_t n, stride;
} column;

static int column_buffer(PyObject *self, Py_buffer *view, int flags) {
    column *c = (column *)self;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "columns of a table are read only");
        return -1;
    }
    *view = (Py_buffer){.buf = c->data,
                        .obj = Py_NewRef(self),
                        .len = c->n * (Py_ssize_t)sizeof(double),
                        .readonly = 1,
                        .itemsize = sizeof(double),
                        .format = flags & PyBUF_FORMAT ? (char *)"d" : NULL,
                        .ndim = 1,
                        .shape = flags & PyBUF_ND ? &c->n : NULL,
                        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &c->stride : NULL};
    return 0;
}

static void column_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((column *)self)->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot column_slots[] = {
    {Py_tp_dealloc, column_free},
    {Py_bf_getbuffer, column_buffer},
    {Py_tp_doc, (void *)"numbers of a table, for numpy.asarray"},
    {0},
};
static PyType_Spec column_spec = {"clausius._core.Column", sizeof(column), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  column_slots};

static PyObject *column_new(PyObject *owner, const double *data, size_t n) {
    static double nothing;
    column *c = PyObject_New(column, (PyTypeObject *)core.column);
    if (!c) return NULL;
    c->owner = Py_NewRef(owner);
    c->data = n ? (double *)data : &nothing;
    c->n = (Py_ssize_t)n;
    c->stride = sizeof(double);
    return (PyObject *)c;
}

/* ---- tables ---- */

static PyObject *wrap(PyTypeObject *type, cls_table *t) {
    core_table *self = PyObject_New(core_table, type);
    if (!self) {
        cls_table_free(&t);
        return NULL;
    }
    self->table = t;
    self->owner = NULL;
    self->views = NULL;
    self->n_views = 0;
    return (PyObject *)self;
}

static void table_free(PyObject *o) {
    core_table *self = (core_table *)o;
    PyTypeObject *type = Py_TYPE(o);
    cls_table_free(&self->table);
    for (Py_ssize_t i = 0; i < self->n_views; i++) PyBuffer_Release(&self->views[i]);
    free(self->views);
    Py_XDECREF(self->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

typedef struct reading {
    core_work work;
    const char *path;
    cls_read_options options;
    cls_table *table;
    cls_error error;
    cls_status status;
} reading;

static int stop_reading(void *owner) {
    return core_work_check(owner);
}

static void read_file(core_work *w) {
    reading *r = w->job;
    r->status = cls_table_read_with(r->path, &r->options, &r->table, &r->error);
}

/* read(path, columns or None, map or None, dt, array or None, drop, system or None) */
static PyObject *table_read(PyObject *type, PyObject *args) {
    reading r = {.options = cls_read_defaults()};
    PyObject *system;
    if (!PyArg_ParseTuple(args, "szzdzpO", &r.path, &r.options.columns, &r.options.map,
                          &r.options.dt, &r.options.array, &r.options.drop_missing, &system))
        return NULL;
    if (system != Py_None) {
        if (!PyObject_TypeCheck(system, (PyTypeObject *)core.dynamics))
            return core_usage("system is a System or a Model");
        r.options.system = ((core_dynamics *)system)->system;
    }
    r.work = (core_work){.run = read_file, .job = &r};
    r.options.stop = stop_reading;
    r.options.context = &r.work;
    core_work_do(&r.work);
    if (!r.status) return wrap((PyTypeObject *)type, r.table);
    if (r.status != CLS_INTERRUPTED) return core_fail(&r.error);
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return NULL;
}

/* borrow(names, columns): nothing is copied; the table holds the columns. */
static PyObject *table_borrow(PyObject *type, PyObject *args) {
    PyObject *name_list, *column_list, *owner = NULL;
    Py_ssize_t n = 0, rows = 0;
    cls_table *t = NULL;
    cls_error error = {0};
    if (!PyArg_ParseTuple(args, "OO", &name_list, &column_list)) return NULL;
    const char **names = core_texts(name_list, &n, &owner);
    if (!names) return NULL;
    Py_buffer *views = calloc((size_t)n + 1, sizeof *views);
    const double **data = calloc((size_t)n + 1, sizeof *data);
    Py_ssize_t taken = 0;
    if (!views || !data) PyErr_NoMemory();
    for (; taken < n && !PyErr_Occurred(); taken++) {
        core_array a;
        PyObject *c = PySequence_GetItem(column_list, taken);
        int fine = c && core_array_take(c, &a);
        Py_XDECREF(c);
        if (!fine) break;
        views[taken] = a.view;
        data[taken] = a.data;
        if (taken && a.n != rows)
            core_usage("column %s has %zd numbers, the others have %zd", names[taken], a.n, rows);
        rows = a.n;
    }
    cls_status status = CLS_OK;
    if (!PyErr_Occurred())
        status = cls_table_borrow((size_t)n, names, (size_t)rows, data, &t, &error);
    if (status) core_fail(&error);
    PyObject *self = PyErr_Occurred() ? NULL : wrap((PyTypeObject *)type, t);
    if (self) {
        ((core_table *)self)->views = views;
        ((core_table *)self)->n_views = n;
    } else {
        for (Py_ssize_t i = 0; i < taken; i++) PyBuffer_Release(&views[i]);
        free(views);
    }
    free(data);
    free(names);
    Py_DECREF(owner);
    return self;
}

static PyObject *table_names(PyObject *o, void *closure) {
    const cls_table *t = ((core_table *)o)->table;
    (void)closure;
    PyObject *out = PyTuple_New((Py_ssize_t)cls_table_columns(t));
    for (size_t i = 0; out && i < cls_table_columns(t); i++)
        PyTuple_SetItem(out, (Py_ssize_t)i, PyUnicode_FromString(cls_table_name(t, i)));
    return out;
}

/* {name: unit} of the columns that have one */
static PyObject *table_units(PyObject *o, void *closure) {
    const cls_table *t = ((core_table *)o)->table;
    (void)closure;
    PyObject *out = PyDict_New();
    for (size_t i = 0; out && i < cls_table_columns(t); i++) {
        const char *unit = cls_table_unit(t, i);
        PyObject *text = unit ? PyUnicode_FromString(unit) : NULL;
        if (unit && (!text || PyDict_SetItemString(out, cls_table_name(t, i), text) < 0))
            Py_CLEAR(out);
        Py_XDECREF(text);
    }
    return out;
}

static PyObject *table_rows(PyObject *o, void *closure) {
    (void)closure;
    return PyLong_FromSize_t(cls_table_rows(((core_table *)o)->table));
}

static PyObject *table_column(PyObject *o, PyObject *name) {
    const cls_table *t = ((core_table *)o)->table;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text) return NULL;
    int k = cls_table_find(t, text);
    if (k < 0) return PyErr_Format(PyExc_KeyError, "%s", text);
    return column_new(o, cls_table_column(t, (size_t)k), cls_table_rows(t));
}

/* What is in the table and what is odd about it: (facts of the time or None, {column: facts}). */
static PyObject *table_inspect(PyObject *o, PyObject *unused) {
    const cls_table *t = ((core_table *)o)->table;
    cls_time_facts f = {0};
    cls_error error = {0};
    (void)unused;
    PyObject *columns = PyDict_New(), *time;
    for (size_t c = 0; columns && c < cls_table_columns(t); c++) {
        cls_column_facts x = {0};
        if (cls_table_inspect_column(t, c, &x, &error)) {
            Py_DECREF(columns);
            return core_fail(&error);
        }
        PyObject *item =
            Py_BuildValue("{s:d,s:d,s:d,s:d,s:d,s:n,s:n,s:d,s:O,s:O,s:z}", "min", x.min, "max",
                          x.max, "mean", x.mean, "noise", x.noise, "quantum", x.quantum, "outliers",
                          (Py_ssize_t)x.outliers, "wraps", (Py_ssize_t)x.wraps, "turn", x.turn,
                          "constant", x.constant ? Py_True : Py_False, "rises",
                          x.rises ? Py_True : Py_False, "unit", cls_table_unit(t, c));
        if (!item || PyDict_SetItemString(columns, cls_table_name(t, c), item) < 0)
            Py_CLEAR(columns);
        Py_XDECREF(item);
    }
    if (!columns) return NULL;
    if (cls_table_inspect_time(t, &f, &error)) {
        Py_DECREF(columns);
        return core_fail(&error);
    }
    if (!f.known)
        time = Py_NewRef(Py_None);
    else
        time = Py_BuildValue("{s:d,s:d,s:{s:d,s:d,s:d},s:d,s:d,s:d,s:n,s:n,s:n,s:n,s:n}", "first",
                             f.first, "last", f.last, "spacing", "min", f.spacing_min, "median",
                             f.spacing, "max", f.spacing_max, "jitter", f.jitter, "widest",
                             f.widest, "widest_after", f.widest_after, "gaps", (Py_ssize_t)f.gaps,
                             "missing_rows", (Py_ssize_t)f.missing, "not_increasing",
                             (Py_ssize_t)f.backwards, "duplicates", (Py_ssize_t)f.duplicates,
                             "trajectories", (Py_ssize_t)f.trajectories);
    return time ? Py_BuildValue("(NN)", time, columns) : (Py_DECREF(columns), NULL);
}

/* What reading did that a user should know. */
static PyObject *table_remarks(PyObject *o, void *closure) {
    const cls_table *t = ((core_table *)o)->table;
    (void)closure;
    PyObject *out = PyTuple_New((Py_ssize_t)cls_table_remark_count(t));
    for (size_t i = 0; out && i < cls_table_remark_count(t); i++)
        PyTuple_SetItem(out, (Py_ssize_t)i, PyUnicode_FromString(cls_table_remark(t, i)));
    return out;
}

static PyObject *table_notes(PyObject *o, void *closure) {
    const cls_table *t = ((core_table *)o)->table;
    (void)closure;
    PyObject *out = PyDict_New();
    for (size_t i = 0; out && i < cls_table_note_count(t); i++) {
        const char *key = cls_table_note_key(t, i);
        PyObject *value = PyUnicode_FromString(cls_table_note(t, key));
        if (!value || PyDict_SetItemString(out, key, value) < 0) Py_CLEAR(out);
        Py_XDECREF(value);
    }
    return out;
}

static PyObject *table_set_unit(PyObject *o, PyObject *args) {
    cls_table *t = ((core_table *)o)->table;
    const char *name, *unit;
    cls_error error = {0};
    if (!PyArg_ParseTuple(args, "ss", &name, &unit)) return NULL;
    int k = cls_table_find(t, name);
    if (k < 0) return PyErr_Format(PyExc_KeyError, "%s", name);
    if (cls_table_set_unit(t, (size_t)k, unit, &error)) return core_fail(&error);
    Py_RETURN_NONE;
}

static PyObject *table_set_note(PyObject *o, PyObject *args) {
    const char *key, *value;
    cls_error error = {0};
    if (!PyArg_ParseTuple(args, "ss", &key, &value)) return NULL;
    if (cls_table_set_note(((core_table *)o)->table, key, value, &error)) return core_fail(&error);
    Py_RETURN_NONE;
}

static PyObject *table_write(PyObject *o, PyObject *path) {
    const char *text = PyUnicode_AsUTF8AndSize(path, NULL);
    cls_error error = {0};
    cls_status status;
    if (!text) return NULL;
    Py_BEGIN_ALLOW_THREADS status = cls_table_write(((core_table *)o)->table, text, &error);
    Py_END_ALLOW_THREADS if (status) return core_fail(&error);
    Py_RETURN_NONE;
}

/* compare(other, names) -> [(column, mae, max, rmse, time of max)], rows compared */
static PyObject *table_compare(PyObject *o, PyObject *args) {
    PyObject *other, *name_list, *owner = NULL, *out = NULL;
    Py_ssize_t n_names = 0;
    if (!PyArg_ParseTuple(args, "O!O", core.table, &other, &name_list)) return NULL;
    const cls_table *a = ((core_table *)o)->table, *b = ((core_table *)other)->table;
    const char **names = core_texts(name_list, &n_names, &owner);
    cls_difference *found = calloc(cls_table_columns(a) + 1, sizeof *found);
    size_t n = 0, rows = 0;
    cls_error error = {0};
    if (names && !found) PyErr_NoMemory();
    if (names && found) {
        if (cls_table_compare(a, b, (size_t)n_names, names, found, &n, &rows, &error))
            core_fail(&error);
        else
            out = PyList_New(0);
    }
    for (size_t i = 0; out && i < n; i++) {
        PyObject *item = Py_BuildValue("(sdddd)", found[i].column, found[i].mae, found[i].max,
                                       found[i].rmse, found[i].time_of_max);
        if (!item || PyList_Append(out, item) < 0) Py_CLEAR(out);
        Py_XDECREF(item);
    }
    free(names);
    free(found);
    Py_XDECREF(owner);
    return out ? Py_BuildValue("(Nn)", out, (Py_ssize_t)rows) : NULL;
}

/* (name, from) -> the text of a system with these columns */
static PyObject *table_draft(PyObject *self, PyObject *args) {
    const char *name, *from;
    char *text = NULL;
    cls_error error = {0};
    if (!PyArg_ParseTuple(args, "ss", &name, &from)) return NULL;
    if (cls_draft(((core_table *)self)->table, name, from, NULL, &text, &error))
        return core_fail(&error);
    PyObject *out = PyUnicode_FromString(text);
    cls_text_free(&text);
    return out;
}

static PyMethodDef table_methods[] = {
    {"read", table_read, METH_VARARGS | METH_CLASS, "the table of a file"},
    {"borrow", table_borrow, METH_VARARGS | METH_CLASS, "a table over columns, without a copy"},
    {"column", table_column, METH_O, "a column by name, for numpy.asarray"},
    {"inspect", table_inspect, METH_NOARGS, "what is in it and what is odd about it"},
    {"draft", table_draft, METH_VARARGS, "the text of a system with these columns"},
    {"set_unit", table_set_unit, METH_VARARGS, "the unit of a column"},
    {"set_note", table_set_note, METH_VARARGS, "sets a note"},
    {"write", table_write, METH_O, "as a file"},
    {"compare", table_compare, METH_VARARGS, "differences to another table"},
    {0},
};
static PyGetSetDef table_getters[] = {
    {"names", table_names, NULL, "names of the columns", NULL},
    {"rows", table_rows, NULL, "how many rows there are", NULL},
    {"units", table_units, NULL, "{column: unit} where one is known", NULL},
    {"remarks", table_remarks, NULL, "what reading did that one should know", NULL},
    {"notes", table_notes, NULL, "the notes of the file", NULL},
    {0},
};
static PyType_Slot table_slots[] = {
    {Py_tp_dealloc, table_free},
    {Py_tp_methods, table_methods},
    {Py_tp_getset, table_getters},
    {Py_tp_doc, (void *)"named columns of numbers"},
    {0},
};
static PyType_Spec table_spec = {"clausius._core.Table", sizeof(core_table), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 table_slots};

int core_table_type(PyObject *module) {
    core.column = PyType_FromModuleAndSpec(module, &column_spec, NULL);
    core.table = PyType_FromModuleAndSpec(module, &table_spec, NULL);
    if (!core.column || !core.table) return -1;
    return PyModule_AddObjectRef(module, "Table", core.table);
}
