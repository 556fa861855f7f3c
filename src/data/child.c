/* Files of arrays, read in a child process.
 *
 * The libraries for HDF5 and MAT are large and parse whatever a file says; a damaged or hostile one can
 * crash them, loop or take all memory. So the file is loaded in a child with limits on memory (4 GB), on
 * processor time (60 s and a second per 10 MB) and without the right to write files; the child sends names
 * and rows through a pipe, and a child that dies is a file that is refused with a sentence. Both hold one
 * chunk of rows: long arrays are read in windows. Rows from another place on are sent by another child.
 *
 * Arrays become columns: vectors of the common length one each, matrices with that many rows one per column
 * (name1, name2, ...), and NAME(trajectory, column, time) of --array takes an array of three axes apart. */
#include "data/arrays.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Rows of a chunk; the first one is short, for those who want few; numbers of a chunk at most. */
enum { CHUNK = 8192, FIRST_CHUNK = 256, NUMBERS = 1 << 22, NAME_LIMIT = 4096 };

/* A process that ends by _exit does not write which lines it ran: where they are counted (make coverage), it is told to. */
#ifdef CLSI_COVERAGE
void __gcov_dump(void);
#define LEAVE(code) (__gcov_dump(), _exit(code))
#define END(pid)    (void)(pid) /* its pipe is closed */
#else
#define LEAVE(code) _exit(code)
#define END(pid)    kill(pid, SIGKILL)
#endif

/* ---- arrays ---- */

cls_status clsi_arrays_add(clsi_arrays *a, const char *name, size_t rank, const size_t *dims,
                           int fortran, double *data, cls_error *error) {
    char *copy = clsi_shown_text(name, strlen(name));
    if (!copy || !clsi_grow(&a->list, &a->room, a->n + 1, sizeof *a->list)) {
        free(copy);
        free(data);
        return clsi_no_memory(error);
    }
    clsi_array x = {.name = copy, .data = data};
    for (size_t i = 0; i < rank; i++) { /* axes of length one say nothing */
        if (dims[i] == 1 && rank > 1) continue;
        if (x.rank < 3) x.dims[x.rank] = dims[i];
        x.rank++;
    }
    if (x.rank == 0) x.rank = 1, x.dims[0] = 1;
    size_t step = 1;
    for (size_t k = 0; k < x.rank && x.rank <= 3; k++) {
        size_t i = fortran ? k : x.rank - 1 - k;
        x.stride[i] = step;
        step *= x.dims[i];
    }
    a->list[a->n++] = x;
    return CLS_OK;
}

cls_status clsi_arrays_add_long(clsi_arrays *a, const char *name, size_t rank, const size_t *dims,
                                void *source,
                                cls_status (*read)(void *source, size_t first, size_t n, double *to,
                                                   cls_error *error),
                                cls_error *error) {
    cls_status status = clsi_arrays_add(a, name, rank, dims, 0, NULL, error);
    if (status) return status;
    a->list[a->n - 1].source = source;
    a->list[a->n - 1].read = read;
    return CLS_OK;
}

/* Rows [first, first + n) are there. */
static cls_status look_at(clsi_array *x, size_t first, size_t n, cls_error *error) {
    if (!x->read || (x->data && x->first <= first && first + n <= x->first + x->n)) return CLS_OK;
    if (n > SIZE_MAX / sizeof(double) / x->stride[0]) return clsi_no_memory(error);
    if (!x->data || n > x->n) {
        free(x->data);
        x->data = clsi_malloc(n * x->stride[0] * sizeof(double));
    }
    x->first = first;
    x->n = n;
    return x->data ? x->read(x->source, first, n, x->data, error) : clsi_no_memory(error);
}

void clsi_arrays_free(clsi_arrays *a) {
    for (size_t i = 0; i < a->n; i++) {
        free(a->list[i].name);
        free(a->list[i].data);
    }
    free(a->list);
    cls_table_free(&a->notes);
    *a = (clsi_arrays){0};
}

/* ---- columns, in the child ---- */

typedef struct column {
    size_t name;                /* where it begins in the letters */
    const clsi_array *of;       /* NULL: the number of the trajectory */
    size_t at, row, trajectory; /* its place in a row of the array, strides */
} column;

typedef struct column_list {
    column *list;
    size_t n, room, rows, times; /* times: rows of a trajectory */
    char *letters;               /* all names, each with its end */
    size_t used, letters_room;
} column_list;

static cls_status add_column(column_list *c, const char *name, size_t number, const clsi_array *of,
                             size_t at, size_t row, size_t trajectory, cls_error *error) {
    if (c->n == CLSI_MAX_COLUMNS)
        return clsi_fail(error, CLS_DATA, "more than %d columns, the limit", CLSI_MAX_COLUMNS);
    char own[NAME_LIMIT];
    size_t length = (size_t)(number ? snprintf(own, sizeof own, "%s%zu", name, number)
                                    : snprintf(own, sizeof own, "%s", name));
    if (length >= sizeof own) length = sizeof own - 1;
    if (!clsi_grow(&c->list, &c->room, c->n + 1, sizeof *c->list) ||
        !clsi_grow(&c->letters, &c->letters_room, c->used + length + 1, 1))
        return clsi_no_memory(error);
    c->list[c->n++] =
        (column){.name = c->used, .of = of, .at = at, .row = row, .trajectory = trajectory};
    memcpy(c->letters + c->used, own, length + 1);
    c->used += length + 1;
    return CLS_OK;
}

/* The columns of an array of the language, by their names there (spans.c); 0: it is not one. */
static int add_span(const clsi_array *x, const char *name, const char *note, column_list *c,
                    cls_status *status, cls_error *error) {
    clsi_elements span;
    if (!note || !clsi_span_find(note, name, &span) || x->rank != 1 + span.axes) return 0;
    for (size_t k = 0; k < span.axes; k++)
        if (x->dims[1 + k] != span.count[k]) return 0;
    for (size_t k = 0; k < clsi_span_count(&span) && *status == CLS_OK; k++) {
        char element[NAME_LIMIT];
        size_t j = span.axes == 2 ? k % span.count[1] : 0;
        size_t i = span.axes == 2 ? k / span.count[1] : k;
        size_t at = (size_t)snprintf(element, sizeof element, "%.*s[%ld]", (int)span.letters,
                                     span.name, span.low[0] + (long)i);
        if (span.axes == 2 && at < sizeof element)
            at +=
                (size_t)snprintf(element + at, sizeof element - at, "[%ld]", span.low[1] + (long)j);
        if (at < sizeof element) snprintf(element + at, sizeof element - at, "%s", span.tail);
        *status = add_column(c, element, 0, x, i * x->stride[1] + j * x->stride[2], x->stride[0], 0,
                             error);
    }
    return 1;
}

/* Z(trajectory, column, time) */
static cls_status take_apart(clsi_array *x, const char *axes, column_list *c, cls_error *error) {
    static const char *const words[] = {"trajectory", "column", "time"};
    size_t place[3] = {9, 9, 9};
    const char *s = axes + 1;
    for (size_t k = 0; k < 3 && s; k++) {
        s += strspn(s, " ");
        for (size_t w = 0; w < 3; w++)
            if (!strncmp(s, words[w], strlen(words[w]))) place[w] = k;
        s = strchr(s, ',');
        if (s) s++;
    }
    if (x->rank != 3 || place[0] > 2 || place[1] > 2 || place[2] > 2)
        return clsi_fail(error, CLS_USAGE,
                         "--array: expected %s(trajectory, column, time), the axes in the order of "
                         "the file, for an array of three axes",
                         x->name);
    c->times = x->dims[place[2]];
    c->rows = x->dims[place[0]] * c->times;
    cls_status status = look_at(x, 0, x->dims[0], error); /* its rows are not those of the table */
    x->read = NULL;
    if (!status) status = add_column(c, "trajectory", 0, NULL, 0, 0, 0, error);
    for (size_t i = 0; !status && i < x->dims[place[1]]; i++)
        status = add_column(c, x->name, i + 1, x, i * x->stride[place[1]], x->stride[place[2]],
                            x->stride[place[0]], error);
    return status;
}

static int is_chosen(const clsi_array *x, const char *array, size_t length) {
    size_t n = strlen(x->name);
    if (!array) return 1;
    return n >= length && !strncmp(x->name, array, length) &&
           (!x->name[length] || x->name[length] == '/');
}

static cls_status make_columns(const clsi_arrays *a, const char *array, column_list *c,
                               cls_error *error) {
    const char *axes = array ? strchr(array, '(') : NULL;
    size_t length = array ? (axes ? (size_t)(axes - array) : strlen(array)) : 0;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < a->n; i++) /* the common length: the longest first axis */
        if (is_chosen(&a->list[i], array, length) && a->list[i].rank <= 2 &&
            a->list[i].dims[0] > c->rows)
            c->rows = a->list[i].dims[0];
    c->times = c->rows;
    for (size_t i = 0; !status && i < a->n; i++) {
        clsi_array *x = &a->list[i];
        const char *name = x->name;
        if (!is_chosen(x, array, length)) continue;
        if (axes) return take_apart(x, axes, c, error);
        if (array && x->name[length] == '/') name += length + 1;
        if (x->dims[0] == c->rows &&
            add_span(x, name, cls_table_note(a->notes, CLSI_SPAN_NOTE), c, &status, error))
            continue;
        if (x->rank == 1 && x->dims[0] == c->rows)
            status = add_column(c, name, 0, x, 0, x->stride[0], 0, error);
        else if (x->rank == 2 && x->dims[0] == c->rows)
            for (size_t k = 0; !status && k < x->dims[1]; k++)
                status = add_column(c, name, k + 1, x, k * x->stride[1], x->stride[0], 0, error);
        else
            clsi_table_remark(
                a->notes, "the array \"%s\" is left out: it has not the %zu rows of the others%s",
                x->name, c->rows,
                x->rank == 3 ? "; --array \"NAME(trajectory, column, time)\" takes it apart" : "");
    }
    if (!status && !c->n) {
        clsi_text names = {0};
        for (size_t i = 0; i < a->n && i < 40; i++)
            clsi_text_printf(&names, "%s%s", i ? ", " : "", a->list[i].name);
        status =
            clsi_fail(error, CLS_DATA, "no array that could be columns%s%s; it has: %s",
                      array ? " under " : "", array ? array : "", names.data ? names.data : "none");
        clsi_text_clear(&names);
    }
    return status;
}

/* ---- the pipe ---- */

/* Names and short columns go together: a call for each is what half a million of them would cost. */
typedef struct outbox {
    int to;
    size_t n;
    char data[1 << 13]; /* on the stack: frames are small */
} outbox;

static int write_all(int to, const char *s, size_t n) {
    while (n) {
        ssize_t done = write(to, s, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        s += done;
        n -= (size_t)done;
    }
    return 1;
}

static int flush(outbox *to) {
    size_t n = to->n;
    to->n = 0;
    return write_all(to->to, to->data, n);
}

static int send_bytes(outbox *to, const void *data, size_t n) {
    if (n > sizeof to->data - to->n && !flush(to)) return 0;
    if (n > sizeof to->data) return write_all(to->to, data, n);
    memcpy(to->data + to->n, data, n);
    to->n += n;
    return 1;
}

static int send_text(outbox *to, const char *s) {
    uint32_t n = (uint32_t)strlen(s);
    return send_bytes(to, &n, sizeof n) && send_bytes(to, s, n);
}

/* The note about arrays has done its work: the columns have their names. */
static int send_head(outbox *to, const column_list *c, const cls_table *notes) {
    size_t n_notes = notes->n_notes - (cls_table_note(notes, CLSI_SPAN_NOTE) != NULL);
    uint64_t counts[] = {c->n, c->rows, n_notes, notes->n_remarks};
    int good = send_bytes(to, counts, sizeof counts);
    for (size_t i = 0; good && i < c->n; i++) good = send_text(to, c->letters + c->list[i].name);
    for (size_t i = 0; good && i < notes->n_notes; i++)
        if (strcmp(notes->notes[i].key, CLSI_SPAN_NOTE) != 0)
            good = send_text(to, notes->notes[i].key) && send_text(to, notes->notes[i].value);
    for (size_t i = 0; good && i < notes->n_remarks; i++) good = send_text(to, notes->remarks[i]);
    return good && flush(to);
}

static size_t chunk_of(size_t columns) {
    size_t rows = NUMBERS / (columns + 1);
    return rows > CHUNK ? CHUNK : rows + 1;
}

/* Numbers of column x in the rows [first, first + n). */
static void take_numbers(const column_list *c, const column *x, size_t first, size_t n,
                         double *to) {
    size_t begin = x->of ? x->of->first : 0; /* of the window */
    for (size_t i = 0; i < n; i++) {
        size_t trajectory = (first + i) / c->times, row = (first + i) % c->times;
        to[i] = x->of ? x->of->data[x->at + trajectory * x->trajectory + (row - begin) * x->row]
                      : (double)trajectory;
    }
}

/* Rows [first, last), a chunk at a time: how many, then column by column. A chunk of UINT64_MAX rows is
 * an error. */
static int send_rows(outbox *to, const column_list *c, clsi_arrays *a, size_t first, size_t last) {
    size_t most = chunk_of(c->n), chunk = most < FIRST_CHUNK ? most : FIRST_CHUNK;
    double *block = clsi_malloc(most * sizeof *block);
    int good = 1;
    for (size_t n; good && first < last; first += n, chunk = chunk < most / 4 ? 4 * chunk : most) {
        cls_error error = {0};
        n = last - first < chunk ? last - first : chunk;
        cls_status status = block ? CLS_OK : clsi_no_memory(&error);
        for (size_t k = 0; !status && k < c->n; k++)
            if (c->list[k].of && c->list[k].of->read)
                status = look_at(&a->list[c->list[k].of - a->list], first, n, &error);
        if (status) {
            uint64_t code[] = {UINT64_MAX, (uint64_t)status};
            return send_bytes(to, code, sizeof code) && send_bytes(to, &error, sizeof error);
        }
        good = send_bytes(to, &(uint64_t){n}, sizeof(uint64_t));
        for (size_t k = 0; good && k < c->n; k++) {
            take_numbers(c, &c->list[k], first, n, block);
            good = send_bytes(to, block, n * sizeof *block);
        }
        good = good && flush(to);
    }
    free(block);
    return good && send_bytes(to, &(uint64_t){0}, sizeof(uint64_t));
}

static void limit(int what, rlim_t value) {
    struct rlimit l;
    if (getrlimit(what, &l) != 0) return;
    if (l.rlim_max != RLIM_INFINITY && value > l.rlim_max) value = l.rlim_max;
    l.rlim_cur = l.rlim_max = value;
    setrlimit(what, &l);
}

static void limit_child(off_t bytes) {
    limit(RLIMIT_CORE, 0);
#ifndef CLSI_COVERAGE
    limit(RLIMIT_FSIZE, 0);
#endif
    limit(RLIMIT_CPU, (rlim_t)(60 + bytes / 10000000));
#if !defined(__SANITIZE_ADDRESS__) /* whose shadow is larger than any limit */
    limit(RLIMIT_AS, (rlim_t)4 << 30);
#endif
}

/* Handlers of the host (of crashes, of alarms) are not for this process; interrupts are the parent's. */
static void own_signals(void) {
    for (int s = 1; s < 32; s++)
        if (s != SIGKILL && s != SIGSTOP) signal(s, SIG_DFL);
    static const int ignored[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
}

/* In the child; never returns. */
static void serve(int to, const char *path, off_t bytes, const clsi_loader_kind *kind,
                  const char *array, uint64_t first, uint64_t last) {
    cls_error error = {0};
    clsi_arrays a = {0};
    column_list c = {0};
    own_signals();
    limit_child(bytes);
    cls_status status = cls_table_create(1, (const char *const[]){"notes"}, &a.notes, &error);
    if (!status) status = kind->load(path, &a, &error);
    if (!status) status = make_columns(&a, array, &c, &error);
    outbox box;
    box.to = to;
    box.n = 0;
    int good = send_bytes(&box, &(uint64_t){(uint64_t)status}, sizeof(uint64_t));
    if (status)
        good = good && send_bytes(&box, &error, sizeof error);
    else
        good = good && send_head(&box, &c, a.notes) &&
               send_rows(&box, &c, &a, (size_t)first, (size_t)(last < c.rows ? last : c.rows));
    LEAVE(good && flush(&box) ? 0 : 1);
}

/* ---- the parent ---- */

typedef struct child {
    pid_t pid;
    int from;
    char *path;
    const clsi_loader_kind *kind;
    char *array; /* of the options; NULL */
    off_t bytes;
    int (*stop)(void *context);
    void *context;
    uint64_t size;             /* rows of the file */
    size_t n, chunk, rows, at; /* columns; room of the block, its rows, those taken */
    double *block;             /* (n, chunk) */
    int ended;
    uint64_t row; /* rows before the block */
    size_t inbox_at, inbox_end;
    char inbox[1 << 16]; /* what has come and is not yet taken */
} child;

static cls_status died(child *c, cls_error *error) {
    int how = 0;
    waitpid(c->pid, &how, 0);
    c->pid = 0;
    const char *why = "ended early";
    if (WIFSIGNALED(how))
        why = WTERMSIG(how) == SIGXCPU || WTERMSIG(how) == SIGKILL ? "took too much time or memory"
                                                                   : "crashed";
    return clsi_fail(
        error, CLS_DATA,
        "%s: the reader of %s files %s on it; the file is damaged, or larger than the limits",
        c->path, c->kind->name, why);
}

static cls_status receive(child *c, void *out, size_t n, cls_error *error) {
    char *s = out;
    while (n) {
        size_t have = c->inbox_end - c->inbox_at;
        if (have > n) have = n;
        memcpy(s, c->inbox + c->inbox_at, have);
        c->inbox_at += have;
        s += have;
        if (!(n -= have)) break;
        struct pollfd p = {.fd = c->from, .events = POLLIN};
        if (c->stop && c->stop(c->context))
            return clsi_fail(error, CLS_INTERRUPTED, "interrupted while reading %s", c->path);
        if (poll(&p, 1, 100) <= 0) continue;
        ssize_t got = read(c->from, c->inbox, sizeof c->inbox);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return died(c, error);
        c->inbox_at = 0;
        c->inbox_end = (size_t)got;
    }
    return CLS_OK;
}

static cls_status receive_text(child *c, char **out, cls_error *error) {
    uint32_t n = 0;
    *out = NULL;
    cls_status status = receive(c, &n, sizeof n, error);
    if (!status && n > 1 << 20)
        return clsi_fail(error, CLS_DATA, "%s: a text of %u bytes", c->path, n);
    if (!status && !(*out = clsi_calloc(n + 1, 1))) status = clsi_no_memory(error);
    if (!status) status = receive(c, *out, n, error);
    return status;
}

static void end_child(child *c) {
    if (c->from > 0) close(c->from);
    if (c->pid > 0) {
        END(c->pid);
        waitpid(c->pid, NULL, 0);
    }
    c->pid = 0;
    c->from = -1;
}

static void close_child(void *source) {
    child *c = source;
    if (!c) return;
    end_child(c);
    free(c->path);
    free(c->array);
    free(c->block);
    free(c);
}

/* What the child has to say of an error of its own. */
static cls_status receive_error(child *c, uint64_t code, cls_error *error) {
    cls_error theirs;
    cls_status status = receive(c, &theirs, sizeof theirs, error);
    theirs.message[sizeof theirs.message - 1] = 0;
    return status ? status : clsi_fail(error, (cls_status)code, "%s: %s", c->path, theirs.message);
}

static cls_status receive_head(child *c, cls_table **head, cls_error *error) {
    uint64_t code, counts[4];
    cls_status status = receive(c, &code, sizeof code, error);
    if (!status && code) return receive_error(c, code, error);
    if (!status) status = receive(c, counts, sizeof counts, error);
    if (status) return status;
    if (counts[0] > CLSI_MAX_COLUMNS)
        return clsi_fail(error, CLS_DATA, "%s: too many columns", c->path);
    c->n = counts[0];
    c->size = counts[1];
    char **names = clsi_calloc(c->n, sizeof *names);
    if (!names) return clsi_no_memory(error);
    for (size_t i = 0; !status && i < c->n; i++) status = receive_text(c, &names[i], error);
    if (!status) status = cls_table_create(c->n, (const char *const *)names, head, error);
    for (size_t i = 0; i < c->n; i++) free(names[i]);
    free(names);
    for (uint64_t i = 0; !status && i < counts[2] + counts[3]; i++) {
        char *one = NULL, *two = NULL;
        status = receive_text(c, &one, error);
        if (!status && i < counts[2]) status = receive_text(c, &two, error);
        if (!status && two) status = cls_table_set_note(*head, one, two, error);
        if (!status && !two) clsi_table_remark(*head, "%s", one);
        free(one);
        free(two);
    }
    return status;
}

static const clsi_loader_kind *kind_of(const char *path, off_t *bytes) {
    char top[132] = {0};
    struct stat st;
    int file = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (file < 0) return NULL;
    const clsi_loader_kind *kind = NULL;
    if (fstat(file, &st) == 0 && S_ISREG(st.st_mode)) {
        ssize_t n = read(file, top, sizeof top - 1);
        *bytes = st.st_size;
        size_t length = strlen(path);
        int mat = length > 4 && !strcmp(path + length - 4, ".mat");
        if (n > 6 && !memcmp(top, "\x93NUMPY", 6)) kind = &clsi_load_npy;
        if (n > 4 && !memcmp(top, "PK\x03\x04", 4)) kind = &clsi_load_npz;
        if (n > 8 && !memcmp(top, "\x89HDF\r\n\x1a\n", 8)) kind = &clsi_load_hdf5;
        if (n > 6 && (!memcmp(top, "MATLAB", 6) || mat)) kind = &clsi_load_mat;
    }
    close(file);
    return kind;
}

int clsi_is_array_file(const char *path) {
    off_t bytes;
    return kind_of(path, &bytes) != NULL;
}

/* A child that sends the rows [first, last). */
static cls_status start_child(child *c, uint64_t first, uint64_t last, cls_table **head,
                              cls_error *error) {
    int ends[2];
    if (pipe(ends) != 0)
        return clsi_fail(error, CLS_IO, "%s: cannot make a pipe: %s", c->path, strerror(errno));
    c->pid = fork();
    if (c->pid == 0) {
        close(ends[0]);
        serve(ends[1], c->path, c->bytes, c->kind, c->array, first, last);
    }
    int reason = errno;
    close(ends[1]);
    c->from = ends[0];
    fcntl(c->from, F_SETFD, FD_CLOEXEC);
    if (c->pid < 0)
        return clsi_fail(error, CLS_IO, "%s: cannot start a process: %s", c->path,
                         strerror(reason));
    c->row = first;
    c->rows = c->at = c->inbox_at = c->inbox_end = 0;
    c->ended = 0;
    return receive_head(c, head, error);
}

static cls_status open_child(const char *path, const cls_read_options *o, cls_table **head,
                             void **source, cls_error *error) {
    child *c = clsi_calloc(1, sizeof *c);
    if (!c) return clsi_no_memory(error);
    *c = (child){.path = clsi_strdup(path), .from = -1, .stop = o->stop, .context = o->context};
    c->kind = kind_of(path, &c->bytes);
    cls_status status = c->path ? CLS_OK : clsi_no_memory(error);
    if (status)
        ;
    else if (!c->kind || !c->kind->load)
        status = clsi_fail(error, CLS_USAGE,
                           "%s: %s files are not read here: clausius was built without %s", path,
                           c->kind ? c->kind->name : "such", c->kind ? c->kind->library : "it");
    else if (o->array && !(c->array = clsi_strdup(o->array)))
        status = clsi_no_memory(error);
    if (!status) status = start_child(c, 0, UINT64_MAX, head, error);
    c->chunk = chunk_of(c->n);
    if (!status && !(c->block = clsi_calloc(c->n, c->chunk * sizeof(double))))
        status = clsi_no_memory(error);
    if (status) {
        cls_table_free(head);
        close_child(c);
        return status;
    }
    *source = c;
    return CLS_OK;
}

static cls_status next_block(child *c, cls_error *error) {
    uint64_t n = 0, code = 0;
    c->row += c->rows;
    c->rows = c->at = 0;
    cls_status status = receive(c, &n, sizeof n, error);
    if (!status && n == UINT64_MAX) {
        status = receive(c, &code, sizeof code, error);
        return status ? status : receive_error(c, code, error);
    }
    if (!status && n > c->chunk)
        return clsi_fail(error, CLS_DATA, "%s: a block of %zu rows", c->path, (size_t)n);
    for (size_t k = 0; !status && k < c->n && n; k++)
        status = receive(c, c->block + k * c->chunk, n * sizeof(double), error);
    for (size_t i = 0; !status && i < n; i++)
        for (size_t k = 0; k < c->n; k++)
            if (!isfinite(c->block[k * c->chunk + i]))
                return clsi_fail(error, CLS_DATA, "%s: column %zu, row %llu is not a finite number",
                                 c->path, k + 1, (unsigned long long)(c->row + i + 1));
    c->rows = status ? 0 : (size_t)n;
    c->ended = n == 0;
    return status;
}

static cls_status next(void *source, size_t room, double *const *columns, size_t *rows,
                       cls_error *error) {
    child *c = source;
    size_t done = 0;
    *rows = 0;
    while (done < room && !c->ended) {
        if (c->at == c->rows) {
            cls_status status = next_block(c, error);
            if (status) return status;
            continue;
        }
        size_t n = c->rows - c->at < room - done ? c->rows - c->at : room - done;
        for (size_t k = 0; k < c->n; k++)
            if (columns[k])
                memcpy(columns[k] + done, c->block + k * c->chunk + c->at, n * sizeof(double));
        c->at += n;
        done += n;
    }
    *rows = done;
    return CLS_OK;
}

/* ---- shares: places are rows ---- */

static uint64_t size_of(const void *source) {
    return ((const child *)source)->size;
}

static uint64_t place_of(const void *source) {
    const child *c = source;
    return c->row + c->at;
}

static cls_status seek(void *source, uint64_t from, uint64_t end, cls_error *error) {
    child *c = source;
    cls_table *head = NULL;
    size_t columns = c->n;
    end_child(c);
    cls_status status = start_child(c, from, end ? end : UINT64_MAX, &head, error);
    if (!status && c->n != columns)
        status = clsi_fail(error, CLS_DATA, "%s has changed while it was read", c->path);
    c->n = columns;
    cls_table_free(&head);
    return status;
}

const clsi_format clsi_child = {.name = "arrays",
                                .open = open_child,
                                .next = next,
                                .close = close_child,
                                .size = size_of,
                                .place = place_of,
                                .seek = seek};

/* ---- other work ---- */

int clsi_child_does(int (*work)(void *context, int to), void *context, size_t n, void *answer) {
    int ends[2], how = 0;
    size_t have = 0;
    if (pipe(ends) != 0) return 0;
    pid_t pid = fork();
    if (pid == 0) LEAVE(work(context, ends[1]) ? 0 : 1);
    close(ends[1]);
    while (pid > 0 && have < n) {
        ssize_t got = read(ends[0], (char *)answer + have, n - have);
        if (got == 0 || (got < 0 && errno != EINTR)) break;
        if (got > 0) have += (size_t)got;
    }
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &how, 0) < 0)
        if (errno != EINTR) break;
    return have == n && pid > 0 && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}
