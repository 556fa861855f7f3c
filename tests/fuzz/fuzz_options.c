/* What stands on the command line as text: assignments, lists of columns, starts, fields. */
#include "field/field.h"
#include "fuzz.h"
#include <clausius/clausius.h>

static cls_system *system_of(void) {
    static cls_system *s;
    if (!s) PROMISE(cls_system_load("adiabatic-piston", NULL, &s, NULL) == CLS_OK);
    return s;
}

/* A form of unknown functions: that of what is printed of it is the same. */
static void field_of(size_t d, const char *text) {
    const char *const names[] = {"x", "v.x", "T1"};
    clsi_field *f = NULL, *again = NULL;
    cls_error error;
    if (clsi_field_create(d, text, names, &f, &error) == CLS_OK) {
        PROMISE(clsi_field_create(d, f->spec, names, &again, &error) == CLS_OK);
        PROMISE(again->n_parameters == f->n_parameters && !strcmp(again->spec, f->spec));
    }
    clsi_field_free(&f);
    clsi_field_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > 500) return 0;
    char *text = fuzz_text(data + 1, size - 1);
    if (data[0] % 4 == 3 && !fuzz_chosen(data, size, 1024)) { /* learning with it takes long */
        field_of(1 + data[0] % 3, text);
        free(text);
        return 0;
    }
    cls_error error;
    cls_table *t = NULL;
    static const char table[] = "time,x,v.x,T1,T2\n0,0,1,1,1\n0.1,0.1,1,1,1\n0.2,0.2,1,1,1\n";
    const char *path = fuzz_file(0, (const uint8_t *)table, sizeof table - 1);
    cls_read_options o = cls_read_defaults();
    if (data[0] % 4 == 0) o.map = text;
    if (data[0] % 4 == 1) o.columns = text;
    if (data[0] % 4 == 2) o.array = text;
    if (data[0] % 4 < 3) (void)!cls_table_read_with(path, &o, &t, &error);
    if (data[0] % 4 == 3 && cls_table_read(path, &t, &error) == CLS_OK) {
        cls_learn_options l = cls_learn_defaults();
        cls_learn_info info;
        cls_model *m = NULL;
        const cls_table *tables[] = {t};
        const char *names[] = {path}, *unknown[] = {"F1"};
        l.n_unknown = 1;
        l.unknown = unknown;
        l.field = text;
        l.max_iterations = 1;
        (void)!cls_learn(system_of(), NULL, 1, tables, names, &l, &m, &info, &error);
        cls_model_free(&m);
    }
    cls_table_free(&t);
    free(text);
    return 0;
}
