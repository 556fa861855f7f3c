/* Binaries of an FMU: for this platform by `cc` (or $CC), for others by the cross compiler that is
 * found first: Debian's gcc for the machine, mingw-w64, or zig (`zig`, or `python3 -m ziglang`, from
 * PyPI). Linux binaries ask for the oldest C library that has what they need: by zig's choice of
 * one, else by the versions that the source names (CLSI_OLD_GLIBC). */
#include "export/fmu.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct platform {
    const char *name, *fmi2; /* as FMI 3.0 and 2.0 call it */
    const char *extension;
    const char *gcc; /* Debian's cross compiler, NULL: there is none */
    const char *package;
    const char *zig; /* the target */
} platform;

static const platform platforms[] = {
    {"x86_64-linux", "linux64", ".so", "x86_64-linux-gnu-gcc", "gcc", "x86_64-linux-gnu.2.17"},
    {"aarch64-linux", "aarch64-linux", ".so", "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu",
     "aarch64-linux-gnu.2.17"},
    {"riscv64-linux", "riscv64-linux", ".so", "riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu",
     "riscv64-linux-gnu.2.27"},
    {"x86_64-windows", "win64", ".dll", "x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64",
     "x86_64-windows-gnu"},
    {"x86_64-darwin", "darwin64", ".dylib", NULL, NULL, "x86_64-macos"},
    {"aarch64-darwin", "aarch64-darwin", ".dylib", NULL, NULL, "aarch64-macos"},
};
enum { N_PLATFORMS = sizeof platforms / sizeof *platforms };

static void own_platform(char out[64]) {
    struct utsname u;
    out[0] = 0;
    if (uname(&u) == 0 && !strcmp(u.sysname, "Linux")) snprintf(out, 64, "%.40s-linux", u.machine);
}

/* ---- one binary ---- */

/* 1 when the command ran and succeeded; where `quiet`, it says nothing. */
static int run(const char *const *arguments, int quiet) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions) != 0) return 0;
    if (quiet) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed =
        posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Compiles source and wrapper to the library by the words of a compiler. */
static int compile(const char *const *words, size_t n, int old_glibc, const char *library,
                   const char *source, const char *wrapper, int quiet) {
    const char *arguments[32] = {0};
    const char *const rest[] = {"-std=c99",
                                "-O2",
                                "-fPIC",
                                "-shared",
                                "-s",
                                "-ffp-contract=off",
                                "-fno-math-errno",
                                "-fvisibility=hidden",
                                old_glibc ? "-DCLSI_OLD_GLIBC" : "-DCLSI_ANY_GLIBC",
                                "-o",
                                library,
                                source,
                                wrapper,
                                "-lm"};
    memcpy(arguments, words, n * sizeof *words);
    memcpy(arguments + n, rest, sizeof rest);
    return run(arguments, quiet);
}

/* By whichever compiler there is for the platform. */
static int compile_for(const platform *p, int own, const char *library, const char *source,
                       const char *wrapper) {
    const char *cc = getenv("CC");
    const char *const native[] = {cc && *cc ? cc : "cc"};
    const char *const cross[] = {p->gcc};
    const char *const zig[] = {"zig", "cc", "-target", p->zig};
    const char *const ziglang[] = {"python3", "-m", "ziglang", "cc", "-target", p->zig};
    if (own) return compile(native, 1, 1, library, source, wrapper, 0);
    return (p->gcc && compile(cross, 1, 1, library, source, wrapper, 1)) ||
           compile(zig, 4, 0, library, source, wrapper, 1) ||
           compile(ziglang, 6, 0, library, source, wrapper, 1);
}

static void remove_directory(const char *directory) {
    DIR *d = opendir(directory);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%.255s", directory, entry->d_name);
        if (entry->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
    rmdir(directory);
}

/* The sources compiled in a directory of their own; *made stays 0 where that fails. */
static cls_status build_one(const clsi_fmu *f, const clsi_outputs *sources, const platform *p,
                            int own, clsi_outputs *out, int *made, cls_error *error) {
    char directory[] = "/tmp/clausius-fmu-XXXXXX", library[160], source[160], wrapper[160];
    char folder[200], *data = NULL;
    size_t length = 0;
    cls_export_info ignored = {0};
    *made = 0;
    if (!mkdtemp(directory)) return CLS_OK;
    snprintf(library, sizeof library, "%s/%s%s", directory, f->e->prefix, p->extension);
    snprintf(source, sizeof source, "%s/%s.c", directory, f->e->prefix);
    snprintf(wrapper, sizeof wrapper, "%s/fmi%d.c", directory, f->version);
    cls_status status = clsi_outputs_write(sources, directory, &ignored, error);
    if (status == CLS_OK && compile_for(p, own, library, source, wrapper))
        status = clsi_read_file(library, (size_t)1 << 30, &data, &length, error);
    remove_directory(directory);
    if (status == CLS_OK && data) {
        snprintf(folder, sizeof folder, "binaries/%s/%s%s", f->version == 3 ? p->name : p->fmi2,
                 f->e->prefix, p->extension);
        clsi_text_append_n(clsi_output_add(out, folder), data, length);
        *made = 1;
    }
    free(data);
    return status;
}

/* ---- all that are wanted ---- */

static int is_named(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ", "), at += strspn(at, ", "))
        if (strcspn(at, ", ") == n && !strncmp(at, name, n)) return 1;
    return 0;
}

static cls_status check_names(const char *list, cls_error *error) {
    for (const char *at = list; at && *at; at += strcspn(at, ", "), at += strspn(at, ", ")) {
        int n = (int)strcspn(at, ", "), known = n == 3 && !strncmp(at, "all", 3);
        for (int k = 0; k < N_PLATFORMS; k++)
            known |= strlen(platforms[k].name) == (size_t)n &&
                     !strncmp(at, platforms[k].name, (size_t)n);
        if (known) continue;
        clsi_text names = {0};
        for (int k = 0; k < N_PLATFORMS; k++)
            clsi_text_printf(&names, "%s%s", k ? ", " : "", platforms[k].name);
        (void)clsi_fail(error, CLS_USAGE,
                        "--platforms: '%.*s' is no platform; there are %s, and all", n, at,
                        names.data ? names.data : "");
        clsi_text_clear(&names);
        return CLS_USAGE;
    }
    return CLS_OK;
}

static cls_status no_compiler(const platform *p, cls_error *error) {
    return clsi_fail(error, CLS_USAGE,
                     "--platforms: no compiler for %s was found, or it failed: install %s%szig "
                     "(`pip install ziglang`)",
                     p->name, p->package ? p->package : "", p->package ? ", or " : "");
}

cls_status clsi_fmu_binaries(const clsi_fmu *f, const clsi_outputs *sources, clsi_outputs *out,
                             int *count, cls_error *error) {
    const char *list = f->e->options.platforms;
    char own[64];
    own_platform(own);
    cls_status status = check_names(list, error);
    *count = 0;
    int listed = 0;
    for (int k = 0; k < N_PLATFORMS && status == CLS_OK; k++) {
        const platform *p = &platforms[k];
        int mine = !strcmp(p->name, own), made;
        listed |= mine;
        if (!mine && !is_named(list, p->name) && !is_named(list, "all")) continue;
        status = build_one(f, sources, p, mine, out, &made, error);
        if (status == CLS_OK && !made && !mine && is_named(list, p->name))
            status = no_compiler(p, error);
        *count += made;
    }
    /* a machine that the table does not know compiles for itself */
    platform unknown = {own, own, ".so", NULL, NULL, NULL};
    int made = 0;
    if (status == CLS_OK && own[0] && !listed)
        status = build_one(f, sources, &unknown, 1, out, &made, error);
    *count += made;
    return status;
}
