/* clausius export: a system or a learned model as C source, as a JavaScript module, as an FMU. */
#include "cli.h"
#include <limits.h>
#include <string.h>

static cls_status check_target(const char *target, cls_error *error) {
    const char *names[8];
    size_t n = cls_export_target_count();
    for (size_t i = 0; i < n && i < 8; i++) {
        names[i] = cls_export_target_name(i);
        if (!strcmp(target, names[i])) return CLS_OK;
    }
    return cli_unknown(error, CLS_USAGE, "kind of export", target, n, names);
}

static cls_status write_it(const cli_arguments *a, const cli_motion *m, cls_error *error) {
    const char *out = cli_value(a, "output");
    cls_export_options o = cls_export_defaults();
    cls_export_info info;
    o.scheme = cli_value(a, "scheme");
    o.prefix = cli_value(a, "prefix");
    o.parameters = cli_value(a, "parameters");
    o.source = a->words[1];
    o.set = cli_value(a, "set");
    o.start = m->state;
    uint64_t fmi = 2;
    cls_status status = o.scheme ? cli_check_scheme(o.scheme, error) : CLS_OK;
    if (!status) status = cli_integer(a, "fmi", 2, &fmi, error);
    if (!status && (fmi > 3 || (cli_given(a, "fmi") && strcmp(a->words[0], "fmu") != 0)))
        status = cli_fail(error, CLS_USAGE, "--fmi is 2 or 3, and for fmu only");
    o.fmi = (int)fmi;
    o.platforms = cli_value(a, "platforms");
    if (!status && o.platforms && strcmp(a->words[0], "fmu") != 0)
        status = cli_fail(error, CLS_USAGE, "--platforms is for fmu only: C compiles anywhere");
    o.single = cli_given(a, "float");
    uint64_t halvings = 0;
    if (!status && cli_given(a, "max-halvings")) {
        status = cli_integer(a, "max-halvings", 0, &halvings, error);
        o.max_halvings = halvings > INT_MAX ? INT_MAX : (int)halvings;
    }
    if (!status) status = cli_positive(a, "h", &o.h, error);
    if (!status) status = cls_export(a->words[0], m->system, m->model, &o, out, &info, error);
    if (status) return status;
    if (cli_given(a, "json"))
        return cli_print_json(json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:i}", "target",
                                        a->words[0], "output", out, "prefix", info.prefix, "scheme",
                                        info.scheme, "files", (json_int_t)info.files, "bytes",
                                        (json_int_t)info.bytes, "binaries", info.binaries),
                              error);
    if (!cli_given(a, "quiet"))
        fprintf(stderr, "%s by %s as %s: %s, %zu file%s, %zu bytes\n", a->words[1], info.scheme,
                a->words[0], out, info.files, info.files == 1 ? "" : "s", info.bytes);
    if (!cli_given(a, "quiet") && o.single)
        cli_notice("with weights in single precision the motion from the default start is within "
                   "%.1g of the model's; both laws hold as before",
                   info.single_error);
    if (!cli_given(a, "quiet") && !strcmp(a->words[0], "fmu") && !info.binaries)
        cli_notice("no C compiler (cc, or the one in $CC) made a binary: the FMU has sources only");
    return CLS_OK;
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    cli_motion m = {0};
    cls_status status = check_target(a->words[0], error);
    if (!status && !cli_value(a, "output"))
        status = cli_fail(error, CLS_USAGE, "say where it goes: -o %s",
                          !strcmp(a->words[0], "c")    ? "DIR"
                          : !strcmp(a->words[0], "js") ? "FILE.mjs"
                                                       : "FILE.fmu");
    if (!status)
        status = cli_motion_load(a->words[1], cli_value(a, "set"), cli_value(a, "start"), NULL, &m,
                                 error);
    if (!status) status = write_it(a, &m, error);
    cli_motion_free(&m);
    return status;
}

static const cli_option options[] = {
    {"output", 'o', "PATH", "a directory for c, a file .mjs for js, a file .fmu for fmu"},
    {"scheme", 0, "NAME", "the scheme of the step (default: as simulate takes)"},
    {"h", 0, "H", "the default step"},
    {"prefix", 0, "NAME", "what all names in C begin with (default: the system's name)"},
    {"parameters", 0, "LIST", "parameters that can be set where it lands (default: all that may)"},
    {"fmi", 0, "2|3", "the version of FMI (default 2)"},
    {"platforms", 0, "LIST",
     "fmu: binaries also for these, \"x86_64-windows, aarch64-linux\", or all"},
    {"float", 0, NULL, "weights of networks in single precision: half the size, the same laws"},
    {"max-halvings", 0, "N",
     "a step that fails is made in halves up to this often in turn (default 10); 0: tried once"},
    {"set", 0, "LIST", "parameter values, \"m=2, k=1\""},
    {"start", 0, "LIST", "the default start, \"x=0, v.x=-0.5\""},
    {"json", 0, NULL, "one JSON object: target, output, prefix, scheme, files, bytes, binaries"},
    {"quiet", 0, NULL, "nothing on stderr"},
    {0},
};

const cli_command cli_export = {
    .name = "export",
    .doc = "a system or a model as C source, as a JavaScript module or as an FMU",
    .usage = "c|js|fmu SYSTEM|MODEL -o PATH [options]",
    .examples = "  clausius export c adiabatic-piston -o piston\n"
                "  clausius export c learned.safetensors -o learned --prefix gas\n"
                "  clausius export js pendulum -o pendulum.mjs\n"
                "  clausius export fmu adiabatic-piston --fmi 3 -o piston.fmu\n"
                "  clausius export fmu pendulum --platforms \"x86_64-windows\" -o pendulum.fmu\n",
    .notes =
        "c writes DIR/NAME.h, NAME.c, main.c (main STEPS H prints the rows that simulate\n"
        "prints), CMakeLists.txt and README.md: C99 that needs only libm and computes the\n"
        "same bits as simulate. js writes one ES module without imports: `info`, and a class\n"
        "`Model` with start, step, row. Parameters that may change can be set in all of them,\n"
        "a start takes any known variables (v.x or p.x, S or T). fmu writes FMI 2.0 or 3.0, model "
        "exchange and\n"
        "co-simulation in one file, with sources and a binary made by cc (or $CC).\n",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .run = run,
};
