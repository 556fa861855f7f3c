/* Names with a number each, found at once: a system of N cells has a few N names of states and columns, which would be
 * compared N^2 times. The first of two equal names is found. */
#include "base/probe.h"
#include "export/export.h"
#include <stdlib.h>
#include <string.h>

int clsi_lookup_create(size_t room, clsi_lookup *l) {
    size_t slots = 16;
    while (slots < 2 * room) slots *= 2;
    *l = (clsi_lookup){.slots = slots};
    l->name = clsi_calloc(slots, sizeof *l->name);
    l->number = clsi_calloc(slots, sizeof *l->number);
    if (l->name && l->number) return 1;
    clsi_lookup_clear(l);
    return 0;
}

void clsi_lookup_clear(clsi_lookup *l) {
    free(l->name);
    free(l->number);
    *l = (clsi_lookup){0};
}

/* Where it is, or would be. */
static size_t slot_of(const clsi_lookup *l, const char *name) {
    clsi_probe at = clsi_probe_name(name, strlen(name), l->slots);
    while (l->name[at.slot] && strcmp(l->name[at.slot], name) != 0) clsi_probe_next(&at);
    return at.slot;
}

void clsi_lookup_add(clsi_lookup *l, const char *name, size_t number) {
    size_t at = slot_of(l, name);
    if (l->name[at]) return;
    l->name[at] = name;
    l->number[at] = number;
}

size_t clsi_lookup_find(const clsi_lookup *l, const char *name) {
    if (!l->slots) return SIZE_MAX;
    size_t at = slot_of(l, name);
    return l->name[at] ? l->number[at] : SIZE_MAX;
}
