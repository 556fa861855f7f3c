/* The programs of a step as C functions: of both variants, each once where they are the same text, and what
 * they take over from each other.
 *
 * The monitor at the end of a step computes functions of the state that the next step begins with: it leaves
 * them where the residual keeps its own (`monitor`, then `residual_warm` for `residual_early`). Where the
 * residual has been computed at the solution, the end of the step and its monitor take what is in there
 * (`next_end`, `monitor_end`); what it keeps of the beginning the end of every step takes (`next`). The operations are the same ones, so that the bits are. Networks keep states
 * of their own and do without. */
#include "export/programs.h"
#include "expr/emit.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE = 11, STAGED = 2, LISTED = WHOLE + STAGED };
enum { GUESS, MONITOR, NEXT, SCALE, HEAT = WHOLE - 2, ASCENT, RESIDUAL = WHOLE };

/* The programs of a variant: whole ones, then those in stages (NULL where there is none). */
typedef struct listed {
    const char *name;
    const cls_program *program;
    clsi_rolled *loops; /* as which it is written; NULL: as statements */
} listed;

static size_t at_least(size_t n, size_t least) {
    return n < least ? least : n;
}

/* A step without equations looks at no residual. */
static void list_programs(const clsi_variant *v, listed out[LISTED]) {
    const clsi_stepper *sp = v->sp;
    const int solves = sp->scheme->tableau == NULL;
    const listed all[LISTED] = {{"guess", solves ? sp->guess : NULL, NULL},
                                {"monitor", sp->monitor, NULL},
                                {"next", sp->next, NULL},
                                {"scale", sp->scale, NULL},
                                {"rate", v->rate, NULL},
                                {"slope", v->slope, NULL},
                                {"row_slope", v->row_slope, NULL},
                                {"row", v->row, NULL},
                                {"step_slope", v->step_slope, NULL},
                                {"heat", sp->heat, NULL},
                                {"ascent", sp->ascent, NULL},
                                {"residual", solves ? sp->residual : NULL, NULL},
                                {"guard", solves ? sp->guard : NULL, NULL}};
    memcpy(out, all, sizeof all);
}

static cls_status find_loops(listed list[LISTED], cls_error *error) {
    cls_status status = CLS_OK;
    for (int k = 0; k < LISTED && status == CLS_OK; k++)
        status = clsi_rolled_create(list[k].program, k >= WHOLE, &list[k].loops, error);
    return status;
}

static void emit_fields(const listed *list, clsi_text *kernels, clsi_text *weights,
                        clsi_text *calls) {
    const cls_program *all[LISTED];
    for (int k = 0; k < LISTED; k++) all[k] = list[k].program;
    clsi_programs_emit_fields(LISTED, all, kernels, weights, calls);
}

void clsi_export_used(const clsi_export *e, clsi_programs_use *use) {
    listed list[2 * LISTED];
    const cls_program *all[2 * LISTED] = {0};
    int n = e->open.sp ? 2 * LISTED : LISTED;
    list_programs(&e->base, list);
    if (e->open.sp) list_programs(&e->open, list + LISTED);
    for (int k = 0; k < n; k++) all[k] = list[k].program;
    clsi_programs_used((size_t)n, all, use);
}

int clsi_export_fields_agree(const clsi_export *e) {
    listed base[LISTED], open[LISTED];
    clsi_text fields = {0}, others = {0};
    if (!e->open.sp) return 1;
    list_programs(&e->base, base);
    list_programs(&e->open, open);
    emit_fields(base, &fields, &fields, &fields);
    emit_fields(open, &others, &others, &others);
    int agree = fields.length == others.length && !fields.failed && !others.failed &&
                (!fields.length || !memcmp(fields.data, others.data, fields.length));
    clsi_text_clear(&fields);
    clsi_text_clear(&others);
    return agree;
}

/* ---- what they have in common ---- */

/* Of a variant; all NULL where nothing is shared. */
typedef struct sharing {
    unsigned char *also; /* of the residual's instructions: others want it */
    uint32_t *slot;      /* of them: where it is kept */
    uint32_t *warm;      /* of them: its slot where the monitor has computed it */
    uint32_t *now,
        *end; /* of the monitor's: the register of the residual at the start, at the solution */
    uint32_t *next;               /* of those of the end of the step, at the solution */
    uint32_t *begun;              /* of them: at the start */
    size_t n_now, n_end, n_begun; /* how many */
} sharing;

static void sharing_clear(sharing *s) {
    free(s->also);
    free(s->slot);
    free(s->warm);
    free(s->now);
    free(s->end);
    free(s->next);
    free(s->begun);
    *s = (sharing){0};
}

/* Keeps of `same` what is worth it and is computed before `last`. */
static size_t select_kept(const cls_program *r, const cls_program *p, size_t last, uint32_t *same,
                          unsigned char *also) {
    size_t base = r->n_constants + r->n_inputs, n = 0;
    for (size_t k = 0; k < p->n_instructions; k++) {
        if (same[k] != CLSI_NOT_SHARED &&
            (same[k] - base >= last || !clsi_is_worth_keeping(&p->code[k])))
            same[k] = CLSI_NOT_SHARED;
        if (same[k] == CLSI_NOT_SHARED) continue;
        also[same[k] - base] = 1;
        n++;
    }
    return n;
}

/* The registers of the residual that are the inputs of the monitor: z as `state` says, parameters. */
static void monitor_inputs(const clsi_stepper *sp, const uint32_t *state, uint32_t *inputs) {
    const cls_program *r = sp->residual;
    for (size_t i = 0; i < sp->monitor->n_inputs; i++) inputs[i] = CLSI_NOT_SHARED;
    memcpy(inputs, state, sp->nz * sizeof *inputs);
    for (size_t i = 0; i < sp->n_free; i++)
        inputs[sp->nz + 2 + sp->nu + i] = (uint32_t)(r->n_constants + sp->first_free + i);
}

/* Where the step ends, in registers of the residual. */
static void find_end(const clsi_stepper *sp, const uint32_t *same, uint32_t *state) {
    const cls_program *r = sp->residual, *p = sp->next;
    for (size_t i = 0; i < sp->nz; i++) {
        uint32_t reg = p->outputs[i];
        state[i] = CLSI_NOT_SHARED;
        if (reg >= p->n_constants + p->n_inputs)
            state[i] = same[reg - p->n_constants - p->n_inputs];
        else if (reg >= p->n_constants)
            state[i] = (uint32_t)(r->n_constants + reg - p->n_constants);
    }
}

/* Not where any program of a step needs what is kept as its room. */
static int may_share(const clsi_stepper *sp, const listed *l) {
    static const int all[] = {RESIDUAL, MONITOR, NEXT, GUESS, SCALE};
    int may = sp->n_unknowns > 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        may &= clsi_program_may_share(l[all[k]].program) && !l[all[k]].loops;
    return may;
}

static cls_status find_sharing(const clsi_stepper *sp, const listed *l, sharing *s,
                               cls_error *error) {
    *s = (sharing){0};
    if (!may_share(sp, l)) return CLS_OK;
    const cls_program *r = sp->residual, *m = sp->monitor, *p = sp->next;
    s->also = clsi_calloc(r->n_instructions, 1);
    s->slot = clsi_calloc(r->n_instructions, sizeof *s->slot);
    s->warm = clsi_calloc(r->n_instructions, sizeof *s->warm);
    s->now = clsi_calloc(m->n_instructions, sizeof *s->now);
    s->end = clsi_calloc(m->n_instructions, sizeof *s->end);
    s->next = clsi_calloc(p->n_instructions, sizeof *s->next);
    s->begun = clsi_calloc(p->n_instructions, sizeof *s->begun);
    uint32_t *inputs = clsi_calloc(m->n_inputs + p->n_inputs + sp->nz, sizeof *inputs);
    if (!s->also || !s->slot || !s->warm || !s->now || !s->end || !s->next || !s->begun ||
        !inputs) {
        free(inputs);
        return clsi_no_memory(error);
    }
    uint32_t *step = inputs + m->n_inputs, *state = step + p->n_inputs;
    for (size_t i = 0; i < p->n_inputs; i++) step[i] = (uint32_t)(r->n_constants + i);
    monitor_inputs(sp, step, inputs);
    clsi_program_match(r, m, m->n_instructions, inputs, s->now);
    s->n_now = select_kept(r, m, r->end[CLSI_STAGE_EARLY], s->now, s->also);
    for (size_t k = 0; k < r->n_instructions; k++)
        s->warm[k] = s->also[k]; /* a mark, not a slot yet */
    for (size_t k = 0; k < m->n_instructions; k++) s->end[k] = CLSI_NOT_SHARED;
    for (size_t k = 0; k < p->n_instructions; k++) s->next[k] = CLSI_NOT_SHARED;
    clsi_program_match(r, p, p->n_instructions, step, s->begun);
    s->n_begun = select_kept(r, p, r->end[CLSI_STAGE_EARLY], s->begun, s->also);
    if (sp->n_owed && !sp->books && !sp->s->n_units) {
        clsi_program_match(r, p, p->n_instructions, step, s->next);
        find_end(sp, s->next, state);
        monitor_inputs(sp, state, inputs);
        clsi_program_match(r, m, m->n_instructions, inputs, s->end);
        s->n_end = select_kept(r, m, r->end[CLSI_STAGE_FIRST], s->end, s->also) +
                   select_kept(r, p, r->end[CLSI_STAGE_FIRST], s->next, s->also);
    }
    free(inputs);
    return CLS_OK;
}

static void to_slots(const cls_program *r, const sharing *s, size_t n, uint32_t *same) {
    for (size_t k = 0; k < n; k++)
        if (same[k] != CLSI_NOT_SHARED) same[k] = s->slot[same[k] - r->n_constants - r->n_inputs];
}

/* From registers to where they are kept, once the residual is written. */
static void place_sharing(const clsi_stepper *sp, sharing *s) {
    const cls_program *r = sp->residual;
    if (!s->slot) return;
    for (size_t k = 0; k < r->n_instructions; k++)
        s->warm[k] = s->warm[k] ? s->slot[k] : CLSI_NOT_SHARED;
    to_slots(r, s, sp->monitor->n_instructions, s->now);
    to_slots(r, s, sp->monitor->n_instructions, s->end);
    to_slots(r, s, sp->next->n_instructions, s->next);
    to_slots(r, s, sp->next->n_instructions, s->begun);
}

/* ---- writing ---- */

/* What is written of a list: its programs, then what takes over from others. */
enum { WARM = LISTED, MONITOR_END, NEXT_END, WRITTEN };
static const char *const taking[] = {"residual_warm", "monitor_end", "next_end"};

/* Program or part k of a variant; what it keeps between its stages. */
static cls_status emit_one(const clsi_export *e, const listed *l, int k, const char *prefix,
                           sharing *s, clsi_tables *tables, clsi_text *out, size_t *kept,
                           cls_error *error) {
    char name[64];
    *kept = 0;
    if (k < LISTED && !l[k].program) return CLS_OK;
    snprintf(name, sizeof name, "clsi_%s_%s", prefix, k < LISTED ? l[k].name : taking[k - LISTED]);
    if (k < LISTED && l[k].loops) {
        *kept = clsi_rolled_room(l[k].loops);
        return clsi_emit_loops(l[k].loops, name, tables, out, error);
    }
    if (k == WARM)
        return clsi_program_emit_known(l[RESIDUAL].program, CLSI_STAGE_EARLY, name, e->two, s->slot,
                                       s->warm, out, error);
    if (k == NEXT_END || (k == NEXT && e->shares_begin))
        return clsi_program_emit_known(l[NEXT].program, CLSI_STAGES, name, e->two, NULL,
                                       k == NEXT ? s->begun : s->next, out, error);
    if (k == MONITOR_END || (k == MONITOR && e->shares_now))
        return clsi_program_emit_known(l[MONITOR].program, CLSI_STAGES, name, e->two,
                                       e->shares_now ? s->now : NULL, k == MONITOR ? NULL : s->end,
                                       out, error);
    int own = k == RESIDUAL, often = k == MONITOR || k == NEXT; /* in every step */
    if (k < WHOLE)
        return clsi_program_emit_function(l[k].program, name, e->two && often, out, error);
    return clsi_program_emit_stages(l[k].program, name, own ? s->also : NULL, e->two,
                                    own ? s->slot : NULL, out, kept, error);
}

/* Part k of both variants; where parameters are not in it there is one text for both. */
static cls_status emit_both(clsi_export *e, const listed *base, const listed *open, sharing s[2],
                            int k, clsi_tables *tables, clsi_text *out, int *differs,
                            cls_error *error) {
    clsi_text given = {0}, other = {0};
    size_t kept, *most = k == RESIDUAL ? &e->n_kept : &e->n_guard_kept;
    cls_status status = emit_one(e, base, k, "given", &s[0], tables, &given, &kept, error);
    if (k >= WHOLE && k < LISTED && kept > *most) *most = kept;
    if (status == CLS_OK && e->open.sp)
        status = emit_one(e, open, k, "given", &s[1], tables, &other, &kept, error);
    *differs = e->open.sp && (given.length != other.length ||
                              (given.length && memcmp(given.data, other.data, given.length) != 0));
    if (status == CLS_OK && given.length) clsi_text_printf(out, "%s\n", given.data);
    if (status == CLS_OK && *differs)
        status = emit_one(e, open, k, "open", &s[1], tables, out, &kept, error);
    if (k >= WHOLE && k < LISTED && kept > *most) *most = kept;
    if (*differs) clsi_text_append(out, "\n");
    if (given.failed || other.failed) out->failed = 1;
    clsi_text_clear(&given);
    clsi_text_clear(&other);
    return status;
}

/* clsi_NAME(changed, in, room, out): whichever is to run; not what computes nothing. */
static void append_choice(clsi_text *out, const char *name, const char *stage, int differs,
                          int given, int open) {
    if (!given && !open) {
        clsi_text_printf(out, "#define clsi_%s%s(changed, in, room, out)\n", name, stage);
    } else if (differs) {
        clsi_text_printf(out,
                         "static void clsi_%s%s(int changed, const double *in, double *room, "
                         "double *out) {\n",
                         name, stage);
        if (open)
            clsi_text_printf(out, "    if (changed)\n        clsi_open_%s%s(in, room, out);\n",
                             name, stage);
        if (given)
            clsi_text_printf(out, "    %s\n        clsi_given_%s%s(in, room, out);\n",
                             open ? "else" : "if (!changed)", name, stage);
        clsi_text_append(out, "}\n\n");
    } else {
        clsi_text_printf(out,
                         "#define clsi_%s%s(changed, in, room, out) "
                         "((void)(changed), clsi_given_%s%s(in, room, out))\n",
                         name, stage, name, stage);
    }
}

static size_t room_of(const listed *l) {
    return l->program && l->program->n_takes ? l->program->n_state : clsi_rolled_room(l->loops);
}

/* What networks need while they run, CLSI_ROOM_...: what a step calls takes the place of the
 * residual's own, which is idle then (`next` and `heat` run while that is needed, and stand behind it). A
 * monitor that keeps what the residual wants has all of that. */
static void append_rooms(clsi_text *out, clsi_export *e, const listed *base, const listed *open) {
    size_t shared = e->n_kept;
    e->n_next_room = 0;
    for (int k = 0; k < WHOLE; k++) {
        size_t room = room_of(&base[k]), other = e->open.sp ? room_of(&open[k]) : 0;
        if (other > room) room = other;
        if (k == MONITOR && e->shares_now) room = e->n_kept;
        clsi_text_printf(out, "%s CLSI_ROOM_", k ? "," : "enum {");
        for (const char *c = base[k].name; *c; c++)
            clsi_text_printf(out, "%c", toupper((unsigned char)*c));
        clsi_text_printf(out, " = %zu", at_least(room, 1));
        if (k == GUESS || k == MONITOR || k == SCALE || k == ASCENT)
            shared = at_least(shared, room);
        else if (k == NEXT || k == HEAT)
            e->n_next_room = at_least(room, e->n_next_room);
    }
    clsi_text_printf(out, ", CLSI_ROOM_BEHIND = %zu };\n\n", shared);
    e->n_kept = shared + e->n_next_room;
}

static int computes(const listed *l, int stage) {
    return l->loops || (l->program && !clsi_stage_is_empty(l->program, stage));
}

static void append_choices(clsi_text *out, const clsi_export *e, const listed *base,
                           const listed *open, const int *differs) {
    static const char *const stages[] = {"_early", "_first", "_rest"};
    for (int k = 0; k < WHOLE; k++)
        if (base[k].program) append_choice(out, base[k].name, "", differs[k], 1, 1);
    for (int k = WHOLE; k < LISTED; k++)
        for (int s = 0; s < 3 && base[k].program; s++)
            append_choice(out, base[k].name, stages[s], differs[k], computes(&base[k], s),
                          differs[k] ? computes(&open[k], s) : 0);
    for (int k = LISTED; k < WRITTEN; k++)
        if (k == WARM ? e->shares_now : e->shares_end)
            append_choice(out, taking[k - LISTED], "", differs[k], 1, 1);
}

static cls_status write_all(clsi_export *e, const listed *base, const listed *open, sharing s[2],
                            clsi_tables *tables, clsi_text *choices, clsi_text *out,
                            cls_error *error) {
    int differs[WRITTEN] = {0};
    cls_status status =
        emit_both(e, base, open, s, RESIDUAL, tables, out, &differs[RESIDUAL], error);
    place_sharing(e->base.sp, &s[0]);
    if (e->open.sp) place_sharing(e->open.sp, &s[1]);
    for (int k = 0; k < WRITTEN && status == CLS_OK; k++) {
        if (k == RESIDUAL || (k == WARM && !e->shares_now) || (k > WARM && !e->shares_end))
            continue;
        status = emit_both(e, base, open, s, k, tables, out, &differs[k], error);
    }
    if (status != CLS_OK) return status;
    append_rooms(choices, e, base, open);
    append_choices(choices, e, base, open, differs);
    return status;
}

/* The functions, behind the tables and numbers that they have in common. */
static cls_status write_functions(clsi_export *e, const listed *base, const listed *open,
                                  sharing s[2], clsi_text *choices, clsi_text *out,
                                  cls_error *error) {
    clsi_text functions = {0};
    clsi_tables *tables = clsi_tables_create();
    cls_status status = tables ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = write_all(e, base, open, s, tables, choices, &functions, error);
    if (status == CLS_OK && functions.failed) status = clsi_no_memory(error);
    if (status == CLS_OK) clsi_tables_append(tables, e->runs, out);
    if (status == CLS_OK) status = clsi_name_constants(functions.data, out, error);
    clsi_tables_free(&tables);
    clsi_text_clear(&functions);
    return status;
}

cls_status clsi_append_programs(clsi_text *kernels, clsi_text *weights, clsi_text *calls,
                                clsi_text *out, clsi_text *choices, clsi_export *e,
                                cls_error *error) {
    listed base[LISTED], open[LISTED] = {{0}};
    sharing s[2] = {{0}};
    list_programs(&e->base, base);
    emit_fields(base, kernels, weights, calls);
    if (e->open.sp) list_programs(&e->open, open);
    cls_status status = find_loops(base, error);
    if (status == CLS_OK) status = find_loops(open, error);
    if (status == CLS_OK) status = find_sharing(e->base.sp, base, &s[0], error);
    if (status == CLS_OK && e->open.sp) status = find_sharing(e->open.sp, open, &s[1], error);
    e->shares_now = s[0].n_now && (!e->open.sp || s[1].n_now);
    e->shares_begin = s[0].n_begun && (!e->open.sp || s[1].n_begun);
    e->shares_end = s[0].n_end && (!e->open.sp || s[1].n_end);
    if (status == CLS_OK) status = write_functions(e, base, open, s, choices, out, error);
    for (int k = 0; k < LISTED; k++) {
        clsi_rolled_free(&base[k].loops);
        clsi_rolled_free(&open[k].loops);
    }
    sharing_clear(&s[0]);
    sharing_clear(&s[1]);
    return status;
}
