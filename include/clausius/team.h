/* A team: several processes that share one computation and all end with the same bits.
 *
 * Work is cut into parts, whose number depends on the work alone, never on that of the processes. A
 * process computes the parts that are its own; `share` then gives every part to everybody. Sums over
 * parts are made afterwards, by everybody, in the order of the parts. So one process or a thousand,
 * in any order, give the same bytes. clausius-mpi has a team of ranks; `--shard i/n` and `clausius
 * merge` have one whose processes leave their parts in files. */
#ifndef CLAUSIUS_TEAM_H
#define CLAUSIUS_TEAM_H

#include <clausius/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_team {
    size_t size; /* sizeof(cls_team) */
    size_t rank, ranks;
    /* Whether part `part` of `n` is computed here. `what` names the piece of work. */
    int (*mine)(void *context, const char *what, size_t part, size_t n);
    /* parts (n, bytes): those that are mine are filled, on return all are (with only_first: those of
     * rank 0). `identity` (may be NULL) says what the work belongs to: parts of other data or other
     * options must not be taken. */
    cls_status (*share)(void *context, const char *what, const char *identity, size_t n,
                        size_t bytes, void *parts, int only_first, cls_error *error);
    void *context;
} cls_team;

/* The usual order: part p of n belongs to rank p ranks / n, so that neighbours stay together. */
CLS_API int cls_team_owns(size_t rank, size_t ranks, size_t part, size_t n);
/* The first part of `rank`; that of rank + 1 is one past its last. */
CLS_API size_t cls_team_first(size_t rank, size_t ranks, size_t n);
/* Collective: every rank gives its status; all return that of the lowest rank that failed, with its
 * `error`. team NULL: the status itself. */
CLS_API cls_status cls_team_agree(const cls_team *team, cls_status status, cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
