/* The module clausius._core: its types, its functions, its exceptions. */
#include "core.h"
#include <stdarg.h>
#include <stdio.h>

core_module core;

/* Debian's static jansson is not position independent where it names stdin; the linker gives it
 * this one instead (--wrap). The names are the linker's. */
extern FILE *__real_stdin;
FILE *__wrap_stdin __attribute__((visibility("hidden")));

PyObject *core_fail(const cls_error *error) {
    PyObject *exception = PyObject_CallFunction(core.fail, "isii", (int)error->status,
                                                error->message, error->line, error->column);
    if (exception) PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    return NULL;
}

PyObject *core_usage(const char *format, ...) {
    cls_error error = {.status = CLS_USAGE};
    va_list list;
    va_start(list, format);
    PyOS_vsnprintf(error.message, sizeof error.message, format, list);
    va_end(list);
    return core_fail(&error);
}

static PyObject *builtins(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && cls_builtin_name(i); i++) {
        PyObject *item = Py_BuildValue("(ss)", cls_builtin_name(i), cls_builtin_title(i));
        if (!item || PyList_Append(out, item) < 0) Py_CLEAR(out);
        Py_XDECREF(item);
    }
    return out;
}

static PyObject *schemes(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < cls_scheme_count(); i++) {
        const cls_scheme_info *s = cls_scheme_at(i);
        PyObject *item = Py_BuildValue("(ssiOssO)", s->name, s->doc, s->order,
                                       s->implicit ? Py_True : Py_False, s->keeps, s->source,
                                       cls_scheme_is_adaptive(s->name) ? Py_True : Py_False);
        if (!item || PyList_Append(out, item) < 0) Py_CLEAR(out);
        Py_XDECREF(item);
    }
    return out;
}

static PyObject *template_text(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    return PyUnicode_FromString(cls_template_text());
}

/* (from, to or None) -> (factor, divisor, offset) */
static PyObject *convert(PyObject *self, PyObject *args) {
    const char *from, *to;
    double factor, divisor, offset;
    cls_error error = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "sz", &from, &to)) return NULL;
    if (cls_unit_convert(from, to, &factor, &divisor, &offset, &error)) return core_fail(&error);
    return Py_BuildValue("(ddd)", factor, divisor, offset);
}

/* What an exported folder or FMU says of itself. */
static PyObject *show_export(PyObject *self, PyObject *path) {
    const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
    char *text = NULL;
    cls_error error = {0};
    (void)self;
    if (!name) return NULL;
    if (cls_export_show(name, &text, &error)) return core_fail(&error);
    PyObject *out = PyUnicode_FromString(text);
    cls_text_free(&text);
    return out;
}

static PyObject *statuses(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    PyObject *out = PyDict_New(), *value;
#define CORE_STATUS(name, number, text)                                                            \
    value = out ? PyLong_FromLong(number) : NULL;                                                  \
    if (out && (!value || PyDict_SetItemString(out, #name, value) < 0)) Py_CLEAR(out);             \
    Py_XDECREF(value);
    CLS_STATUS_LIST(CORE_STATUS)
    return out;
}

static PyMethodDef functions[] = {
    {"builtins", builtins, METH_NOARGS, "[(name, title)] of the built-in systems"},
    {"schemes", schemes, METH_NOARGS, "[(name, doc, order, implicit, keeps, source, adaptive)]"},
    {"options", core_options_tables, METH_NOARGS, "the tables of options"},
    {"template", template_text, METH_NOARGS, "a commented system file to begin with"},
    {"convert", convert, METH_VARARGS, "from one unit to another"},
    {"show_export", show_export, METH_O, "what an exported folder or FMU is"},
    {"report", core_report, METH_VARARGS, "a page about systems and models"},
    {"statuses", statuses, METH_NOARGS, "{name: number} of the library's statuses"},
    {0},
};

static PyObject *attribute_of(const char *module, const char *name) {
    PyObject *m = PyImport_ImportModule(module);
    PyObject *out = m ? PyObject_GetAttrString(m, name) : NULL;
    Py_XDECREF(m);
    return out;
}

static int fill(PyObject *module) {
    __wrap_stdin = __real_stdin;
    core.numpy_empty = attribute_of("numpy", "empty");
    core.numpy_contiguous = attribute_of("clausius._errors", "contiguous");
    core.numpy_float64 = attribute_of("numpy", "float64");
    core.fail = attribute_of("clausius._errors", "fail");
    if (!core.numpy_empty || !core.numpy_contiguous || !core.numpy_float64 || !core.fail) return -1;
    if (core_work_init()) {
        PyErr_NoMemory();
        return -1;
    }
    if (core_table_type(module) < 0 || core_dynamics_type(module) < 0) return -1;
    return PyModule_AddStringConstant(module, "version", cls_version());
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)fill}, {0}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "clausius._core",
                                 .m_doc = "The C library; use the package clausius.",
                                 .m_methods = functions, .m_slots = slots};

PyMODINIT_FUNC PyInit__core(void); /* what Python looks for */
PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&definition);
}
