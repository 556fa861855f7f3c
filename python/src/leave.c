/* What leaves: a system or a model as C, as JavaScript, as an FMU, a page about it. */
#include "core.h"
#include <stdlib.h>

/* (target, path, scheme or None, h, prefix or None, source, parameters or None, FMI version,
 * platforms or None, start or None) -> prefix, scheme, files, bytes, binaries */
PyObject *core_export(PyObject *o, PyObject *args) {
    core_dynamics *self = (core_dynamics *)o;
    cls_export_options options = cls_export_defaults();
    cls_export_info info = {0};
    cls_error error = {0};
    const char *target, *path;
    PyObject *start;
    core_array state;
    if (!PyArg_ParseTuple(args, "sszdzzzizO", &target, &path, &options.scheme, &options.h,
                          &options.prefix, &options.source, &options.parameters, &options.fmi,
                          &options.platforms, &start))
        return NULL;
    if (start != Py_None) {
        if (!core_array_take(start, &state)) return NULL;
        options.start = state.data;
    }
    core_dynamics_lock(self);
    cls_status status =
        cls_export(target, self->system, self->model, &options, path, &info, &error);
    core_dynamics_unlock(self);
    if (options.start) core_array_release(&state);
    if (status) return core_fail(&error);
    return Py_BuildValue("(ssnni)", info.prefix, info.scheme, (Py_ssize_t)info.files,
                         (Py_ssize_t)info.bytes, info.binaries);
}

/* ---- the page ---- */

typedef struct page {
    core_work work;
    const char *path; /* NULL: its numbers as JSON */
    cls_report_options options;
    char *json;
    cls_status status;
    cls_error error;
    size_t n, n_data;
    cls_report_subject *subjects;
    core_dynamics **owners;
    core_array *starts;
    const char **names; /* of the data */
    const cls_table **data;
    PyObject *owner; /* of the names */
} page;

/* [(name, dynamics, state or None)] */
static int take_subjects(page *p, PyObject *list) {
    p->n = (size_t)PyTuple_Size(list);
    p->subjects = calloc(p->n + 1, sizeof *p->subjects);
    p->owners = calloc(p->n + 1, sizeof *p->owners);
    p->starts = calloc(p->n + 1, sizeof *p->starts);
    if (!p->subjects || !p->owners || !p->starts) return PyErr_NoMemory(), 0;
    for (size_t i = 0; i < p->n; i++) {
        PyObject *item = PyTuple_GetItem(list, (Py_ssize_t)i), *subject, *start;
        cls_report_subject *s = &p->subjects[i];
        if (!PyArg_ParseTuple(item, "sO!O", &s->name, core.dynamics, &subject, &start)) return 0;
        p->owners[i] = (core_dynamics *)subject;
        s->system = p->owners[i]->system;
        s->model = p->owners[i]->model;
        if (start == Py_None) continue;
        if (!core_array_take(start, &p->starts[i])) return 0;
        s->start = p->starts[i].data;
    }
    return 1;
}

static int take_data(page *p, PyObject *tables, PyObject *names) {
    Py_ssize_t n = 0;
    p->names = core_texts(names, &n, &p->owner);
    p->data = p->names ? calloc((size_t)n + 1, sizeof *p->data) : NULL;
    if (p->names && !p->data) PyErr_NoMemory();
    for (Py_ssize_t i = 0; p->data && i < n; i++) {
        PyObject *t = PyTuple_GetItem(tables, i);
        if (!t || !PyObject_TypeCheck(t, (PyTypeObject *)core.table)) {
            if (!PyErr_Occurred()) core_usage("tables are needed");
            return 0;
        }
        p->data[i] = ((core_table *)t)->table;
    }
    p->n_data = (size_t)n;
    return p->data != NULL;
}

/* The owner with the lowest address above `last`: one order for all threads, and each once. */
static core_dynamics *next_owner(const page *p, const core_dynamics *last) {
    core_dynamics *next = NULL;
    for (size_t i = 0; i < p->n; i++)
        if ((uintptr_t)p->owners[i] > (uintptr_t)last &&
            (!next || (uintptr_t)p->owners[i] < (uintptr_t)next))
            next = p->owners[i];
    return next;
}

static void page_free(page *p) {
    for (size_t i = 0; p->starts && i < p->n; i++)
        if (p->starts[i].data) core_array_release(&p->starts[i]);
    free(p->subjects);
    free(p->owners);
    free(p->starts);
    free(p->data);
    free(p->names);
    Py_XDECREF(p->owner);
}

static void write_page(core_work *w) {
    page *p = w->job;
    p->status = p->path ? cls_report_write(p->n, p->subjects, p->n_data, p->data, p->names,
                                           &p->options, p->path, &p->error)
                        : cls_report_json(p->n, p->subjects, p->n_data, p->data, p->names,
                                          &p->options, &p->json, &p->error);
}

/* (subjects, path or None, tables, names, title or None): without a path its numbers as JSON */
PyObject *core_report(PyObject *self, PyObject *args) {
    page p = {.options = cls_report_defaults()};
    PyObject *subjects, *tables, *names, *out = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!zO!Oz", &PyTuple_Type, &subjects, &p.path, &PyTuple_Type,
                          &tables, &names, &p.options.title))
        return NULL;
    if (take_subjects(&p, subjects) && take_data(&p, tables, names)) {
        p.work = (core_work){.run = write_page, .job = &p};
        for (core_dynamics *at = NULL; (at = next_owner(&p, at));) core_dynamics_lock(at);
        core_work_do(&p.work);
        for (core_dynamics *at = NULL; (at = next_owner(&p, at));) core_dynamics_unlock(at);
        if (p.status)
            core_fail(&p.error);
        else
            out = p.json ? PyUnicode_FromString(p.json) : Py_NewRef(Py_None);
        cls_text_free(&p.json);
    }
    page_free(&p);
    return out;
}
