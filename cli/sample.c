/* Random starts of ensembles: --sample "x~U(-1,1), v.x~N(0,0.1)".
 *
 * The generator is that of <clausius/random.h>. For each member in turn, the variables are drawn in
 * the order in which --sample names them: U(a, b) is a + (b - a) times a uniform number, N(mean,
 * sigma) is mean + sigma times a normal one. */
#include "cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

double cli_draw_next(const cli_draw *d, cls_random *r) {
    if (d->normal) return d->a + d->b * cls_random_normal(r);
    return d->a + (d->b - d->a) * cls_random_uniform(r);
}

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
    if (!status && (d->normal ? d->b < 0 : d->b < d->a))
        status = cli_fail(error, CLS_USAGE, "--sample: %s: %s in %c(%s)", d->name,
                          d->normal ? "a negative width" : "the upper end is below the lower",
                          d->normal ? 'N' : 'U', inside);
    free(items);
    return status;
}

static cls_status parse_draw(char *item, cli_draw *d, cls_error *error) {
    char *tilde = strchr(item, '~');
    size_t length = strlen(item);
    char *law = tilde ? tilde + 1 + strspn(tilde + 1, " \t") : NULL;
    if (!tilde || tilde == item || (law[0] != 'U' && law[0] != 'N') || law[1] != '(' ||
        item[length - 1] != ')')
        return cli_fail(error, CLS_USAGE,
                        "--sample: expected NAME~U(low,high) or NAME~N(mean,sigma), got '%s'",
                        item);
    size_t n = (size_t)(tilde - item);
    while (n && strchr(" \t", item[n - 1])) n--;
    d->name = calloc(n + 1, 1);
    if (!d->name) return cli_no_memory(error);
    memcpy(d->name, item, n);
    d->normal = law[0] == 'N';
    item[length - 1] = 0;
    return parse_pair(law + 2, d, error);
}

cls_status cli_draws_parse(const char *text, size_t *n, cli_draw **out, cls_error *error) {
    char **items = NULL;
    *out = NULL;
    cls_status status = cli_words("--sample", text, n, &items, error);
    if (status) return status;
    *out = calloc(*n, sizeof **out);
    if (!*out) status = cli_no_memory(error);
    for (size_t i = 0; !status && i < *n; i++) {
        status = parse_draw(items[i], &(*out)[i], error);
        for (size_t k = 0; !status && k < i; k++)
            if (!strcmp((*out)[k].name, (*out)[i].name))
                status = cli_fail(error, CLS_USAGE, "--sample: %s is given twice", (*out)[i].name);
    }
    if (status) cli_draws_free(*n, out);
    free(items);
    return status;
}

void cli_draws_free(size_t n, cli_draw **draws) {
    for (size_t i = 0; *draws && i < n; i++) free((*draws)[i].name);
    free(*draws);
    *draws = NULL;
}
