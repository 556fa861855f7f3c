/* Numbers in brackets: what an index is at one turn of its loops.
 *
 * Indices are whole numbers made of digits, the indices around, parameters of the file (by --set
 * where given) and + - * / ^, mod(a, b), min(a, b), max(a, b). A small evaluator on the text: the
 * graph is not asked, since it does not exist before the names do. */
#include "base/locale.h"
#include "system/arrays.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int is_letter(char c) {
    return isalpha((unsigned char)c) || c == '_';
}

static int is_word(char c) {
    return is_letter(c) || isdigit((unsigned char)c);
}

size_t clsi_plain_word(const clsi_reader *r, size_t at, size_t end) {
    size_t i = at;
    if (i >= end || !is_letter(r->clean[i])) return 0;
    while (i < end && (is_word(r->clean[i]) ||
                       (r->clean[i] == '.' && i + 1 < end && is_letter(r->clean[i + 1]))))
        i++;
    return i - at;
}

size_t clsi_array_closing(const clsi_reader *r, size_t at, size_t end) {
    int depth = 0;
    for (; at < end; at++) {
        char c = r->clean[at];
        depth += c == '(' || c == '[';
        depth -= c == ')' || c == ']';
        if (depth == 0) return at + 1;
    }
    return 0;
}

/* ---- complaints ---- */

/* Whether a turn inside of this one has the same index at the same value: that of a let, reached by d[i]. */
static int is_told(const clsi_loops *a, size_t inner, size_t turn) {
    const clsi_turn *t = &a->turns[turn];
    for (; inner != turn; inner = a->turns[inner].parent) {
        const clsi_turn *s = &a->turns[inner];
        if (s->value == t->value && s->length == t->length &&
            memcmp(a->origin.clean + s->name, a->origin.clean + t->name, t->length) == 0)
            return 1;
    }
    return 0;
}

/* " (i = 3, j = 1)", or "". */
void clsi_turn_text(const clsi_loops *a, size_t turn, char *out, size_t room) {
    size_t used = 0, inner = turn;
    out[0] = 0;
    for (int k = 0; k < 4 && turn != SIZE_MAX; turn = a->turns[turn].parent) {
        const clsi_turn *t = &a->turns[turn];
        if (is_told(a, inner, turn)) continue;
        int n = snprintf(out + used, room - used, "%s%.*s = %ld", k++ ? ", " : " (", (int)t->length,
                         a->origin.clean + t->name, t->value);
        if (n < 0 || used + (size_t)n + 2 > room) break;
        used += (size_t)n;
    }
    if (used) snprintf(out + used, room - used, ")");
}

cls_status clsi_array_at(clsi_loops *a, size_t where, size_t turn, const char *format, ...) {
    char sentence[600], indices[160];
    va_list args;
    va_start(args, format);
    clsi_vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    clsi_turn_text(a, turn, indices, sizeof indices);
    return clsi_at(a->r, where, "%s%s", sentence, indices);
}

/* ---- turns ---- */

enum { MAX_TURNS = 1 << 21 }; /* a field of 512 x 512 cells in eight loops */

size_t clsi_turn_of(const clsi_loops *a, size_t turn, const char *word, size_t length) {
    while (turn != SIZE_MAX) {
        const clsi_turn *t = &a->turns[turn];
        if (t->length == length && memcmp(a->r->clean + t->name, word, length) == 0) return turn;
        if (t->hides) return SIZE_MAX;
        turn = t->parent;
    }
    return SIZE_MAX;
}

cls_status clsi_room_for_turns(clsi_loops *a, size_t parent, clsi_cursor name, long low,
                               long high) {
    if (low > high || (size_t)high - (size_t)low < MAX_TURNS - a->n_turns) return CLS_OK;
    return clsi_array_at(a, name.at, parent, "written out, this is more than %d times",
                         (int)MAX_TURNS);
}

/* A file of few elements is refused within a second or so; one of many may take as long as its
 * elements take to be read (decision 350). */
enum { FREE_WORK = 1 << 27, WORK_OF_AN_ELEMENT = 4096 };

cls_status clsi_count_work(clsi_loops *a, size_t where, size_t turn, size_t amount) {
    a->work += (double)amount;
    if (a->work <= FREE_WORK + WORK_OF_AN_ELEMENT * a->elements) return CLS_OK;
    return clsi_array_at(a, where, turn,
                         "written out, the loops and sums up to here are too much for a system of "
                         "%.0f elements of arrays",
                         a->elements);
}

cls_status clsi_add_turn(clsi_loops *a, size_t parent, clsi_cursor name, long value, int hides,
                         size_t *out) {
    cls_status status = clsi_room_for_turns(a, parent, name, value, value);
    if (status != CLS_OK) return status;
    if (!clsi_grow(&a->turns, &a->turns_room, a->n_turns + 1, sizeof *a->turns))
        return clsi_no_memory(a->r->error);
    *out = a->n_turns;
    a->turns[a->n_turns++] = (clsi_turn){parent, name.at, name.end - name.at, value, hides};
    return CLS_OK;
}

/* ---- the parameters of the file ---- */

cls_status clsi_find_sizes(clsi_loops *a, clsi_cursor c) {
    clsi_reader *r = a->r;
    do {
        clsi_skip_space(r, &c);
        size_t where = c.at, length = clsi_plain_word(r, c.at, c.end), end = clsi_item_end(r, &c);
        c.at += length;
        if (length && clsi_accept(r, &c, "=")) {
            size_t stop = c.at; /* the formula ends where a unit begins */
            while (stop < end && r->clean[stop] != '[') stop++;
            if (!clsi_grow(&a->sizes, &a->sizes_room, a->n_sizes + 1, sizeof *a->sizes))
                return clsi_no_memory(r->error);
            a->sizes[a->n_sizes++] = (clsi_size){where, length, {c.at, stop}, 0, 0};
        }
        c.at = end;
    } while (clsi_accept(r, &c, ","));
    return CLS_OK;
}

/* ---- the evaluator ---- */

typedef struct evaluator {
    clsi_loops *a;
    size_t at, end, turn;
    int depth;
    cls_status status;
} evaluator;

static double sum(evaluator *e);

static double complain(evaluator *e, size_t where, const char *what) {
    if (e->status == CLS_OK) e->status = clsi_array_at(e->a, where, e->turn, "%s", what);
    return 0;
}

static char peek(evaluator *e) {
    const char *t = e->a->r->clean;
    while (e->at < e->end && (t[e->at] == ' ' || t[e->at] == '\n')) e->at++;
    return e->at < e->end ? t[e->at] : 0;
}

static double of_parameter(evaluator *e, clsi_size *p, size_t where) {
    const cls_assignments *set = e->a->r->set;
    const char *name = e->a->r->clean + p->name;
    for (size_t i = 0; set && i < set->n; i++)
        if (!(set->formulas && set->formulas[i]) && strlen(set->names[i]) == p->length &&
            memcmp(set->names[i], name, p->length) == 0)
            p->value = set->values[i], p->state = 2;
    if (p->state == 2) return p->value;
    if (p->state == 1) return complain(e, where, "this parameter is defined by itself");
    p->state = 1;
    evaluator inner = {e->a, p->formula.at, p->formula.end, SIZE_MAX, 0, CLS_OK};
    p->value = sum(&inner);
    if (inner.status == CLS_OK && peek(&inner))
        complain(&inner, inner.at, "a size is made of numbers, parameters, + - * / ^");
    if (inner.status != CLS_OK) e->status = inner.status;
    p->state = inner.status == CLS_OK ? 2 : 0;
    return p->value;
}

static double call(evaluator *e, size_t where, size_t length) {
    const char *word = e->a->r->clean + where;
    int is_mod = length == 3 && memcmp(word, "mod", 3) == 0;
    int is_min = length == 3 && memcmp(word, "min", 3) == 0;
    int is_max = length == 3 && memcmp(word, "max", 3) == 0;
    if (!is_mod && !is_min && !is_max)
        return complain(e, where, "indices know the functions mod(a, b), min(a, b) and max(a, b)");
    e->at++;
    double x = sum(e);
    if (peek(e) != ',') return complain(e, e->at, "expected `,` and a second number");
    e->at++;
    double y = sum(e);
    if (peek(e) != ')') return complain(e, e->at, "expected `)`");
    e->at++;
    if (is_mod) return x - y * floor(x / y);
    return is_min ? fmin(x, y) : fmax(x, y);
}

static double is_no_number(evaluator *e, size_t where, size_t length) {
    const char *name = e->a->r->clean + where;
    char text[400], loop[120] = "";
    int shown = (int)(length < 40 ? length : 40);
    if (length == 7 && memcmp(name, "unknown", 7) == 0)
        return complain(e, where,
                        "a size is no unknown: how many elements there are is known before "
                        "anything is learned; write a number, `parameter N = 10`");
    if (e->turn != SIZE_MAX)
        snprintf(loop, sizeof loop, ", or a loop around it, `for %.*s in 1..10: ...`", shown, name);
    snprintf(text, sizeof text,
             "`%.*s` is no number here: an index is made of numbers, the indices of loops and "
             "parameters (`parameter %.*s = 10` makes it one%s)",
             shown, name, shown, name, loop);
    return complain(e, where, text);
}

static double word(evaluator *e) {
    clsi_reader *r = e->a->r;
    size_t where = e->at, length = clsi_plain_word(r, e->at, e->end);
    e->at += length;
    if (peek(e) == '(') return call(e, where, length);
    size_t turn = clsi_turn_of(e->a, e->turn, r->clean + where, length);
    if (turn != SIZE_MAX) return (double)e->a->turns[turn].value;
    e->status = clsi_count_work(e->a, where, e->turn, e->a->n_sizes);
    for (size_t i = 0; i < e->a->n_sizes && e->status == CLS_OK; i++) {
        clsi_size *p = &e->a->sizes[i];
        if (p->length == length && memcmp(r->clean + p->name, r->clean + where, length) == 0)
            return of_parameter(e, p, where);
    }
    return is_no_number(e, where, length);
}

static double atom(evaluator *e) {
    char c = peek(e);
    if (e->status != CLS_OK) return 0;
    if (++e->depth > 100) return complain(e, e->at, "nested too deep");
    double x = 0;
    if (isdigit((unsigned char)c) || c == '.') {
        char *end;
        x = clsi_strtod(e->a->r->clean + e->at, &end);
        e->at = (size_t)(end - e->a->r->clean);
        if (end[-1] == '.' && end[0] == '.') e->at--; /* 1..N */
    } else if (is_letter(c)) {
        x = word(e);
    } else if (c == '(') {
        e->at++;
        x = sum(e);
        if (e->status == CLS_OK && peek(e) != ')') return complain(e, e->at, "expected `)`");
        e->at++;
    } else if (c == '-') {
        e->at++;
        x = -atom(e);
    } else {
        return complain(e, e->at, "expected a number, an index or a parameter");
    }
    if (peek(e) == '^') {
        e->at++;
        x = pow(x, atom(e));
    }
    e->depth--;
    return x;
}

static double product(evaluator *e) {
    double x = atom(e);
    for (char c = peek(e); e->status == CLS_OK && (c == '*' || c == '/'); c = peek(e)) {
        e->at++;
        double y = atom(e);
        x = c == '*' ? x * y : x / y;
    }
    return x;
}

static double sum(evaluator *e) {
    double x = product(e);
    for (char c = peek(e); e->status == CLS_OK && (c == '+' || c == '-'); c = peek(e)) {
        e->at++;
        double y = product(e);
        x = c == '+' ? x + y : x - y;
    }
    return x;
}

cls_status clsi_array_number(clsi_loops *a, size_t begin, size_t end, size_t turn, double *out) {
    cls_status status = clsi_count_work(a, begin, turn, 4 * (end - begin));
    if (status != CLS_OK) return status;
    evaluator e = {a, begin, end, turn, 0, CLS_OK};
    *out = sum(&e);
    if (e.status == CLS_OK && peek(&e))
        complain(&e, e.at, "expected the end of the index: indices are made of + - * / ^");
    return e.status;
}

cls_status clsi_array_integer(clsi_loops *a, size_t begin, size_t end, size_t turn, long *out) {
    double x;
    cls_status status = clsi_array_number(a, begin, end, turn, &x);
    if (status != CLS_OK) return status;
    if (fabs(x) >= 1e9)
        return clsi_array_at(a, begin, turn, "an index is below 1e9, this is %g", x);
    if (x != floor(x))
        return clsi_array_at(a, begin, turn, "an index is a whole number, this is %g", x);
    *out = (long)x;
    return CLS_OK;
}
