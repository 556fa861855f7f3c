/* The parameters that files were made with. What clausius writes says the system and, in its note `# set:`, the parameters
 * that were not those of the system file. Whoever opens that system beside such files means the same ones, unless
 * --set says others. */
#include "cli.h"
#include "table.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Longer notes are not compared name by name. */
enum { LONG_NOTE = 10000 };

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

cls_status cli_notes_read(const cli_arguments *a, const char *path, cls_reader **out,
                          cls_error *error) {
    struct stat st;
    cls_read_options options;
    cls_error ignored; /* what is wrong with a file is reported when it is read */
    *out = NULL;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return CLS_OK;
    cls_status status = cli_read_options(a, NULL, &options, error);
    if (!status && cls_reader_open(path, &options, out, &ignored) == CLS_MEMORY)
        status = cli_no_memory(error);
    return status;
}

/* The note `set` of a file of this system, "" where it has none; NULL: of another system, of none, or not to be read twice. */
static cls_status read_note(const cli_arguments *a, const char *system, const char *path,
                            char **out, cls_error *error) {
    cls_reader *reader = NULL;
    *out = NULL;
    cls_status status = cli_notes_read(a, path, &reader, error);
    if (status || !reader) return status;
    const cls_table *head = cls_reader_head(reader);
    const char *name = cls_table_note(head, "system"), *set = cls_table_note(head, "set");
    if (name && !strcmp(last_part(name), last_part(system)) && !(*out = strdup(set ? set : "")))
        status = cli_no_memory(error);
    cls_reader_close(&reader);
    return status;
}

cls_status cli_set_of_note(const char *path, const char *note, cli_assignments *out,
                           cls_error *error) {
    cls_status status = cli_assignments_parse("--set", note, out, error);
    if (!status || status == CLS_MEMORY) return status;
    error->status = CLS_DATA; /* it was not typed */
    return cli_prefix(error, "%s: its note `# set:`", path);
}

static int is_listed(size_t n, const char *const *names, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return 1;
    return 0;
}

/* The names of known parameters, sorted: files may set a million, and a system may have as many. NULL: no memory. */
static const char **known_names(const cls_system *s, size_t n_unknown, const char *const *unknown,
                                size_t *n) {
    size_t all = cls_system_parameter_count(s);
    const char **names = calloc(all + 1, sizeof *names);
    *n = 0;
    for (size_t i = 0; names && i < all; i++) {
        const char *name = cls_system_parameter_name(s, i);
        if (!cls_system_parameter_is_unknown(s, i) && !is_listed(n_unknown, unknown, name))
            names[(*n)++] = name;
    }
    if (names) qsort(names, *n, sizeof *names, cli_by_name);
    return names;
}

int cli_note_is_of(const cls_table *t, const char *system) {
    const char *name = cls_table_note(t, "system");
    return name && !strcmp(last_part(name), last_part(system));
}

/* Does `set` give every name of the note the same value? Both are short where people read them. */
static int says_the_same(const cli_assignments *note, const cli_assignments *set) {
    for (size_t i = 0; i < note->list.n; i++) {
        size_t k = set->list.n; /* the last of a name counts */
        while (k && strcmp(set->names[k - 1], note->names[i])) k--;
        if (!k || set->values[k - 1] != note->values[i] || set->formulas[k - 1] ||
            note->formulas[i])
            return 0;
    }
    return 1;
}

void cli_tell_overruled(const cli_arguments *a, const char *path, const char *note) {
    cli_assignments noted = {0}, set = {0};
    cls_error ignored;
    if (!note || !*note || cli_value_if_any(a, "quiet") || cli_value_if_any(a, "json")) return;
    if (strlen(note) > LONG_NOTE || cli_assignments_parse("--set", note, &noted, &ignored) ||
        cli_assignments_parse("--set", cli_value(a, "set"), &set, &ignored) ||
        !says_the_same(&noted, &set))
        cli_notice("%s was made with %.200s%s (its note `# set:`); --set counts, and what it does "
                   "not give is the system's",
                   path, note, strlen(note) > 200 ? "..." : "");
    cli_assignments_free(&noted);
    cli_assignments_free(&set);
}

/* Only what is known of the system: neither what is to be learned nor inputs, whose columns the file has. */
static cls_status keep_known(const cls_system *s, size_t n_unknown, const char *const *unknown,
                             const char *path, char **note, cls_error *error) {
    cli_assignments set;
    size_t kept = 0, n;
    cls_status status = cli_set_of_note(path, *note, &set, error);
    if (status) return status;
    const char **names = known_names(s, n_unknown, unknown, &n);
    for (size_t i = 0; names && !status && i < set.list.n; i++) {
        if (!bsearch(&set.names[i], names, n, sizeof *names, cli_by_name)) continue;
        if (set.formulas[i])
            status = cli_fail(error, CLS_DATA,
                              "%s: its note `# set:`: %s is a parameter, and '%.200s' no number",
                              path, set.names[i], set.formulas[i]);
        set.names[kept] = set.names[i];
        set.values[kept] = set.values[i];
        set.formulas[kept++] = set.formulas[i];
    }
    set.list.n = kept;
    char *text = names && !status ? cli_assignments_text(&set) : NULL;
    cli_assignments_free(&set);
    free(names);
    if (!status && !text) status = cli_no_memory(error);
    if (status) return status;
    free(*note);
    *note = text;
    return CLS_OK;
}

/* What all files of the system agree on, in *set ("": nothing); `from` is the first that says it. */
static cls_status agree(const cli_arguments *a, const char *system, size_t n,
                        const char *const *files, size_t n_unknown, const char *const *unknown,
                        char **set, const char **from, cls_error *error) {
    cli_motion bare = {0};
    cls_status status = CLS_OK;
    *set = NULL;
    *from = NULL;
    for (size_t i = 0; !status && i < n; i++) {
        char *note = NULL;
        status = read_note(a, system, files[i], &note, error);
        if (!status && note && *note && !bare.system)
            status = cli_motion_open(system, NULL, &bare, error);
        if (!status && note && *note)
            status = keep_known(bare.system, n_unknown, unknown, files[i], &note, error);
        if (!status && note && *set && strcmp(note, *set))
            status = cli_fail(error, CLS_USAGE,
                              "%s was made with \"%s\", %s with \"%s\" (their notes `# set:`): "
                              "use one after the other, or say --set",
                              *from, **set ? *set : "nothing set", files[i],
                              *note ? note : "nothing set");
        if (!status && note && !*set) {
            *set = note;
            *from = files[i];
            note = NULL;
        }
        free(note);
    }
    cli_motion_free(&bare);
    return status;
}

cls_status cli_motion_open_beside(const cli_arguments *a, const char *system, size_t n,
                                  const char *const *files, size_t n_unknown,
                                  const char *const *unknown, cli_motion *out, cls_error *error) {
    const char *given = cli_value_if_any(a, "set"), *from = NULL;
    char *set = NULL;
    *out = (cli_motion){0};
    cls_status status =
        given ? CLS_OK : agree(a, system, n, files, n_unknown, unknown, &set, &from, error);
    if (!status) status = cli_motion_open(system, given ? given : set, out, error);
    if (!status && set && *set && !cli_value_if_any(a, "quiet") && !cli_value_if_any(a, "json"))
        cli_notice("%s was made with %s (its note `# set:`), which is taken; --set gives others",
                   from, set);
    free(set);
    return status;
}
