/* clausius merge: the parts that `--shard i/n` left become what one run would have written, byte for
 * byte.
 *
 * Parts of simulate are CSV files with a note `shard` and a last line that says how many rows they
 * have, and their sum: the rows are put behind each other, as bytes. Parts of learn hold triangles of the least-squares problem: learning is done again with
 * them in the place of its rows, from the same files. */
#include "shard.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct part {
    const char *path;
    char *head; /* notes without `shard`, and the header line */
    uint64_t i, n, samples;
    long body, end;     /* where the rows begin, and the line behind them */
    uint64_t rows, sum; /* what that line says */
    uint64_t head_sum;  /* of the bytes before the rows */
} part;

/* ---- what there is ---- */

static cls_status not_a_part(const char *path, cls_error *error) {
    return cli_fail(error, CLS_DATA,
                    "%s: not a part: it has no note `# shard: i/n of N` (see simulate --shard)",
                    path);
}

static cls_status cannot(const char *what, const char *path, cls_error *error) {
    if (errno == ENOMEM) return cli_no_memory(error);
    return cli_fail(error, CLS_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

static cls_status damaged(const part *p, const char *why, cls_error *error) {
    return cli_fail(error, CLS_DATA, "%s: damaged: %s; run shard %" PRIu64 "/%" PRIu64 " again",
                    p->path, why, p->i, p->n);
}

/* The line behind the rows, which says how many there are; 0: it is not there. */
static int read_end(part *p, FILE *in) {
    char tail[81] = "";
    if (fseek(in, 0, SEEK_END)) return 0;
    long size = ftell(in), from = size > 80 ? size - 80 : 0;
    if (size < 0 || fseek(in, from, SEEK_SET)) return 0;
    size_t n = fread(tail, 1, sizeof tail - 1, in);
    if (n < 2 || tail[n - 1] != '\n') return 0;
    tail[n - 1] = 0;
    char *last = strrchr(tail, '\n');
    int used = 0;
    if (!last ||
        sscanf(last, "\n# end: %" SCNu64 " rows, sum %16" SCNx64 "%n", &p->rows, &p->sum, &used) !=
            2 ||
        last + used != tail + n - 1)
        return 0;
    p->end = from + (last + 1 - tail);
    return p->end >= p->body;
}

static cls_status read_head(part *p, cls_error *error) {
    FILE *in = cli_part_open(p->path), *to;
    char *line = NULL;
    size_t room = 0, length = 0;
    int header = 0;
    if (!in) return cannot("open", p->path, error);
    if (!(to = open_memstream(&p->head, &length))) {
        fclose(in);
        return cli_no_memory(error);
    }
    errno = 0;
    p->head_sum = cli_part_sum(0, 0, NULL);
    while (!header && getline(&line, &room, in) > 0) {
        p->head_sum = cli_part_sum(p->head_sum, strlen(line), line);
        int is =
            !strncmp(line, "# shard: ", 9) &&
            sscanf(line + 9, "%" SCNu64 "/%" SCNu64 " of %" SCNu64, &p->i, &p->n, &p->samples) == 3;
        if (!is) fputs(line, to);
        header = line[0] != '#';
    }
    int enough = errno != ENOMEM;
    p->body = ftell(in);
    int whole = read_end(p, in);
    free(line);
    fclose(in);
    if (fclose(to) != 0 || !p->head || !enough) return cli_no_memory(error);
    if (!header || !p->n) return not_a_part(p->path, error);
    return whole ? CLS_OK : damaged(p, "its last line, `# end: N rows, sum X`, is missing", error);
}

static int by_number(const void *a, const void *b) {
    const part *x = a, *y = b;
    return (x->i > y->i) - (x->i < y->i);
}

/* Every shard once. */
static cls_status check_numbers(size_t n, const part *list, cls_error *error) {
    for (size_t k = 0; k < n; k++) {
        if (list[k].n != list[0].n)
            return cli_fail(error, CLS_DATA, "%s is of %" PRIu64 " shards, %s of %" PRIu64,
                            list[k].path, list[k].n, list[0].path, list[0].n);
        if (k && list[k].i == list[k - 1].i)
            return cli_fail(error, CLS_DATA, "%s and %s are both shard %" PRIu64, list[k - 1].path,
                            list[k].path, list[k].i);
        if (list[k].i != k)
            return cli_fail(error, CLS_DATA, "shard %zu/%" PRIu64 " is missing", k, list[0].n);
    }
    if (n == list[0].n) return CLS_OK;
    return cli_fail(error, CLS_DATA, "shard %zu/%" PRIu64 " is missing", n, list[0].n);
}

static cls_status check_heads(size_t n, const part *list, cls_error *error) {
    for (size_t k = 1; k < n; k++)
        if (strcmp(list[k].head, list[0].head) || list[k].samples != list[0].samples)
            return cli_fail(error, CLS_DATA,
                            "%s and %s are of different runs: their notes or columns differ",
                            list[0].path, list[k].path);
    return check_numbers(n, list, error);
}

/* ---- trajectories ---- */

/* The trajectories of rows that pass by: each line begins with its number. */
typedef struct watch {
    uint64_t next, end; /* the number that comes next, the one behind the last */
    uint64_t number;    /* of this line, as far as it was read */
    uint64_t rows;
    int in_number, in_line, wrong;
} watch;

static void end_number(watch *w) {
    w->in_number = 0;
    if (w->number == w->next && w->next < w->end)
        w->next++;
    else if (w->number + 1 != w->next)
        w->wrong = 1;
}

static void watch_rows(watch *w, size_t n, const char *bytes) {
    for (const char *c = bytes, *stop = bytes + n; c < stop; c++) {
        if (!w->in_line) *w = (watch){w->next, w->end, 0, w->rows, 1, 1, w->wrong};
        if (w->in_number && *c >= '0' && *c <= '9' && w->number < UINT64_MAX / 16) {
            w->number = 10 * w->number + (uint64_t)(*c - '0');
            continue;
        }
        if (w->in_number) end_number(w);
        if (!(c = memchr(c, '\n', (size_t)(stop - c)))) return;
        w->in_line = 0;
        w->rows++;
    }
}

static cls_status copy_rows(const part *p, FILE *to, const char *output, cls_error *error) {
    enum { BLOCK = 1 << 20 };
    char *block = malloc(BLOCK);
    FILE *in = block ? cli_part_open(p->path) : NULL;
    cls_status status = block ? CLS_OK : cli_no_memory(error);
    watch w = {.next = cls_team_first(p->i, p->n, p->samples),
               .end = cls_team_first(p->i + 1, p->n, p->samples)};
    if (!status && (!in || fseek(in, p->body, SEEK_SET))) status = cannot("read", p->path, error);
    uint64_t sum = p->head_sum;
    for (size_t left = (size_t)(p->end - p->body), got = 1; !status && left && got; left -= got) {
        got = fread(block, 1, left < BLOCK ? left : BLOCK, in);
        watch_rows(&w, got, block);
        sum = cli_part_sum(sum, got, block);
        if (ferror(in))
            status = cannot("read", p->path, error);
        else if (fwrite(block, 1, got, to) != got)
            status = cannot("write", output, error);
        else if (cli_interrupted())
            status = cli_fail(error, CLS_INTERRUPTED, "interrupted; %s was not written", output);
    }
    if (!status && (w.wrong || w.in_line || w.next != w.end))
        status = damaged(p, "its rows are not the trajectories of its shard in their order", error);
    if (!status && (w.rows != p->rows || sum != p->sum))
        status = damaged(p, "its bytes are not those that were written", error);
    if (in) fclose(in);
    free(block);
    return status;
}

static cls_status write_all(size_t n, const part *list, const char *output, cls_error *error) {
    cli_output file;
    cls_status status = cli_output_open(&file, output, 0, error);
    if (status) return status;
    fputs(list[0].head, file.stream);
    for (size_t k = 0; !status && k < n; k++)
        status = copy_rows(&list[k], file.stream, output, error);
    return cli_output_close(&file, status, error);
}

static cls_status merge_rows(const cli_arguments *a, cls_error *error) {
    size_t n = a->n_words;
    const char *output = cli_given(a, "output") ? cli_value(a, "output") : "-";
    part *list = calloc(n, sizeof *list);
    cls_status status = list ? CLS_OK : cli_no_memory(error);
    for (size_t k = 0; k < n && !status; k++) {
        list[k].path = a->words[k];
        status = read_head(&list[k], error);
    }
    if (!status) qsort(list, n, sizeof *list, by_number);
    if (!status) status = check_heads(n, list, error);
    if (!status) status = write_all(n, list, output, error);
    if (!status && !cli_given(a, "quiet") && strcmp(output, "-"))
        fprintf(stderr, "%zu parts, %" PRIu64 " trajectories\n  written    %s\n", n,
                list[0].samples, output);
    for (size_t k = 0; list && k < n; k++) free(list[k].head);
    free(list);
    return status;
}

/* ---- lessons ---- */

/* The arguments of all parts are the same, and every shard is there. */
static cls_status check_lessons(size_t n, const char *const *paths, json_t **arguments,
                                cls_error *error) {
    part *list = calloc(n, sizeof *list);
    cls_status status = list ? CLS_OK : cli_no_memory(error);
    *arguments = NULL;
    for (size_t k = 0; k < n && !status; k++) {
        FILE *in;
        json_t *head;
        uint64_t sum;
        status = cli_part_head(paths[k], &in, &head, &sum, error);
        if (status) break;
        fclose(in);
        list[k] = (part){.path = paths[k],
                         .i = (uint64_t)json_integer_value(json_object_get(head, "shard")),
                         .n = (uint64_t)json_integer_value(json_object_get(head, "shards"))};
        json_t *own = json_object_get(head, "arguments");
        if (!*arguments)
            *arguments = json_incref(own);
        else if (!json_equal(*arguments, own))
            status = cli_fail(error, CLS_DATA, "%s and %s are of different command lines", paths[0],
                              paths[k]);
        json_decref(head);
    }
    if (!status) qsort(list, n, sizeof *list, by_number);
    if (!status) status = check_numbers(n, list, error);
    free(list);
    return status;
}

static cls_status merge_lessons(const cli_arguments *a, cls_error *error) {
    json_t *arguments = NULL;
    cli_parts parts;
    cli_arguments learning;
    int help;
    cls_status status = check_lessons(a->n_words, a->words, &arguments, error);
    size_t n = json_array_size(arguments), used = n;
    char **argv = calloc(n + 5, sizeof *argv);
    if (!status && !argv) status = cli_no_memory(error);
    if (status) {
        free(argv);
        json_decref(arguments);
        return status;
    }
    for (size_t k = 0; k < n; k++)
        argv[k] = (char *)json_string_value(json_array_get(arguments, k));
    char output[] = "-o", quiet[] = "--quiet", json[] = "--json";
    if (cli_given(a, "output"))
        argv[used++] = output, argv[used++] = (char *)cli_value(a, "output");
    if (cli_given(a, "quiet")) argv[used++] = quiet;
    if (cli_given(a, "json")) argv[used++] = json;
    cli_parts_merge(&parts, a->n_words, a->words);
    status = cli_parse(&cli_learn, (int)used, argv, &learning, &help, error);
    if (!status) status = cli_learn_with(&learning, &parts.team, error);
    free(argv);
    json_decref(arguments);
    return status;
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    cli_catch_signals();
    errno = 0;
    if (cli_is_part(a->words[0])) return merge_lessons(a, error);
    if (errno == ENOMEM) return cli_no_memory(error);
    if (cli_given(a, "json")) return cli_fail(error, CLS_USAGE, "--json is for parts of learn");
    return merge_rows(a, error);
}

static const cli_option options[] = {
    {"output", 'o', "FILE", "what one run would have written; else stdout (the model: its name)"},
    {"quiet", 0, NULL, "no summary and no progress on stderr"},
    {"json", 0, NULL, "parts of learn: one JSON object instead of the summary"},
    {0},
};

const cli_command cli_merge = {
    .name = "merge",
    .doc = "the parts of --shard runs become what one run writes",
    .usage = "PART... [-o FILE]",
    .examples =
        "  clausius simulate pendulum --samples 1000 --sample \"q~U(-1,1)\" --shard 0/2 -o a.csv\n"
        "  clausius simulate pendulum --samples 1000 --sample \"q~U(-1,1)\" --shard 1/2 -o b.csv\n"
        "  clausius merge a.csv b.csv -o all.csv\n"
        "  clausius merge learned-*.part -o learned.safetensors\n",
    .notes =
        "The order of the parts on the line does not matter; a part that is missing, that is\n"
        "there twice or that belongs to another run is named and refused. The result is equal\n"
        "to that of one run without --shard, byte for byte. For parts of learn the data and\n"
        "the system must be where they were: the rows are not made again, but validation and\n"
        "rollouts need the data.\n",
    .options = options,
    .min_words = 1,
    .max_words = 100000,
    .run = run,
};
