/* Shards: --shard i/n, and the files in which shards of learn leave what they made.
 *
 * A part file is one line "clausius part 2", one line of JSON (arguments, shard, shards, identity of
 * data, system and options, number and size of the parts), then the parts of the shard as bytes of
 * this machine: a sum of its content, not of its rows, so its size does not grow with the data. Eight
 * bytes behind them are the sum (FNV-1a) of all before, against accidents; nothing is signed. */
#include "shard.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MAGIC[] = "clausius part 2\n";

uint64_t cli_part_sum(uint64_t sum, size_t n, const void *data) {
    const unsigned char *bytes = data;
    if (!sum) sum = 14695981039346656037u;
    for (size_t i = 0; i < n; i++) sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}

static uint64_t sum_of_part(const char *line, size_t n, const void *data) {
    return cli_part_sum(cli_part_sum(0, strlen(line), line), n, data);
}

cls_status cli_shard_read(const cli_arguments *a, cli_shard *out, cls_error *error) {
    const char *text = cli_value(a, "shard");
    *out = (cli_shard){0, 0};
    if (!text) return CLS_OK;
    char rest;
    int plain = strspn(text, "0123456789/") == strlen(text);
    if (!plain || sscanf(text, "%" SCNu64 "/%" SCNu64 "%c", &out->i, &out->n, &rest) != 2 ||
        out->n < 1 || out->n > 1000000 || out->i >= out->n)
        return cli_fail(error, CLS_USAGE,
                        "--shard is i/n with i from 0 to n - 1, such as 0/16, 1/16, ... 15/16; "
                        "got '%s'",
                        text);
    return CLS_OK;
}

static const char *const but[] = {"output", "shard", "quiet", "json", "threads"};

json_t *cli_parts_arguments(const cli_arguments *a) {
    json_t *list = json_array();
    int bad = 0;
    for (size_t i = 0; i < a->n_words; i++)
        bad |= json_array_append_new(list, json_string(a->words[i]));
    cli_option o;
    for (size_t k = 0; cli_option_at(a->command, k, &o); k++) {
        int leave = !a->values[k];
        for (size_t j = 0; j < sizeof but / sizeof *but; j++) leave |= !strcmp(o.name, but[j]);
        if (leave) continue;
        char *word = calloc(strlen(o.name) + strlen(a->values[k]) + 4, 1);
        if (word && o.value) sprintf(word, "--%s=%s", o.name, a->values[k]);
        if (word && !o.value) sprintf(word, "--%s", o.name);
        bad |= !word || json_array_append_new(list, json_string(word));
        free(word);
    }
    if (bad) json_decref(list);
    return bad ? NULL : list;
}

/* What a part says of its command line: words, and options other than those of a single shard. */
static int are_arguments(const json_t *list) {
    for (size_t k = 0; k < json_array_size(list); k++) {
        const char *word = json_string_value(json_array_get(list, k));
        if (!word || (word[0] == '-' && word[1] != '-')) return 0;
        for (size_t j = 0; j < sizeof but / sizeof *but; j++)
            if (!strncmp(word, "--", 2) && !strncmp(word + 2, but[j], strcspn(word + 2, "=")))
                return 0;
    }
    return json_array_size(list) > 0;
}

/* ---- a shard ---- */

static int mine_of_shard(void *context, const char *what, size_t part, size_t n) {
    const cli_parts *p = context;
    (void)what;
    return cls_team_owns(p->shard.i, p->shard.n, part, n);
}

static cls_status write_part(const cli_parts *p, json_t *head, size_t bytes, const void *data,
                             cls_error *error) {
    char *text = json_dumps(head, JSON_COMPACT);
    cli_output file;
    cls_status status = text && !cli_json_failed() /* or it is cut short */
                            ? cli_output_open(&file, p->path, 0, error)
                            : cli_no_memory(error);
    if (!status) {
        uint64_t sum = sum_of_part(text, bytes, data);
        fprintf(file.stream, "%s%s\n", MAGIC, text);
        fwrite(data, 1, bytes, file.stream);
        fwrite(&sum, 1, sizeof sum, file.stream);
        status = cli_output_close(&file, CLS_OK, error);
    }
    free(text);
    return status;
}

static cls_status share_of_shard(void *context, const char *what, const char *identity, size_t n,
                                 size_t bytes, void *parts, int only_first, cls_error *error) {
    cli_parts *p = context;
    (void)only_first;
    if (strcmp(what, "rows") != 0)
        return cli_fail(error, CLS_USAGE,
                        "--shard is for learning by one solve (--optimizer linear), whose rows can "
                        "be shared out; what is learned here needs iterations: see clausius-mpi");
    size_t first = cls_team_first(p->shard.i, p->shard.n, n);
    size_t last = cls_team_first(p->shard.i + 1, p->shard.n, n);
    json_t *head =
        json_pack("{s:O, s:I, s:I, s:s, s:I, s:I, s:s}", "arguments", p->arguments, "shard",
                  (json_int_t)p->shard.i, "shards", (json_int_t)p->shard.n, "identity", identity,
                  "parts", (json_int_t)n, "bytes", (json_int_t)bytes, "version", cls_version());
    cls_status status =
        head ? write_part(p, head, (last - first) * bytes, (char *)parts + first * bytes, error)
             : cli_no_memory(error);
    json_decref(head);
    if (status) return status;
    p->written = 1;
    return cli_fail(error, CLS_INTERRUPTED, "the part is written");
}

void cli_parts_shard(cli_parts *p, cli_shard shard, const char *path, json_t *arguments) {
    *p = (cli_parts){.team = {.size = sizeof(cls_team),
                              .ranks = 1, /* it is alone */
                              .mine = mine_of_shard,
                              .share = share_of_shard,
                              .context = p},
                     .shard = shard,
                     .path = path,
                     .arguments = arguments};
}

/* ---- a merge ---- */

FILE *cli_part_open(const char *path) {
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) { /* it is read twice, and not waited for */
        errno = ESPIPE;
        return NULL;
    }
    return fopen(path, "rb");
}

int cli_is_part(const char *path) {
    char begin[sizeof MAGIC] = "";
    FILE *in = cli_part_open(path);
    int is =
        in && fread(begin, 1, sizeof MAGIC - 1, in) == sizeof MAGIC - 1 && !strcmp(begin, MAGIC);
    if (in) fclose(in);
    return is;
}

cls_status cli_part_head(const char *path, FILE **stream, json_t **head, uint64_t *sum,
                         cls_error *error) {
    char *line = NULL, begin[sizeof MAGIC] = "";
    size_t room = 0;
    json_error_t why;
    *head = NULL;
    *stream = cli_part_open(path);
    if (!*stream && errno == ENOMEM) return cli_no_memory(error);
    if (!*stream) return cli_fail(error, CLS_IO, "%s: cannot open: %s", path, strerror(errno));
    errno = 0;
    int is = fread(begin, 1, sizeof MAGIC - 1, *stream) == sizeof MAGIC - 1 &&
             !strcmp(begin, MAGIC) && getline(&line, &room, *stream) > 0;
    if (is) {
        line[strcspn(line, "\n")] = 0;
        *sum = sum_of_part(line, 0, NULL);
        *head = json_loads(line, 0, &why);
    }
    int enough = errno != ENOMEM;
    free(line);
    if (are_arguments(json_object_get(*head, "arguments"))) return CLS_OK;
    fclose(*stream);
    json_decref(*head);
    *stream = NULL;
    *head = NULL;
    if (!enough) return cli_no_memory(error);
    return cli_fail(error, CLS_DATA, "%s: not a part that `clausius learn --shard` wrote", path);
}

static int mine_of_merge(void *context, const char *what, size_t part, size_t n) {
    const cli_parts *p = context;
    (void)part, (void)n;
    return p->taken || strcmp(what, "rows") != 0;
}

static cls_status read_part(const char *path, const char *identity, size_t n, size_t bytes,
                            void *parts, cls_error *error) {
    FILE *in;
    json_t *head;
    uint64_t sum = 0, told = 0;
    cls_status status = cli_part_head(path, &in, &head, &sum, error);
    if (status) return status;
    const char *of = json_string_value(json_object_get(head, "identity"));
    size_t i = (size_t)json_integer_value(json_object_get(head, "shard"));
    size_t shards = (size_t)json_integer_value(json_object_get(head, "shards"));
    if (!of || strcmp(of, identity) != 0 || shards < 1 || i >= shards ||
        (size_t)json_integer_value(json_object_get(head, "parts")) != n ||
        (size_t)json_integer_value(json_object_get(head, "bytes")) != bytes) {
        status = cli_fail(error, CLS_DATA,
                          "%s: made from other data, another system or other options than those "
                          "here: run all shards and the merge with the same files",
                          path);
    } else {
        size_t first = cls_team_first(i, shards, n), last = cls_team_first(i + 1, shards, n);
        size_t wanted = (last - first) * bytes;
        char more, *at = (char *)parts + first * bytes;
        if (fread(at, 1, wanted, in) != wanted || fread(&told, 1, sizeof told, in) != sizeof told ||
            fread(&more, 1, 1, in) != 0)
            status = cli_fail(error, CLS_DATA, "%s: is not as long as its head says", path);
        else if (cli_part_sum(sum, wanted, at) != told)
            status = cli_fail(error, CLS_DATA,
                              "%s: damaged: its bytes are not those that were written; run this "
                              "shard again",
                              path);
    }
    fclose(in);
    json_decref(head);
    return status;
}

static cls_status share_of_merge(void *context, const char *what, const char *identity, size_t n,
                                 size_t bytes, void *parts, int only_first, cls_error *error) {
    cli_parts *p = context;
    cls_status status = CLS_OK;
    (void)only_first;
    if (p->taken || strcmp(what, "rows") != 0) return CLS_OK; /* all is done here */
    for (size_t i = 0; i < p->n_paths && !status; i++)
        status = read_part(p->paths[i], identity, n, bytes, parts, error);
    p->taken = 1;
    return status;
}

void cli_parts_merge(cli_parts *p, size_t n, const char *const *paths) {
    *p = (cli_parts){.team = {.size = sizeof(cls_team),
                              .ranks = 1,
                              .mine = mine_of_merge,
                              .share = share_of_merge,
                              .context = p},
                     .n_paths = n,
                     .paths = paths};
}
