/* Formulas as MathML (Core, without styling), from the LaTeX that cls_print_latex writes.
 *
 * The language is small: groups, \frac{}{}, \sqrt{}, \dot{}, \mathrm{}, \operatorname{}, ^ and _,
 * \left and \right with brackets, spaces, Greek letters, names of functions, numbers, + - =. What is
 * not known becomes text. Names are thus written by one set of rules (expr/latex.c). */
#include "page/page.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *s, *end;
    clsi_text *t;
    int depth;
} reader;

static const struct {
    const char *name, *utf8;
} greek[] = {{"alpha", "α"},   {"beta", "β"},   {"gamma", "γ"}, {"delta", "δ"},   {"epsilon", "ε"},
             {"zeta", "ζ"},    {"eta", "η"},    {"theta", "θ"}, {"iota", "ι"},    {"kappa", "κ"},
             {"lambda", "λ"},  {"mu", "μ"},     {"nu", "ν"},    {"xi", "ξ"},      {"pi", "π"},
             {"rho", "ρ"},     {"sigma", "σ"},  {"tau", "τ"},   {"upsilon", "υ"}, {"phi", "φ"},
             {"chi", "χ"},     {"psi", "ψ"},    {"omega", "ω"}, {"Gamma", "Γ"},   {"Delta", "Δ"},
             {"Theta", "Θ"},   {"Lambda", "Λ"}, {"Xi", "Ξ"},    {"Pi", "Π"},      {"Sigma", "Σ"},
             {"Upsilon", "Υ"}, {"Phi", "Φ"},    {"Psi", "Ψ"},   {"Omega", "Ω"},   {"infty", "∞"}};

static void row(reader *r, const char *stop);

static void escaped(clsi_text *t, const char *s, size_t n) {
    char word[128];
    if (n >= sizeof word) n = sizeof word - 1;
    memcpy(word, s, n);
    word[n] = 0;
    clsi_html(t, word, 0);
}

/* {...} as a row; anything else as one atom. */
static void group(reader *r) {
    clsi_text_append(r->t, "<mrow>");
    if (r->s < r->end && *r->s == '{') {
        r->s++;
        row(r, "}");
        if (r->s < r->end) r->s++;
    } else if (r->s < r->end) {
        clsi_text_append(r->t, "<mi>");
        escaped(r->t, r->s++, 1);
        clsi_text_append(r->t, "</mi>");
    }
    clsi_text_append(r->t, "</mrow>");
}

/* The text of {...} without structure: upright words. */
static void upright(reader *r) {
    clsi_text_append(r->t, "<mi mathvariant=\"normal\">");
    if (r->s < r->end && *r->s == '{') r->s++;
    while (r->s < r->end && *r->s != '}') {
        if (*r->s != '\\') escaped(r->t, r->s, 1);
        r->s++;
    }
    if (r->s < r->end) r->s++;
    clsi_text_append(r->t, "</mi>");
}

static void command(reader *r) {
    const char *name = ++r->s;
    while (r->s < r->end && isalpha((unsigned char)*r->s)) r->s++;
    size_t n = (size_t)(r->s - name);
    if (!n) { /* \, \\ \{ */
        if (r->s < r->end) r->s++;
        if (*name == ',') clsi_text_append(r->t, "<mspace width=\"0.17em\"/>");
        if (*name != ',' && *name != '\\') {
            clsi_text_append(r->t, "<mi>");
            escaped(r->t, name, 1);
            clsi_text_append(r->t, "</mi>");
        }
        return;
    }
#define IS(word) (n == sizeof word - 1 && !memcmp(name, word, n))
    if (IS("frac")) {
        clsi_text_append(r->t, "<mfrac>");
        group(r), group(r);
        clsi_text_append(r->t, "</mfrac>");
    } else if (IS("sqrt")) {
        clsi_text_append(r->t, "<msqrt>");
        group(r);
        clsi_text_append(r->t, "</msqrt>");
    } else if (IS("dot")) {
        clsi_text_append(r->t, "<mover>");
        group(r);
        clsi_text_append(r->t, "<mo>˙</mo></mover>");
    } else if (IS("mathrm") || IS("operatorname") || IS("text")) {
        upright(r);
    } else if (IS("cdot")) {
        clsi_text_append(r->t, "<mo>·</mo>");
    } else if (IS("left") || IS("right")) {
        /* of a bracket with a script only one side would stretch */
        clsi_text_append(r->t, "<mo stretchy=\"false\">");
        if (r->s < r->end) escaped(r->t, r->s++, 1);
        clsi_text_append(r->t, "</mo>");
    } else {
        const char *word = NULL;
        for (size_t k = 0; k < sizeof greek / sizeof *greek; k++)
            if (strlen(greek[k].name) == n && !memcmp(greek[k].name, name, n)) word = greek[k].utf8;
        clsi_text_append(r->t, "<mi>");
        word ? clsi_text_append(r->t, word) : escaped(r->t, name, n);
        clsi_text_append(r->t, "</mi>");
    }
#undef IS
}

static void atom(reader *r) {
    if (*r->s == '\\') {
        command(r);
    } else if (*r->s == '{') {
        group(r);
    } else if (isdigit((unsigned char)*r->s) || *r->s == '.') {
        const char *from = r->s;
        while (r->s < r->end && (isdigit((unsigned char)*r->s) || *r->s == '.')) r->s++;
        clsi_text_append(r->t, "<mn>");
        clsi_text_append_n(r->t, from, (size_t)(r->s - from));
        clsi_text_append(r->t, "</mn>");
    } else if (isalpha((unsigned char)*r->s)) {
        clsi_text_append(r->t, "<mi>");
        clsi_text_append_n(r->t, r->s++, 1);
        clsi_text_append(r->t, "</mi>");
    } else {
        clsi_text_append(r->t, strchr("()[]", *r->s) ? "<mo stretchy=\"false\">" : "<mo>");
        if (*r->s == '-')
            clsi_text_append(r->t, "−");
        else
            escaped(r->t, r->s, 1);
        r->s++;
        clsi_text_append(r->t, "</mo>");
    }
}

/* Atoms with their scripts, up to one of `stop`. An atom is written first and wrapped when a script
 * follows it. */
static void row(reader *r, const char *stop) {
    if (++r->depth > 200) r->s = r->end;
    while (r->s < r->end && !strchr(stop, *r->s)) {
        if (*r->s == ' ' || *r->s == '&' || *r->s == '\n') {
            r->s++;
            continue;
        }
        clsi_text one = {0}, *whole = r->t;
        r->t = &one;
        atom(r);
        const char *open = "", *close = "";
        if (r->s < r->end && *r->s == '_') {
            r->s++;
            group(r);
            open = "<msub>", close = "</msub>";
            if (r->s < r->end && *r->s == '^') {
                r->s++;
                group(r);
                open = "<msubsup>", close = "</msubsup>";
            }
        } else if (r->s < r->end && *r->s == '^') {
            r->s++;
            group(r);
            open = "<msup>", close = "</msup>";
        }
        r->t = whole;
        whole->failed |= one.failed;
        /* an atom that writes nothing (a thin space) takes no script */
        if (one.length) {
            clsi_text_append(whole, open);
            clsi_text_append_n(whole, one.data, one.length);
            clsi_text_append(whole, close);
        }
        clsi_text_clear(&one);
    }
    r->depth--;
}

void clsi_mathml(clsi_text *t, const char *latex, size_t n) {
    reader r = {latex, latex + n, t, 0};
    clsi_text_append(t, "<math display=\"block\"><mrow>");
    row(&r, "");
    clsi_text_append(t, "</mrow></math>");
}
