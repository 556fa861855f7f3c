/* Rates, Jacobians, energies and entropies of states; steps and their derivatives; the loss of whole
 * trajectories. One state: no thread, no allocation but of the answer. Many: without the lock. */
#include "core.h"
#include <stdlib.h>
#include <string.h>

/* ---- what is made once ---- */

static int make_flow(core_dynamics *self) {
    cls_error error = {0};
    if (self->flow) return 1;
    core_dynamics_lock(self);
    if (!self->flow && !cls_flow_create(self->system, &self->flow, &error) &&
        cls_flow_work_create(self->flow, &self->few, &error))
        cls_flow_free(&self->flow);
    core_dynamics_unlock(self);
    if (!self->flow) core_fail(&error);
    return self->flow != NULL;
}

/* The steps of a scheme; those of the last scheme are kept. */
static const cls_steps *make_steps(core_dynamics *self, PyObject *name) {
    const char *scheme =
        name == Py_None ? cls_scheme_default(self->system) : PyUnicode_AsUTF8AndSize(name, NULL);
    cls_error error = {0};
    if (!scheme) return NULL;
    if (!cls_scheme_find(scheme)) {
        core_usage("there is no scheme '%s': see clausius.schemes()", scheme);
        return NULL;
    }
    core_dynamics_lock(self);
    core_steps *at = self->steps;
    for (; at && strcmp(at->scheme, scheme); at = at->next) {
    }
    if (!at) {
        core_steps *made = calloc(1, sizeof *made);
        if (made && !cls_steps_create(self->model ? NULL : self->system, self->model, scheme,
                                      &made->steps, &error)) {
            made->scheme = cls_scheme_find(scheme)->name; /* lives as long as the library */
            made->next = self->steps;
            self->steps = at = made;
        } else {
            free(made);
        }
    }
    core_dynamics_unlock(self);
    if (at) return at->steps;
    if (error.status)
        core_fail(&error);
    else
        PyErr_NoMemory();
    return NULL;
}

void core_evaluate_clear(core_dynamics *self) {
    cls_flow_work_free(&self->few);
    cls_flow_free(&self->flow);
    while (self->steps) {
        core_steps *next = self->steps->next;
        cls_steps_free(&self->steps->steps);
        free(self->steps);
        self->steps = next;
    }
}

/* ---- states ---- */

/* States as (n, stride); `width` is that of a state without work, with which it may come. */
typedef struct states {
    core_array array;
    size_t n, stride;
} states;

static int take_states(const core_dynamics *self, PyObject *o, size_t width, states *s) {
    if (!core_array_take(o, &s->array)) return 0;
    int d = s->array.view.ndim;
    size_t last = d ? (size_t)s->array.view.shape[d - 1] : 0;
    if (d && (last == width || last == cls_system_state_count(self->system))) {
        s->stride = last;
        s->n = (size_t)s->array.n / last;
        return 1;
    }
    core_array_release(&s->array);
    core_usage("states have %zu numbers in their last dimension, got %zu", width, last);
    return 0;
}

/* An array of the states' shape but for the last dimension, which `n_more` others replace. */
static PyObject *shaped(const states *s, int n_more, const Py_ssize_t *more, double **data) {
    int d = s->array.view.ndim - 1;
    Py_ssize_t shape[32];
    if (d + n_more > 32) return core_usage("too many dimensions");
    for (int i = 0; i < d; i++) shape[i] = s->array.view.shape[i];
    for (int i = 0; i < n_more; i++) shape[d + i] = more[i];
    return core_array_new(d + n_more, shape, data);
}

/* The times of (states, t): NULL for none, else one for each state. */
static int take_times(PyObject *const *args, Py_ssize_t n, size_t n_states, core_array *t,
                      double **one) {
    *one = NULL;
    t->data = NULL;
    if (n < 2 || args[1] == Py_None) return 1;
    if (!core_array_take(args[1], t)) return 0;
    if ((size_t)t->n == n_states) return 1;
    double value = t->n == 1 ? t->data[0] : 0;
    Py_ssize_t given = t->n;
    core_array_release(t);
    t->data = NULL;
    if (given != 1) {
        core_usage("%zd times for %zu states: give one for all, or one for each", given, n_states);
        return 0;
    }
    *one = malloc((n_states + 1) * sizeof **one);
    if (!*one) {
        PyErr_NoMemory();
        return 0;
    }
    for (size_t i = 0; i < n_states; i++) (*one)[i] = value;
    return 1;
}

typedef struct question {
    core_work work;
    const cls_flow *flow;
    cls_flow_work *few; /* not NULL: by this thread alone */
    states states;
    const double *t;
    double *rates, *jacobian, *energy, *entropy;
    cls_status status;
    cls_error error;
} question;

static void answer(core_work *w) {
    question *q = w->job;
    if (q->few && (q->rates || q->jacobian))
        q->status = cls_flow_rates_in(q->flow, q->few, q->states.n, q->states.stride,
                                      q->states.array.data, q->t, q->rates, q->jacobian, &q->error);
    else if (q->few)
        q->status = cls_flow_laws_in(q->flow, q->few, q->states.n, q->states.stride,
                                     q->states.array.data, q->t, q->energy, q->entropy, &q->error);
    else if (q->rates || q->jacobian)
        q->status = cls_flow_rates(q->flow, q->states.n, q->states.stride, q->states.array.data,
                                   q->t, 0, q->rates, q->jacobian, &q->error);
    else
        q->status = cls_flow_laws(q->flow, q->states.n, q->states.stride, q->states.array.data,
                                  q->t, 0, q->energy, q->entropy, &q->error);
}

enum wanted { RATES, JACOBIAN, ENERGY, ENTROPY };

static PyObject *ask(PyObject *o, PyObject *const *args, Py_ssize_t n, enum wanted wanted) {
    core_dynamics *self = (core_dynamics *)o;
    question q = {0};
    core_array t;
    double *data = NULL, *one;
    if (n < 1 || n > 2)
        return PyErr_Format(PyExc_TypeError, "expected states and, if it matters, times");
    if (!make_flow(self)) return NULL;
    q.flow = self->flow;
    size_t nz = cls_flow_count(q.flow);
    Py_ssize_t more[2] = {(Py_ssize_t)nz, (Py_ssize_t)nz};
    if (!take_states(self, args[0], nz, &q.states)) return NULL;
    if (!take_times(args, n, q.states.n, &t, &one)) {
        core_array_release(&q.states.array);
        return NULL;
    }
    q.t = one ? one : t.data;
    PyObject *out = shaped(&q.states,
                           wanted == RATES      ? 1
                           : wanted == JACOBIAN ? 2
                                                : 0,
                           more, &data);
    *(wanted == RATES      ? &q.rates
      : wanted == JACOBIAN ? &q.jacobian
      : wanted == ENERGY   ? &q.energy
                           : &q.entropy) = data;
    if (out) {
        q.work = (core_work){.run = answer, .job = &q};
        if (q.states.n < 64) {
            q.few = self->few;
            answer(&q.work);
        } else
            core_work_do(&q.work);
        if (q.status) {
            Py_CLEAR(out);
            core_fail(&q.error);
        }
    }
    if (t.data) core_array_release(&t);
    free(one);
    core_array_release(&q.states.array);
    return out;
}

/* One state in an array of doubles is the common case in loops, and answered at once. */
static PyObject *law(PyObject *o, PyObject *const *args, Py_ssize_t n, int which) {
    core_dynamics *self = (core_dynamics *)o;
    core_array a;
    if (n == 1 && self->flow && cls_system_formalism(self->system) != CLS_ODE) {
        if (!core_array_take(args[0], &a)) return NULL;
        if (a.view.ndim == 1 && ((size_t)a.n == cls_flow_count(self->flow) ||
                                 (size_t)a.n == cls_system_state_count(self->system))) {
            double value = 0;
            cls_error error = {0};
            cls_status status =
                cls_flow_laws_in(self->flow, self->few, 1, (size_t)a.n, a.data, NULL,
                                 which ? NULL : &value, which ? &value : NULL, &error);
            core_array_release(&a);
            return status ? core_fail(&error) : PyFloat_FromDouble(value);
        }
        core_array_release(&a);
    }
    return ask(o, args, n, which ? ENTROPY : ENERGY);
}

PyObject *core_energy(PyObject *o, PyObject *const *args, Py_ssize_t n) {
    return law(o, args, n, 0);
}

PyObject *core_entropy(PyObject *o, PyObject *const *args, Py_ssize_t n) {
    return law(o, args, n, 1);
}

PyObject *core_rates(PyObject *o, PyObject *const *args, Py_ssize_t n) {
    return ask(o, args, n, RATES);
}

PyObject *core_jacobian(PyObject *o, PyObject *const *args, Py_ssize_t n) {
    return ask(o, args, n, JACOBIAN);
}

/* ---- steps ---- */

typedef struct march {
    core_work work;
    const cls_steps *steps;
    size_t n;
    double t, h;
    const double *theta, *states, *seeds;
    double *next, *states_bar, *theta_bar;
    int threads;
    cls_status status;
    cls_error error;
} march;

static void make_march(core_work *w) {
    march *m = w->job;
    if (m->seeds)
        m->status = cls_steps_back(m->steps, m->theta, m->n, m->t, m->h, m->states, m->seeds,
                                   m->threads, m->states_bar, m->theta_bar, &m->error);
    else
        m->status = cls_steps_make(m->steps, m->theta, m->n, m->t, m->h, m->states, m->threads,
                                   m->next, &m->error);
}

static int take_theta(const cls_steps *s, PyObject *o, core_array *theta) {
    theta->data = NULL;
    if (o == Py_None) return 1;
    if (!core_array_take(o, theta)) return 0;
    if ((size_t)theta->n == cls_steps_parameters(s)) return 1;
    core_usage("theta has %zu parameters, got %zd", cls_steps_parameters(s), theta->n);
    core_array_release(theta);
    theta->data = NULL;
    return 0;
}

/* (states, h, t, theta or None, scheme or None, seeds or None) -> next, or (states_bar, theta_bar) */
PyObject *core_step(PyObject *o, PyObject *const *args, Py_ssize_t n) {
    core_dynamics *self = (core_dynamics *)o;
    if (n != 6) return PyErr_Format(PyExc_TypeError, "_step takes 6 arguments, got %zd", n);
    march m = {.steps = make_steps(self, args[4])};
    if (!m.steps) return NULL;
    m.h = PyFloat_AsDouble(args[1]);
    m.t = PyFloat_AsDouble(args[2]);
    states s;
    core_array theta, seeds;
    size_t nz = cls_steps_count(m.steps);
    PyObject *out = NULL, *second = NULL;
    seeds.data = NULL;
    if (PyErr_Occurred() || !take_states(self, args[0], nz, &s)) return NULL;
    if (s.stride != nz) core_usage("steps are made without `work`: %zu numbers", nz);
    if (!PyErr_Occurred() && take_theta(m.steps, args[3], &theta)) {
        if (args[5] == Py_None || (core_array_take(args[5], &seeds) && seeds.n == s.array.n)) {
            Py_ssize_t width = (Py_ssize_t)nz, count = (Py_ssize_t)cls_steps_parameters(m.steps);
            out = shaped(&s, 1, &width, seeds.data ? &m.states_bar : &m.next);
            if (seeds.data) second = core_array_new(1, &count, &m.theta_bar);
            m.n = s.n;
            m.states = s.array.data;
            m.theta = theta.data;
            m.seeds = seeds.data;
            m.work = (core_work){.run = make_march, .job = &m};
            if (out && (second || !seeds.data)) {
                if (m.n < 16)
                    make_march(&m.work);
                else
                    core_work_do(&m.work);
                if (m.status) core_fail(&m.error);
            }
        } else if (!PyErr_Occurred())
            core_usage("seeds have the shape of the states");
        if (seeds.data) core_array_release(&seeds);
        if (theta.data) core_array_release(&theta);
    }
    core_array_release(&s.array);
    if (PyErr_Occurred()) {
        Py_XDECREF(out);
        Py_XDECREF(second);
        return NULL;
    }
    return second ? Py_BuildValue("(NN)", out, second) : out;
}

/* ---- whole trajectories ---- */

typedef struct shot {
    core_work work;
    const cls_steps *steps;
    cls_shots shots;
    const double *theta, *starts;
    double loss, *theta_bar, *starts_bar;
    cls_status status;
    cls_error error;
} shot;

static void shoot(core_work *w) {
    shot *s = w->job;
    s->status = cls_steps_shoot(s->steps, s->theta, &s->shots, s->starts, 0, &s->loss, s->theta_bar,
                                s->starts_bar, &s->error);
}

/* (lengths list, time, state, scale, starts, substeps, theta or None, scheme or None)
 * -> loss, theta_bar, starts_bar */
PyObject *core_shoot(PyObject *o, PyObject *const *args, Py_ssize_t n) {
    core_dynamics *self = (core_dynamics *)o;
    core_array a[4], theta;
    int taken = 0;
    if (n != 8) return PyErr_Format(PyExc_TypeError, "_shoot takes 8 arguments, got %zd", n);
    shot s = {.steps = make_steps(self, args[7])};
    if (!s.steps) return NULL;
    size_t nz = cls_steps_count(s.steps), *begin = NULL;
    Py_ssize_t members = PySequence_Size(args[0]),
               count = (Py_ssize_t)cls_steps_parameters(s.steps);
    PyObject *result = NULL, *theta_bar = NULL, *starts_bar = NULL;
    s.shots.substeps = PyLong_AsSize_t(args[5]);
    theta.data = NULL;
    for (; taken < 4 && !PyErr_Occurred(); taken++)
        if (!core_array_take(args[1 + taken], &a[taken])) break;
    if (!PyErr_Occurred() && take_theta(s.steps, args[6], &theta)) {
        begin = calloc((size_t)members + 1, sizeof *begin);
        for (Py_ssize_t i = 0; begin && i < members; i++) {
            PyObject *length = PySequence_GetItem(args[0], i);
            begin[i + 1] = begin[i] + (length ? PyLong_AsSize_t(length) : 0);
            Py_XDECREF(length);
        }
        if (!begin) PyErr_NoMemory();
    }
    if (begin && !PyErr_Occurred()) {
        size_t rows = begin[members];
        Py_ssize_t shape[2] = {members, (Py_ssize_t)nz};
        if ((size_t)a[0].n != rows || (size_t)a[1].n != rows * nz || (size_t)a[2].n != nz ||
            (size_t)a[3].n != (size_t)members * nz)
            core_usage("times, states, scales and starts do not fit together");
        else {
            theta_bar = core_array_new(1, &count, &s.theta_bar);
            starts_bar = theta_bar ? core_array_new(2, shape, &s.starts_bar) : NULL;
        }
    }
    if (starts_bar) {
        s.shots =
            (cls_shots){(size_t)members, begin, a[0].data, a[1].data, a[2].data, s.shots.substeps};
        s.starts = a[3].data;
        s.theta = theta.data;
        s.work = (core_work){.run = shoot, .job = &s};
        core_work_do(&s.work);
        if (s.status)
            core_fail(&s.error);
        else
            result = Py_BuildValue("(dOO)", s.loss, theta_bar, starts_bar);
    }
    Py_XDECREF(theta_bar);
    Py_XDECREF(starts_bar);
    for (int i = 0; i < taken; i++) core_array_release(&a[i]);
    if (theta.data) core_array_release(&theta);
    free(begin);
    return result;
}
