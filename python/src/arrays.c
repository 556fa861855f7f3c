/* Arrays in and out. In: anything with a buffer of C-contiguous doubles is used where it lies; all
 * else goes through numpy once. Out: numpy makes the array, and the results are written into it. */
#include "core.h"
#include <stdlib.h>
#include <string.h>

static int is_double(const Py_buffer *v) {
    return v->itemsize == sizeof(double) && v->format &&
           (!strcmp(v->format, "d") || !strcmp(v->format, "<d") || !strcmp(v->format, "=d"));
}

static int view_of(PyObject *o, Py_buffer *view, int flags) {
    if (PyObject_GetBuffer(o, view, flags) < 0) return 0;
    if (is_double(view)) return 1;
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_TypeError, "expected an array of float64");
    return 0;
}

int core_array_take(PyObject *o, core_array *a) {
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT;
    if (!view_of(o, &a->view, flags)) {
        PyErr_Clear();
        PyObject *copy =
            PyObject_CallFunctionObjArgs(core.numpy_contiguous, o, core.numpy_float64, NULL);
        if (!copy) return 0;
        int fine = view_of(copy, &a->view, flags);
        Py_DECREF(copy); /* the view holds it */
        if (!fine) return 0;
    }
    a->data = a->view.buf;
    a->n = a->view.len / (Py_ssize_t)sizeof(double);
    return 1;
}

int core_array_fill(PyObject *o, core_array *a, double **data) {
    if (!view_of(o, &a->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE)) return 0;
    *data = a->view.buf;
    a->data = *data;
    a->n = a->view.len / (Py_ssize_t)sizeof(double);
    return 1;
}

void core_array_release(core_array *a) {
    PyBuffer_Release(&a->view);
}

PyObject *core_array_new(Py_ssize_t n_dimensions, const Py_ssize_t *shape, double **data) {
    PyObject *size = PyTuple_New(n_dimensions);
    for (Py_ssize_t i = 0; size && i < n_dimensions; i++)
        PyTuple_SetItem(size, i, PyLong_FromSsize_t(shape[i]));
    if (!size || PyErr_Occurred()) {
        Py_XDECREF(size);
        return NULL;
    }
    PyObject *out = PyObject_CallFunctionObjArgs(core.numpy_empty, size, NULL);
    core_array a;
    Py_DECREF(size);
    if (out && !core_array_fill(out, &a, data)) Py_CLEAR(out);
    if (out) core_array_release(&a); /* numpy arrays do not move */
    return out;
}

const char **core_texts(PyObject *sequence, Py_ssize_t *n, PyObject **owner) {
    *owner = PySequence_Tuple(sequence);
    if (!*owner) return NULL;
    *n = PyTuple_Size(*owner);
    const char **out = calloc((size_t)*n + 1, sizeof *out);
    if (!out) PyErr_NoMemory();
    for (Py_ssize_t i = 0; out && i < *n; i++) {
        out[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(*owner, i), NULL);
        if (!out[i]) {
            free(out);
            out = NULL;
        }
    }
    if (!out) Py_CLEAR(*owner);
    return out;
}

int core_assignments_take(PyObject *dict, core_assignments *a) {
    *a = (core_assignments){0};
    if (dict == Py_None) return 1;
    PyObject *items = PyMapping_Items(dict);
    if (!items) return 0;
    a->owner = PySequence_Tuple(items);
    Py_DECREF(items);
    if (!a->owner) return 0;
    Py_ssize_t n = PyTuple_Size(a->owner);
    const char **names = calloc((size_t)n + 1, sizeof *names);
    double *values = calloc((size_t)n + 1, sizeof *values);
    const char **formulas = calloc((size_t)n + 1, sizeof *formulas);
    a->list = (cls_assignments){(size_t)n, names, values, formulas};
    if (!names || !values || !formulas) PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *item = PyTuple_GetItem(a->owner, i);
        PyObject *value = PyTuple_GetItem(item, 1);
        names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(item, 0), NULL);
        if (names[i] && PyUnicode_Check(value))
            formulas[i] = PyUnicode_AsUTF8AndSize(value, NULL);
        else if (names[i])
            values[i] = PyFloat_AsDouble(value);
    }
    if (!PyErr_Occurred()) return 1;
    core_assignments_release(a);
    return 0;
}

void core_assignments_release(core_assignments *a) {
    free((void *)a->list.names);
    free((void *)a->list.values);
    free((void *)a->list.formulas);
    Py_CLEAR(a->owner);
    *a = (core_assignments){0};
}
