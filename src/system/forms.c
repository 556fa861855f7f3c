/* Frictions that real things have, as ready forms of an unknown friction on one coordinate:
 *
 *     friction F on T: x <- unknown dry + viscous + quadratic
 *
 * is F = -lambda v with lambda a sum of terms with unknown coefficients, positive by form:
 *
 *     viscous     1                       force -c v
 *     quadratic   sqrt(v^2 + tiny)        force -c v |v|
 *     dry         1/sqrt(v^2 + w^2)       force -c v/|v|, smooth within |v| < w = 0.01
 *     sharp dry   the same with w = 0.0001; dry(0.05): with w = 0.05
 *
 * In a hamiltonian the momentum stands in the place of the velocity in lambda. */
#include "system/language.h"
#include <stdlib.h>
#include <string.h>

static int is_form_word(const clsi_reader *r, clsi_cursor *c) {
    return clsi_accept_word(r, c, "dry") || clsi_accept_word(r, c, "viscous") ||
           clsi_accept_word(r, c, "quadratic") || clsi_accept_word(r, c, "sharp");
}

/* Behind `x <-`, where that is there. */
static clsi_cursor behind_arrow(const clsi_reader *r, clsi_cursor c) {
    clsi_cursor ahead = c;
    ahead.at += clsi_word_length(r, &ahead, 1);
    return clsi_accept(r, &ahead, "<-") ? ahead : c;
}

int clsi_is_friction_form(const clsi_reader *r, clsi_cursor c) {
    clsi_cursor form = behind_arrow(r, c);
    if (!clsi_accept_word(r, &form, "unknown")) return 0;
    return is_form_word(r, &form);
}

/* The formula may stand below this statement: is it one of momenta? */
static int is_of_momenta(const clsi_reader *r) {
    static const char *const words[] = {"hamiltonian", "energy"};
    for (size_t at = 0; at < r->length; at++) {
        clsi_cursor c = {at, r->length};
        if (at && r->clean[at - 1] != '\n') continue;
        for (size_t i = 0; i < 2; i++)
            if (r->clean[at] == words[i][0] && clsi_accept_word(r, &c, words[i])) return 1;
    }
    return 0;
}

/* One term; the cursor stops behind it. */
static cls_status read_term(clsi_reader *r, clsi_cursor *c, const char *v, clsi_text *out) {
    char found[48];
    int sharp = clsi_accept_word(r, c, "sharp");
    double width = sharp ? 1e-4 : 1e-2;
    if (clsi_accept_word(r, c, "dry")) {
        if (clsi_accept(r, c, "(")) {
            const char *close = memchr(r->clean + c->at, ')', c->end - c->at);
            if (!close) return clsi_at(r, c->at, "the width has no closing `)`");
            size_t end = (size_t)(close - r->clean);
            cls_status status =
                clsi_read_number(r, c->at, end, "the width of dry friction", &width);
            if (status == CLS_OK && !(width > 0))
                status = clsi_at(r, c->at, "the width of dry friction must be positive");
            if (status != CLS_OK) return status;
            c->at = end + 1;
        }
        clsi_text_printf(out, "1/sqrt(%s^2 + %.17g)", v, width * width);
        return CLS_OK;
    }
    if (!sharp && clsi_accept_word(r, c, "viscous"))
        clsi_text_append(out, "1");
    else if (!sharp && clsi_accept_word(r, c, "quadratic"))
        clsi_text_printf(out, "sqrt(%s^2 + 1e-12)", v);
    else
        return clsi_at(r, c->at, "expected %s, found %s",
                       sharp ? "`dry`" : "`dry`, `sharp dry`, `viscous` or `quadratic`",
                       clsi_found(r, c, found));
    return CLS_OK;
}

static cls_status read_terms(clsi_reader *r, clsi_cursor *c, size_t j, clsi_text *out) {
    const char *v = cls_node_name(r->s->g, (is_of_momenta(r) ? r->s->p : r->s->v)[j]);
    cls_status status;
    clsi_text_append(out, "terms(");
    do {
        status = read_term(r, c, v, out);
        int more = status == CLS_OK && clsi_accept(r, c, "+");
        clsi_text_append(out, more ? "; " : ")");
        if (!more) break;
    } while (1);
    return status == CLS_OK ? clsi_expect_end(r, c) : status;
}

cls_status clsi_read_friction_form(clsi_reader *r, clsi_cursor c, size_t i, size_t where,
                                   size_t length) {
    cls_system *s = r->s;
    cls_graph *g = s->g;
    size_t j = 0;
    clsi_text field = {0};
    cls_status status = CLS_OK;
    if (behind_arrow(r, c).at != c.at) {
        status = clsi_read_coordinate(r, &c, &j);
        if (status == CLS_OK) status = clsi_expect(r, &c, "<-", "the coordinate");
    } else if (s->n != 1) {
        status =
            clsi_at(r, c.at, "say on what it acts: `friction F on T: x <- unknown dry + viscous`");
    }
    if (status == CLS_OK && !length)
        status = clsi_at(r, where,
                         "an unknown part needs a name, so that it can be learned: "
                         "`friction F on T: x <- unknown dry + viscous`");
    clsi_accept_word(r, &c, "unknown");
    if (status == CLS_OK) status = read_terms(r, &c, j, &field);
    clsi_replacement *other = clsi_replacement_of(r, r->clean + where, length);
    char *name = NULL, *text = NULL;
    if (status == CLS_OK && !other) {
        name = clsi_strndup(r->clean + where, length);
        text = clsi_text_take(&field);
        if (name && text) return clsi_keep_unknown(r, name, text, NULL, 0);
        free(name);
        free(text);
        status = clsi_no_memory(r->error);
    }
    clsi_text_clear(&field);
    if (status != CLS_OK) return status;
    cls_node lambda = other->node(other->context, s, CLSI_PART_HEAT, 0);
    cls_node force = cls_neg(g, cls_mul(g, lambda, s->v[j]));
    clsi_physics *const both[] = {&s->raw, &s->bound};
    for (int k = 0; k < 2; k++) clsi_sparse_add(g, &both[k]->friction, i, j, force);
    return CLS_OK;
}
