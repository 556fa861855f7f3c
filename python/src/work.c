/* Long work without the interpreter's lock, with signals and progress on the way.
 *
 * GNU's OpenMP keeps its threads in a pool of the thread that made them; after fork() the pool is
 * in the child and its threads are not, and the next parallel region waits for them for ever. A
 * thread that did not exist before the fork has no pool yet: in such a child the work is done in a
 * new thread, while the old one waits and handles signals. */
#define _GNU_SOURCE
#include "core.h"
#include <pthread.h>
#include <time.h>

static int used, forked; /* written by one thread at a time: with the lock, or in a new child */

static void note_fork(void) {
    if (used) forked = 1;
}

int core_work_init(void) {
    return pthread_atfork(NULL, NULL, note_fork);
}

int core_forked(void) {
    return forked;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* With the lock held. */
static void report(core_work *w) {
    if (PyErr_CheckSignals() < 0) {
        PyErr_Clear();
        w->stop = 1;
    }
    if (w->stop || !w->progress) return;
    PyObject *arguments = w->describe(w);
    PyObject *answer = arguments ? PyObject_Call(w->progress, arguments, NULL) : NULL;
    int truth = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(arguments);
    Py_XDECREF(answer);
    if (truth > 0) w->stop = 2;
    if (truth >= 0) return;
    w->stop = 3;
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
        w->stop = 1;
        return;
    }
    PyObject *type, *trace;
    PyErr_Fetch(&type, &w->raised, &trace);
    PyErr_NormalizeException(&type, &w->raised, &trace);
    if (trace) PyException_SetTraceback(w->raised, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
}

int core_work_check(core_work *w) {
    if (w->stop || !pthread_equal(w->thread, pthread_self())) return w->stop;
    double time = now();
    if (time - w->last < 0.05) return 0;
    w->last = time;
    PyGILState_STATE lock = PyGILState_Ensure();
    report(w);
    PyGILState_Release(lock);
    return w->stop;
}

static void *in_thread(void *work) {
    ((core_work *)work)->thread = pthread_self();
    ((core_work *)work)->run(work);
    return NULL;
}

/* 1 when a thread could be had. */
static int do_elsewhere(core_work *w) {
    pthread_t thread;
    struct timespec until;
    if (pthread_create(&thread, NULL, in_thread, w)) return 0;
    for (;;) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (!pthread_timedjoin_np(thread, NULL, &until)) return 1;
        PyGILState_STATE lock = PyGILState_Ensure();
        if (PyErr_CheckSignals() < 0) {
            PyErr_Clear();
            w->stop = 1;
        }
        PyGILState_Release(lock);
    }
}

void core_work_do(core_work *w) {
    used = 1;
    w->last = now();
    w->thread = pthread_self();
    Py_BEGIN_ALLOW_THREADS if (!forked || !do_elsewhere(w)) w->run(w);
    Py_END_ALLOW_THREADS
}

int core_work_end(core_work *w) {
    if (!w->raised) return 0;
    PyErr_SetObject((PyObject *)Py_TYPE(w->raised), w->raised);
    Py_CLEAR(w->raised);
    return -1;
}
