/* The flag parser: long options with `--name VALUE` or `--name=VALUE`, one-letter ones with `-o
 * VALUE`, flags, words, and `--` that ends the options. It reads the option table of a command, and
 * nothing else: what a value means is decided later, by name (cli_real, cli_integer, ...).
 *
 * It does not abbreviate, does not bundle letters, and refuses an option that is given twice,
 * because dropping the first one silently would lose what was typed. */
#include "cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether a row of a table of the library is a flag of the command line. */
static int is_flag(const cli_command *c, const cls_option *row) {
    for (size_t i = 0; c->options[i].name; i++)
        if (!strcmp(c->options[i].name, row->name)) return 0; /* the command's own comes first */
    return row->value || row->type == CLS_OPTION_FLAG;
}

/* The k-th option: the command's own, then those of its tables. 0: there are no more. */
static int option_at(const cli_command *c, size_t k, cli_option *out, const cls_option **row) {
    *row = NULL;
    for (size_t i = 0; c->options[i].name; i++)
        if (k-- == 0) {
            *out = c->options[i];
            return 1;
        }
    for (size_t t = 0; t < 2 && c->tables[t]; t++) {
        size_t n;
        const cls_option *table = c->tables[t](&n);
        for (size_t i = 0; i < n; i++)
            if (is_flag(c, &table[i]) && k-- == 0) {
                *out = (cli_option){table[i].name, 0, table[i].value, table[i].doc};
                *row = &table[i];
                return 1;
            }
    }
    return 0;
}

int cli_option_at(const cli_command *c, size_t k, cli_option *out) {
    const cls_option *row;
    return option_at(c, k, out, &row);
}

static int find(const cli_command *c, const char *name, size_t length, cli_option *o) {
    const cls_option *row;
    for (size_t i = 0; option_at(c, i, o, &row); i++)
        if (strlen(o->name) == length && !memcmp(o->name, name, length)) return (int)i;
    return -1;
}

static int find_letter(const cli_command *c, char letter, cli_option *o) {
    const cls_option *row;
    for (size_t i = 0; option_at(c, i, o, &row); i++)
        if (o->letter == letter) return (int)i;
    return -1;
}

/* What other programs call it, and we. */
static const char *as_elsewhere(const char *word) {
    static const char *const table[][2] = {{"iterations", "epochs"},
                                           {"max-iter", "epochs"},
                                           {"lr", "rate"},
                                           {"learning-rate", "rate"},
                                           {"out", "output"},

                                           {"dt", "h"},
                                           {"param", "set"},
                                           {"parameters", "set"},
                                           {"jobs", "threads"},
                                           {"timeout", "time-limit"},
                                           {"seconds", "time-limit"},
                                           {"method", "scheme"},
                                           {"integrator", "scheme"},
                                           {"end", "until"},
                                           {"initial", "start"},
                                           {"x0", "start"},
                                           {"model", "field"},
                                           {"basis", "field"},
                                           {"bootstrap", "ensemble"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(word, table[i][0])) return table[i][1];
    return NULL;
}

static cls_status unknown_option(const cli_command *c, const char *argument, size_t length,
                                 cls_error *error) {
    const char *names[CLI_MAX_OPTIONS + 1];
    char word[64];
    size_t n = 0;
    cli_option o;
    const cls_option *row;
    while (n < CLI_MAX_OPTIONS && option_at(c, n, &o, &row)) names[n++] = o.name;
    names[n++] = "help";
    snprintf(word, sizeof word, "%.*s", (int)length, argument);
    const char *bare = word + strspn(word, "-"), *near = as_elsewhere(bare);
    if (!near || find(c, near, strlen(near), &o) < 0) near = cls_nearest_word(bare, n, names);
    if (near)
        return cli_fail(error, CLS_USAGE, "unknown option %s; did you mean --%s?", word, near);
    return cli_fail(error, CLS_USAGE, "unknown option %s; `clausius %s --help` lists them", word,
                    c->name);
}

/* One argument that begins with a dash; *i moves over the value when it is a separate argument. */
static cls_status take_option(cli_arguments *a, int argc, char **argv, int *i, int *help,
                              cls_error *error) {
    const cli_command *c = a->command;
    const char *argument = argv[*i], *value = NULL;
    size_t length = strcspn(argument, "=");
    cli_option o;
    int k;
    if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
        *help = 1;
        return CLS_OK;
    }
    if (argument[1] == '-') {
        k = find(c, argument + 2, length - 2, &o);
        if (argument[length] == '=') value = argument + length + 1;
    } else {
        k = find_letter(c, argument[1], &o);
        if (argument[2]) value = argument + 2;
    }
    if (k < 0) return unknown_option(c, argument, length, error);
    if (a->values[k]) {
        int list = o.value && !strcmp(o.value, "LIST");
        return cli_fail(error, CLS_USAGE, "--%s is given twice%s%s%s", o.name,
                        list ? "; its values go into one list: --" : "", list ? o.name : "",
                        list ? " \"A, B\"" : "");
    }
    if (!o.value && value)
        return cli_fail(error, CLS_USAGE, "--%s takes no value, got '%s'", o.name, value);
    if (o.value && !value) {
        if (*i + 1 >= argc || !strncmp(argv[*i + 1], "--", 2))
            return cli_fail(error, CLS_USAGE, "--%s needs a value: --%s %s", o.name, o.name,
                            o.value);
        value = argv[++*i];
    }
    a->values[k] = value ? value : "";
    return CLS_OK;
}

/* The k-th word of a usage, such as SYSTEM; "something" where that is no name. */
static void name_word(const char *usage, size_t k, size_t room, char *name) {
    for (; k; k--) {
        usage += strcspn(usage, " ");
        usage += strspn(usage, " ");
    }
    size_t n = strspn(usage, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    snprintf(name, room, "%.*s", (int)(n ? n : 9), n ? usage : "something");
}

static cls_status check_words(const cli_arguments *a, cls_error *error) {
    const cli_command *c = a->command;
    char name[32];
    name_word(c->usage, a->n_words, sizeof name, name);
    if (a->n_words < c->min_words)
        return cli_fail(error, CLS_USAGE, "%s is missing; usage: clausius %s %s%s%s", name, c->name,
                        c->usage, c->missing ? "\n" : "", c->missing ? c->missing : "");
    if (a->n_words > c->max_words)
        return cli_fail(error, CLS_USAGE, "unexpected '%s'; usage: clausius %s %s",
                        a->words[c->max_words], c->name, c->usage);
    return CLS_OK;
}

cls_status cli_parse(const cli_command *c, int argc, char **argv, cli_arguments *out, int *help,
                     cls_error *error) {
    int words_only = 0;
    size_t n = 0;
    *out = (cli_arguments){.command = c};
    *help = 0;
    /* Help is given even when something else on the line is wrong. */
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) *help = 1;
    if (*help) return CLS_OK;
    for (int i = 0; i < argc; i++) {
        if (!words_only && !strcmp(argv[i], "--")) {
            words_only = 1;
        } else if (words_only || argv[i][0] != '-' || !argv[i][1]) {
            argv[n++] = argv[i];
        } else {
            cls_status status = take_option(out, argc, argv, &i, help, error);
            if (status) return status;
        }
    }
    out->n_words = n;
    out->words = (const char *const *)argv;
    return check_words(out, error);
}

/* "residual|shooting|derivative", which the completion reads, or what the value is called. */
static void value_text(const cli_option *o, const cls_option *row, char *text, size_t size) {
    size_t n = 0;
    snprintf(text, size, "%s%s", o->value ? " " : "", o->value ? o->value : "");
    if (!row || !row->words) return;
    for (const char *c = row->words; *c && n + 2 < size; c++)
        if (*c != ' ') text[++n] = *c == ',' ? '|' : *c;
    text[n + 1] = 0;
}

enum { HELP_INDENT = 26, HELP_WIDTH = 100 };

/* An option, and behind or below it what it does, in lines of HELP_WIDTH. */
static void print_option(FILE *to, const char *option, const char *doc) {
    int at = fprintf(to, "  %s", option);
    if (at > HELP_INDENT - 2) fputc('\n', to), at = 0;
    at += fprintf(to, "%*s", HELP_INDENT - at, "");
    for (const char *word = doc; *word;) {
        int n = (int)strcspn(word, " ");
        if (at + 1 + n > HELP_WIDTH && at > HELP_INDENT)
            at = fprintf(to, "\n%*s", HELP_INDENT, "") - 1;
        at += fprintf(to, "%s%.*s", at > HELP_INDENT ? " " : "", n, word);
        word += n + (word[n] == ' ');
    }
    fputc('\n', to);
}

static void print_options(FILE *to, const cli_command *c) {
    cli_option o;
    const cls_option *row;
    for (size_t i = 0; option_at(c, i, &o, &row); i++) {
        char letter[8] = "", value[80], text[160];
        if (o.letter) snprintf(letter, sizeof letter, "-%c, ", o.letter);
        value_text(&o, row, value, sizeof value);
        snprintf(text, sizeof text, "%s--%s%s", letter, o.name, value);
        print_option(to, text, o.doc);
    }
    print_option(to, "--help", "this text");
}

void cli_print_help(FILE *to, const cli_command *c) {
    fprintf(to, "Examples:\n%s\nUsage: clausius %s %s\n\n%s: %s.\n\nOptions:\n", c->examples,
            c->name, c->usage, c->name, c->doc);
    print_options(to, c);
    if (c->notes) fprintf(to, "\n%s", c->notes);
}

/* ---- the command, written again ---- */

void cli_put_word(FILE *to, const char *word) {
    static const char bare[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,%@";
    if (*word && !word[strspn(word, bare)]) {
        fprintf(to, " %s", word);
        return;
    }
    fputs(" '", to);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", to);
        else
            fputc(*word == '\n' || *word == '\r' ? ' ' : *word, to);
    fputc('\'', to);
}

char *cli_command_line(const cli_arguments *a) {
    char *text = NULL;
    size_t length;
    cli_option o;
    FILE *to = open_memstream(&text, &length);
    if (!to) return NULL;
    fprintf(to, "clausius %s", a->command->name);
    for (size_t i = 0; i < a->n_words; i++) cli_put_word(to, a->words[i]);
    for (size_t k = 0; cli_option_at(a->command, k, &o); k++) {
        if (!a->values[k]) continue;
        if (o.letter)
            fprintf(to, " -%c", o.letter);
        else
            fprintf(to, " --%s", o.name);
        if (o.value) cli_put_word(to, a->values[k]);
    }
    if (fclose(to)) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- asking for values ---- */

static int index_of(const cli_arguments *a, const char *name) {
    cli_option o;
    int k = find(a->command, name, strlen(name), &o);
    if (k < 0) {
        fprintf(stderr, "clausius: option '%s' is not in the table of %s\n", name,
                a->command->name);
        abort();
    }
    return k;
}

const char *cli_value(const cli_arguments *a, const char *name) {
    return a->values[index_of(a, name)];
}

const char *cli_value_if_any(const cli_arguments *a, const char *name) {
    for (const cli_option *o = a ? a->command->options : NULL; o && o->name; o++)
        if (!strcmp(o->name, name)) return cli_value(a, name);
    return NULL;
}

int cli_given(const cli_arguments *a, const char *name) {
    return cli_value(a, name) != NULL;
}

cls_status cli_real(const cli_arguments *a, const char *name, double *out, cls_error *error) {
    const char *text = cli_value(a, name);
    char what[64];
    if (!text) return CLS_OK;
    snprintf(what, sizeof what, "--%s", name);
    return cli_evaluate(what, text, out, error);
}

cls_status cli_positive(const cli_arguments *a, const char *name, double *out, cls_error *error) {
    double value = 1;
    cls_status status = cli_real(a, name, &value, error);
    if (status) return status;
    if (!(value > 0))
        return cli_fail(error, CLS_USAGE, "--%s must be a number above 0, got '%s'", name,
                        cli_value(a, name));
    if (cli_given(a, name)) *out = value;
    return CLS_OK;
}

cls_status cli_integer(const cli_arguments *a, const char *name, uint64_t low, uint64_t *out,
                       cls_error *error) {
    double value = (double)low;
    cls_status status = cli_real(a, name, &value, error);
    if (status) return status;
    if (value != floor(value) || value < (double)low || value > 0x1p53)
        return cli_fail(error, CLS_USAGE, "--%s must be a whole number of at least %llu, got '%s'",
                        name, (unsigned long long)low, cli_value(a, name));
    if (cli_given(a, name)) *out = (uint64_t)value;
    return CLS_OK;
}

/* ---- options of the library's tables ---- */

static cls_status take_word(const cls_option *row, const char *text, void *at, cls_error *error) {
    const char *words[16];
    char copy[128];
    size_t n = 0;
    snprintf(copy, sizeof copy, "%s", row->words ? row->words : "");
    for (char *w = strtok(copy, ", "); w && n < 16; w = strtok(NULL, ", ")) words[n++] = w;
    size_t k = 0;
    while (k < n && strcmp(words[k], text) != 0) k++;
    if (n && k == n) return cli_unknown(error, CLS_USAGE, row->name, text, n, words);
    if (row->type == CLS_OPTION_WORD) *(const char **)at = text;
    if (row->type == CLS_OPTION_CHOICE) *(int *)at = (int)k;
    return CLS_OK;
}

static cls_status take_real(const cli_arguments *a, const cls_option *row, double *out,
                            cls_error *error) {
    cls_status status = isfinite(row->high) ? cli_real(a, row->name, out, error)
                                            : cli_positive(a, row->name, out, error);
    if (!status && !(*out >= row->low && *out <= row->high))
        status = cli_fail(error, CLS_USAGE, "--%s is a number from %g to %g, got '%s'", row->name,
                          row->low, row->high, cli_value(a, row->name));
    return status;
}

static cls_status take_row(const cli_arguments *a, const cls_option *row, void *at,
                           cls_error *error) {
    uint64_t whole = 0;
    cls_status status = CLS_OK;
    if (!cli_given(a, row->name)) return CLS_OK;
    switch (row->type) {
    case CLS_OPTION_FLAG: *(int *)at = 1; return CLS_OK;
    case CLS_OPTION_WORD:
    case CLS_OPTION_CHOICE: return take_word(row, cli_value(a, row->name), at, error);
    case CLS_OPTION_REAL: return take_real(a, row, at, error);
    default: status = cli_integer(a, row->name, (uint64_t)row->low, &whole, error);
    }
    if (row->type == CLS_OPTION_SIZE) *(size_t *)at = (size_t)whole;
    if (row->type == CLS_OPTION_UINT64) *(uint64_t *)at = whole;
    if (row->type == CLS_OPTION_INT) *(int *)at = whole < row->high ? (int)whole : (int)row->high;
    return status;
}

cls_status cli_table(const cli_arguments *a, const cls_option *(*table)(size_t *n), void *options,
                     cls_error *error) {
    size_t n;
    const cls_option *rows = table(&n);
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n && !status; i++)
        if (is_flag(a->command, &rows[i]))
            status = take_row(a, &rows[i], (char *)options + rows[i].offset, error);
    return status;
}
