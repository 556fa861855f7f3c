/* The program behind its main (program.c, mpi/program.c): a table of commands, and the one place that prints failures and turns a
 * status into an exit code (0 ok, 1 a check failed, 2 usage, 3 data, 4 system, 5 I/O, 6 numeric,
 * 7 memory, 130 interrupted). */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h> /* mallopt */
#endif

static const cli_command *const commands[] = {
    &cli_systems, &cli_schemes, &cli_show,      &cli_simulate, &cli_learn,
    &cli_extract, &cli_audit,   &cli_compare,   &cli_plot,     &cli_report,
    &cli_new,     &cli_data,    &cli_reproduce, &cli_export,   &cli_merge,
};
enum { n_commands = sizeof commands / sizeof *commands };

static void print_usage(FILE *to) {
    cli_grid g;
    fputs("Examples:\n"
          "  clausius systems\n"
          "  clausius simulate adiabatic-piston --until 50 -o piston.csv\n"
          "  clausius audit piston.csv\n"
          "  clausius plot piston.csv -o piston.svg\n\n"
          "Usage: clausius COMMAND [ARGUMENT...] [--OPTION...]\n\nCommands:\n",
          to);
    cli_grid_begin(&g, "ll");
    for (size_t i = 0; i < n_commands; i++) {
        cli_grid_cell(&g, "  %s", commands[i]->name);
        cli_grid_cell(&g, "%s", commands[i]->doc);
    }
    cli_grid_cell(&g, "  help COMMAND");
    cli_grid_cell(&g, "how to use a command (same as COMMAND --help)");
    (void)cli_grid_end(&g, to, NULL);
    fputs("\nExit codes: 0 ok, 1 a check failed, 2 usage, 3 bad data, 4 bad system or model file,\n"
          "5 input or output, 6 numeric failure, 7 out of memory, 130 interrupted. More: man "
          "clausius.\n",
          to);
}

static const cli_command *find_command(const char *name) {
    for (size_t i = 0; i < n_commands; i++)
        if (!strcmp(commands[i]->name, name)) return commands[i];
    return NULL;
}

static cls_status no_such_command(const char *name, cls_error *error) {
    const char *names[n_commands + 1];
    if (name[0] == '-')
        return cli_fail(error, CLS_USAGE, "unknown option %s; `clausius --help` shows the usage",
                        name);
    for (size_t i = 0; i < n_commands; i++) names[i] = commands[i]->name;
    names[n_commands] = "help";
    return cli_unknown(error, CLS_USAGE, "command", name, n_commands + 1, names);
}

static cls_status help_on(int argc, char **argv, cls_error *error) {
    if (argc < 3) {
        print_usage(stdout);
        return CLS_OK;
    }
    const cli_command *c = find_command(argv[2]);
    if (!c) return no_such_command(argv[2], error);
    cli_print_help(stdout, c);
    return CLS_OK;
}

static cls_status run(int argc, char **argv, const char **name, cls_error *error) {
    cli_arguments arguments;
    int help = 0;
    if (!cli_is_first() && argv[1][0] == '-') return CLS_OK;
    if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return help_on(argc, argv, error);
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        printf("clausius %s\n", cls_version());
        return CLS_OK;
    }
    const cli_command *c = find_command(argv[1]);
    if (!c) return no_such_command(argv[1], error);
    *name = c->name;
    /* what is not shared is done by one */
    if (!cli_is_first() && c != &cli_simulate && c != &cli_learn) return CLS_OK;
    cls_status status = cli_parse(c, argc - 2, argv + 2, &arguments, &help, error);
    if (status) return status;
    if (!help) return c->run(&arguments, error);
    cli_print_help(stdout, c);
    return CLS_OK;
}

/* Libraries that find no memory or no threads end the process themselves (libgomp, with 1, which
 * would say that a check failed). Nothing was written then: files appear only when complete. */
static int returned;

static void ended_by_a_library(void) {
    if (returned) return;
    fputs("clausius: a library ended the program: out of memory or threads\n", stderr);
    _exit(CLS_MEMORY);
}

/* What a caller may leave undone: a closed standard stream would be the next file that is opened, and
 * what is printed would stand in it. Such a stream fails as a closed one does (what is read cannot be
 * written). A limit on the size of files is an error of writing, not the end. */
static void secure_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd ? O_RDONLY : O_WRONLY);
    signal(SIGXFSZ, SIG_IGN);
}

/* Blocks of large systems come and go: those of 4 MB and more are given back to the system at once. glibc alone
 * keeps 40 to 120 MB of them in pieces when 100,000 cells are loaded (docs/decisions/0420). */
static void give_back_large_blocks(void) {
#if defined(__GLIBC__)
    (void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

int cli_main(int argc, char **argv) {
    const char *name = NULL;
    cls_error error = {0};
    give_back_large_blocks();
    secure_streams();
    atexit(ended_by_a_library);
    if (argc < 2) {
        if (cli_is_first()) print_usage(stderr);
        returned = 1;
        return CLS_USAGE;
    }
    cli_json_begin();
    cls_status status = run(argc, argv, &name, &error);
    if (status && error.status == CLS_MEMORY) status = CLS_MEMORY;
    if (cli_json_failed()) status = cli_no_memory(&error); /* what was read may be cut short */
    if (status && error.message[0] && cli_is_first()) {
        fprintf(stderr, "clausius%s%s: ", name ? " " : "", name ? name : "");
        cli_print_shown(stderr, error.message);
    }
    errno = 0;
    if ((fflush(stdout) || ferror(stdout)) && status <= CLS_CHECK) {
        fprintf(stderr, "clausius: cannot write to standard output%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : "");
        status = CLS_IO;
    }
    returned = 1;
    return (int)status;
}
