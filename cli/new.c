/* clausius new: a commented system file to start from. The file appears complete or not at all,
 * and an existing one is kept unless --force. */
#include "cli.h"
#include "table.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int good_name(const char *name) {
    if (!isalpha((unsigned char)name[0])) return 0;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_') return 0;
    return strlen(name) <= 100;
}

/* Where the title of the template stands: between the quotes of its `system "..."` line. */
static int find_title(const char *text, const char **begin, const char **end) {
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "system", 6)) continue;
        *begin = strchr(line, '"');
        *end = *begin ? strchr(*begin + 1, '"') : NULL;
        return *end != NULL;
    }
    return 0;
}

static void write_text(FILE *f, const char *text, const char *name) {
    const char *begin, *end;
    if (!find_title(text, &begin, &end)) {
        fputs(text, f);
        return;
    }
    fwrite(text, 1, (size_t)(begin + 1 - text), f);
    for (const char *c = name; *c; c++) fputc(*c == '-' || *c == '_' ? ' ' : *c, f);
    fputs(end, f);
}

/* The command that learns it, with the options that the file was read with; the caller frees it. */
static char *learn_command(const cli_arguments *a, const char *from, const char *name) {
    static const char *const options[] = {"map", "columns", "dt", "array", "missing"};
    char *out = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&out, &length);
    if (!f) return NULL;
    fprintf(f, "clausius learn %s.clausius", name);
    cli_put_word(f, from);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (cli_value(a, options[i])) {
            fprintf(f, " --%s", options[i]);
            cli_put_word(f, cli_value(a, options[i]));
        }
    fprintf(f, " -o %s.safetensors", name);
    if (!fclose(f)) return out;
    free(out);
    return NULL;
}

static cls_status make_draft(const cli_arguments *a, const char *name, const char *from,
                             const char *next, char **out, cls_error *error) {
    cls_table *t = NULL;
    cls_status status = next ? cli_read_table(a, from, NULL, &t, error) : cli_no_memory(error);
    if (!status) status = cls_draft(t, name, from, next, out, error);
    cls_table_free(&t);
    return status;
}

/* A name may have the ending of the file already. */
static void take_name(const char *word, size_t room, char *name) {
    static const char ending[] = ".clausius";
    size_t n = strlen(word), end = sizeof ending - 1;
    if (n > end && !strcmp(word + n - end, ending)) n -= end;
    snprintf(name, room, "%.*s", (int)n, word);
}

/* That of the recording without folder and ending, and with _ for what a name cannot have: "2024 run.csv" is x2024_run. */
static void name_after(const char *from, size_t room, char *name) {
    const char *base = strrchr(from, '/') ? strrchr(from, '/') + 1 : from;
    const char *end = strrchr(base, '.');
    size_t n = end && end > base ? (size_t)(end - base) : strlen(base);
    snprintf(name, room, "%s%.*s", isalpha((unsigned char)*base) ? "" : "x", (int)(n < 90 ? n : 90),
             base);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-') *c = '_';
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    const char *from = cli_value(a, "from");
    char name[128];
    if (!a->n_words && !from)
        return cli_fail(error, CLS_USAGE,
                        "the NAME of the new system is missing, as in `clausius new my-piston`, or "
                        "the recording that it is for: `clausius new --from data.csv`");
    if (a->n_words)
        take_name(a->words[0], sizeof name, name);
    else
        name_after(from, sizeof name, name);
    char path[160], *draft = NULL, *next = from ? learn_command(a, from, name) : NULL;
    cli_output file;
    if (!good_name(name)) {
        free(next);
        return cli_fail(error, CLS_USAGE,
                        "'%.100s' is not a good name: letters, digits, - and _, a letter first "
                        "(the ending .clausius is added)",
                        name);
    }
    snprintf(path, sizeof path, "%s.clausius", name);
    cls_status status = from ? make_draft(a, name, from, next, &draft, error) : CLS_OK;
    if (!status) status = cli_output_open(&file, path, !cli_given(a, "force"), error);
    if (status) {
        free(next);
        cls_text_free(&draft);
        return status;
    }
    if (draft)
        fputs(draft, file.stream);
    else
        write_text(file.stream, cls_template_text(), name);
    cls_text_free(&draft);
    status = cli_output_close(&file, CLS_OK, error);
    if (!status && from) {
        fprintf(stderr, "wrote %s, a draft: look at it, then: %s\n", path, next);
    } else if (!status) {
        fprintf(stderr, "wrote %s; try: clausius simulate %s -o %s.csv\n", path, path, name);
    }
    free(next);
    return status;
}

static const cli_option options[] = {
    {"from", 0, "DATA",
     "a draft for this recording: its columns become coordinates, temperatures, "
     "velocities, inputs, by their units and names"},
    CLI_DATA_OPTIONS("columns"),
    {"force", 0, NULL, "replace an existing file"},
    {0},
};

const cli_command cli_new = {
    .name = "new",
    .doc = "a commented system file to start from",
    .usage = "[NAME] [--from DATA] [--force]",
    .examples = "  clausius new my-piston\n"
                "  clausius new --from cart.csv\n"
                "  clausius new cart --from log7.csv --map \"time=t [ms]\"\n"
                "  clausius show my-piston.clausius --equations\n",
    .notes = "Writes NAME.clausius in the current directory; without NAME it is that of DATA.\n",
    .options = options,
    .max_words = 1,
    .run = run,
};
