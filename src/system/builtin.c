/* The built-in systems: .clausius files that CMake carries into the library as text. A user can
 * print, copy and change each of them; there is nothing here that a file cannot say. */
#include "base/base.h"
#include "base/misuse.h"
#include "system/system.h"
#include <stdlib.h>
#include <string.h>

/* name, symbol of the text, title (the file's own: a test compares them). Order of the contract. */
#define BUILTIN_LIST(X)                                                                            \
    X("damped-oscillator", damped_oscillator, "damped oscillator in a heat bath")                  \
    X("ideal-gas-piston", ideal_gas_piston, "ideal gas in a cylinder with a piston")               \
    X("van-der-waals-piston", van_der_waals_piston,                                                \
      "van der Waals gas in a cylinder with a piston")                                             \
    X("van-der-waals-forced", van_der_waals_forced,                                                \
      "van der Waals gas near its critical point under an external pressure")                      \
    X("two-pistons", two_pistons, "ideal gas between two pistons")                                 \
    X("adiabatic-piston", adiabatic_piston, "two gas chambers and an adiabatic piston")            \
    X("rigid-body", rigid_body, "rigid body with friction")                                        \
    X("mass-spring", mass_spring, "mass on a spring")                                              \
    X("pendulum", pendulum, "plane pendulum")                                                      \
    X("two-body", two_body, "two bodies that attract each other")                                  \
    X("oscillator", oscillator, "oscillator of storage components")                                \
    X("isothermal-oscillator", isothermal_oscillator,                                              \
      "damped oscillator in an environment of constant temperature")                               \
    X("thermal-oscillator", thermal_oscillator, "damped oscillator with a damper that warms up")   \
    X("rlc-circuit", rlc_circuit, "RLC circuit with a resistor that warms up")                     \
    X("heat-reservoirs", heat_reservoirs, "two heat reservoirs and a wall that conducts")          \
    X("motor", motor, "electric motor with inertia, bearing friction and a geared fan")            \
    X("thermoelastic-double-pendulum", thermoelastic_double_pendulum,                              \
      "thermoelastic double pendulum")                                                             \
    X("membrane", membrane, "two compartments and a membrane")                                     \
    X("adiabatic-reactor", adiabatic_reactor, "an insulated reactor, A + B <-> C")                 \
    X("isothermal-reactor", isothermal_reactor, "a reactor with a jacket, A <-> B, 2 B <-> C")     \
    X("brownian-particle", brownian_particle, "a Brownian particle in a double well")

/* Fields in space and other large systems, behind the others: they are arrays of elements, and
 * their size is a parameter. */
#define FIELD_LIST(X)                                                                              \
    X("heat-rod", heat_rod, "a rod that conducts heat")                                            \
    X("heat-plate", heat_plate, "a plate that conducts heat, cooled along one edge")               \
    X("elastic-string", elastic_string, "a string that warms up as it swings")                     \
    X("fput", fput, "the lattice of Fermi, Pasta, Ulam and Tsingou")                               \
    X("kdv", kdv, "solitons of Korteweg and de Vries")                                             \
    X("burgers", burgers, "a wave that steepens and warms (Burgers)")                              \
    X("cahn-hilliard", cahn_hilliard, "phases that separate (Cahn-Hilliard)")                      \
    X("allen-cahn", allen_cahn, "walls between two phases (Allen-Cahn)")                           \
    X("building", building, "a building of rooms")                                                 \
    X("battery-pack", battery_pack, "cells of a battery pack that balance their charge")           \
    X("viscoelastic-bar", viscoelastic_bar, "a thermo-viscoelastic bar")                           \
    X("fuel-cell", fuel_cell, "a stack of fuel cells with a load")

#define DECLARE_TEXT(name, symbol, title) extern const char clsi_builtin_##symbol[];
BUILTIN_LIST(DECLARE_TEXT)
FIELD_LIST(DECLARE_TEXT)
#undef DECLARE_TEXT
extern const char clsi_builtin_template[];

static const struct {
    const char *name, *text, *title;
} builtins[] = {
#define BUILTIN_ROW(name, symbol, title) {name, clsi_builtin_##symbol, title},
    BUILTIN_LIST(BUILTIN_ROW) FIELD_LIST(BUILTIN_ROW)
#undef BUILTIN_ROW
};
#define COUNT_ROW(name, symbol, title) +1
enum { N_BUILTINS = sizeof builtins / sizeof *builtins, N_SMALL = 0 BUILTIN_LIST(COUNT_ROW) };

size_t cls_builtin_count(void) {
    return N_SMALL;
}

const char *cls_builtin_name(size_t i) {
    return i < N_BUILTINS ? builtins[i].name : NULL;
}

const char *cls_builtin_title(size_t i) {
    return i < N_BUILTINS ? builtins[i].title : NULL;
}

const char *cls_builtin_text(size_t i) {
    return i < N_BUILTINS ? builtins[i].text : NULL;
}

const char *cls_template_text(void) {
    return clsi_builtin_template;
}

static cls_status load_file(const char *path, const cls_assignments *set, const clsi_loader *loader,
                            cls_system **out, cls_error *error) {
    char *text = NULL;
    size_t length = 0;
    cls_status status = clsi_read_file(path, 1 << 20, &text, &length, error);
    if (status != CLS_OK) {
        if (status != CLS_MEMORY && error) error->status = CLS_SYSTEM;
        return status == CLS_MEMORY ? status : CLS_SYSTEM;
    }
    if (strlen(text) != length)
        status = clsi_fail(error, CLS_SYSTEM,
                           "%s: contains a NUL byte at offset %zu: a system file "
                           "is plain text",
                           path, strlen(text));
    else
        status = clsi_system_parse_using(text, path, set, loader, out, error);
    free(text);
    return status;
}

static cls_status no_such_system(const char *name, cls_error *error) {
    const char *words[N_BUILTINS];
    for (size_t i = 0; i < N_BUILTINS; i++) words[i] = builtins[i].name;
    const char *near = cls_nearest_word(name, N_BUILTINS, words);
    return clsi_fail(error, CLS_SYSTEM,
                     "no built-in system is called `%s`%s%s%s; `clausius systems` "
                     "lists them, a file of your own ends in .clausius",
                     name, near ? ": did you mean `" : "", near ? near : "", near ? "`?" : "");
}

cls_status clsi_system_load_using(const char *name_or_path, const cls_assignments *set,
                                  const clsi_loader *loader, cls_system **out, cls_error *error) {
    *out = NULL;
    for (size_t i = 0; i < N_BUILTINS; i++)
        if (strcmp(name_or_path, builtins[i].name) == 0)
            return cls_system_parse(builtins[i].text, builtins[i].name, set, out, error);
    size_t n = strlen(name_or_path);
    int is_path =
        strchr(name_or_path, '/') || (n > 9 && strcmp(name_or_path + n - 9, ".clausius") == 0);
    return is_path ? load_file(name_or_path, set, loader, out, error)
                   : no_such_system(name_or_path, error);
}

cls_status cls_system_load(const char *name_or_path, const cls_assignments *set, cls_system **out,
                           cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, name_or_path);
    return clsi_system_load_using(name_or_path, set, NULL, out, error);
}
