/* Teams of processes: who has which part, and how a failure of one becomes that of all. */
#include "base/base.h"
#include <clausius/team.h>
#include <stdlib.h>
#include <string.h>

int cls_team_owns(size_t rank, size_t ranks, size_t part, size_t n) {
    return part >= cls_team_first(rank, ranks, n) && part < cls_team_first(rank + 1, ranks, n);
}

/* floor(rank n / ranks) without overflow. */
size_t cls_team_first(size_t rank, size_t ranks, size_t n) {
    if (!ranks) return 0;
    return n / ranks * rank + n % ranks * rank / ranks;
}

cls_status cls_team_agree(const cls_team *team, cls_status status, cls_error *error) {
    cls_error none = {0};
    if (!team || team->ranks < 2) return status;
    cls_error *all = clsi_calloc(team->ranks, sizeof *all);
    if (!all) return clsi_no_memory(error); /* the others wait: the program ends them */
    all[team->rank] = status != CLS_OK && error ? *error : none;
    all[team->rank].status = status;
    cls_status shared =
        team->share(team->context, "status", NULL, team->ranks, sizeof *all, all, 0, error);
    for (size_t r = 0; shared == CLS_OK && r < team->ranks; r++) {
        if (all[r].status == CLS_OK) continue;
        if (error) *error = all[r];
        int own = all[r].status == CLS_IO || all[r].status == CLS_MEMORY; /* of one machine */
        shared = all[r].status;
        if (error && own && r > 0)
            shared = clsi_fail(error, all[r].status, "rank %zu: %.1900s", r, all[r].message);
    }
    free(all);
    return shared;
}
