/* Options: the tables of the library (clausius/options.h). From them come the keywords of the Python
 * functions, their defaults, their texts and the stubs. Names are those of the program's flags, with
 * `_` for `-`. */
#include "core.h"
#include <string.h>

/* The name as a keyword. */
static const char *keyword(const cls_option *o, char text[64]) {
    size_t n = 0;
    for (; o->name[n] && n < 63; n++) text[n] = o->name[n] == '-' ? '_' : o->name[n];
    text[n] = 0;
    return text;
}

/* qp --literal writes no model: it is for the program's comparison with the paper. */
static int is_keyword(const cls_option *o) {
    return strcmp(o->name, "literal") != 0;
}

/* ---- setting ---- */

static int set_number(const cls_option *o, PyObject *value, char *place) {
    if (o->type == CLS_OPTION_REAL) {
        double x = PyFloat_AsDouble(value);
        if (PyErr_Occurred()) return 0;
        memcpy(place, &x, sizeof x);
        return 1;
    }
    PyObject *index = o->type == CLS_OPTION_FLAG ? PyLong_FromLong(PyObject_IsTrue(value))
                                                 : PyNumber_Index(value);
    if (!index) return 0;
    if (o->type == CLS_OPTION_SIZE || o->type == CLS_OPTION_UINT64) {
        uint64_t x = PyLong_AsUnsignedLongLong(index);
        size_t y = (size_t)x;
        if (o->type == CLS_OPTION_SIZE) memcpy(place, &y, sizeof y);
        if (o->type == CLS_OPTION_UINT64) memcpy(place, &x, sizeof x);
    } else {
        int x = (int)PyLong_AsLong(index);
        memcpy(place, &x, sizeof x);
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

int core_options_set(core_rows table, PyObject *dict, void *options) {
    size_t n;
    const cls_option *list = table(&n);
    char name[64];
    for (const cls_option *o = list; o < list + n; o++) {
        PyObject *value =
            is_keyword(o) ? PyDict_GetItemString(dict, keyword(o, name)) : NULL; /* borrowed */
        if (!value) continue;
        char *place = (char *)options + o->offset;
        if (o->type == CLS_OPTION_WORD ? set_text(value, place) : set_number(o, value, place))
            continue;
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s: %s, got %R", keyword(o, name), o->doc, value);
        return 0;
    }
    return 1;
}

/* ---- the tables themselves ---- */

static PyObject *value_at(const cls_option *o, const void *options) {
    double value = cls_option_value(o, options);
    if (o->type == CLS_OPTION_WORD) {
        const char *text;
        memcpy(&text, (const char *)options + o->offset, sizeof text);
        return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
    }
    if (o->type == CLS_OPTION_REAL) return PyFloat_FromDouble(value);
    if (o->type == CLS_OPTION_FLAG) return PyBool_FromLong(value != 0);
    if (o->type == CLS_OPTION_CHOICE && value < 0) return Py_NewRef(Py_None);
    return PyLong_FromDouble(value);
}

/* [(keyword, type, default, text, words or None)] */
static PyObject *describe(core_rows table, const void *options) {
    static const char *const types[] = {"int", "int", "int", "bool", "choice", "float", "str"};
    size_t n;
    const cls_option *list = table(&n);
    PyObject *out = PyList_New(0);
    for (const cls_option *o = list; out && o < list + n; o++) {
        char name[64];
        if (!is_keyword(o)) continue;
        PyObject *value = value_at(o, options);
        PyObject *item = value ? Py_BuildValue("(ssNsz)", keyword(o, name), types[o->type], value,
                                               o->doc, o->words)
                               : NULL;
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
    return Py_BuildValue("{s:N,s:N,s:N,s:N}", "learn", describe(cls_learn_option_table, &learn),
                         "identify", describe(cls_identify_option_table, &identify), "simulate",
                         describe(cls_simulate_option_table, &simulate), "audit",
                         describe(cls_audit_option_table, &audit));
}
