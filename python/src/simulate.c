/* Motions: one, written row by row into the columns of an array; many, side by side; the judge. */
#include "core.h"
#include <stdlib.h>
#include <string.h>

/* ---- one ---- */

/* So many steps are made between two looks at the clock. */
enum { CHUNK = 256 };

typedef struct motion {
    core_work work;
    core_dynamics *owner;
    const cls_system *system;
    cls_simulate_options options;
    cls_simulator *sim;
    const double *state;
    const double *at;        /* times of the rows; NULL: every so many steps */
    double time, *out, *row; /* out: (columns, rows) */
    uint64_t steps, every, done;
    size_t columns, rows, row_count;
    size_t n_inputs; /* samples of the inputs, 0: none */
    const double *input_time, *input_value;
    const char *hold;
    cls_status status;
    cls_error error;
} motion;

static PyObject *describe_motion(core_work *w) {
    const motion *m = w->job;
    return Py_BuildValue("(KK)", (unsigned long long)m->done, (unsigned long long)m->steps);
}

static void put_row(motion *m) {
    m->status = cls_simulator_row(m->sim, m->row, &m->error);
    for (size_t c = 0; c < m->columns; c++) m->out[c * m->rows + m->row_count] = m->row[c];
    m->row_count++;
}

static void advance(motion *m, uint64_t to) {
    while (!m->status && m->done < to) {
        uint64_t n = to - m->done < CHUNK ? to - m->done : CHUNK;
        m->status = cls_simulator_advance(m->sim, n, &m->error);
        m->done += n;
        if (!m->status && core_work_check(&m->work)) m->status = CLS_INTERRUPTED;
    }
}

static void walk(core_work *w) {
    motion *m = w->job;
    pthread_mutex_lock(&m->owner->making);
    m->status = cls_simulator_create(m->system, &m->options, &m->sim, &m->error);
    pthread_mutex_unlock(&m->owner->making);
    if (!m->status && m->n_inputs)
        m->status = cls_simulator_inputs_held(m->sim, m->n_inputs, m->input_time, m->input_value,
                                              m->hold, &m->error);
    if (!m->status) m->status = cls_simulator_start(m->sim, m->time, m->state, &m->error);
    for (size_t i = 0; m->at && !m->status && i < m->rows; i++) {
        if (m->at[i] != cls_simulator_time(m->sim))
            m->status = cls_simulator_go(m->sim, m->at[i], &m->error);
        if (!m->status) put_row(m);
        m->done = i + 1;
        if (!m->status && core_work_check(&m->work)) m->status = CLS_INTERRUPTED;
    }
    while (!m->at && !m->status) {
        put_row(m);
        if (m->status || m->done == m->steps) break;
        advance(m, m->steps - m->done < m->every ? m->steps : m->done + m->every);
    }
}

static PyObject *info_of(const cls_simulate_info *i) {
    PyObject *invariants = PyDict_New();
    for (size_t k = 0; invariants && k < i->n_invariants; k++) {
        PyObject *pair =
            Py_BuildValue("(dd)", i->invariants[k].initial, i->invariants[k].max_error);
        if (!pair || PyDict_SetItemString(invariants, i->invariants[k].name, pair) < 0)
            Py_CLEAR(invariants);
        Py_XDECREF(pair);
    }
    if (!invariants) return NULL;
    return Py_BuildValue(
        "{s:s,s:d,s:K,s:d,s:d,s:d,s:d,s:d,s:d,s:K,s:K,s:i,s:K,s:i,s:K,s:K,s:K,s:d,s:N}", "scheme",
        i->scheme, "h", i->h, "steps", (unsigned long long)i->steps, "energy_initial",
        i->energy_initial, "energy_max_error", i->energy_max_error, "energy_relative",
        i->energy_relative, "entropy_initial", i->entropy_initial, "entropy_final",
        i->entropy_final, "entropy_min_step", i->entropy_min_step, "entropy_falls",
        (unsigned long long)i->entropy_falls, "newton_iterations",
        (unsigned long long)i->newton_iterations, "newton_max_iterations", i->newton_max_iterations,
        "retried_steps", (unsigned long long)i->retried_steps, "deepest_halving",
        i->deepest_halving, "internal_steps", (unsigned long long)i->internal_steps,
        "rejected_steps", (unsigned long long)i->rejected_steps, "alternations",
        (unsigned long long)i->alternations, "alternation", i->alternation, "invariants",
        invariants);
}

static int arguments(Py_ssize_t n, Py_ssize_t wanted, const char *name) {
    if (n == wanted) return 1;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, got %zd", name, wanted, n);
    return 0;
}

/* Samples of inputs: (times, values (inputs, n), hold) or None. */
static int take_inputs(PyObject *o, motion *m, core_array *time, core_array *value) {
    if (o == Py_None) return 1;
    if (!core_array_take(PyTuple_GetItem(o, 0), time)) return 0;
    if (!core_array_take(PyTuple_GetItem(o, 1), value)) {
        core_array_release(time);
        return 0;
    }
    m->hold = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(o, 2), NULL); /* lives as long as the tuple */
    if (!m->hold) return 0;
    m->n_inputs = (size_t)time->n;
    m->input_time = time->data;
    m->input_value = value->data;
    if ((size_t)value->n == cls_system_input_count(m->system) * m->n_inputs) return 1;
    core_array_release(time);
    core_array_release(value);
    m->n_inputs = 0;
    core_usage("each input has one value for each of its times");
    return 0;
}

/* (state, time, steps, every, out (columns, rows), options, progress or None, inputs or None,
 * times of the rows or None)
 * -> info, rows made. An interrupted motion has fewer rows than asked. */
PyObject *core_simulate(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    motion m = {.owner = (core_dynamics *)self,
                .system = ((core_dynamics *)self)->system,
                .options = cls_simulate_defaults()};
    core_array state, out, time, value, at = {0};
    PyObject *result = NULL;
    if (!arguments(n, 9, "_simulate") ||
        !core_options_set(cls_simulate_option_table, args[5], &m.options))
        return NULL;
    m.time = PyFloat_AsDouble(args[1]);
    m.steps = PyLong_AsUnsignedLongLong(args[2]);
    m.every = PyLong_AsUnsignedLongLong(args[3]);
    m.options.monitor = 1;
    m.columns = cls_system_column_count(m.system);
    if (PyErr_Occurred() || !core_array_take(args[0], &state)) return NULL;
    if (!core_array_fill(args[4], &out, &m.out)) {
        core_array_release(&state);
        return NULL;
    }
    m.state = state.data;
    m.rows = m.columns ? (size_t)out.n / m.columns : 0;
    m.row = calloc(m.columns + 1, sizeof *m.row);
    if (args[8] != Py_None && core_array_take(args[8], &at))
        m.at = at.data, m.steps = (uint64_t)at.n;
    uint64_t needed = m.at      ? m.steps
                      : m.every ? m.steps / m.every + (m.steps % m.every != 0) + 1
                                : 0;
    if (!m.row)
        PyErr_NoMemory();
    else if (PyErr_Occurred()) {
    } else if ((size_t)state.n != cls_system_state_count(m.system) || !m.every || m.rows != needed)
        core_usage("a state of %zu numbers and room for %llu rows are needed",
                   cls_system_state_count(m.system), (unsigned long long)needed);
    else if (take_inputs(args[7], &m, &time, &value)) {
        m.work = (core_work){.run = walk,
                             .job = &m,
                             .describe = describe_motion,
                             .progress = args[6] == Py_None ? NULL : args[6]};
        core_work_do(&m.work);
        if (core_work_end(&m.work) < 0) {
        } else if (m.status && m.status != CLS_INTERRUPTED)
            core_fail(&m.error);
        else {
            cls_simulate_info info = cls_simulator_info(m.sim);
            result = Py_BuildValue("(Nni)", info_of(&info), (Py_ssize_t)m.row_count, m.work.stop);
        }
    }
    cls_simulator_free(&m.sim);
    if (m.n_inputs) {
        core_array_release(&time);
        core_array_release(&value);
    }
    if (m.at) core_array_release(&at);
    free(m.row);
    core_array_release(&state);
    core_array_release(&out);
    return result;
}

/* ---- beside measurements ---- */

typedef struct followed {
    motion m;
    size_t n; /* trajectories */
    const size_t *lengths;
    const double *states, *times, *values; /* values of inputs (inputs, all rows); NULL: none */
    double *samples;                       /* of one trajectory */
} followed;

static void give_inputs(followed *f, size_t first, size_t n) {
    size_t inputs = cls_system_input_count(f->m.system);
    for (size_t i = 0; i < inputs; i++)
        memcpy(f->samples + i * n, f->values + i * f->m.rows + first, n * sizeof *f->samples);
    f->m.status =
        cls_simulator_inputs(f->m.sim, n, f->times + first, f->samples, CLS_HOLD_ZERO, &f->m.error);
}

/* One simulator, started anew for each trajectory. */
static void follow(core_work *w) {
    followed *f = w->job;
    motion *m = &f->m;
    size_t first = 0, width = cls_system_state_count(m->system);
    pthread_mutex_lock(&m->owner->making);
    m->status = cls_simulator_create(m->system, &m->options, &m->sim, &m->error);
    pthread_mutex_unlock(&m->owner->making);
    for (size_t k = 0; k < f->n && !m->status; first += f->lengths[k++]) {
        if (f->values) give_inputs(f, first, f->lengths[k]);
        if (!m->status)
            m->status =
                cls_simulator_start(m->sim, f->times[first], f->states + k * width, &m->error);
        for (size_t i = 0; i < f->lengths[k] && !m->status; i++) {
            if (i) m->status = cls_simulator_go(m->sim, f->times[first + i], &m->error);
            if (!m->status) put_row(m);
            if (!m->status && core_work_check(w)) m->status = CLS_INTERRUPTED;
        }
    }
}

/* (states (trajectories, state), lengths, times, values of inputs (inputs, rows) or None, out
 * (columns, rows), options) */
PyObject *core_follow(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    followed f = {.m = {.owner = (core_dynamics *)self,
                        .system = ((core_dynamics *)self)->system,
                        .options = cls_simulate_defaults()}};
    motion *m = &f.m;
    core_array states, times, values = {0}, out;
    if (!arguments(n, 6, "_follow") ||
        !core_options_set(cls_simulate_option_table, args[5], &m->options))
        return NULL;
    Py_ssize_t members = PyTuple_Size(args[1]);
    if (members < 0 || !core_array_take(args[0], &states)) return NULL;
    size_t *lengths = calloc((size_t)members + 1, sizeof *lengths), total = 0, longest = 0;
    for (Py_ssize_t k = 0; lengths && k < members; k++) {
        lengths[k] = PyLong_AsSize_t(PyTuple_GetItem(args[1], k));
        total += lengths[k];
        if (lengths[k] > longest) longest = lengths[k];
    }
    int taken = !PyErr_Occurred() && core_array_take(args[2], &times);
    int filled = taken && core_array_fill(args[4], &out, &m->out);
    int driven = filled && args[3] != Py_None && core_array_take(args[3], &values);
    m->columns = cls_system_column_count(m->system);
    m->row = calloc(m->columns + 1, sizeof *m->row);
    f.samples = calloc(longest * cls_system_input_count(m->system) + 1, sizeof *f.samples);
    if (!lengths || !m->row || !f.samples)
        PyErr_NoMemory();
    else if (filled && !PyErr_Occurred() &&
             ((size_t)times.n != total || (size_t)out.n != total * m->columns ||
              (size_t)states.n != (size_t)members * cls_system_state_count(m->system) ||
              (driven && (size_t)values.n != total * cls_system_input_count(m->system))))
        core_usage("states, times, inputs and room for the rows do not fit together");
    if (!PyErr_Occurred()) {
        m->rows = total;
        f.n = (size_t)members;
        f.lengths = lengths;
        f.states = states.data;
        f.times = times.data;
        f.values = driven ? values.data : NULL;
        m->work = (core_work){.run = follow, .job = &f};
        core_work_do(&m->work);
        if (m->status == CLS_INTERRUPTED)
            PyErr_SetNone(PyExc_KeyboardInterrupt);
        else if (m->status)
            core_fail(&m->error);
    }
    cls_simulator_free(&m->sim);
    if (driven) core_array_release(&values);
    if (filled) core_array_release(&out);
    if (taken) core_array_release(&times);
    core_array_release(&states);
    free(lengths);
    free(m->row);
    free(f.samples);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

/* ---- many ---- */

typedef struct crowd {
    core_work work;
    core_dynamics *owner;
    const cls_system *system;
    cls_simulate_options options;
    const double *starts;
    double *out; /* (members, rows, columns) */
    size_t members, done, n_state, stride;
    uint64_t steps, every;
    int threads;
    cls_status status;
    cls_error error;
} crowd;

static PyObject *describe_crowd(core_work *w) {
    const crowd *c = w->job;
    return Py_BuildValue("(KK)", (unsigned long long)c->done, (unsigned long long)c->members);
}

static int stop_crowd(void *owner) {
    return core_work_check(owner);
}

/* In groups, so that progress is seen; a signal is heard inside of them. */
static void run_crowd(core_work *w) {
    crowd *c = w->job;
    uint64_t group = 20000000 / (c->steps + 1);
    if (group < 1024) group = 1024;
    c->options.stop = stop_crowd;
    c->options.context = w;
    while (!c->status && c->done < c->members) {
        size_t n = c->members - c->done < group ? c->members - c->done : (size_t)group;
        c->options.first_member = c->done;
        pthread_mutex_lock(&c->owner->making);
        c->status =
            cls_ensemble_run(c->system, &c->options, n, c->starts + c->done * c->n_state, c->steps,
                             c->every, c->threads, c->out + c->done * c->stride, &c->error);
        pthread_mutex_unlock(&c->owner->making);
        c->done += n;
        if (!c->status && core_work_check(w)) c->status = CLS_INTERRUPTED;
    }
}

/* (starts (members, states), steps, every, threads, out (members, rows, columns), options,
 * progress) */
PyObject *core_ensemble(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    crowd c = {.owner = (core_dynamics *)self,
               .system = ((core_dynamics *)self)->system,
               .options = cls_simulate_defaults()};
    core_array starts, out;
    PyObject *result = NULL;
    if (!arguments(n, 7, "_ensemble") ||
        !core_options_set(cls_simulate_option_table, args[5], &c.options))
        return NULL;
    c.steps = PyLong_AsUnsignedLongLong(args[1]);
    c.every = PyLong_AsUnsignedLongLong(args[2]);
    c.threads = (int)PyLong_AsLong(args[3]);
    if (PyErr_Occurred() || !core_array_take(args[0], &starts)) return NULL;
    if (!core_array_fill(args[4], &out, &c.out)) {
        core_array_release(&starts);
        return NULL;
    }
    c.n_state = cls_system_state_count(c.system);
    c.members = (size_t)starts.n / c.n_state;
    c.stride = c.every ? (size_t)(c.steps / c.every + 1) * cls_system_column_count(c.system) : 0;
    c.starts = starts.data;
    if ((size_t)starts.n != c.members * c.n_state || (size_t)out.n != c.members * c.stride)
        core_usage("states of %zu numbers each and room for all rows are needed", c.n_state);
    else {
        c.work = (core_work){.run = run_crowd,
                             .job = &c,
                             .describe = describe_crowd,
                             .progress = args[6] == Py_None ? NULL : args[6]};
        core_work_do(&c.work);
        if (core_work_end(&c.work) < 0) {
        } else if (c.status == CLS_INTERRUPTED)
            PyErr_SetNone(PyExc_KeyboardInterrupt);
        else if (c.status)
            core_fail(&c.error);
        else
            result = Py_NewRef(Py_None);
    }
    core_array_release(&starts);
    core_array_release(&out);
    return result;
}

/* ---- the judge ---- */

/* (table, options, tables at h, h/2, h/4 or None) -> [(name, passed, value, limit, text)], passed
 */
PyObject *core_audit(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    const cls_system *s = ((core_dynamics *)self)->system;
    cls_audit_options options = cls_audit_defaults();
    cls_audit *audit = NULL;
    cls_error error = {0};
    const cls_table *t[4] = {0};
    if (!arguments(n, 3, "_audit") || !core_options_set(cls_audit_option_table, args[1], &options))
        return NULL;
    for (Py_ssize_t i = 0; i < (args[2] == Py_None ? 1 : 4); i++) {
        PyObject *o = i ? PyTuple_GetItem(args[2], i - 1) : args[0];
        if (!o) return NULL;
        if (!PyObject_TypeCheck(o, (PyTypeObject *)core.table))
            return core_usage("a table is needed");
        t[i] = ((core_table *)o)->table;
    }
    core_dynamics_lock((core_dynamics *)self);
    cls_status status = cls_audit_trajectory(s, t[0], &options, &audit, &error);
    if (!status && t[1]) status = cls_audit_order(audit, s, t[1], t[2], t[3], &error);
    core_dynamics_unlock((core_dynamics *)self);
    PyObject *out = status ? core_fail(&error) : PyList_New(0);
    for (size_t i = 0; out && i < cls_audit_count(audit); i++) {
        const cls_law *law = cls_audit_law(audit, i);
        PyObject *item = Py_BuildValue("(sOdds)", law->name, law->passed ? Py_True : Py_False,
                                       law->value, law->limit, law->text);
        if (!item || PyList_Append(out, item) < 0) Py_CLEAR(out);
        Py_XDECREF(item);
    }
    int passed = out && cls_audit_passed(audit);
    cls_audit_free(&audit);
    return out ? Py_BuildValue("(NO)", out, passed ? Py_True : Py_False) : NULL;
}
