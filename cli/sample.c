/* Random starts of ensembles: --sample "x~U(-1,1), v.x~N(0,0.1), let r~S(0.2,1), y = r*x".
 *
 * The generator is that of <clausius/random.h>. For each member in turn, the items are drawn in the
 * order in which --sample has them: U(a, b) is a + (b - a) times a uniform number, N(mean, sigma)
 * is mean + sigma times a normal one, S(a, b) is U(a, b) with a second uniform number for the sign,
 * minus below one half. NAME = FORMULA is made of the items before it and draws nothing. `let` in
 * front says that the name is not a variable of the system but serves later formulas. */
#include "cli.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* The two numbers of "U(-1, 1)"; `inside` is the text between the parentheses. */
static cls_status parse_pair(const char *inside, cli_draw *d, cls_error *error) {
    char **items = NULL;
    size_t n = 0;
    cls_status status = cli_words("--sample", inside, &n, &items, error);
    if (!status && n != 2)
        status =
            cli_fail(error, CLS_USAGE, "--sample: %s needs two numbers, got '%s'", d->name, inside);
    if (!status) status = cli_evaluate("--sample", items[0], &d->a, error);
    if (!status) status = cli_evaluate("--sample", items[1], &d->b, error);
    if (!status && (d->law == 'N' ? d->b < 0 : d->b < d->a))
        status = cli_fail(error, CLS_USAGE, "--sample: %s: %s in %c(%s)", d->name,
                          d->law == 'N' ? "a negative width" : "the upper end is below the lower",
                          d->law, inside);
    free(items);
    return status;
}

static cls_status parse_formula(const cli_draws *all, const char *text, cli_draw *d,
                                cls_error *error) {
    cls_graph *g = NULL;
    cls_node node;
    const char **names = calloc(all->n + 1, sizeof *names);
    cls_node *nodes = calloc(all->n + 1, sizeof *nodes);
    cls_status status = names && nodes ? cls_graph_create(NULL, &g, error) : cli_no_memory(error);
    for (size_t i = 0; !status && i < all->n; i++) {
        names[i] = all->list[i].name;
        nodes[i] = cls_symbol(g, names[i]);
    }
    cls_scope scope = {all->n, names, nodes};
    if (!status) status = cls_parse(g, text, &scope, NULL, 1, 1, &node, error);
    if (!status) status = cls_program_create(g, all->n, nodes, 1, &node, &d->formula, error);
    if (status && status != CLS_MEMORY) {
        (void)cli_prefix(error, "--sample: %s", d->name);
        status = error->status = CLS_USAGE;
    }
    cls_graph_free(&g);
    free(names);
    free(nodes);
    return status;
}

static cls_status bad_item(const char *item, cls_error *error) {
    return cli_fail(error, CLS_USAGE,
                    "--sample: expected NAME~U(low,high), NAME~N(mean,sigma), NAME~S(low,high) or "
                    "NAME = FORMULA, got '%s'",
                    item);
}

static cls_status parse_draw(const cli_draws *all, char *item, cli_draw *d, cls_error *error) {
    char *sign = item + strcspn(item, "~="), *begin = item;
    if (!*sign || sign == item) return bad_item(item, error);
    d->law = *sign;
    char *law = sign + 1 + strspn(sign + 1, " \t");
    size_t length = strlen(law);
    if (*sign == '~') {
        if (!law[0] || !strchr("UNS", law[0]) || law[1] != '(' || law[length - 1] != ')')
            return bad_item(item, error);
        d->law = law[0];
    }
    if (!strncmp(begin, "let", 3) && strchr(" \t", begin[3])) {
        d->hidden = 1;
        begin += 3;
    }
    while (begin < sign && strchr(" \t", *begin)) begin++;
    size_t n = (size_t)(sign - begin);
    while (n && strchr(" \t", begin[n - 1])) n--;
    if (!n) return bad_item(item, error);
    if (!(d->name = calloc(n + 1, 1))) return cli_no_memory(error);
    memcpy(d->name, begin, n);
    if (d->law == '=') return parse_formula(all, law, d, error);
    law[length - 1] = 0;
    return parse_pair(law + 2, d, error);
}

static cls_status allocate(size_t n, cli_draws *out, cls_error *error) {
    out->list = calloc(n + 1, sizeof *out->list);
    out->names = calloc(n + 1, sizeof *out->names);
    out->values = calloc(2 * n + 1, sizeof *out->values);
    out->given = out->values ? out->values + n : NULL;
    return out->list && out->names && out->values ? CLS_OK : cli_no_memory(error);
}

/* Scratch for the longest formula. */
static cls_status make_work(cli_draws *out, cls_error *error) {
    size_t most = 1;
    for (size_t i = 0; i < out->n; i++) {
        const cls_program *p = out->list[i].formula;
        if (p && cls_program_work_size(p) > most) most = cls_program_work_size(p);
    }
    return (out->work = calloc(most, sizeof *out->work)) ? CLS_OK : cli_no_memory(error);
}

/* ---- arrays ---- */

/* Letters of a name with its brackets at s, and how many stars stand in those. */
static size_t name_length(const char *s, size_t *stars) {
    size_t n = 0;
    *stars = 0;
    while (s[n] && (isalnum((unsigned char)s[n]) || strchr("_.[", s[n]))) {
        size_t inside = s[n] == '[' ? strcspn(s + n, "]") : 0;
        for (size_t k = 0; k < inside; k++) *stars += s[n + k] == '*';
        n += inside ? inside + (s[n + inside] == ']') : 1;
    }
    return n;
}

/* The name with indices in the place of its stars; one star alone is all of them. */
static size_t put_name(char *to, const char *name, size_t length, size_t stars, size_t n,
                       const long *index) {
    size_t used = 0, next = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] == ',') { /* T[1,*] is called T[1][2] */
            used += (size_t)sprintf(to + used, "][");
            continue;
        }
        if (name[i] != '*') {
            if (name[i] != ' ') to[used++] = name[i];
            continue;
        }
        for (size_t k = next; k < (stars == 1 ? n : next + 1) && k < n; k++)
            used += (size_t)sprintf(to + used, "%s%ld", k > next ? "][" : "", index[k]);
        next++;
    }
    return used;
}

/* The item for one element, at the end of a text. */
static int put_element(char **text, size_t *used, const char *item, const char *element, size_t n,
                       const long *index) {
    enum { MOST_DIGITS = 24 };
    size_t stars, sign = strcspn(item, "~="), room = strlen(element) + 3;
    for (const char *s = item; *s; s++) room += *s == '*' ? CLS_MOST_STARS * MOST_DIGITS : 2;
    char *grown = realloc(*text, *used + room);
    if (!grown) return 0;
    *text = grown;
    if (*used) grown[(*used)++] = ',';
    *used += (size_t)sprintf(grown + *used, "%s", element);
    for (item += sign; *item;) {
        size_t length = name_length(item, &stars);
        if (!length) grown[(*used)++] = *item++;
        *used += put_name(grown + *used, item, length, stars, n, index);
        item += length;
    }
    grown[*used] = 0;
    return 1;
}

/* "u[*]~U(-1,1)" as "u[1]~U(-1,1),u[2]~U(-1,1),...", as columns of the system are called. */
static cls_status write_item(const char *item, const cls_system *s, char **out, size_t *used,
                             cls_error *error) {
    size_t n = 0, stars, columns = cls_system_column_count(s);
    long index[CLS_MOST_STARS];
    char pattern[128], *name = pattern;
    int best = 0;
    snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(item, "~="), item);
    name = cli_trim(pattern);
    (void)name_length(name, &stars);
    if (!stars || !item[strcspn(item, "~=")])
        return put_element(out, used, "", item, 0, index) ? CLS_OK : cli_no_memory(error);
    for (size_t c = 0; c < columns && best < 2; c++) {
        int how = cls_means_element(name, cls_system_column(s, c), NULL, NULL);
        if (how > best) best = how;
    }
    for (size_t c = 0; c < columns && best; c++) {
        const char *element = cls_system_column(s, c);
        if (cls_means_element(name, element, index, &n) == best &&
            !put_element(out, used, item, element, n, index))
            return cli_no_memory(error);
    }
    if (best) return CLS_OK;
    return cli_fail(error, CLS_USAGE, "--sample: %s has no array `%s`", cls_system_name(s), name);
}

static cls_status write_out(const char *given, const cls_system *s, char **out, cls_error *error) {
    char **items = NULL;
    size_t n = 0, used = 0;
    cls_status status = cli_words("--sample", given, &n, &items, error);
    for (size_t i = 0; !status && i < n; i++) status = write_item(items[i], s, out, &used, error);
    free(items);
    return status;
}

cls_status cli_draws_parse(const char *given, const cls_system *s, cli_draws *out,
                           cls_error *error) {
    char **items = NULL, *text = NULL;
    size_t n = 0;
    *out = (cli_draws){0};
    cls_status status = CLS_OK;
    if (s && strchr(given, '[') && strchr(given, '*')) status = write_out(given, s, &text, error);
    if (!status) status = cli_words("--sample", text ? text : given, &n, &items, error);
    free(text);
    if (status) return status;
    status = allocate(n, out, error);
    for (size_t i = 0; !status && i < n; i++) {
        cli_draw *d = &out->list[i];
        status = parse_draw(out, items[i], d, error);
        for (size_t k = 0; !status && k < i; k++)
            if (!strcmp(out->list[k].name, d->name))
                status = cli_fail(error, CLS_USAGE, "--sample: %s is given twice", d->name);
        out->n = i + 1;
        if (!status && !d->hidden) out->names[out->n_given++] = d->name;
    }
    if (!status) status = make_work(out, error);
    if (status) cli_draws_free(out);
    free(items);
    return status;
}

void cli_draws_free(cli_draws *draws) {
    for (size_t i = 0; draws->list && i < draws->n; i++) {
        free(draws->list[i].name);
        cls_program_free(&draws->list[i].formula);
    }
    free(draws->list);
    free(draws->names);
    free(draws->values);
    free(draws->work);
    *draws = (cli_draws){0};
}

/* ---- drawing ---- */

static double draw(cli_draws *all, const cli_draw *d, cls_random *r) {
    double value;
    if (d->law == 'N') return d->a + d->b * cls_random_normal(r);
    if (d->law == '=') {
        cls_program_prepare(d->formula, all->work);
        cls_program_run(d->formula, all->work, all->values, &value);
        return value;
    }
    value = d->a + (d->b - d->a) * cls_random_uniform(r);
    return d->law == 'S' && cls_random_uniform(r) < 0.5 ? -value : value;
}

void cli_draws_next(cli_draws *draws, cls_random *r) {
    size_t given = 0;
    for (size_t i = 0; i < draws->n; i++) {
        draws->values[i] = draw(draws, &draws->list[i], r);
        if (!draws->list[i].hidden) draws->given[given++] = draws->values[i];
    }
}
