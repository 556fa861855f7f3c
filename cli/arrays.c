/* Columns of one array (u[1], u[2], ...; cell[1]_q, cell[2]_q, ...) are one line for a person: nobody reads a
 * thousand. Names alone say which they are; they need not stand together. */
#include "cli.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ONE_LINE_FROM = 9 };

/* u[*], S[*][*], cell[*]_q; 0 where the name is that of no element. */
static int pattern_of(const char *name, char *out, size_t room) {
    size_t used = 0, indices = 0;
    while (*name && used + 2 < room) {
        out[used++] = *name;
        if (*name++ != '[') continue;
        size_t digits = strspn(name, "-0123456789");
        if (!digits || name[digits] != ']') return 0;
        out[used++] = '*';
        name += digits;
        indices++;
    }
    out[used] = 0;
    return !*name && indices > 0;
}

static cls_status leave_small_ones(size_t n, cli_arrays *out) {
    for (size_t i = 0; i < n; i++)
        if (out->of[i] != SIZE_MAX && out->list[out->of[i]].count < ONE_LINE_FROM)
            out->of[i] = SIZE_MAX;
    return CLS_OK;
}

int cli_is_same_array(const char *a, const char *b) {
    char of_a[128], of_b[128];
    return pattern_of(a, of_a, sizeof of_a) && pattern_of(b, of_b, sizeof of_b) &&
           !strcmp(of_a, of_b);
}

cls_status cli_arrays_find(size_t n, const char *const *names, cli_arrays *out, cls_error *error) {
    size_t room = 0, last = 0;
    *out = (cli_arrays){.of = malloc((n + 1) * sizeof *out->of)};
    for (size_t i = 0; out->of && i < n; i++) {
        char pattern[128];
        size_t k = 0;
        out->of[i] = SIZE_MAX;
        if (!pattern_of(names[i], pattern, sizeof pattern)) continue;
        for (; k < out->n; k++) { /* that of the neighbour first */
            size_t at = last + k < out->n ? last + k : last + k - out->n;
            if (strcmp(out->list[at].name, pattern)) continue;
            last = at;
            break;
        }
        if (k == out->n) {
            if (out->n == room) {
                cli_array *more = realloc(out->list, (room = 2 * room + 8) * sizeof *more);
                if (!more) return cli_no_memory(error);
                out->list = more;
            }
            last = out->n++;
            out->list[last] = (cli_array){.first = i};
            strcpy(out->list[last].name, pattern);
        }
        out->of[i] = last;
        out->list[last].count++;
    }
    if (!out->of) return cli_no_memory(error);
    return leave_small_ones(n, out);
}

cls_status cli_arrays_asked(size_t n, const char *const *names, size_t n_asked, char **asked,
                            cli_arrays *out, cls_error *error) {
    *out = (cli_arrays){.n = n_asked,
                        .of = malloc((n + 1) * sizeof *out->of),
                        .list = calloc(n_asked + 1, sizeof *out->list)};
    if (!out->of || !out->list) return cli_no_memory(error);
    for (size_t k = 0; k < n_asked; k++)
        snprintf(out->list[k].name, sizeof out->list[k].name, "%s", asked[k]);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < n_asked && strcmp(asked[k], names[i]) &&
               !cls_means_element(asked[k], names[i], NULL, NULL))
            k++;
        out->of[i] = k < n_asked && strcmp(asked[k], names[i]) ? k : SIZE_MAX;
        if (out->of[i] != SIZE_MAX && !out->list[k].count++) out->list[k].first = i;
    }
    return leave_small_ones(n, out);
}

void cli_arrays_free(cli_arrays *a) {
    free(a->of);
    free(a->list);
    *a = (cli_arrays){0};
}
