/* What leaves: a system or a model as C, as JavaScript, as an FMU, a page about it. */
#include "core.h"
#include <stdlib.h>

/* (target, path, scheme or None, h, prefix or None, source, parameters or None, FMI version,
 * platforms or None) -> prefix, scheme, files, bytes, binaries */
PyObject *core_export(PyObject *o, PyObject *args) {
    core_dynamics *self = (core_dynamics *)o;
    cls_export_options options = cls_export_defaults();
    cls_export_info info = {0};
    cls_error error = {0};
    const char *target, *path;
    if (!PyArg_ParseTuple(args, "sszdzzziz", &target, &path, &options.scheme, &options.h,
                          &options.prefix, &options.source, &options.parameters, &options.fmi,
                          &options.platforms))
        return NULL;
    core_dynamics_lock(self);
    cls_status status =
        cls_export(target, self->system, self->model, &options, path, &info, &error);
    core_dynamics_unlock(self);
    if (status) return core_fail(&error);
    return Py_BuildValue("(ssnni)", info.prefix, info.scheme, (Py_ssize_t)info.files,
                         (Py_ssize_t)info.bytes, info.binaries);
}

/* (name, path, tables, names, title or None) */
PyObject *core_report(PyObject *o, PyObject *args) {
    core_dynamics *self = (core_dynamics *)o;
    cls_report_options options = cls_report_defaults();
    cls_report_subject subject = {.system = self->system, .model = self->model};
    cls_error error = {0};
    const char *path;
    PyObject *tables, *name_list, *owner = NULL;
    Py_ssize_t n = 0;
    if (!PyArg_ParseTuple(args, "ssO!Oz", &subject.name, &path, &PyTuple_Type, &tables, &name_list,
                          &options.title))
        return NULL;
    const char **names = core_texts(name_list, &n, &owner);
    const cls_table **data = names ? calloc((size_t)n + 1, sizeof *data) : NULL;
    if (names && !data) PyErr_NoMemory();
    for (Py_ssize_t i = 0; data && i < n; i++) {
        PyObject *t = PyTuple_GetItem(tables, i);
        if (!t || !PyObject_TypeCheck(t, (PyTypeObject *)core.table)) {
            if (!PyErr_Occurred()) core_usage("tables are needed");
            break;
        }
        data[i] = ((core_table *)t)->table;
    }
    if (!PyErr_Occurred()) {
        core_dynamics_lock(self);
        cls_status status =
            cls_report_write(1, &subject, (size_t)n, data, names, &options, path, &error);
        core_dynamics_unlock(self);
        if (status) core_fail(&error);
    }
    free(data);
    free(names);
    Py_XDECREF(owner);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}
