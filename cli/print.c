/* What the program prints: aligned tables, JSON objects, colours, progress. Colours and bars appear
 * only on a terminal, and never with NO_COLOR or TERM=dumb. */
#include "cli.h"
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int cli_colour(FILE *to) {
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
    return isatty(fileno(to)) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

/* ---- tables ---- */

/* Letters on the screen: escape sequences and the later bytes of UTF-8 take no room. */
static int width(const char *s) {
    int n = 0;
    for (; *s; s++) {
        if (*s == '\033') {
            while (*s && *s != 'm') s++;
            if (!*s) break;
        } else if (((unsigned char)*s & 0xc0) != 0x80) {
            n++;
        }
    }
    return n;
}

void cli_grid_begin(cli_grid *g, const char *align) {
    *g = (cli_grid){.align = align, .n_columns = strlen(align)};
}

void cli_grid_cell(cli_grid *g, const char *format, ...) {
    va_list args;
    if (g->n_cells == g->capacity) {
        size_t capacity = g->capacity ? 2 * g->capacity : 64;
        char **cells = realloc(g->cells, capacity * sizeof *cells);
        if (!cells) {
            g->failed = 1;
            return;
        }
        g->cells = cells;
        g->capacity = capacity;
    }
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *cell = n < 0 ? NULL : malloc((size_t)n + 1);
    if (!cell) {
        g->failed = 1;
        return;
    }
    va_start(args, format);
    vsnprintf(cell, (size_t)n + 1, format, args);
    va_end(args);
    g->cells[g->n_cells++] = cell;
}

static int column_width(const cli_grid *g, size_t column) {
    int widest = 0;
    for (size_t i = column; i < g->n_cells; i += g->n_columns) {
        int w = width(g->cells[i]);
        if (w > widest) widest = w;
    }
    return widest;
}

static void print_row(const cli_grid *g, FILE *to, const char *const *row, const int *widths) {
    size_t n = g->n_columns;
    while (n && !row[n - 1][0]) n--; /* no blanks at the end of a line */
    for (size_t c = 0; c < n; c++) {
        int pad = widths[c] - width(row[c]), left = g->align[c] == 'r' ? pad : 0;
        fprintf(to, "%s%*s%s%*s", c ? "  " : "", left, "", row[c], c + 1 < n ? pad - left : 0, "");
    }
    fputc('\n', to);
}

cls_status cli_grid_end(cli_grid *g, FILE *to, cls_error *error) {
    int *widths = calloc(g->n_columns + 1, sizeof *widths);
    int failed = g->failed || !widths;
    for (size_t c = 0; !failed && c < g->n_columns; c++) widths[c] = column_width(g, c);
    for (size_t i = 0; !failed && i + g->n_columns <= g->n_cells; i += g->n_columns)
        print_row(g, to, (const char *const *)&g->cells[i], widths);
    for (size_t i = 0; i < g->n_cells; i++) free(g->cells[i]);
    free(g->cells);
    free(widths);
    *g = (cli_grid){0};
    return failed ? cli_no_memory(error) : CLS_OK;
}

/* ---- numbers and JSON ---- */

void cli_format(double value, char out[32]) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
    char *comma = strchr(out, ','); /* of a locale that another library has set */
    if (comma) *comma = '.';
}

json_t *cli_json_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* Members of an object that found no memory are missing without a word: the allocator of the JSON
 * library tells. */
static int json_failed;

static void *json_allocate(size_t size) {
    void *p = malloc(size);
    if (!p) json_failed = 1;
    return p;
}

void cli_json_begin(void) {
    json_set_alloc_funcs(json_allocate, free);
}

int cli_json_failed(void) {
    return json_failed;
}

cls_status cli_print_json(json_t *object, cls_error *error) {
    char *text =
        object && !json_failed ? json_dumps(object, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;
    json_decref(object);
    if (json_failed) { /* the text may be cut short */
        free(text);
        text = NULL;
    }
    if (!text)
        return cli_fail(error, CLS_MEMORY,
                        "cannot make the JSON text: out of memory, or a name that is not UTF-8");
    puts(text);
    free(text);
    return CLS_OK;
}

/* ---- several processes ---- */

static const cls_team *team; /* that this process belongs to: set once, by main of clausius-mpi */

void cli_set_team(const cls_team *given) {
    team = given;
}

const cls_team *cli_team(void) {
    return team;
}

int cli_is_first(void) {
    return !team || team->rank == 0;
}

/* ---- long work ---- */

static volatile sig_atomic_t interrupted, asked; /* what a signal handler can reach */

enum { UNHEARD = 10 }; /* seconds, many times what any loop takes until it asks */

/* Before the first query a system is being built, and nothing is written yet; or it was announced that there are no queries. */
static void on_signal(int number) {
    interrupted = number;
    alarm(asked ? UNHEARD : 1);
}

/* Nobody asked. As without a handler, which is gone by now (SA_RESETHAND). */
static void on_alarm(int number) {
    (void)number;
    raise(interrupted);
}

void cli_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction unheard = {.sa_handler = on_alarm};
    sigemptyset(&action.sa_mask);
    sigemptyset(&unheard.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGXCPU, &action, NULL);
    sigaction(SIGALRM, &unheard, NULL);
    struct sigaction given;
    if (sigaction(SIGHUP, NULL, &given) == 0 &&
        given.sa_handler != SIG_IGN) /* nohup: it stays unheard */
        sigaction(SIGHUP, &action, NULL);
}

int cli_interrupted(void) {
    asked = 1;
    if (interrupted) alarm(0);
    return interrupted != 0;
}

int cli_interrupted_before_work(void) {
    (void)cli_interrupted();
    asked = 0;
    return interrupted != 0;
}

double cli_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_progress_begin(cli_progress *p, const char *label, const char *unit, double total,
                        int quiet) {
    const char *term = getenv("TERM");
    double now = cli_seconds();
    *p = (cli_progress){.label = label, .unit = unit, .total = total, .begin = now, .last = now};
    p->quiet = quiet;
    p->terminal = isatty(STDERR_FILENO) && !(term && !strcmp(term, "dumb"));
}

/* "12s", "3m05s", "2h10m". */
static void format_time(double seconds, char out[32]) {
    long s = seconds < 1e9 ? (long)(seconds + 0.5) : 1000000000;
    if (s < 60)
        snprintf(out, 32, "%lds", s);
    else if (s < 3600)
        snprintf(out, 32, "%ldm%02lds", s / 60, s % 60);
    else
        snprintf(out, 32, "%ldh%02ldm", s / 3600, s / 60 % 60);
}

static void draw(cli_progress *p, double done, double now, const char *extra) {
    enum { cells = 30 };
    char bar[cells + 1] = "", time[32] = "?";
    double elapsed = now - p->begin, fraction = p->total > 0 ? done / p->total : 0;
    double rate = elapsed > 0 ? done / elapsed : 0;
    int full = (int)(fraction * cells);
    if (full > cells) full = cells;
    memset(bar, '#', (size_t)full);
    memset(bar + full, '.', (size_t)(cells - full));
    fprintf(stderr, "%s%s ", p->terminal ? "\r" : "", p->label);
    if (p->total > 0) {
        if (rate > 0) format_time((p->total - done) / rate, time);
        fprintf(stderr, "%s%s%s%3.0f%%  %.3g %s/s  %s left", p->terminal ? "[" : "",
                p->terminal ? bar : "", p->terminal ? "] " : "", 100 * fraction, rate, p->unit,
                time);
    } else { /* until it converges */
        format_time(elapsed, time);
        fprintf(stderr, "%.0f %s  %.3g %s/s  %s", done, p->unit, rate, p->unit, time);
    }
    fprintf(stderr, "%s%s%s", extra ? "  " : "", extra ? extra : "", p->terminal ? "\033[K" : "\n");
    fflush(stderr);
    p->last = now;
    p->drawn = 1;
}

/* A bar ten times a second; without a terminal a line every three seconds. Work that is over within
 * half a second (three without a terminal) shows nothing. */
void cli_progress_update(cli_progress *p, double done, const char *extra) {
    if (p->quiet) return;
    double now = cli_seconds();
    double wait = p->terminal ? (p->drawn ? 0.1 : 0.5) : 3;
    if (now - p->last >= wait) draw(p, done, now, extra);
}

void cli_progress_end(cli_progress *p) {
    if (p->terminal && p->drawn) fputs("\r\033[K", stderr);
    p->drawn = 0;
}
