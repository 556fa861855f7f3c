/* Of the texts that exported C carries (kernels, Newton's method, the step, networks), what a model
 * calls: a model of logarithms needs no error function, and its reader none of the comments, which
 * stand in the sources of clausius.
 *
 *   comments         go; two blanks a level
 *   NUMBER(x)        macros that are a number of the model, whatever x is, are that number, and
 *   NAME, NAME(x)    those that are another name are that name
 *   #ifdef CLSI_...  resolved, outside of other conditions: defined is what a #define before says
 *   case DEAD:       goes with its statements; `if` whose condition names only dead ones, or is
 *                    a number that says no, too; where it is sure, what `else` leads to; loops to 0,
 *                    and casts of arguments that are used
 *   the top          functions, tables, macros and enums that nothing needs go; typedefs, and what is
 *                    not static, stay and need what they name
 *
 * It knows the C of these texts, which clang-format has laid out, not all of C: what it gets wrong
 * does not compile. Cost: the words of the texts times the logarithm of the names. */
#include "export/trim.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct word {
    const char *s;
    uint32_t n;
    uint32_t indent;         /* of the line that it begins */
    char kind;               /* i identifier, # directive, w a whole piece, p all else */
    unsigned char line, gap; /* it begins a line; a blank stands before it */
    unsigned char gone;      /* left out */
} word;

/* Words first .. last - 1 of the top. */
typedef struct chunk {
    size_t first, last;
    int reached;
} chunk;

typedef struct provided {
    const char *s;
    uint32_t n;
    size_t chunk;
} provided;

typedef struct trimmer {
    word *words;
    size_t n, words_room;
    chunk *chunks;
    size_t n_chunks, chunks_room;
    provided *names;
    size_t n_names, names_room;
    size_t *open; /* chunks reached and not yet looked at */
    size_t n_open;
    int failed;
} trimmer;

/* ---- words ---- */

static int is(const word *w, const char *text) {
    return strlen(text) == w->n && !memcmp(w->s, text, w->n);
}

static int begins(const word *w, const char *text) {
    return w->n >= strlen(text) && !memcmp(w->s, text, strlen(text));
}

static int is_letter(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static const char *directive_end(const char *s) {
    while (*s && *s != '\n') s += s[0] == '\\' && s[1] ? 2 : 1;
    return s;
}

static size_t word_length(const char *s) {
    size_t n = 1;
    if (is_letter(*s) || (*s == '.' && isdigit((unsigned char)s[1]))) {
        int number = !isalpha((unsigned char)*s) && *s != '_';
        while (is_letter(s[n]) || (number && (s[n] == '.' || ((s[n] == '+' || s[n] == '-') &&
                                                              strchr("eEpP", s[n - 1])))))
            n++;
        return n;
    }
    if (*s == '"' || *s == '\'') {
        while (s[n] && s[n] != *s) n += s[n] == '\\' ? 2 : 1;
        return n + 1;
    }
    return n;
}

static void push(trimmer *t, word w) {
    if (!clsi_grow(&t->words, &t->words_room, t->n + 1, sizeof w))
        t->failed = 1;
    else
        t->words[t->n++] = w;
}

static void read_words(trimmer *t, const char *s) {
    word w = {.line = 1};
    while (*s && !t->failed) {
        if (*s == '\n') {
            w.line = 1, w.indent = 0;
            s++;
        } else if (isspace((unsigned char)*s)) {
            w.indent += w.line, w.gap = 1;
            s++;
        } else if (s[0] == '/' && s[1] == '*') {
            const char *end = strstr(s, "*/");
            s = end ? end + 2 : s + strlen(s);
            w.gap = 1;
        } else {
            w.s = s;
            w.kind = isalpha((unsigned char)*s) || *s == '_' ? 'i' : *s == '#' ? '#' : 'p';
            w.n = (uint32_t)(*s == '#' ? (size_t)(directive_end(s) - s) : word_length(s));
            push(t, w);
            s += w.n;
            w = (word){0};
        }
    }
}

/* ---- conditions of the preprocessor ---- */

static word directive_word(const word *w, int which) {
    const char *s = w->s + 1, *end = w->s + w->n;
    word found = {0};
    for (int k = 0; k <= which; k++) {
        while (s < end && !is_letter(*s)) s++;
        found = (word){.s = s};
        while (s < end && is_letter(*s)) s++;
        found.n = (uint32_t)(s - found.s);
    }
    return found;
}

static int is_defined(const trimmer *t, size_t before, const word *name, int script) {
    if (is(name, "CLSI_SCRIPT")) return script;
    for (size_t k = 0; k < before; k++) {
        if (t->words[k].kind != '#' || t->words[k].gone) continue;
        word what = directive_word(&t->words[k], 0), which = directive_word(&t->words[k], 1);
        if (is(&what, "define") && which.n == name->n && !memcmp(which.s, name->s, name->n))
            return 1;
    }
    return 0;
}

/* What is gone is gone. */
static void close_ranks(trimmer *t) {
    size_t n = 0;
    for (size_t k = 0; k < t->n; k++)
        if (!t->words[k].gone) t->words[n++] = t->words[k];
    t->n = n;
}

enum { DEEPEST = 16 };

/* Conditions that are not ours stay, with all that is in them. */
static void resolve_conditions(trimmer *t, int script) {
    int level = 0, foreign = 0, off[DEEPEST] = {0};
    for (size_t k = 0; k < t->n; k++) {
        word *w = &t->words[k];
        int skipping = 0;
        for (int i = 0; i < level; i++) skipping |= off[i];
        w->gone |= skipping != 0;
        if (w->kind != '#') continue;
        word what = directive_word(w, 0), name = directive_word(w, 1);
        int conditional = begins(&what, "if"), ours = begins(&name, "CLSI_");
        if (conditional && (foreign || is(&what, "if") || !ours)) {
            foreign++;
        } else if (conditional && level < DEEPEST) {
            off[level++] = is_defined(t, k, &name, script) != is(&what, "ifdef");
            w->gone = 1;
        } else if (foreign) {
            foreign -= is(&what, "endif");
        } else if (is(&what, "else") || is(&what, "endif")) {
            off[level - 1] = !off[level - 1];
            level -= is(&what, "endif");
            w->gone = 1;
        }
    }
    close_ranks(t);
}

/* ---- numbers of the model ---- */

/* `#define NAME(x) ((void)(x), NUMBER)`: the number; of length 0 for all others. */
static word number_of(const word *define) {
    static const char head[] = ") ((void)(", tail[] = "), ";
    word what = directive_word(define, 0), name = directive_word(define, 1), none = {0};
    word x = directive_word(define, 2);
    const char *s = x.s + x.n, *end = define->s + define->n;
    if (!is(&what, "define") || name.s + name.n + 1 != x.s || name.s[name.n] != '(') return none;
    size_t n = strlen(head), m = strlen(tail);
    if ((size_t)(end - s) < n + x.n + m || memcmp(s, head, n) != 0) return none;
    if (memcmp(s + n, x.s, x.n) != 0 || memcmp(s + n + x.n, tail, m) != 0) return none;
    s += n + x.n + m;
    word number = {.s = s, .n = (uint32_t)word_length(s), .kind = 'p'};
    return isdigit((unsigned char)*s) && s + number.n + 1 == end ? number : none;
}

static size_t closing(const trimmer *t, size_t k);
static void leave_out(trimmer *t, size_t from, size_t to);

/* `#define NAME OTHER` and `#define NAME(x, ...) OTHER(x, ...)`, OTHER a name or a whole number; of length 0 for all others. */
static word other_name(const word *define) {
    word what = directive_word(define, 0), name = directive_word(define, 1), none = {0};
    const char *list = name.s + name.n, *end = define->s + define->n, *s = list;
    if (!is(&what, "define")) return none;
    while (*list == '(' && s < end && *s != ')') s++;
    s += *list == '(';
    size_t n = (size_t)(s - list);
    if (s >= end || *s != ' ') return none;
    word other = {.s = s + 1, .n = (uint32_t)word_length(s + 1), .kind = 'i'};
    int whole = strspn(other.s, "0123456789") == other.n;
    if (whole) other.kind = 'p';
    if (!whole && !isalpha((unsigned char)*other.s)) return none;
    if (other.s + other.n + n != end || memcmp(other.s + other.n, list, n) != 0) return none;
    return other;
}

/* `#define NAME(changed, in, room, out) ((void)(changed), OTHER(in, room, out))`: OTHER; of length 0 for all others. */
static word one_variant(const word *define) {
    static const char chosen[] = "(changed, in, room, out) ((void)(changed), ";
    word name = directive_word(define, 1), none = {0};
    const char *list = name.s + name.n, *end = define->s + define->n;
    if ((size_t)(end - list) < sizeof chosen || memcmp(list, chosen, sizeof chosen - 1) != 0)
        return none;
    list += sizeof chosen - 1;
    return (word){.s = list, .n = (uint32_t)word_length(list), .kind = 'i'};
}

/* Without the first argument of the call whose bracket is word k. */
static void leave_first(trimmer *t, size_t k) {
    size_t end = k + 1;
    for (; end < t->n && !is(&t->words[end], ","); end++)
        if (is(&t->words[end], "(")) end = closing(t, end);
    if (end + 1 < t->n) t->words[end + 1].gap = 0;
    leave_out(t, k + 1, end + 1);
}

/* What macros stand for, wherever the texts name them after that; not what conditions of others define. */
static void put_names(trimmer *t) {
    int level = 0;
    for (size_t k = 0; k < t->n; k++) {
        if (t->words[k].kind != '#') continue;
        word what = directive_word(&t->words[k], 0), name = directive_word(&t->words[k], 1);
        level += begins(&what, "if") - is(&what, "endif");
        if (level) continue;
        word number = number_of(&t->words[k]), other = other_name(&t->words[k]);
        word one = one_variant(&t->words[k]);
        const word *to = number.n ? &number : one.n ? &one : &other;
        for (size_t i = k + 1; to->n && i + 1 < t->n; i++) {
            word *w = &t->words[i];
            if (w->kind != 'i' || w->n != name.n || memcmp(w->s, name.s, name.n) != 0) continue;
            w->s = to->s, w->n = to->n, w->kind = to->kind;
            if (number.n) leave_out(t, i + 1, closing(t, i + 1) + 1);
            if (one.n) leave_first(t, i + 1);
        }
    }
    close_ranks(t);
}

/* ---- branches that are never taken ---- */

static size_t closing(const trimmer *t, size_t k) {
    int level = 0;
    for (; k < t->n; k++) {
        const word *w = &t->words[k];
        if (w->kind != 'p') continue;
        level += *w->s == '(' || *w->s == '[' || *w->s == '{';
        level -= *w->s == ')' || *w->s == ']' || *w->s == '}';
        if (!level) return k;
    }
    return t->n ? t->n - 1 : 0;
}

static int is_dead(const word *w, const char *const *dead) {
    for (; *dead; dead++)
        if (is(w, *dead)) return 1;
    return 0;
}

static void leave_out(trimmer *t, size_t from, size_t to) {
    for (; from < to; from++) t->words[from].gone = 1;
}

static size_t before(const trimmer *t, size_t k) {
    while (k > 0 && t->words[k - 1].gone) k--;
    return k ? k - 1 : 0;
}

/* `case DEAD:` at k; its statements go, too, unless another label leads to them. */
static void prune_case(trimmer *t, size_t k) {
    size_t end = k + 3; /* behind the colon */
    int shared = is(&t->words[before(t, k)], ":");
    while (!shared && end < t->n && !is(&t->words[end], "case") && !is(&t->words[end], "default") &&
           !is(&t->words[end], "}"))
        end = is(&t->words[end], "{") || is(&t->words[end], "(") ? closing(t, end) + 1 : end + 1;
    leave_out(t, k, end);
}

/* Behind the statement at k, with all that belongs to an `if`. */
static size_t statement_end(const trimmer *t, size_t k) {
    int branch = is(&t->words[k], "if");
    if (is(&t->words[k], "{")) return closing(t, k) + 1;
    if (branch || is(&t->words[k], "for") || is(&t->words[k], "while"))
        k = statement_end(t, closing(t, k + 1) + 1);
    else
        for (; k < t->n && !is(&t->words[k], ";"); k++)
            if (is(&t->words[k], "(") || is(&t->words[k], "{")) k = closing(t, k);
    if (!branch) return k + (k < t->n && is(&t->words[k], ";"));
    return k < t->n && is(&t->words[k], "else") ? statement_end(t, k + 1) : k;
}

enum { NO, YES, OPEN };

/* What the condition from `first` to `last` says before the program runs: a number, or its
 * opposite; whether it names what is dead, or `sure`, and nothing else. */
static int answer(const trimmer *t, size_t first, size_t last, const char *const *dead,
                  const char *sure) {
    const word *w = t->words + first;
    int some = 0, all = 1, opposite = last == first + 2 && is(w, "!");
    if (last == first + 1 + (size_t)opposite && isdigit((unsigned char)*w[opposite].s))
        return is(w + opposite, "0") == opposite;
    for (size_t i = first; i < last; i++) {
        if (sure && is(&t->words[i], sure)) return YES;
        if (is_dead(&t->words[i], dead))
            some = 1;
        else if (begins(&t->words[i], "CLSI_K_") || begins(&t->words[i], "CLSI_N_"))
            all = 0;
    }
    return some && all ? NO : OPEN;
}

/* Word `to` stands where `from` did. */
static void move(trimmer *t, size_t from, size_t to) {
    word *w = &t->words[to], *there = &t->words[from];
    w->line = there->line, w->gap = there->gap, w->indent = there->indent;
}

/* `if (...)` at k. One that is always taken and stands alone stays. */
static void prune_if(trimmer *t, size_t k, const char *const *dead, const char *sure) {
    size_t close = closing(t, k + 1), first = k;
    int taken = answer(t, k + 2, close, dead, sure);
    if (taken == OPEN) return;
    size_t end = statement_end(t, close + 1);
    int otherwise = end < t->n && is(&t->words[end], "else");
    if (taken == YES && otherwise) {
        leave_out(t, end, statement_end(t, end + 1));
        move(t, k, close + 1);
        leave_out(t, k, close + 1);
    } else if (taken == NO) {
        if (otherwise) move(t, k, end + 1);
        if (!otherwise && is(&t->words[before(t, k)], "else")) first = before(t, k);
        leave_out(t, first, end + (size_t)otherwise);
    }
}

/* `+ 0` at k, a sum's last or followed by another. */
static void prune_zero(trimmer *t, size_t k) {
    if (!is(&t->words[k + 1], "0") || is(&t->words[before(t, k)], "+")) return;
    if (!strchr("+]),;", *t->words[k + 2].s)) return;
    leave_out(t, k, k + 2);
}

static void prune_branches(trimmer *t, const char *const *dead, const char *sure) {
    for (size_t k = 0; k + 3 < t->n; k++) {
        if (t->words[k].gone) continue;
        if (is(&t->words[k], "+")) prune_zero(t, k);
        if (t->words[k].gone || t->words[k].kind != 'i') continue;
        if (is(&t->words[k], "case") && is_dead(&t->words[k + 1], dead))
            prune_case(t, k);
        else if (is(&t->words[k], "if") && is(&t->words[k + 1], "("))
            prune_if(t, k, dead, sure);
    }
    close_ranks(t);
}

/* ---- the top ---- */

static void provide(trimmer *t, const word *w) {
    if (!clsi_grow(&t->names, &t->names_room, t->n_names + 1, sizeof *t->names))
        t->failed = 1;
    else
        t->names[t->n_names++] = (provided){w->s, w->n, t->n_chunks};
}

/* A declaration or definition from k on: where it ends, and its names. */
static size_t read_declaration(trimmer *t, size_t k) {
    size_t first = k;
    int listed = is(&t->words[k], "enum"), function = 0;
    for (; k < t->n; k++) {
        const word *w = &t->words[k], *next = k + 1 < t->n ? w + 1 : w;
        if (is(w, ";")) return k + 1;
        if (is(w, "{")) {
            size_t end = closing(t, k);
            for (size_t i = k + 1; i < end && listed; i++)
                if (t->words[i].kind == 'i') provide(t, &t->words[i]);
            if (function) return end + 1;
            k = end;
        } else if (is(w, "(") || is(w, "[")) {
            k = closing(t, k);
        } else if (w->kind == 'i' && is(next, "(") && !function) {
            provide(t, w);
            function = k > first;
        } else if (w->kind == 'i' && strchr("=[,;", *next->s) && next->n == 1) {
            provide(t, w);
        }
    }
    return k;
}

static size_t read_directive(trimmer *t, size_t k) {
    word what = directive_word(&t->words[k], 0), name = directive_word(&t->words[k], 1);
    if (is(&what, "define")) provide(t, &name);
    if (!begins(&what, "if")) return k + 1;
    for (int level = 0; k < t->n; k++) {
        if (t->words[k].kind != '#') continue;
        what = directive_word(&t->words[k], 0), name = directive_word(&t->words[k], 1);
        if (is(&what, "define")) provide(t, &name);
        level += begins(&what, "if") - is(&what, "endif");
        if (!level) return k + 1;
    }
    return k;
}

/* Static things, macros and enums stay only where they are needed. */
static int stays(const trimmer *t, size_t first) {
    static const char *const needed[] = {"static", "CLSI_KERNEL", "CLSI_DENSE", "CLSI_N_FUNCTION",
                                         "enum"};
    const word *w = &t->words[first];
    word what = {.s = "", .n = 0};
    if (w->kind == '#') what = directive_word(w, 0);
    if (is(&what, "define")) return 0;
    for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
        if (is(w, needed[k])) return 0;
    return 1;
}

/* How often the words of a chunk name w: not as a member; with or without casts to nothing. */
static size_t count_uses(const trimmer *t, const chunk *c, const word *w, int casts) {
    size_t n = 0;
    for (size_t k = c->first + 3; k < c->last; k++) {
        const word *x = &t->words[k];
        if (x->gone || x->n != w->n || memcmp(x->s, w->s, w->n) != 0) continue;
        n += !is(x - 1, ".") && !is(x - 1, ">") && (casts || !is(x - 2, "void"));
    }
    return n;
}

/* `for (int i = 0; i < 0; ...)` of a function, unless a name would be left that nothing reads. */
static void prune_loops(trimmer *t, const chunk *c) {
    static const char *const head[] = {"for", "(", "int", NULL, "=", "0", ";", NULL, "<", "0", ";"};
    const size_t n = sizeof head / sizeof *head;
    for (size_t k = c->first; k + n < c->last; k++) {
        size_t same = 0;
        while (same < n && (!head[same] || is(&t->words[k + same], head[same]))) same++;
        if (same < n) continue;
        size_t end = statement_end(t, k);
        int alone = 0;
        leave_out(t, k, end);
        for (size_t i = k; i < end; i++)
            alone |= t->words[i].kind == 'i' && count_uses(t, c, &t->words[i], 1) == 1;
        for (size_t i = k; i < end && alone; i++) t->words[i].gone = 0;
    }
}

/* The cast to nothing at k, `(void)x,` or `(void)x;`. */
static int is_cast(const trimmer *t, size_t k, size_t last) {
    const word *w = t->words + k;
    return k + 5 <= last && is(w, "(") && is(w + 1, "void") && is(w + 2, ")") && w[3].kind == 'i' &&
           (is(w + 4, ",") || is(w + 4, ";"));
}

/* `(void)x, (void)y;` of a function: a name goes that its declaration is not the only place of. */
static void prune_casts(trimmer *t, const chunk *c) {
    for (size_t k = c->first + 1; k < c->last; k++) {
        size_t end = k, left = k;
        if (!strchr(";{}", *t->words[k - 1].s)) continue;
        for (; is_cast(t, end, c->last); end += 5) {
            if (count_uses(t, c, &t->words[end + 3], 0) > 1)
                leave_out(t, end, end + 5);
            else
                left = end + 5;
        }
        if (left == k) continue;
        t->words[left - 1].s = ";";
        for (left = k; t->words[left].gone;) left++;
        move(t, k, left);
        k = end - 1;
    }
}

static void read_top(trimmer *t) {
    for (size_t k = 0, next; k < t->n && !t->failed; k = next) {
        chunk c = {.first = k};
        if (!clsi_grow(&t->chunks, &t->chunks_room, t->n_chunks + 1, sizeof c)) {
            t->failed = 1;
            return;
        }
        next = t->words[k].kind == 'w'   ? k + 1
               : t->words[k].kind == '#' ? read_directive(t, k)
                                         : read_declaration(t, k);
        c.last = next;
        c.reached = stays(t, k);
        prune_loops(t, &c);
        prune_casts(t, &c);
        t->chunks[t->n_chunks++] = c;
    }
}

/* ---- what is needed ---- */

static int compare_names(const void *a, const void *b) {
    const provided *x = a, *y = b;
    int order = strncmp(x->s, y->s, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* qsort keeps the order of equals only as long as it has memory. */
static int compare_provided(const void *a, const void *b) {
    const provided *x = a, *y = b;
    int order = compare_names(a, b);
    return order ? order : (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

static void need(trimmer *t, const char *s, uint32_t n) {
    provided key = {s, n, 0};
    const provided *found =
        t->n_names ? bsearch(&key, t->names, t->n_names, sizeof key, compare_names) : NULL;
    if (!found) return;
    while (found > t->names && !compare_names(found - 1, &key)) found--;
    for (; found < t->names + t->n_names && !compare_names(found, &key); found++)
        if (!t->chunks[found->chunk].reached) {
            t->chunks[found->chunk].reached = 1;
            t->open[t->n_open++] = found->chunk;
        }
}

static void need_text(trimmer *t, const char *s, const char *end) {
    while (s < end) {
        if (!is_letter(*s)) {
            s++;
            continue;
        }
        const char *from = s;
        while (s < end && is_letter(*s)) s++;
        if (isalpha((unsigned char)*from)) need(t, from, (uint32_t)(s - from));
    }
}

static void need_chunk(trimmer *t, const chunk *c) {
    for (size_t k = c->first; k < c->last; k++) {
        const word *w = &t->words[k];
        if (w->gone) continue;
        if (w->kind == 'i')
            need(t, w->s, w->n);
        else if (w->kind == '#' || w->kind == 'w')
            need_text(t, w->s, w->s + w->n);
    }
}

static void reach(trimmer *t, const char *const *also) {
    if (t->n_names) qsort(t->names, t->n_names, sizeof *t->names, compare_provided);
    for (size_t k = 0; k < t->n_chunks; k++)
        if (t->chunks[k].reached) t->open[t->n_open++] = k;
    for (; also && *also; also++) need(t, *also, (uint32_t)strlen(*also));
    for (size_t k = 0; k < t->n_open; k++) need_chunk(t, &t->chunks[t->open[k]]);
}

/* ---- writing ---- */

/* A line begins at most two blanks behind the one before it, beside which it stays if it stood there: lists and
 * arguments that were laid out below a bracket do not. */
static void write_chunk(const trimmer *t, const chunk *c, clsi_text *out) {
    int first = 1, was = 0, now = 0;
    for (size_t k = c->first; k < c->last; k++) {
        const word *w = &t->words[k];
        if (w->gone) continue;
        if (w->line || first || w->kind == '#') {
            int indent = first ? 0 : (int)w->indent / 2;
            if (indent != was) now = indent < now + 2 ? indent : now + 2;
            was = indent;
            clsi_text_printf(out, "\n%*s", now, "");
        } else if (w->gap)
            clsi_text_append(out, " ");
        clsi_text_append_n(out, w->s, w->n);
        first = 0;
    }
}

cls_status clsi_trim_source(size_t n, const clsi_source_piece *pieces, const char *const *dead,
                            const char *sure, int script, const char *const *also, clsi_text *out,
                            cls_error *error) {
    trimmer t = {0};
    for (size_t k = 0; k < n; k++) {
        const char *text = pieces[k].text ? pieces[k].text : "";
        if (!pieces[k].whole)
            read_words(&t, text);
        else if (*text)
            push(&t, (word){.s = text, .n = (uint32_t)strlen(text), .kind = 'w', .line = 1});
    }
    if (!t.failed) resolve_conditions(&t, script);
    if (!t.failed) put_names(&t);
    if (!t.failed) prune_branches(&t, dead, sure);
    if (!t.failed) read_top(&t);
    t.open = clsi_calloc(t.n_chunks + 1, sizeof *t.open);
    if (t.open && !t.failed) reach(&t, also);
    for (size_t k = 0; t.open && k < t.n_chunks; k++)
        if (t.chunks[k].reached) write_chunk(&t, &t.chunks[k], out);
    clsi_text_append(out, "\n");
    int failed = t.failed || !t.open || out->failed;
    free(t.words);
    free(t.chunks);
    free(t.names);
    free(t.open);
    return failed ? clsi_no_memory(error) : CLS_OK;
}
