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
#include "export/words.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef clsi_word word;

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
    clsi_words text;
    chunk *chunks;
    size_t n_chunks, chunks_room;
    provided *names;
    size_t n_names, names_room;
    size_t *open; /* chunks reached and not yet looked at */
    size_t n_open;
} trimmer;

/* ---- conditions of the preprocessor ---- */

static int is_defined(const clsi_words *t, size_t before, const word *name, int script) {
    if (clsi_word_equals(name, "CLSI_SCRIPT")) return script;
    for (size_t k = 0; k < before; k++) {
        if (t->at[k].kind != '#' || t->at[k].gone) continue;
        word what = clsi_directive_word(&t->at[k], 0), which = clsi_directive_word(&t->at[k], 1);
        if (clsi_word_equals(&what, "define") && which.n == name->n &&
            !memcmp(which.s, name->s, name->n))
            return 1;
    }
    return 0;
}

enum { DEEPEST = 16 };

/* Conditions that are not ours stay, with all that is in them. */
static void resolve_conditions(clsi_words *t, int script) {
    int level = 0, foreign = 0, off[DEEPEST] = {0};
    for (size_t k = 0; k < t->n; k++) {
        word *w = &t->at[k];
        int skipping = 0;
        for (int i = 0; i < level; i++) skipping |= off[i];
        w->gone |= skipping != 0;
        if (w->kind != '#') continue;
        word what = clsi_directive_word(w, 0), name = clsi_directive_word(w, 1);
        int conditional = clsi_word_begins(&what, "if"), ours = clsi_word_begins(&name, "CLSI_");
        if (conditional && (foreign || clsi_word_equals(&what, "if") || !ours)) {
            foreign++;
        } else if (conditional && level < DEEPEST) {
            off[level++] = is_defined(t, k, &name, script) != clsi_word_equals(&what, "ifdef");
            w->gone = 1;
        } else if (foreign) {
            foreign -= clsi_word_equals(&what, "endif");
        } else if (clsi_word_equals(&what, "else") || clsi_word_equals(&what, "endif")) {
            off[level - 1] = !off[level - 1];
            level -= clsi_word_equals(&what, "endif");
            w->gone = 1;
        }
    }
    clsi_words_close(t);
}

/* ---- branches that are never taken ---- */

static int is_dead(const word *w, const char *const *dead) {
    for (; *dead; dead++)
        if (clsi_word_equals(w, *dead)) return 1;
    return 0;
}

static size_t before(const clsi_words *t, size_t k) {
    while (k > 0 && t->at[k - 1].gone) k--;
    return k ? k - 1 : 0;
}

/* `case DEAD:` at k; its statements go, too, unless another label leads to them. */
static void prune_case(clsi_words *t, size_t k) {
    size_t end = k + 3; /* behind the colon */
    int shared = clsi_word_equals(&t->at[before(t, k)], ":");
    while (!shared && end < t->n && !clsi_word_equals(&t->at[end], "case") &&
           !clsi_word_equals(&t->at[end], "default") && !clsi_word_equals(&t->at[end], "}"))
        end = clsi_word_equals(&t->at[end], "{") || clsi_word_equals(&t->at[end], "(")
                  ? clsi_words_closing(t, end) + 1
                  : end + 1;
    clsi_words_leave(t, k, end);
}

enum { NO, YES, OPEN };

/* What the condition from `first` to `last` says before the program runs: a number, or its
 * opposite; whether it names what is dead, or `sure`, and nothing else. */
static int answer(const clsi_words *t, size_t first, size_t last, const char *const *dead,
                  const char *sure) {
    const word *w = t->at + first;
    int some = 0, all = 1, opposite = last == first + 2 && clsi_word_equals(w, "!");
    if (last == first + 1 + (size_t)opposite && isdigit((unsigned char)*w[opposite].s))
        return clsi_word_equals(w + opposite, "0") == opposite;
    for (size_t i = first; i < last; i++) {
        if (sure && clsi_word_equals(&t->at[i], sure)) return YES;
        if (is_dead(&t->at[i], dead))
            some = 1;
        else if (clsi_word_begins(&t->at[i], "CLSI_K_") || clsi_word_begins(&t->at[i], "CLSI_N_"))
            all = 0;
    }
    return some && all ? NO : OPEN;
}

/* `if (...)` at k. One that is always taken and stands alone stays. */
static void prune_if(clsi_words *t, size_t k, const char *const *dead, const char *sure) {
    size_t close = clsi_words_closing(t, k + 1), first = k;
    int taken = answer(t, k + 2, close, dead, sure);
    if (taken == OPEN) return;
    size_t end = clsi_statement_end(t, close + 1);
    int otherwise = end < t->n && clsi_word_equals(&t->at[end], "else");
    if (taken == YES && otherwise) {
        clsi_words_leave(t, end, clsi_statement_end(t, end + 1));
        clsi_words_move(t, k, close + 1);
        clsi_words_leave(t, k, close + 1);
    } else if (taken == NO) {
        if (otherwise) clsi_words_move(t, k, end + 1);
        if (!otherwise && clsi_word_equals(&t->at[before(t, k)], "else")) first = before(t, k);
        clsi_words_leave(t, first, end + (size_t)otherwise);
    }
}

/* `+ 0` at k, a sum's last or followed by another. */
static void prune_zero(clsi_words *t, size_t k) {
    if (!clsi_word_equals(&t->at[k + 1], "0") || clsi_word_equals(&t->at[before(t, k)], "+"))
        return;
    if (!strchr("+]),;", *t->at[k + 2].s)) return;
    clsi_words_leave(t, k, k + 2);
}

static void prune_branches(clsi_words *t, const char *const *dead, const char *sure) {
    for (size_t k = 0; k + 3 < t->n; k++) {
        if (t->at[k].gone) continue;
        if (clsi_word_equals(&t->at[k], "+")) prune_zero(t, k);
        if (t->at[k].gone || t->at[k].kind != 'i') continue;
        if (clsi_word_equals(&t->at[k], "case") && is_dead(&t->at[k + 1], dead))
            prune_case(t, k);
        else if (clsi_word_equals(&t->at[k], "if") && clsi_word_equals(&t->at[k + 1], "("))
            prune_if(t, k, dead, sure);
    }
    clsi_words_close(t);
}

/* ---- the top ---- */

static void provide(trimmer *t, const word *w) {
    if (!clsi_grow(&t->names, &t->names_room, t->n_names + 1, sizeof *t->names))
        t->text.failed = 1;
    else
        t->names[t->n_names++] = (provided){w->s, w->n, t->n_chunks};
}

/* A declaration or definition from k on: where it ends, and its names. */
static size_t read_declaration(trimmer *t, size_t k) {
    size_t first = k;
    int listed = clsi_word_equals(&t->text.at[k], "enum"), function = 0;
    for (; k < t->text.n; k++) {
        const word *w = &t->text.at[k], *next = k + 1 < t->text.n ? w + 1 : w;
        if (clsi_word_equals(w, ";")) return k + 1;
        if (clsi_word_equals(w, "{")) {
            size_t end = clsi_words_closing(&t->text, k);
            for (size_t i = k + 1; i < end && listed; i++)
                if (t->text.at[i].kind == 'i') provide(t, &t->text.at[i]);
            if (function) return end + 1;
            k = end;
        } else if (clsi_word_equals(w, "(") || clsi_word_equals(w, "[")) {
            k = clsi_words_closing(&t->text, k);
        } else if (w->kind == 'i' && clsi_word_equals(next, "(") && !function) {
            provide(t, w);
            function = k > first;
        } else if (w->kind == 'i' && strchr("=[,;", *next->s) && next->n == 1) {
            provide(t, w);
        }
    }
    return k;
}

static size_t read_directive(trimmer *t, size_t k) {
    word what = clsi_directive_word(&t->text.at[k], 0),
         name = clsi_directive_word(&t->text.at[k], 1);
    if (clsi_word_equals(&what, "define")) provide(t, &name);
    if (!clsi_word_begins(&what, "if")) return k + 1;
    for (int level = 0; k < t->text.n; k++) {
        if (t->text.at[k].kind != '#') continue;
        what = clsi_directive_word(&t->text.at[k], 0),
        name = clsi_directive_word(&t->text.at[k], 1);
        if (clsi_word_equals(&what, "define")) provide(t, &name);
        level += clsi_word_begins(&what, "if") - clsi_word_equals(&what, "endif");
        if (!level) return k + 1;
    }
    return k;
}

/* Static things, macros and enums stay only where they are needed. */
static int stays(const trimmer *t, size_t first) {
    static const char *const needed[] = {"static", "CLSI_KERNEL", "CLSI_DENSE", "CLSI_N_FUNCTION",
                                         "enum"};
    const word *w = &t->text.at[first];
    word what = {.s = "", .n = 0};
    if (w->kind == '#') what = clsi_directive_word(w, 0);
    if (clsi_word_equals(&what, "define")) return 0;
    for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
        if (clsi_word_equals(w, needed[k])) return 0;
    return 1;
}

/* How often the words of a chunk name w: not as a member; with or without casts to nothing. */
static size_t count_uses(const trimmer *t, const chunk *c, const word *w, int casts) {
    size_t n = 0;
    for (size_t k = c->first + 3; k < c->last; k++) {
        const word *x = &t->text.at[k];
        if (x->gone || x->n != w->n || memcmp(x->s, w->s, w->n) != 0) continue;
        n += !clsi_word_equals(x - 1, ".") && !clsi_word_equals(x - 1, ">") &&
             (casts || !clsi_word_equals(x - 2, "void"));
    }
    return n;
}

/* `for (int i = 0; i < 0; ...)` of a function, unless a name would be left that nothing reads. */
static void prune_loops(trimmer *t, const chunk *c) {
    static const char *const head[] = {"for", "(", "int", NULL, "=", "0", ";", NULL, "<", "0", ";"};
    const size_t n = sizeof head / sizeof *head;
    for (size_t k = c->first; k + n < c->last; k++) {
        size_t same = 0;
        while (same < n && (!head[same] || clsi_word_equals(&t->text.at[k + same], head[same])))
            same++;
        if (same < n) continue;
        size_t end = clsi_statement_end(&t->text, k);
        int alone = 0;
        clsi_words_leave(&t->text, k, end);
        for (size_t i = k; i < end; i++)
            alone |= t->text.at[i].kind == 'i' && count_uses(t, c, &t->text.at[i], 1) == 1;
        for (size_t i = k; i < end && alone; i++) t->text.at[i].gone = 0;
    }
}

/* The cast to nothing at k, `(void)x,` or `(void)x;`. */
static int is_cast(const trimmer *t, size_t k, size_t last) {
    const word *w = t->text.at + k;
    return k + 5 <= last && clsi_word_equals(w, "(") && clsi_word_equals(w + 1, "void") &&
           clsi_word_equals(w + 2, ")") && w[3].kind == 'i' &&
           (clsi_word_equals(w + 4, ",") || clsi_word_equals(w + 4, ";"));
}

/* `(void)x, (void)y;` of a function: a name goes that its declaration is not the only place of. */
static void prune_casts(trimmer *t, const chunk *c) {
    for (size_t k = c->first + 1; k < c->last; k++) {
        size_t end = k, left = k;
        if (!strchr(";{}", *t->text.at[k - 1].s)) continue;
        for (; is_cast(t, end, c->last); end += 5) {
            if (count_uses(t, c, &t->text.at[end + 3], 0) > 1)
                clsi_words_leave(&t->text, end, end + 5);
            else
                left = end + 5;
        }
        if (left == k) continue;
        t->text.at[left - 1].s = ";";
        for (left = k; t->text.at[left].gone;) left++;
        clsi_words_move(&t->text, k, left);
        k = end - 1;
    }
}

static void read_top(trimmer *t) {
    for (size_t k = 0, next; k < t->text.n && !t->text.failed; k = next) {
        chunk c = {.first = k};
        if (!clsi_grow(&t->chunks, &t->chunks_room, t->n_chunks + 1, sizeof c)) {
            t->text.failed = 1;
            return;
        }
        next = t->text.at[k].kind == 'w'   ? k + 1
               : t->text.at[k].kind == '#' ? read_directive(t, k)
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
        if (!clsi_is_letter(*s)) {
            s++;
            continue;
        }
        const char *from = s;
        while (s < end && clsi_is_letter(*s)) s++;
        if (isalpha((unsigned char)*from)) need(t, from, (uint32_t)(s - from));
    }
}

static void need_chunk(trimmer *t, const chunk *c) {
    for (size_t k = c->first; k < c->last; k++) {
        const word *w = &t->text.at[k];
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

/* ---- enumerations ---- */

/* Some chunk that is reached names it, besides where it stands. */
static int is_read(const trimmer *t, size_t at) {
    for (size_t c = 0; c < t->n_chunks; c++) {
        if (!t->chunks[c].reached) continue;
        for (size_t k = t->chunks[c].first; k < t->chunks[c].last; k++) {
            const word *w = &t->text.at[k];
            if (w->gone || k == at) continue;
            if (w->kind == 'i' ? clsi_word_same(w, &t->text.at[at])
                               : clsi_word_names(w, &t->text.at[at]))
                return 1;
        }
    }
    return 0;
}

/* Of an enumeration of values, what nothing reads goes. */
static void prune_enum(trimmer *t, chunk *c) {
    size_t k = c->first;
    int counts = 0, left = 0;
    while (k < c->last && !clsi_word_equals(&t->text.at[k], "{")) k++;
    size_t close = k < c->last ? clsi_words_closing(&t->text, k) : k, last = 0;
    for (size_t i = k + 1; i < close; i++) {
        const word *w = &t->text.at[i];
        counts |= w->kind == 'i' && !clsi_word_equals(w + 1, "=") && !clsi_word_equals(w - 1, "=");
    }
    if (counts) return;
    for (size_t i = k + 1, end; i < close; i = end) {
        for (end = i; end < close && !clsi_word_equals(&t->text.at[end], ",");) end++;
        end += end < close;
        if (is_read(t, i)) {
            last = end - 1;
            left = 1;
        } else {
            clsi_words_leave(&t->text, i, end);
        }
    }
    if (left && clsi_word_equals(&t->text.at[last], ",")) t->text.at[last].gone = 1;
    c->reached = left;
}

/* ---- writing ---- */

/* A line begins at most two blanks behind the one before it, beside which it stays if it stood there: lists and
 * arguments that were laid out below a bracket do not. */
static void write_chunk(const trimmer *t, const chunk *c, clsi_text *out) {
    int first = 1, was = 0, now = 0;
    for (size_t k = c->first; k < c->last; k++) {
        const word *w = &t->text.at[k];
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
    clsi_words *w = &t.text;
    for (size_t k = 0; k < n; k++) {
        const char *text = pieces[k].text ? pieces[k].text : "";
        if (!pieces[k].whole)
            clsi_words_read(w, text);
        else if (*text)
            clsi_words_push(w,
                            (word){.s = text, .n = (uint32_t)strlen(text), .kind = 'w', .line = 1});
    }
    if (!w->failed) resolve_conditions(w, script);
    if (!w->failed) clsi_words_expand(w);
    if (!w->failed) prune_branches(w, dead, sure);
    if (!w->failed && !script) clsi_words_fold(w);
    if (!w->failed) read_top(&t);
    t.open = clsi_calloc(t.n_chunks + 1, sizeof *t.open);
    if (t.open && !w->failed) reach(&t, also);
    for (size_t k = t.n_chunks; t.open && k-- > 0 && !script;)
        if (t.chunks[k].reached && clsi_word_equals(&w->at[t.chunks[k].first], "enum"))
            prune_enum(&t, &t.chunks[k]);
    for (size_t k = 0; t.open && k < t.n_chunks; k++)
        if (t.chunks[k].reached) write_chunk(&t, &t.chunks[k], out);
    clsi_text_append(out, "\n");
    int failed = w->failed || !t.open || out->failed;
    clsi_words_clear(w);
    free(t.chunks);
    free(t.names);
    free(t.open);
    return failed ? clsi_no_memory(error) : CLS_OK;
}
