/* Work in several processes: shards that leave parts in files, and the team of clausius-mpi. */
#ifndef CLAUSIUS_CLI_SHARD_H
#define CLAUSIUS_CLI_SHARD_H

#include "cli.h"

/* --shard i/n: the i-th of n shares, from 0 on. n 0: not given. */
typedef struct cli_shard {
    uint64_t i, n;
} cli_shard;
cls_status cli_shard_read(const cli_arguments *a, cli_shard *out, cls_error *error);

/* ---- parts of learn's row stage ---- */

/* The team of a shard: the parts of its share go to the file `path` when they are made, and the work
 * ends there with CLS_INTERRUPTED and `written` set. Of a merge: the parts of all shards come from
 * files, and everything else is done here. */
typedef struct cli_parts {
    cls_team team;
    cli_shard shard;
    const char *path; /* of a shard: where its part goes */
    size_t n_paths;   /* of a merge */
    const char *const *paths;
    json_t *arguments; /* the command line, without -o and --shard */
    int written, taken;
} cli_parts;
void cli_parts_shard(cli_parts *p, cli_shard shard, const char *path, json_t *arguments);
void cli_parts_merge(cli_parts *p, size_t n, const char *const *paths);
/* The command line as a list, without what may differ between shards. */
json_t *cli_parts_arguments(const cli_arguments *a);
/* Is it a part of learn? The head is a JSON object: arguments, shard, shards, identity; `sum` is that of its line. */
int cli_is_part(const char *path);
cls_status cli_part_head(const char *path, FILE **stream, json_t **head, uint64_t *sum,
                         cls_error *error);
/* FNV-1a of bytes behind those of `sum`, which is 0 before the first. */
uint64_t cli_part_sum(uint64_t sum, size_t n, const void *data);
/* For reading; NULL with errno, also for what is no regular file. */
FILE *cli_part_open(const char *path);

#endif
