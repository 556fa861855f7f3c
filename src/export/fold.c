/* What the numbers of one model decide in the texts that exported C carries: a model without inputs has no
 * loop over them, one of four unknowns no way to solve two.
 *
 *   2 * 4, !0, 4 > 2      numbers
 *   0 && x, 1 ? a : b     what they leave
 *   if (0), if (1), i < 0 statements, and what stands behind a `return`
 *   int n = 4             that keeps its value is the number; what nothing reads goes
 *   functions             that are empty, or one number, go where they are called; arguments that they do
 *                         not look at go, and casts to nothing with them
 *
 * Each rule makes the text shorter; they are tried until none applies. Whole numbers only: arithmetic of the
 * model stays as it is written. Cost: a few times the words of the texts. */
#include "export/words.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef clsi_word word;

static int is(const clsi_words *t, size_t k, const char *text) {
    return k < t->n && clsi_word_equals(&t->at[k], text);
}

static int is_one_of(const clsi_words *t, size_t k, const char *marks) {
    return k < t->n && t->at[k].n == 1 && strchr(marks, *t->at[k].s);
}

static int is_name(const clsi_words *t, size_t k) {
    return k < t->n && t->at[k].kind == 'i';
}

static int is_call(const clsi_words *t, size_t k) {
    return is_name(t, k) && is(t, k + 1, "(");
}

/* A whole number of at most six digits, or -1. */
static long number_at(const clsi_words *t, size_t k) {
    if (k >= t->n || t->at[k].kind != 'p' || t->at[k].n > 6) return -1;
    for (uint32_t i = 0; i < t->at[k].n; i++)
        if (!isdigit((unsigned char)t->at[k].s[i])) return -1;
    return strtol(t->at[k].s, NULL, 10);
}

static void put_number(clsi_words *t, size_t k, long value) {
    char text[24];
    int n = snprintf(text, sizeof text, "%ld", value);
    const char *s = clsi_words_keep(t, text, (size_t)n);
    if (s) t->at[k].s = s, t->at[k].n = (uint32_t)n, t->at[k].kind = 'p';
}

/* ---- operators ---- */

/* How loosely they bind; TIGHT: none, or one that binds more than all others. */
enum { TIGHT = 0, TIMES = 3, PLUS, SHIFT, LESS, EQUAL, AND = 11, OR, CHOICE, ASSIGN, END = 20 };

static int two_level(const char *s) {
    static const struct {
        char op[3];
        int level;
    } two[] = {{"&&", AND},    {"||", OR},     {"==", EQUAL},  {"!=", EQUAL},  {"<=", LESS},
               {">=", LESS},   {"<<", SHIFT},  {">>", SHIFT},  {"+=", ASSIGN}, {"-=", ASSIGN},
               {"*=", ASSIGN}, {"/=", ASSIGN}, {"|=", ASSIGN}, {"&=", ASSIGN}, {"->", TIGHT},
               {"++", TIGHT},  {"--", TIGHT}};
    for (size_t k = 0; k < sizeof two / sizeof *two; k++)
        if (!memcmp(two[k].op, s, 2)) return two[k].level;
    return -1;
}

static int one_level(char c) {
    switch (c) {
    case '*':
    case '/':
    case '%': return TIMES;
    case '+':
    case '-': return PLUS;
    case '<':
    case '>': return LESS;
    case '&': return EQUAL + 1;
    case '^': return EQUAL + 2;
    case '|': return EQUAL + 3;
    case '?':
    case ':': return CHOICE;
    case '=': return ASSIGN;
    case '.':
    case '!':
    case '~': return TIGHT;
    default: return END;
    }
}

/* Two marks without a blank between them that are one operator; -1: they are not. */
static int pair_level(const clsi_words *t, size_t k) {
    if (k + 1 >= t->n || t->at[k].kind != 'p' || t->at[k + 1].kind != 'p') return -1;
    if (t->at[k].n != 1 || t->at[k + 1].n != 1 || t->at[k + 1].gap || t->at[k + 1].line) return -1;
    char both[2] = {*t->at[k].s, *t->at[k + 1].s};
    return two_level(both);
}

/* The operator that begins at k, of `words` words. */
static int level_at(const clsi_words *t, size_t k, size_t *words) {
    int two = pair_level(t, k);
    *words = two >= 0 ? 2 : 1;
    if (two >= 0) return two;
    if (k >= t->n || t->at[k].kind == '#' || t->at[k].kind == 'w') return END;
    if (t->at[k].kind == 'i' || isdigit((unsigned char)*t->at[k].s)) return TIGHT;
    return one_level(*t->at[k].s);
}

/* The operator that ends before k. */
static int level_before(const clsi_words *t, size_t k) {
    if (k == 0) return END;
    const word *w = &t->at[k - 1];
    if (w->kind == '#' || w->kind == 'w') return END;
    if (w->kind == 'i')
        return clsi_word_equals(w, "return") || clsi_word_equals(w, "else") ? END : TIGHT;
    if (isalnum((unsigned char)*w->s)) return TIGHT;
    int two = k > 1 ? pair_level(t, k - 2) : -1;
    if (two >= 0) return two;
    return strchr(")]", *w->s) ? TIGHT : one_level(*w->s);
}

/* Behind the expression at k: where an operator looser than `level` stands. */
static size_t expression_end(const clsi_words *t, size_t k, int level) {
    int choices = 0;
    for (size_t words; k < t->n; k += words) {
        if (is_one_of(t, k, "([{")) {
            k = clsi_words_closing(t, k);
            words = 1;
            continue;
        }
        int here = level_at(t, k, &words);
        if (is(t, k, "?") && level >= CHOICE) choices++;
        if (is(t, k, ":") && choices-- > 0) continue;
        if (here > level || is(t, k, ":") || is(t, k, ",") || is(t, k, ";")) return k;
    }
    return k;
}

/* Words from..to - 1 go; what follows stands where they began. */
static void cut_before(clsi_words *t, size_t from, size_t to) {
    if (to < t->n) clsi_words_move(t, from, to);
    clsi_words_leave(t, from, to);
}

static long compute(const word *op, size_t words, long a, long b) {
    char c = *op->s;
    if (words == 2) {
        if (c == '=') return a == b;
        if (c == '!') return a != b;
        if (c == '<') return a <= b;
        return a >= b;
    }
    return c == '*' ? a * b : c == '+' ? a + b : c == '-' ? a - b : c == '<' ? a < b : a > b;
}

/* NUMBER op NUMBER at k. */
static int fold_two(clsi_words *t, size_t k) {
    size_t words, after;
    long a = number_at(t, k), b, value;
    int level = level_at(t, k + 1, &words);
    if (level < TIMES || level > EQUAL || level == SHIFT || strchr("/%", *t->at[k + 1].s)) return 0;
    b = number_at(t, k + 1 + words);
    if (b < 0 || level_before(t, k) <= level) return 0;
    int next = level_at(t, k + 2 + words, &after);
    if (next < level || is(t, k + 2 + words, "[")) return 0;
    value = compute(&t->at[k + 1], words, a, b);
    if (value < 0 || value > 999999) return 0;
    put_number(t, k, value);
    clsi_words_leave(t, k + 1, k + 2 + words);
    return 1;
}

/* NUMBER && x, NUMBER || x, NUMBER ? x : y at k. */
static int fold_logic(clsi_words *t, size_t k) {
    size_t words, end;
    int level = level_at(t, k + 1, &words), yes = number_at(t, k) > 0, before = level_before(t, k);
    if (is(t, k + 1, "?") && before >= CHOICE) {
        size_t colon = expression_end(t, k + 2, CHOICE);
        end = expression_end(t, colon + 1, CHOICE);
        if (!is(t, colon, ":")) return 0;
        if (yes) {
            cut_before(t, k, k + 2);
            clsi_words_leave(t, colon, end);
        } else {
            cut_before(t, k, colon + 1);
        }
        return 1;
    }
    if ((level != AND && level != OR) || before < level) return 0;
    end = expression_end(t, k + 1 + words, level);
    if (yes == (level == AND)) {
        cut_before(t, k, k + 1 + words);
    } else {
        put_number(t, k, yes);
        clsi_words_leave(t, k + 1, end);
    }
    return 1;
}

/* x && 1 and x || 0: without the number at k. */
static int fold_last(clsi_words *t, size_t k) {
    size_t words;
    int level = level_before(t, k), next = level_at(t, k + 1, &words), yes = number_at(t, k) > 0;
    if ((level != AND && level != OR) || yes != (level == AND) || next < level) return 0;
    clsi_words_leave(t, k - 2, k + 1);
    return 1;
}

static int fold_numbers(clsi_words *t) {
    int some = 0;
    for (size_t k = 1; k + 1 < t->n; k++) {
        if (t->at[k].gone || number_at(t, k) < 0) continue;
        int changed = 0;
        if (is(t, k - 1, "!") && !t->at[k - 1].gone) {
            put_number(t, k - 1, !number_at(t, k));
            t->at[k].gone = changed = 1;
        } else if (is(t, k - 1, "(") && is(t, k + 1, ")") && k > 1 && is(t, k - 2, "CLSI_N_PAD")) {
            put_number(t, k - 2, (number_at(t, k) + 7) / 8 * 8); /* as network_node.inc has it */
            clsi_words_leave(t, k - 1, k + 2);
            changed = 1;
        } else if (is(t, k - 1, "(") && is(t, k + 1, ")") && k > 1 &&
                   ((t->at[k - 2].kind == 'p' && !is_one_of(t, k - 2, ")]")) ||
                    is(t, k - 2, "fabs"))) {
            if (is(t, k - 2, "fabs")) cut_before(t, k - 2, k - 1);
            put_number(t, k - 1, number_at(t, k));
            t->at[k].gone = t->at[k + 1].gone = changed = 1;
        } else {
            changed = fold_two(t, k) || fold_logic(t, k) || fold_last(t, k);
        }
        if (!changed) continue;
        some = 1;
        clsi_words_close(t);
    }
    return some;
}

/* ---- statements ---- */

/* A statement may begin at k that nothing before it decides over. */
static int is_plain(const clsi_words *t, size_t k) {
    return k > 0 && is_one_of(t, k - 1, ";{}");
}

static int has_declaration(const clsi_words *t, size_t from, size_t to) {
    for (size_t k = from; k < to; k++) {
        if (is(t, k, "{")) k = clsi_words_closing(t, k);
        if (is_plain(t, k) && is_name(t, k) && !is_call(t, k) &&
            (is_name(t, k + 1) || (is(t, k + 1, "*") && is_name(t, k + 2))))
            if (!is(t, k, "return") && !is(t, k, "else") && !is(t, k, "case")) return 1;
    }
    return 0;
}

/* `{ ... }` at k that is a statement of its own and declares nothing: without its brackets. */
static int fold_block(clsi_words *t, size_t k) {
    size_t end = clsi_words_closing(t, k);
    if (!is_plain(t, k) || has_declaration(t, k + 1, end) || end == k + 1) return 0;
    if (t->at[k - 1].kind == 'p' && is(t, k - 1, "}") && !t->at[k].line) return 0;
    for (size_t i = k + 1; i < end; i++)
        if (t->at[i].line) t->at[i].indent -= t->at[i].indent >= 4 ? 4 : t->at[i].indent;
    t->at[k].gone = t->at[end].gone = 1;
    return 1;
}

/* `if (NUMBER)` at k. */
static int fold_if(clsi_words *t, size_t k) {
    long number = number_at(t, k + 2);
    if (number < 0 || !is(t, k + 3, ")")) return 0;
    size_t end = clsi_statement_end(t, k + 4);
    int otherwise = is(t, end, "else");
    if (number > 0) {
        if (otherwise) clsi_words_leave(t, end, clsi_statement_end(t, end + 1));
        cut_before(t, k, k + 4);
    } else if (otherwise) {
        cut_before(t, k, end + 1);
    } else if (is(t, k - 1, "else")) {
        clsi_words_leave(t, k - 1, end);
    } else if (is_plain(t, k)) {
        clsi_words_leave(t, k, end);
    } else {
        return 0;
    }
    return 1;
}

/* `for (int i = NUMBER; i < NUMBER; ...)` at k that never runs. */
static int fold_loop(clsi_words *t, size_t k) {
    static const char *const head[] = {"for", "(", "int", NULL, "=", NULL, ";", NULL, "<", NULL};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        if (head[i] && !is(t, k + i, head[i])) return 0;
    size_t words;
    long from = number_at(t, k + 5), to = number_at(t, k + 9);
    if (from < 0 || to < 0 || from < to || !clsi_word_same(&t->at[k + 3], &t->at[k + 7])) return 0;
    if (!is_plain(t, k) || (level_at(t, k + 10, &words) != AND && !is(t, k + 10, ";"))) return 0;
    clsi_words_leave(t, k, clsi_statement_end(t, k));
    return 1;
}

/* What stands behind the `return` at k in its block. */
static int fold_return(clsi_words *t, size_t k) {
    size_t end = clsi_statement_end(t, k), last = end;
    if (!is_plain(t, k)) return 0;
    while (last < t->n && !is(t, last, "}") && !is(t, last, "case") && !is(t, last, "default"))
        last = is(t, last, "{") || is(t, last, "(") ? clsi_words_closing(t, last) + 1 : last + 1;
    if (last == end) return 0;
    clsi_words_leave(t, end, last);
    return 1;
}

static int fold_statements(clsi_words *t) {
    int some = 0;
    for (size_t k = 1; k + 1 < t->n; k++) {
        int changed = 0;
        if (is(t, k, "if"))
            changed = fold_if(t, k);
        else if (is(t, k, "for"))
            changed = fold_loop(t, k);
        else if (is(t, k, "return"))
            changed = fold_return(t, k);
        else if (is(t, k, "{"))
            changed = fold_block(t, k);
        if (changed) clsi_words_close(t);
        some |= changed;
    }
    return some;
}

/* ---- functions ---- */

/* name(open ... close) { body ... end } */
typedef struct function {
    size_t first, name, open, close, body, end;
} function;

/* The next function from k on; 0 where there is none. */
static int next_function(const clsi_words *t, size_t *k, function *f) {
    size_t first = *k;
    for (size_t i = *k; i < t->n; i++) {
        if (t->at[i].kind == '#' || t->at[i].kind == 'w' || is(t, i, ";")) {
            first = i + 1;
        } else if (is_call(t, i) && i > first) {
            size_t close = clsi_words_closing(t, i + 1);
            if (is(t, close + 1, "{")) {
                *f =
                    (function){first, i, i + 1, close, close + 1, clsi_words_closing(t, close + 1)};
                *k = f->end + 1;
                return 1;
            }
            i = close;
        } else if (is(t, i, "{")) {
            i = clsi_words_closing(t, i);
        }
    }
    return 0;
}

static int is_member(const clsi_words *t, size_t k) {
    return is(t, k - 1, ".") || (is(t, k - 1, ">") && is(t, k - 2, "-") && !t->at[k - 1].gap);
}

/* How often words from..to - 1 name w, not as a member; casts to nothing do not count. */
static size_t count(const clsi_words *t, size_t from, size_t to, const word *w) {
    size_t n = 0;
    for (size_t k = from; k < to; k++) {
        if (t->at[k].kind != 'i' || !clsi_word_same(&t->at[k], w)) continue;
        int cast = is(t, k - 1, ")") && is(t, k - 2, "void");
        n += !is_member(t, k) && !cast;
    }
    return n;
}

static int is_named_elsewhere(const clsi_words *t, const word *w) {
    for (size_t k = 0; k < t->n; k++)
        if (clsi_word_names(&t->at[k], w)) return 1;
    return 0;
}

/* Nothing happens when it is computed: no call, no assignment. */
static int is_pure(const clsi_words *t, size_t from, size_t to) {
    for (size_t k = from, words; k < to; k++) {
        if (is_call(t, k) && !is(t, k, "sizeof") && !is(t, k, "fabs")) return 0;
        int level = level_at(t, k, &words);
        if (level == ASSIGN) return 0;
        if (words == 2 && level == TIGHT && !is(t, k, "-")) return 0;
        if (words == 2 && is(t, k, "-") && is(t, k + 1, "-")) return 0;
    }
    return 1;
}

/* The word that a function is without its casts: a number or a name that is none of its own; its `}` where it is
 * empty; 0: it is more than that. */
static size_t whole_body(const clsi_words *t, const function *f) {
    size_t k = f->body + 1;
    while (is(t, k, "(") && is(t, k + 1, "void") && is(t, k + 2, ")")) k += 5;
    if (k == f->end) return k;
    if (!is(t, k, "return") || !is(t, k + 2, ";") || k + 3 != f->end) return 0;
    int own = is_name(t, k + 1) && count(t, f->open, f->close, &t->at[k + 1]);
    return own || !(is_name(t, k + 1) || number_at(t, k + 1) >= 0) ? 0 : k + 1;
}

/* The function that one is another name of: `return other(x, y);` with its own arguments; or 0. */
static size_t other_name(const clsi_words *t, const function *f) {
    size_t k = f->body + 1 + (size_t)is(t, f->body + 1, "return"), own = f->open + 1;
    if (!is_call(t, k) || clsi_words_closing(t, k + 1) + 2 != f->end) return 0;
    for (size_t i = k + 2; !is(t, i, ";"); i += 2) { /* behind it a comma, or the bracket */
        while (own < f->close && !(is_name(t, own) && is_one_of(t, own + 1, ",)"))) own++;
        if (own >= f->close || !clsi_word_same(&t->at[i], &t->at[own++])) return 0;
    }
    while (own < f->close && !is(t, own, ",")) own++;
    return own == f->close ? k : 0;
}

/* Calls of a function that is empty, one word, or another function. */
static int fold_calls(clsi_words *t, const function *f) {
    size_t what = whole_body(t, f), other = other_name(t, f);
    word name = t->at[f->name];
    int some = 0;
    for (size_t k = f->end; other && is(t, f->first, "static") && k < t->n; k++)
        if (is_call(t, k) && clsi_word_same(&t->at[k], &name)) {
            t->at[k].s = t->at[other].s, t->at[k].n = t->at[other].n;
            some = 1;
        }
    for (size_t k = f->end; what && k < t->n; k++) {
        if (!is_call(t, k) || !clsi_word_same(&t->at[k], &name)) continue;
        size_t close = clsi_words_closing(t, k + 1);
        if (!is_pure(t, k + 2, close)) continue;
        if (what < f->end) {
            t->at[k].s = t->at[what].s, t->at[k].n = t->at[what].n,
            t->at[k].kind = t->at[what].kind;
            clsi_words_leave(t, k + 1, close + 1);
            some = 1;
        } else if (is_plain(t, k) && is(t, close + 1, ";")) {
            clsi_words_leave(t, k, close + 2);
            some = 1;
        }
        k = close;
    }
    return some;
}

/* Argument number `which` of the list that opens at k: from .. to - 1; 0: there is none. */
static int argument(const clsi_words *t, size_t k, size_t which, size_t *from, size_t *to) {
    size_t close = clsi_words_closing(t, k), at = 0;
    *from = k + 1;
    for (size_t i = k + 1; i <= close; i++) {
        if (i < close && is_one_of(t, i, "([{")) {
            i = clsi_words_closing(t, i);
            continue;
        }
        if (i < close && !is(t, i, ",")) continue;
        if (at++ == which) {
            *to = i;
            return i > *from;
        }
        *from = i + 1;
    }
    return 0;
}

/* Without argument `which`, nor the comma beside it. */
static void leave_argument(clsi_words *t, size_t k, size_t which) {
    size_t from, to, close = clsi_words_closing(t, k);
    if (!argument(t, k, which, &from, &to)) return;
    if (to < close)
        cut_before(t, from, to + 1);
    else
        clsi_words_leave(t, which ? from - 1 : from, to);
}

/* All places that name the function are calls with this argument, which may go. */
static int may_leave(const clsi_words *t, const function *f, size_t which) {
    const word *name = &t->at[f->name];
    size_t from, to;
    for (size_t k = 0; k < t->n; k++) {
        if (k == f->name || t->at[k].kind != 'i' || !clsi_word_same(&t->at[k], name)) continue;
        if (!is(t, k + 1, "(") || !argument(t, k + 1, which, &from, &to)) return 0;
        if (k < f->first || !is_pure(t, from, to)) return 0; /* declared before */
    }
    return !is_named_elsewhere(t, name);
}

/* Its casts to nothing: `(void)x;` or one of a row of them. */
static void leave_casts(clsi_words *t, const function *f, const word *own) {
    for (size_t k = f->body + 4; k < f->end; k++) {
        if (!is_name(t, k) || !clsi_word_same(&t->at[k], own) || !is(t, k - 2, "void")) continue;
        if (is(t, k + 1, ","))
            cut_before(t, k - 3, k + 2);
        else if (is_plain(t, k - 3))
            clsi_words_leave(t, k - 3, k + 2);
        else
            clsi_words_leave(t, k - 4, k + 1);
    }
}

/* An argument that the function does not look at. */
static int fold_argument(clsi_words *t, const function *f) {
    size_t from, to;
    word name = t->at[f->name];
    if (!is(t, f->first, "static") && !is(t, f->first, "CLSI_KERNEL") &&
        !is(t, f->first, "CLSI_N_FUNCTION"))
        return 0;
    for (size_t which = 0; argument(t, f->open, which, &from, &to); which++) {
        if (is(t, to - 1, "void") || !is_name(t, to - 1)) continue;
        word own = t->at[to - 1];
        if (count(t, f->body, f->end, &own) || !may_leave(t, f, which)) continue;
        leave_casts(t, f, &own);
        for (size_t k = 0; k < t->n; k++)
            if (is_call(t, k) && clsi_word_same(&t->at[k], &name)) leave_argument(t, k + 1, which);
        return 1;
    }
    return 0;
}

/* ---- names that a function declares ---- */

/* A declaration of numbers or places begins at k: the first word of its names. */
static size_t declared(const clsi_words *t, size_t k) {
    static const char *const types[] = {"int", "double", "size_t", "clsi_outcome", "uint64_t"};
    if (!is_plain(t, k)) return 0;
    if (is(t, k, "const")) k++;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is(t, k, types[i])) return k + 1;
    int place = is_name(t, k) && is(t, k + 1, "*") && is_name(t, k + 2) && is(t, k + 3, "=");
    return place && !is(t, k, "return") ? k + 1 : 0;
}

/* The name at `at` keeps its value: it is neither assigned, nor declared again, nor has an address or a sign. */
static int is_kept(const clsi_words *t, const function *f, size_t at) {
    size_t words;
    for (size_t k = f->body; k < f->end; k++) {
        if (k == at || !is_name(t, k) || !clsi_word_same(&t->at[k], &t->at[at]) || is_member(t, k))
            continue;
        int next = level_at(t, k + 1, &words), before = level_before(t, k);
        if (next == ASSIGN || (words == 2 && next == TIGHT) ||
            (k > 1 && pair_level(t, k - 2) == TIGHT))
            return 0;
        int declares = is_name(t, k - 1) && !is(t, k - 1, "return") && !is(t, k - 1, "else");
        int unary = is_one_of(t, k - 1, "&*-") && before <= EQUAL + 1 && !t->at[k].gap;
        if (declares || unary) return 0;
    }
    return 1;
}

/* Name `from` to `to` of the declaration that began at k goes. */
static void leave_name(clsi_words *t, size_t k, size_t first, size_t from, size_t to) {
    if (is(t, to, ",")) {
        cut_before(t, from, to + 1);
    } else if (from > first) {
        clsi_words_leave(t, from - 1, to);
    } else {
        clsi_words_leave(t, k, to + 1);
    }
}

/* The names of the declaration at k: numbers that stay, and what nothing reads. */
static int fold_names(clsi_words *t, const function *f, size_t k, size_t first) {
    size_t to;
    for (size_t from = first; from < f->end; from = to + 1) {
        size_t name = from;
        while (is(t, name, "*") || is(t, name, "const")) name++;
        if (!is_name(t, name)) return 0;
        size_t behind = is(t, name + 1, "[") ? clsi_words_closing(t, name + 1) + 1 : name + 1;
        to = is(t, behind, "=") ? expression_end(t, behind + 1, ASSIGN) : behind;
        if (!is(t, to, ",") && !is(t, to, ";")) return 0;
        size_t uses = count(t, f->body, f->end, &t->at[name]) - 1;
        int whole = name == from && is(t, name + 1, "=") && to == name + 3;
        long number = whole ? number_at(t, name + 2) : -1;
        int by_name = is(t, first - 1, "int") || is(t, first - 1, "size_t") || number == 0;
        word own = t->at[name];
        if (number >= 0 && uses && by_name && is_kept(t, f, name)) {
            for (size_t i = to; i < f->end; i++) {
                if (is_name(t, i) && clsi_word_same(&t->at[i], &own) && !is_member(t, i))
                    put_number(t, i, number);
            }
            leave_name(t, k, first, from, to);
            return 1;
        }
        if (!uses && is_pure(t, behind + (to > behind), to)) {
            leave_casts(t, f, &own);
            leave_name(t, k, first, from, to);
            return 1;
        }
        if (is(t, to, ";")) return 0;
    }
    return 0;
}

/* Casts to nothing of names that are used all the same. */
static int fold_cast(clsi_words *t, const function *f, size_t k) {
    if (!is(t, k, "(") || !is(t, k + 1, "void") || !is(t, k + 2, ")") || !is_name(t, k + 3))
        return 0;
    if (!is_plain(t, k) || !count(t, f->body, f->end, &t->at[k + 3])) return 0;
    if (is(t, k + 4, ","))
        cut_before(t, k, k + 5);
    else if (is(t, k + 4, ";"))
        clsi_words_leave(t, k, k + 5);
    else
        return 0;
    return 1;
}

/* A table of the top that stands before word `before`, by its name at k. */
static int is_of_top(const clsi_words *t, size_t k, size_t before) {
    if (!is_name(t, k) || !clsi_word_begins(&t->at[k], "clsi_")) return 0;
    for (size_t i = 0; i + 1 < before; i++)
        if (clsi_word_same(&t->at[i], &t->at[k]) && is(t, i + 1, "[")) return 1;
    return 0;
}

/* The word that all calls give for argument `which`, its own name where the function calls itself; or 0. */
static size_t same_argument(const clsi_words *t, const function *f, size_t which, const word *own) {
    size_t same = 0, from, to;
    for (size_t k = f->body; k < t->n; k++) {
        if (!is_call(t, k) || !clsi_word_same(&t->at[k], &t->at[f->name])) continue;
        if (!argument(t, k + 1, which, &from, &to) || to != from + 1) return 0;
        if (k < f->end && is_name(t, from) && clsi_word_same(&t->at[from], own)) continue;
        if (number_at(t, from) < 0 && !is_of_top(t, from, f->first)) return 0;
        if (same && !clsi_word_same(&t->at[same], &t->at[from])) return 0;
        same = from;
    }
    return same;
}

/* An argument that is the same in all calls is that in the function. */
static int fold_same(clsi_words *t, const function *f) {
    size_t from, to;
    if (!is(t, f->first, "static") && !is(t, f->first, "CLSI_N_FUNCTION")) return 0;
    for (size_t which = 0; argument(t, f->open, which, &from, &to); which++) {
        word own = t->at[to - 1];
        size_t same = same_argument(t, f, which, &own);
        if (!same || !count(t, f->body, f->end, &own)) continue;
        if (is_name(t, same) ? !is(t, from, "const") : !is(t, from, "int") || to != from + 2)
            continue;
        if (!is_kept(t, f, to - 1) || !may_leave(t, f, which)) continue;
        for (size_t k = f->body; k < f->end; k++)
            if (is_name(t, k) && clsi_word_same(&t->at[k], &own) && !is_member(t, k))
                t->at[k].s = t->at[same].s, t->at[k].n = t->at[same].n,
                t->at[k].kind = t->at[same].kind;
        return 1;
    }
    return 0;
}

/* ---- tables of whole numbers ---- */

/* The value of a name that an enumeration gives a number; or -1. */
static long value_of(const clsi_words *t, size_t k) {
    if (number_at(t, k) >= 0) return number_at(t, k);
    for (size_t i = 1; is_name(t, k) && i + 2 < t->n; i++)
        if (clsi_word_same(&t->at[i], &t->at[k]) && is(t, i + 1, "=") &&
            is_one_of(t, i - 1, "{,") && is_one_of(t, i + 3, ",}"))
            return number_at(t, i + 2);
    return -1;
}

/* `static const int name[n] = {...}` from k on: name[NUMBER] is that number behind it. */
static int fold_table(clsi_words *t, size_t k) {
    static const char *const head[] = {"static", "const", "int", NULL, "[", NULL, "]", "=", "{"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        if (head[i] && !is(t, k + i, head[i])) return 0;
    size_t first = k + 9;
    int some = 0;
    for (size_t i = clsi_words_closing(t, k + 8); i + 3 < t->n; i++) {
        if (!is_name(t, i) || !clsi_word_same(&t->at[i], &t->at[k + 3]) || !is(t, i + 1, "[") ||
            !is(t, i + 3, "]"))
            continue;
        long at = value_of(t, i + 2);
        if (at < 0 || number_at(t, first + 2 * (size_t)at) < 0) continue;
        put_number(t, i, number_at(t, first + 2 * (size_t)at));
        clsi_words_leave(t, i + 1, i + 4);
        some = 1;
    }
    return some;
}

static int fold_tables(clsi_words *t) {
    int some = 0;
    for (size_t k = 0; k + 12 < t->n; k++)
        if (fold_table(t, k)) {
            clsi_words_close(t);
            some = 1;
        }
    return some;
}

/* ---- layout ---- */

/* `const double *a = ...; const double *b = ...;` of a function in one declaration. */
static int join_declarations(clsi_words *t, const function *f) {
    for (size_t k = f->body + 1, next; k < f->end; k++) {
        size_t first = declared(t, k);
        if (!first) continue;
        next = clsi_statement_end(t, k);
        size_t other = next < f->end ? declared(t, next) : 0;
        int same = other && other - next == first - k;
        for (size_t i = 0; same && i < first - k; i++)
            same = clsi_word_same(&t->at[k + i], &t->at[next + i]);
        if (!same) continue;
        t->at[next - 1].s = ",";
        clsi_words_move(t, next, other);
        t->at[other].indent += 4;
        clsi_words_leave(t, next, other);
        clsi_words_close(t);
        return 1;
    }
    return 0;
}

static int fold_function(clsi_words *t, const function *f) {
    if (fold_calls(t, f) || fold_argument(t, f) || fold_same(t, f)) return 1;
    for (size_t k = f->body + 1; k < f->end; k++) {
        if (is(t, k, "union") || is(t, k, "struct")) k = clsi_words_closing(t, k + 1);
        size_t first = declared(t, k);
        if (first && fold_names(t, f, k, first)) return 1;
    }
    return 0;
}

static int fold_functions(clsi_words *t) {
    function f;
    int some = 0;
    for (size_t k = 0, from; from = k, next_function(t, &k, &f);) {
        if (!fold_function(t, &f)) continue;
        clsi_words_close(t);
        some = 1;
        k = from; /* once more */
    }
    return some;
}

/* Last: what is looked at now may have gone before. */
static void fold_casts(clsi_words *t) {
    function f;
    for (size_t k = 0, from; from = k, next_function(t, &k, &f);) {
        if (join_declarations(t, &f)) {
            k = from;
            continue;
        }
        for (size_t i = f.body + 1; i < f.end && k > from; i++)
            if (fold_cast(t, &f, i)) k = from;
        if (k == from) clsi_words_close(t);
    }
}

void clsi_words_fold(clsi_words *t) {
    for (int some = 1; some && !t->failed;) {
        some = fold_numbers(t);
        some |= fold_tables(t);
        some |= fold_statements(t);
        some |= fold_functions(t);
    }
    fold_casts(t);
}
