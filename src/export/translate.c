/* C to JavaScript, for the C that this room writes.
 *
 * The exported source is a small part of C: functions over double, int and arrays of double, structs
 * without pointers, no recursion of types, no integer division. Word by word that is JavaScript but
 * for declarations, casts, `->`, addresses and pointers into arrays; these are what this file
 * knows. So there is one text of every method, and the module computes what the C computes (but for
 * the last bits of Math.exp and its kind).
 *
 *   declarations     `let`; arrays are Float64Array or Int32Array, structs are classes
 *   double *u = a+k  a.subarray(k); only where a pointer is declared, and `room + 8`, `keep + 8`
 *   &x               of a local number: the number lives in an array of one; of a struct: itself
 *   *p               p[0]
 *   (type)           dropped; (float) is Math.fround
 *   #define          expanded; #if is false but for #ifndef and `#ifdef CLSI_SCRIPT`
 *
 * What it does not know it does not notice: the tests run what comes out. */
#include "base/locale.h"
#include "export/translate.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct token {
    const char *s;
    size_t n;
    char kind; /* i identifier, n number, s string, p punctuation, 0 end */
} token;

typedef struct tokens {
    token *list;
    size_t n, capacity;
} tokens;

typedef struct macro {
    token name, parameter[4];
    int n_parameters; /* -1: not like a function */
    tokens body;
} macro;

typedef struct translator {
    tokens all;
    macro *macros;
    size_t n_macros, macros_capacity;
    tokens types;   /* names of structs and enums */
    tokens structs; /* of these the structs */
    tokens boxed;   /* of the function at hand */
    clsi_text *out;
    int failed;
} translator;

/* ---- words ---- */

static int is(token t, const char *text) {
    return t.n == strlen(text) && memcmp(t.s, text, t.n) == 0;
}

static int same(token a, token b) {
    return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
}

static int has(const tokens *list, token t) {
    for (size_t k = 0; k < list->n; k++)
        if (same(list->list[k], t)) return 1;
    return 0;
}

static void push(translator *tr, tokens *list, token t) {
    if (clsi_grow(&list->list, &list->capacity, list->n + 1, sizeof t))
        list->list[list->n++] = t;
    else
        tr->failed = 1;
}

static const char *skip_blank(const char *s) {
    for (;;) {
        if (isspace((unsigned char)*s))
            s++;
        else if (s[0] == '\\' && s[1] == '\n')
            s += 2;
        else if (s[0] == '/' && s[1] == '*')
            s = strstr(s, "*/") ? strstr(s, "*/") + 2 : s + strlen(s);
        else
            return s;
    }
}

static size_t number_length(const char *s) {
    size_t n = 0;
    int hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    while (isalnum((unsigned char)s[n]) || s[n] == '.' ||
           ((s[n] == '+' || s[n] == '-') && n && strchr(hex ? "pP" : "eE", s[n - 1])))
        n++;
    return n;
}

static token next_token(const char **at) {
    const char *s = *at = skip_blank(*at);
    token t = {s, 1, 'p'};
    static const char *const long_ones[] = {"<<=", ">>=", "->", "++", "--", "<<", ">>",
                                            "<=",  ">=",  "==", "!=", "&&", "||", "+=",
                                            "-=",  "*=",  "/=", "%=", "|=", "&=", "^="};
    if (!*s) return (token){s, 0, 0};
    if (isalpha((unsigned char)*s) || *s == '_') {
        t.kind = 'i';
        while (isalnum((unsigned char)s[t.n]) || s[t.n] == '_') t.n++;
    } else if (isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]))) {
        t.kind = 'n';
        t.n = number_length(s);
    } else if (*s == '"' || *s == '\'') {
        t.kind = 's';
        while (s[t.n] && s[t.n] != *s) t.n += s[t.n] == '\\' ? 2 : 1;
        t.n++;
    } else {
        for (size_t k = 0; k < sizeof long_ones / sizeof *long_ones; k++)
            if (!strncmp(s, long_ones[k], strlen(long_ones[k]))) {
                t.n = strlen(long_ones[k]);
                break;
            }
    }
    *at = s + t.n;
    return t;
}

/* ---- the preprocessor ---- */

static const char *line_end(const char *s) {
    while (*s && *s != '\n') s += s[0] == '\\' && s[1] ? 2 : 1;
    return s;
}

static void define(translator *tr, const char *s, const char *end) {
    macro m = {.n_parameters = -1};
    m.name = next_token(&s);
    if (*s == '(') {
        m.n_parameters = 0;
        s++;
        for (token t = next_token(&s); !is(t, ")"); t = next_token(&s))
            if (t.kind == 'i' && m.n_parameters < 4) m.parameter[m.n_parameters++] = t;
    }
    for (s = skip_blank(s); s < end; s = skip_blank(s)) push(tr, &m.body, next_token(&s));
    if (!clsi_grow(&tr->macros, &tr->macros_capacity, tr->n_macros + 1, sizeof m)) {
        free(m.body.list);
        tr->failed = 1;
        return;
    }
    tr->macros[tr->n_macros++] = m;
}

static const macro *find_macro(const translator *tr, token t) {
    for (size_t k = tr->n_macros; t.kind == 'i' && k-- > 0;)
        if (same(tr->macros[k].name, t)) return &tr->macros[k];
    return NULL;
}

/* Appends list[from .. to) expanded; depth ends what would not end. */
static void expand(translator *tr, const token *list, size_t n, tokens *out, int depth) {
    for (size_t k = 0; k < n; k++) {
        const macro *m = depth < 16 ? find_macro(tr, list[k]) : NULL;
        if (!m || (m->n_parameters >= 0 && (k + 1 == n || !is(list[k + 1], "(")))) {
            push(tr, out, list[k]);
            continue;
        }
        tokens arguments[4] = {{0}}, body = {0};
        if (m->n_parameters >= 0) {
            int level = 1, which = 0;
            for (k += 2; k < n; k++) {
                level += is(list[k], "(") - is(list[k], ")");
                if (!level) break;
                if (level == 1 && is(list[k], ",") && which < 3)
                    which++;
                else
                    push(tr, &arguments[which], list[k]);
            }
        }
        for (size_t i = 0; i < m->body.n; i++) {
            int p = m->n_parameters - 1;
            while (p >= 0 && !same(m->parameter[p], m->body.list[i])) p--;
            if (p < 0)
                push(tr, &body, m->body.list[i]);
            else
                for (size_t j = 0; j < arguments[p].n; j++) push(tr, &body, arguments[p].list[j]);
        }
        expand(tr, body.list, body.n, out, depth + 1);
        for (int i = 0; i < 4; i++) free(arguments[i].list);
        free(body.list);
    }
}

static void preprocess(translator *tr, const char *s) {
    tokens raw = {0};
    int skipping = 0, level = 0; /* skipping: the level at which it began */
    for (s = skip_blank(s); *s; s = skip_blank(s)) {
        if (*s != '#') {
            token t = next_token(&s);
            if (!skipping) push(tr, &raw, t);
            continue;
        }
        const char *end = line_end(s), *word = s + 1;
        token t = next_token(&word);
        if (t.n >= 2 && t.s[0] == 'i' && t.s[1] == 'f') {
            const char *rest = word;
            token what = next_token(&rest);
            int yes = (is(t, "ifndef") && !is(what, "CLSI_SCRIPT")) ||
                      (is(t, "ifdef") && is(what, "CLSI_SCRIPT"));
            level++;
            if (!yes && !skipping) skipping = level;
        } else if (is(t, "else")) {
            if (skipping == level)
                skipping = 0;
            else if (!skipping)
                skipping = level;
        } else if (is(t, "endif")) {
            if (skipping == level) skipping = 0;
            level--;
        } else if (is(t, "define") && !skipping) {
            define(tr, word, end);
        }
        s = end;
    }
    expand(tr, raw.list, raw.n, &tr->all, 0);
    free(raw.list);
}

/* ---- writing ---- */

static void put_number(clsi_text *out, token t) {
    char text[64], shortest[32];
    snprintf(text, sizeof text, "%.*s", (int)(t.n < 63 ? t.n : 63), t.s);
    clsi_format_double(clsi_strtod(text, NULL), shortest);
    clsi_text_append(out, shortest);
}

/* Octal escapes, which modules refuse. */
static void put_string(clsi_text *out, token t) {
    for (size_t k = 0; k < t.n; k++) {
        if (t.s[k] == '\\' && k + 3 < t.n && isdigit((unsigned char)t.s[k + 1])) {
            unsigned code = (unsigned)(t.s[k + 1] - '0') * 64 + (unsigned)(t.s[k + 2] - '0') * 8 +
                            (unsigned)(t.s[k + 3] - '0');
            clsi_text_printf(out, "\\x%02x", code);
            k += 3;
        } else {
            clsi_text_append_n(out, t.s + k, 1);
        }
    }
}

/* Names that C has free and JavaScript has not. */
static void put_name(clsi_text *out, token t) {
    static const char *const taken[] = {"function", "in",     "let",  "new",   "delete", "this",
                                        "var",      "typeof", "with", "class", "yield",  "await"};
    clsi_text_append_n(out, t.s, t.n);
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
        if (is(t, taken[k])) clsi_text_append(out, "$");
}

static int is_type(const translator *tr, token t) {
    static const char *const words[] = {"double",   "float",    "int",    "unsigned", "long",
                                        "size_t",   "void",     "char",   "uint64_t", "const",
                                        "uint16_t", "uint32_t", "static", "inline",   "struct",
                                        "volatile", "extern"};
    if (t.kind != 'i') return 0;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (is(t, words[k])) return 1;
    return has(&tr->types, t);
}

static token at(const translator *tr, size_t k) {
    return k < tr->all.n ? tr->all.list[k] : (token){"", 0, 0};
}

/* The bracket that closes the one at k. */
static size_t closing(const translator *tr, size_t k) {
    int level = 0;
    for (; k < tr->all.n; k++) {
        token t = at(tr, k);
        if (is(t, "(") || is(t, "[") || is(t, "{")) level++;
        if (is(t, ")") || is(t, "]") || is(t, "}")) level--;
        if (!level) return k;
    }
    return tr->all.n;
}

/* Does an operand end here, so that * and & behind it have two sides? */
static int ends_operand(token t) {
    if (t.kind == 'i') return !is(t, "return") && !is(t, "case");
    return t.kind == 'n' || t.kind == 's' || is(t, ")") || is(t, "]");
}

static size_t put_declaration(translator *tr, size_t k);

/* One word of an expression or statement at k; returns the next. */
static size_t put_word(translator *tr, size_t k) {
    token t = at(tr, k), before = k ? at(tr, k - 1) : (token){"", 0, 0};
    clsi_text *out = tr->out;
    if (t.kind == 'n') {
        put_number(out, t);
    } else if (t.kind == 's') {
        if (before.kind == 's') clsi_text_append(out, "+");
        put_string(out, t);
    } else if (is(t, "->")) {
        clsi_text_append(out, ".");
    } else if (is(t, "(") && is_type(tr, at(tr, k + 1)) && !is(before, "for")) { /* a cast */
        size_t end = closing(tr, k);
        if (is(at(tr, k + 1), "float")) {
            clsi_text_append(out, "Math.fround(");
            put_word(tr, end + 1);
            clsi_text_append(out, ")");
            return end + 2;
        }
        return end + 1;
    } else if (is(t, "&") && !ends_operand(before)) {
        if (has(&tr->boxed, at(tr, k + 1))) { /* the array that holds it */
            put_name(out, at(tr, k + 1));
            return k + 2;
        }
    } else if (is(t, "*") && !ends_operand(before)) {
        put_word(tr, k + 1);
        clsi_text_append(out, "[0]");
        return k + 2;
    } else if ((is(t, "room") || is(t, "keep")) && is(at(tr, k + 1), "+")) {
        clsi_text_printf(out, "%.*s.subarray(%.*s)", (int)t.n, t.s, (int)at(tr, k + 2).n,
                         at(tr, k + 2).s);
        return k + 3;
    } else if (t.kind == 'i') {
        put_name(out, t);
        if (has(&tr->boxed, t) && !is(before, "->") && !is(before, "."))
            clsi_text_append(out, "[0]");
        /* a name, or a cast that goes, may follow */
        clsi_text_append(out, is(at(tr, k + 1), "(") && !is(t, "return") ? "" : " ");
    } else {
        put_name(out, t);
        /* a - -b */
        token after = at(tr, k + 1);
        if ((is(t, "-") && is(after, "-")) || (is(t, "+") && is(after, "+")))
            clsi_text_append(out, " ");
    }
    return k + 1;
}

static void put_range(translator *tr, size_t from, size_t to) {
    while (from < to) from = put_word(tr, from);
}

/* The first `,` or `;` (or `)`) at the level of k. */
static size_t end_of_initialiser(const translator *tr, size_t k) {
    for (; k < tr->all.n; k++) {
        token t = at(tr, k);
        if (is(t, "(") || is(t, "[") || is(t, "{"))
            k = closing(tr, k);
        else if (is(t, ",") || is(t, ";") || is(t, ")"))
            return k;
    }
    return k;
}

/* p + n as a pointer: a view of the array from n on. */
static void put_pointer(translator *tr, size_t from, size_t to) {
    size_t plus = from;
    for (; plus < to && !is(at(tr, plus), "+"); plus++)
        if (is(at(tr, plus), "(") || is(at(tr, plus), "[")) plus = closing(tr, plus);
    if (plus == to) {
        put_range(tr, from, plus);
        return;
    }
    put_range(tr, from, plus - 1);
    put_name(tr->out, at(tr, plus - 1)); /* of `keep + n` only the name: the sum is made here */
    clsi_text_append(tr->out, ".subarray(");
    put_range(tr, plus + 1, to);
    clsi_text_append(tr->out, ")");
}

static void put_list(translator *tr, size_t brace, int whole_numbers, int texts) {
    size_t end = closing(tr, brace);
    if (is(at(tr, end - 1), ",")) end--;
    /* not Int32Array.of: calls have at most 65535 arguments */
    clsi_text_append(tr->out, texts           ? "["
                              : whole_numbers ? "new Int32Array(["
                                              : "new Float64Array([");
    put_range(tr, brace + 1, end);
    clsi_text_append(tr->out, texts ? "]" : "])");
}

/* `type name, *name = ..., name[n];` beginning at k; returns the place behind the ; (or of the
 * ) of a condition). */
static size_t put_declaration(translator *tr, size_t k) {
    clsi_text *out = tr->out;
    int whole = 0, texts = 0;
    token type = at(tr, k);
    for (; is_type(tr, at(tr, k)); k++) {
        if (has(&tr->structs, at(tr, k))) type = at(tr, k);
        whole |= is(at(tr, k), "int") || is(at(tr, k), "size_t") || is(at(tr, k), "unsigned") ||
                 is(at(tr, k), "uint16_t") || is(at(tr, k), "uint32_t");
        texts |= is(at(tr, k), "char");
    }
    clsi_text_append(out, "let ");
    for (;;) {
        int pointer = 0;
        for (; is(at(tr, k), "*") || is(at(tr, k), "const"); k++) pointer = 1;
        token name = at(tr, k++);
        int boxed = has(&tr->boxed, name);
        put_name(out, name);
        size_t bracket = is(at(tr, k), "[") ? k : 0;
        if (bracket) k = closing(tr, k) + 1;
        if (is(at(tr, k), "=")) {
            size_t end = end_of_initialiser(tr, k + 1);
            clsi_text_append(out, boxed ? "=[" : "=");
            if (is(at(tr, k + 1), "{"))
                put_list(tr, k + 1, whole, texts);
            else if (pointer)
                put_pointer(tr, k + 1, end);
            else
                put_range(tr, k + 1, end);
            if (boxed) clsi_text_append(out, "]");
            k = end;
        } else if (bracket) {
            clsi_text_append(out, whole ? "=new Int32Array(" : "=new Float64Array(");
            put_range(tr, bracket + 1, k - 1);
            clsi_text_append(out, ")");
        } else if (!pointer && has(&tr->structs, type)) {
            clsi_text_append(out, "=new ");
            put_name(out, type);
            clsi_text_append(out, "()");
        } else {
            clsi_text_append(out, boxed ? "=[0]" : "=0");
        }
        if (!is(at(tr, k), ",")) break;
        clsi_text_append(out, ",");
        k++;
    }
    return k;
}

/* Whether a name of [from, to) is declared as a struct there, which is passed as itself. */
static int is_local_struct(const translator *tr, size_t from, size_t to, token name) {
    for (size_t k = from; k + 1 < to; k++)
        if (has(&tr->structs, at(tr, k)) && same(at(tr, k + 1), name)) return 1;
    return 0;
}

/* Names of local numbers and pointers whose address is taken. */
static void find_boxed(translator *tr, size_t from, size_t to) {
    tr->boxed.n = 0;
    for (size_t k = from; k < to; k++) {
        token after = at(tr, k + 2);
        if (is(at(tr, k), "&") && !ends_operand(at(tr, k - 1)) && at(tr, k + 1).kind == 'i' &&
            (is(after, ",") || is(after, ")")) && !is_local_struct(tr, from, to, at(tr, k + 1)))
            push(tr, &tr->boxed, at(tr, k + 1));
    }
}

static size_t put_body(translator *tr, size_t k) {
    size_t end = closing(tr, k);
    find_boxed(tr, k, end);
    clsi_text_append(tr->out, "{\n");
    for (k++; k < end;) {
        token before = at(tr, k - 1), t = at(tr, k);
        int begins = is(before, "{") || is(before, "}") || is(before, ";") ||
                     (is(before, "(") && is(at(tr, k - 2), "for"));
        if (begins && is_type(tr, t)) {
            k = put_declaration(tr, k);
        } else {
            k = put_word(tr, k);
            if (is(t, ";") || is(t, "{") || is(t, "}")) clsi_text_append(tr->out, "\n");
        }
    }
    tr->boxed.n = 0;
    clsi_text_append(tr->out, "}\n");
    return end + 1;
}

/* ---- the top of a file ---- */

static size_t put_function(translator *tr, size_t name, size_t open) {
    size_t close = closing(tr, open);
    if (is(at(tr, close + 1), ";")) return close + 2; /* a prototype */
    clsi_text_append(tr->out, "\nfunction ");
    put_name(tr->out, at(tr, name));
    clsi_text_append(tr->out, "(");
    int first = 1;
    for (size_t k = open + 1; k <= close; k++) {
        token after = at(tr, k + 1);
        if (at(tr, k).kind != 'i' || is(at(tr, k), "void") || !(is(after, ",") || is(after, ")")))
            continue;
        clsi_text_append(tr->out, first ? "" : ",");
        put_name(tr->out, at(tr, k));
        first = 0;
    }
    clsi_text_append(tr->out, ") ");
    return put_body(tr, close + 1);
}

/* enum { A, B = 3, C }; `open` is the brace. */
static size_t put_enum(translator *tr, size_t open) {
    size_t end = closing(tr, open);
    token last = {0};
    for (size_t k = open + 1; k < end;) {
        token name = at(tr, k++);
        size_t stop = end_of_initialiser(tr, k) < end ? end_of_initialiser(tr, k) : end;
        clsi_text_append(tr->out, "const ");
        put_name(tr->out, name);
        clsi_text_append(tr->out, "=");
        if (is(at(tr, k), "=")) {
            put_range(tr, k + 1, stop);
        } else if (last.n) {
            put_name(tr->out, last);
            clsi_text_append(tr->out, "+1");
        } else {
            clsi_text_append(tr->out, "0");
        }
        clsi_text_append(tr->out, ";\n");
        last = name;
        k = stop + 1;
    }
    return end + 1;
}

/* struct { double a[3], b; other c; }: a class with these members. */
static size_t put_struct(translator *tr, token name, size_t open) {
    size_t end = closing(tr, open);
    clsi_text_append(tr->out, "class ");
    put_name(tr->out, name);
    clsi_text_append(tr->out, " { constructor() {\n");
    for (size_t k = open + 1; k < end;) {
        token type = at(tr, k++);
        int whole = is(type, "int") || is(type, "size_t");
        for (; !is(at(tr, k - 1), ";"); k++) {
            token member = at(tr, k++);
            clsi_text_append(tr->out, "this.");
            put_name(tr->out, member);
            if (is(at(tr, k), "[")) {
                size_t close = closing(tr, k);
                clsi_text_append(tr->out, whole ? "=new Int32Array(" : "=new Float64Array(");
                put_range(tr, k + 1, close);
                clsi_text_append(tr->out, ");\n");
                k = close + 1;
            } else if (has(&tr->types, type)) {
                clsi_text_append(tr->out, "=new ");
                put_name(tr->out, type);
                clsi_text_append(tr->out, "();\n");
            } else {
                clsi_text_append(tr->out, "=0;\n");
            }
        }
    }
    clsi_text_append(tr->out, "} }\n");
    return end + 1;
}

static size_t put_type(translator *tr, size_t k) {
    int is_struct = is(at(tr, k), "struct");
    token name = at(tr, k + 1);
    int named = name.kind == 'i';
    size_t open = k + 1 + (size_t)named;
    size_t after = is_struct ? put_struct(tr, name, open) : put_enum(tr, open);
    if (named) push(tr, &tr->types, name);
    if (named && is_struct) push(tr, &tr->structs, name);
    while (after < tr->all.n && !is(at(tr, after), ";")) after++;
    return after + 1;
}

/* One declaration or definition at k. */
static size_t put_top(translator *tr, size_t k) {
    if (is(at(tr, k), "typedef")) return put_type(tr, k + 1);
    if (is(at(tr, k), "enum")) return put_type(tr, k);
    if (is(at(tr, k), "extern")) { /* said again with its value */
        while (k < tr->all.n && !is(at(tr, k), ";")) k++;
        return k + 1;
    }
    size_t name = k;
    while (is_type(tr, at(tr, name)) || is(at(tr, name), "*")) name++;
    if (is(at(tr, name + 1), "(")) return put_function(tr, name, name + 1);
    k = put_declaration(tr, k);
    clsi_text_append(tr->out, ";\n");
    return k + 1;
}

cls_status clsi_translate(const char *source, clsi_text *out, cls_error *error) {
    translator tr = {.out = out};
    preprocess(&tr, source);
    for (size_t k = 0; k < tr.all.n && !tr.failed;) k = put_top(&tr, k);
    for (size_t k = 0; k < tr.n_macros; k++) free(tr.macros[k].body.list);
    free(tr.macros);
    free(tr.all.list);
    free(tr.types.list);
    free(tr.structs.list);
    free(tr.boxed.list);
    return tr.failed || out->failed ? clsi_no_memory(error) : CLS_OK;
}
