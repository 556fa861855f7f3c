/* cli: what the commands of the program share.
 *
 * A command is one file with one const cli_command (name, texts, option table, run); main.c has the
 * table of them. `run` returns a cls_status, which is the exit code. It does not print its own
 * failure: it fills `error` (cli_fail, or a call of the library) and main prints
 * `clausius NAME: message` on stderr. A check that failed (a law broken, a comparison out of
 * tolerance) returns CLS_CHECK and leaves error->message empty: the table has said it. main also
 * flushes stdout and turns a write error into CLS_IO.
 *
 * Data goes to stdout, everything else to stderr. Only <clausius/...> headers are used here. */
#ifndef CLAUSIUS_CLI_H
#define CLAUSIUS_CLI_H

#include <clausius/clausius.h>
#include <clausius/learn.h>
#include <clausius/model.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* ---- commands and options ---- */

typedef struct cli_option {
    const char *name;  /* "steps": given as --steps N or --steps=N; {NULL} ends the table */
    char letter;       /* 'o' allows -o X too; 0: none */
    const char *value; /* what the help calls its value; NULL: a flag without value */
    const char *doc;   /* one line, no full stop */
} cli_option;

typedef struct cli_arguments cli_arguments;

typedef struct cli_command {
    const char *name;
    const char *doc;     /* one line for `clausius --help` */
    const char *usage;   /* "SYSTEM [options]": what follows the name */
    const char *missing; /* what to do where a word of `usage` is not there; NULL: nothing to say */
    const char *examples;      /* lines "  clausius ...\n", printed first in the help */
    const char *notes;         /* paragraphs after the options, each line ends in \n; may be NULL */
    const cli_option *options; /* ends with {0}; --help is added by the parser */
    /* options that the library has in a table (clausius/options.h), after its own; NULL: none */
    const cls_option *(*tables[2])(size_t *n);
    size_t min_words, max_words; /* how many words that are not options */
    cls_status (*run)(const cli_arguments *a, cls_error *error);
} cli_command;

extern const cli_command cli_systems, cli_schemes, cli_extract, cli_show, cli_simulate, cli_audit,
    cli_compare, cli_plot, cli_report, cli_new, cli_data, cli_learn, cli_export, cli_merge;
extern const cli_command cli_reproduce; /* cli/reproduce.c, items in cli/reproduce_*.c */

#define CLI_MAX_OPTIONS 64

struct cli_arguments {
    const cli_command *command;
    size_t n_words;
    const char *const *words;            /* borrowed from argv */
    const char *values[CLI_MAX_OPTIONS]; /* per option of the table: NULL when not given */
};

/* argv[0..argc) without program and command name; it is reordered. */
cls_status cli_parse(const cli_command *c, int argc, char **argv, cli_arguments *out, int *help,
                     cls_error *error);
void cli_print_help(FILE *to, const cli_command *c);
/* The k-th option, whose value is values[k]; 0: there are no more. */
int cli_option_at(const cli_command *c, size_t k, cli_option *out);

/* A blank and the word for a shell: bare where it may be, else between single quotes. */
void cli_put_word(FILE *to, const char *word);
/* The command as it could be typed again, quoted for a shell, on one line; options after the words. The
 * caller's; NULL: no memory. */
char *cli_command_line(const cli_arguments *a);

/* Options by name. The name must be in the table (a misspelt one aborts: it is our mistake). */
const char *cli_value(const cli_arguments *a, const char *name); /* NULL when not given */
/* NULL also where the command has no such option, and for a NULL. */
const char *cli_value_if_any(const cli_arguments *a, const char *name);
int cli_given(const cli_arguments *a, const char *name);
/* *out keeps its value when the option is not given. Numbers may be constant expressions (1/128);
 * trailing text, nan and inf are refused. */
cls_status cli_real(const cli_arguments *a, const char *name, double *out, cls_error *error);
cls_status cli_positive(const cli_arguments *a, const char *name, double *out, cls_error *error);
/* Integers from low to 2^53, 1e6 accepted. */
cls_status cli_integer(const cli_arguments *a, const char *name, uint64_t low, uint64_t *out,
                       cls_error *error);
/* Those options of a table that are flags of the command, into the struct of the table. */
cls_status cli_table(const cli_arguments *a, const cls_option *(*table)(size_t *n), void *options,
                     cls_error *error);
char *cli_trim(char *text); /* without the blanks around it, in place */
/* "a, b" into words; *words and its strings are one block: free(*words). Empty words are errors. */
cls_status cli_words(const char *what, const char *text, size_t *n, char ***words,
                     cls_error *error);

/* ---- the program ---- */

/* Runs a command line and returns the exit code. */
int cli_main(int argc, char **argv);

/* ---- several processes ---- */

/* The team that this process belongs to (clausius-mpi), NULL: it is alone. Set once, at the start. */
void cli_set_team(const cls_team *team);
const cls_team *cli_team(void);
int cli_is_first(void); /* rank 0, or alone: it writes and speaks */
/* learn, with the work shared out by `team`. */
cls_status cli_learn_with(const cli_arguments *a, const cls_team *team, cls_error *error);

/* ---- failing ---- */

cls_status cli_fail(cls_error *error, cls_status status, const char *format, ...) CLS_PRINTF(3, 4);
cls_status cli_no_memory(cls_error *error);

/* output.c: a file that appears complete or not at all; "-" is standard output. `keep`: an existing one is
 * kept, and refused. Closed with another status than CLS_OK, nothing is left; that status is returned. */
typedef struct cli_output {
    FILE *stream;
    char *path, *temporary;
    int keep;
} cli_output;
cls_status cli_output_open(cli_output *o, const char *path, int keep, cls_error *error);
cls_status cli_output_close(cli_output *o, cls_status status, cls_error *error);
/* Puts "prefix: " in front of the message; returns error->status. */
cls_status cli_prefix(cls_error *error, const char *format, ...) CLS_PRINTF(2, 3);
/* A notice on stderr: "clausius: ...". Not for failures. */
void cli_notice(const char *format, ...) CLS_PRINTF(1, 2);
/* A line of text with control characters as \x1b. */
void cli_print_shown(FILE *to, const char *text);
/* The lines of a text under a label, which may be in front of each. */
void cli_print_lines(FILE *to, const char *label, int each, const char *text);
/* `WORD is not a KIND; did you mean X?`, or the list of all when none is near. */
cls_status cli_unknown(cls_error *error, cls_status status, const char *kind, const char *word,
                       size_t n, const char *const *words);

/* ---- values from text ---- */

/* One number: a literal or a constant expression such as 2/3, 1e-3, sqrt(2)*pi. Finite. */
cls_status cli_evaluate(const char *what, const char *text, double *out, cls_error *error);

/* "x=0, v.x=-0.5, T1=2/3". */
typedef struct cli_assignments {
    cls_assignments list; /* what the library takes */
    char *text;           /* owns the names */
    char **names;
    double *values;
    const char **formulas; /* of t, where a value is one (--set of inputs); else NULL */
} cli_assignments;
/* Order of names by qsort and bsearch. */
int cli_by_name(const void *a, const void *b);
/* text NULL gives an empty list. `what` ("--start") begins the error message. */
cls_status cli_assignments_parse(const char *what, const char *text, cli_assignments *out,
                                 cls_error *error);
void cli_assignments_free(cli_assignments *a);
/* The list as text that parses back to the same values. free() it; NULL when out of memory. */
char *cli_assignments_text(const cli_assignments *a);
/* The scheme of this name, or CLS_USAGE and the nearest one. */
cls_status cli_check_scheme(const char *name, cls_error *error);
int cli_ends_with(const char *text, const char *ending);

/* ---- printing ---- */

/* 1 when escape sequences are welcome: a terminal, no NO_COLOR, TERM not dumb. */
int cli_colour(FILE *to);
#define CLI_RED   "\033[31m"
#define CLI_GREEN "\033[32m"
#define CLI_PLAIN "\033[0m"

/* A table with aligned columns. align has one of 'l', 'r' per column. Escape sequences and UTF-8
 * do not disturb the widths. Cells are copied; running out of memory is kept in `failed`. */
/* Columns that are one array (arrays.c): `of` one for each name, SIZE_MAX for those that are none and for arrays
 * of few elements. */
typedef struct cli_array {
    char name[128]; /* u[*] */
    size_t first, count;
} cli_array;
typedef struct cli_arrays {
    size_t n, *of;
    cli_array *list;
} cli_arrays;
cls_status cli_arrays_find(size_t n, const char *const *names, cli_arrays *out, cls_error *error);
/* The same where names were asked for: one array for each that means elements (cls_means_element). */
cls_status cli_arrays_asked(size_t n, const char *const *names, size_t n_asked, char **asked,
                            cli_arrays *out, cls_error *error);
void cli_arrays_free(cli_arrays *a);
/* Whether both are elements of one array. */
int cli_is_same_array(const char *a, const char *b);

typedef struct cli_grid {
    const char *align;
    size_t n_columns, n_cells, capacity;
    char **cells;
    int failed;
} cli_grid;
void cli_grid_begin(cli_grid *g, const char *align);
void cli_grid_cell(cli_grid *g, const char *format, ...) CLS_PRINTF(2, 3); /* row after row */
/* Prints, frees; CLS_MEMORY when a cell could not be kept. */
cls_status cli_grid_end(cli_grid *g, FILE *to, cls_error *error);

/* Shortest decimal that reads back to the same double. */
void cli_format(double value, char out[32]);
/* A JSON number, null when it is not finite. */
json_t *cli_json_real(double value);
/* Prints one object and a newline on stdout, and frees it. NULL means: out of memory. */
void cli_json_begin(void); /* once, in front of all JSON */
int cli_json_failed(void); /* found no memory at least once */
cls_status cli_print_json(json_t *object, cls_error *error);

/* ---- long work ---- */

/* From now on SIGINT, SIGTERM, SIGHUP (a terminal that is gone) and SIGXCPU only set a flag. A second one ends the program, and so does one that no
 * loop asks for within ten seconds; within one before the first has asked. */
void cli_catch_signals(void);
int cli_interrupted(void);
/* The same before work that does not ask and leaves nothing half done: a signal ends the program within a second. */
int cli_interrupted_before_work(void);
double cli_seconds(void); /* monotonic clock */

/* Progress on stderr: a bar with rate and time left on a terminal, else a line every few seconds
 * once the work has taken three. Zero `total` means: unknown. */
typedef struct cli_progress {
    const char *label, *unit; /* "simulate", "steps" */
    double total, begin, last;
    int terminal, quiet, drawn;
} cli_progress;
void cli_progress_begin(cli_progress *p, const char *label, const char *unit, double total,
                        int quiet);
void cli_progress_update(cli_progress *p, double done, const char *extra); /* extra may be NULL */
void cli_progress_end(cli_progress *p);                                    /* wipes the bar */

/* ---- simulating, for simulate, audit and reproduce ---- */

/* A system with its parameters and a complete start: what --set, --start and --from say. Where a
 * SYSTEM is wanted a MODEL will do: its system is the one with the learned parts in place. */
typedef struct cli_motion {
    const cls_system *system; /* the model's, else `loaded` */
    cls_system *loaded;       /* the system file; NULL for a model */
    cls_model *model;         /* NULL for a SYSTEM */
    cls_starter *starter;     /* completes starts */
    cli_assignments set;
    const cli_arguments *reading; /* the options that --from is read with; NULL: none */
    double *state;                /* (state_count) */
    double time;
    char
        begins[48]; /* the date that time counts from, of the first file that has dates; "": none */
} cli_motion;
cls_status cli_motion_load(const char *system, const char *set, const char *start, const char *from,
                           cli_motion *out, cls_error *error);
/* The same in two parts: the system alone, then the start. */
cls_status cli_motion_open(const char *system, const char *set, cli_motion *out, cls_error *error);
cls_status cli_motion_begin(cli_motion *m, const char *start, const char *from, cls_error *error);
/* The system alone beside files (settings.c): without --set it has the parameters of their notes `# set:`, but for those that are unknown,
 * and says so. CLS_USAGE where files of the system disagree. */
cls_status cli_motion_open_beside(const cli_arguments *a, const char *system, size_t n,
                                  const char *const *files, size_t n_unknown,
                                  const char *const *unknown, cli_motion *out, cls_error *error);
/* A reader at the notes of a file, no row of which was read; NULL: it cannot be read twice, or not at all. */
cls_status cli_notes_read(const cli_arguments *a, const char *path, cls_reader **out,
                          cls_error *error);
/* Does the note `# system:` name this system? */
int cli_note_is_of(const cls_table *t, const char *system);
/* Says that --set counts where the note `# set:` (NULL: none) of a file says something else. */
void cli_tell_overruled(const cli_arguments *a, const char *path, const char *note);
/* The note `# set:` of a file; CLS_DATA where it is none. */
cls_status cli_set_of_note(const char *path, const char *note, cli_assignments *out,
                           cls_error *error);
/* The start in a row of a file: `row` is first, last or a number from 1 on; NULL: the last of a file
 * that clausius wrote, the first of any other. *taken: its number. What the file lacks is completed:
 * heat from the system's start, velocities from neighbouring positions. */
cls_status cli_motion_from(cli_motion *m, const char *path, const char *row, size_t *taken,
                           cls_error *error);
void cli_motion_free(cli_motion *m);
/* The names of a system's columns, cls_system_column_count of them; free() the array only. */
const char **cli_columns(const cls_system *s);
/* The place of one; -1: it has none of this name. */
int cli_column(const cls_system *s, const char *name);
/* Walks `steps` steps and gives a row to `take` at the start, after every `every` steps and at the
 * end. Stops with CLS_INTERRUPTED after a signal. `p` may be NULL. */
typedef cls_status (*cli_take)(void *to, const double *row, cls_error *error);
cls_status cli_walk(const cls_system *s, cls_simulator *sim, uint64_t steps, uint64_t every,
                    cli_take take, void *to, cli_progress *p, cls_error *error);
/* The same as a table in memory. */
cls_status cli_motion_table(const cli_motion *m, const cls_simulate_options *options,
                            uint64_t steps, uint64_t every, cls_table **out, cls_error *error);

/* ---- motions that follow a file (driven.c) ---- */

/* Samples of a system's inputs; n 0: none. */
typedef struct cli_inputs {
    size_t n;
    double *times, *values; /* (n), (inputs, n) */
    const char *hold;       /* as cls_simulator_inputs_held */
} cli_inputs;
/* From --inputs PATH and --hold WORD, both of which may be NULL, for this motion. */
cls_status cli_inputs_read(const cli_arguments *a, cli_motion *m, const char *path,
                           const char *hold, cli_inputs *out, cls_error *error);
/* From a table that has been read; `path` is for messages. */
cls_status cli_inputs_take(const cls_system *s, const cls_table *t, const char *path,
                           const char *hold, cli_inputs *out, cls_error *error);
void cli_inputs_free(cli_inputs *inputs);
cls_status cli_inputs_set(const cli_inputs *inputs, cls_simulator *sim, cls_error *error);
/* Are they known over the whole run? */
cls_status cli_inputs_reach(const cli_inputs *inputs, double begin, double end, cls_error *error);
/* The increasing times of a file with one trajectory; free() them. */
cls_status cli_times_read(const cli_arguments *a, cli_motion *m, const char *path, size_t *n,
                          double **times, cls_error *error);
/* A row at each of these times that is not before the simulator's own. */
cls_status cli_walk_at(const cls_system *s, cls_simulator *sim, size_t n, const double *times,
                       cli_take take, void *to, cli_progress *p, cls_error *error);

/* A model, a system file or the name of a built-in system; anything else is a file of data. */
int cli_is_system(const char *word);
/* The system that a note `# system:` of the data file at `path` may name: a built-in one, or a system or
 * model file that stands beside it. *out is the caller's. */
cls_status cli_system_of_note(const char *path, const char *note, char **out, cls_error *error);
/* Reads trajectory files; a system or model among them is simulated beside the first (follow.c).
 * `out` (n) begins with NULLs; what was made is the caller's also after a failure. */
cls_status cli_trajectories(const cli_arguments *a, size_t n, const char *const *words,
                            cls_table **out, cls_error *error);

/* ---- draws for ensembles (sample.c) ---- */

/* "x~U(-1,1), v.x~N(0,0.1), let r~S(0.2,1), y = r*x": what is random in a start. */
typedef struct cli_draw {
    char *name;
    char law;             /* U, N, S or = */
    double a, b;          /* low, high; mean, sigma */
    int hidden;           /* let: not a variable of the system */
    cls_program *formula; /* of the draws before it */
} cli_draw;

typedef struct cli_draws {
    size_t n, n_given; /* all; those that are not hidden */
    cli_draw *list;
    const char **names;     /* (n_given), in order */
    double *values, *given; /* (n), (n_given): of the last draw */
    double *work;
} cli_draws;
/* u[*] stands for all elements that the system has (NULL: none is known), in the whole item. */
cls_status cli_draws_parse(const char *text, const cls_system *s, cli_draws *out, cls_error *error);
void cli_draws_free(cli_draws *draws);
/* All of them, in order; the result is draws->given. */
void cli_draws_next(cli_draws *draws, cls_random *r);

#endif
