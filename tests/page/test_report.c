/* The page: hostile names are text, the same inputs give the same bytes, every picture has a title,
 * its numbers stand beside it, and formulas become MathML. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/model.h"
#include "page/page.h"
#include <clausius/graph.h>
#include <clausius/report.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *page_of(const char *system, size_t n_data, const cls_table *const *data,
                     const char *const *names) {
    cls_system *s = NULL;
    cls_error error = {0};
    char *html = NULL;
    if (cls_system_load(system, NULL, &s, &error)) fail_msg("%s", error.message);
    cls_report_subject subject = {.name = system, .system = s};
    if (cls_report_html(1, &subject, n_data, data, names, NULL, &html, &error))
        fail_msg("%s", error.message);
    cls_system_free(&s);
    return html;
}

static size_t count(const char *text, const char *word) {
    size_t n = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word)) n++;
    return n;
}

static void same_bytes(void **unused) {
    (void)unused;
    char *a = page_of("thermal-oscillator", 0, NULL, NULL),
         *b = page_of("thermal-oscillator", 0, NULL, NULL);
    assert_string_equal(a, b);
    assert_true(strlen(a) < 500000);
    cls_text_free(&a), cls_text_free(&b);
}

/* Every section that a link names is there; every picture has a title and a table of its numbers. */
static void page_is_whole(void **unused) {
    (void)unused;
    char *html = page_of("adiabatic-piston", 0, NULL, NULL);
    for (const char *at = html; (at = strstr(at, "href=\"#")) != NULL; at++) {
        char id[64];
        snprintf(id, sizeof id, "id=\"%.*s\"", (int)strcspn(at + 7, "\""), at + 7);
        if (!strstr(html, id)) fail_msg("no section %s", id);
    }
    assert_int_equal(count(html, "<svg"), count(html, "</title><desc>"));
    assert_true(count(html, "<figure>") >= 4);
    assert_true(count(html, "<math") >= 5);
    assert_int_equal(count(html, "<section"), count(html, "</section>"));
    assert_int_equal(count(html, "http://") + count(html, "https://"),
                     count(html, "http://www.w3.org"));
    assert_non_null(strstr(html, "Lawful:"));
    cls_text_free(&html);
}

static const char hostile[] = "<script>alert(1)</script>\"'&\x1b[31m\xe2\x80\xae\x7f\xff";

static void hostile_names_are_text(void **unused) {
    (void)unused;
    char *longer = malloc(10001);
    memset(longer, 'x', 10000), longer[10000] = 0;
    const char *names[] = {"time", "x", hostile, longer};
    cls_table *t = NULL;
    cls_error error = {0};
    assert_int_equal(cls_table_create(4, names, &t, &error), CLS_OK);
    for (int k = 0; k < 5; k++) {
        double row[] = {0.01 * k, 0.001 * k, k, k};
        assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
    }
    cls_report_subject subject = {.name = hostile, .trajectory = t};
    char *html = NULL;
    assert_int_equal(cls_report_html(1, &subject, 0, NULL, NULL, NULL, &html, &error), CLS_OK);
    assert_null(strstr(html, "<script>alert"));
    assert_null(strchr(html, 0x1b));
    assert_null(strstr(html, "\xe2\x80\xae"));
    assert_null(strchr(html, '\xff'));
    assert_non_null(strstr(html, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
    assert_true(strlen(html) < 100000);
    cls_text_free(&html);
    cls_table_free(&t);
    free(longer);
}

/* Every text of a system, a model and the options that reaches a page: title, file name, comments (a system
 * file with marks that turn text around is not read at all), what the provenance says, the names of data. None ends a script, leaves a comment or turns text around. */
static void hostile_models_are_text(void **unused) {
    (void)unused;
    static const char evil[] = "</script><script>alert(1)</script>'&\xe2\x80\xae\n*/alert(2)//";
    static const char source[] = "# </script><script>alert(1)</script>\n"
                                 "system \"</script><script>alert(1)</script>\"\n"
                                 "coordinate q\nparameter k = 1\nlagrangian v.q^2/2 - k*q^2/2\n"
                                 "start q = 1, v.q = 0\nstep 0.1\nuntil 1\n";
    static const char evil_json[] =
        "</script><script>alert(1)</script>\\\"'&\\u001b\xe2\x80\xae\\n*/alert(2)//";
    static const char pattern[] =
        "{\"data\": [{\"file\": \"@\", \"sha256\": \"@\"}], \"version\": \"@\", \"optimizer\": "
        "\"@\", \"notes\": \"@\", \"choice\": \"@\", \"options\": {\"@\": \"@\"}, \"@\": [\"@\"], "
        "\"parameters\": [{\"name\": \"@\", \"value\": 1, \"error\": 1}, {\"name\": \"@\", "
        "\"value\": 1, \"error\": null}, {\"name\": \"@\", \"value\": 1, \"error\": 1}], "
        "\"covariance\": [[1, 0, 1], [0, 1, 0], [1, 0, 1]], \"channels\": [{\"name\": \"@\", "
        "\"run\": 1}], \"functions\": [{\"part\": \"@\", \"input\": \"@\"}], \"curve\": "
        "{\"iteration\": [0, 1], \"loss\": [\"@\", 1]}}";
    clsi_text provenance = {0};
    for (const char *c = pattern; *c; c++)
        *c == '@' ? clsi_text_append(&provenance, evil_json)
                  : clsi_text_append_n(&provenance, c, 1);
    cls_system *s = NULL;
    cls_table *t = NULL;
    cls_error error = {0};
    char *html = NULL, *json = NULL;
    if (cls_system_parse(source, evil, NULL, &s, &error)) fail_msg("%s", error.message);
    cls_model m = {
        .name = (char *)evil, .text = (char *)source, .provenance = provenance.data, .system = s};
    const char *columns[] = {"time", "q", hostile}, *names[] = {evil};
    assert_int_equal(cls_table_create(3, columns, &t, &error), CLS_OK);
    for (int k = 0; k < 4; k++)
        assert_int_equal(cls_table_append(t, (double[]){0.1 * k, cos(0.1 * k), k}, &error), CLS_OK);
    const cls_table *data[] = {t};
    cls_report_subject subject = {.name = evil, .system = s, .model = &m};
    cls_report_options o = cls_report_defaults();
    o.title = o.command = evil;
    if (cls_report_html(1, &subject, 1, data, names, &o, &html, &error))
        fail_msg("%s", error.message);
    if (cls_report_json(1, &subject, 1, data, names, &o, &json, &error))
        fail_msg("%s", error.message);
    assert_non_null(strstr(html, "id=\"try\"")); /* the module with its texts is there */
    assert_true(count(html, "&lt;script&gt;alert(1)") >= 12);
    assert_int_equal(count(html, "<script>alert") + count(html, "</script><script>"), 0);
    assert_int_equal(count(html, "\xe2\x80\xae"), 0);
    assert_null(strstr(strstr(html, "<script type=\"module\">"), "\n*/alert"));
    assert_null(strchr(html, 0x1b));
    assert_int_equal(count(html, "<script"), count(html, "</script>"));
    assert_null(strchr(json, 0x1b));
    cls_text_free(&html), cls_text_free(&json);
    cls_table_free(&t);
    cls_system_free(&s);
    clsi_text_clear(&provenance);
}

/* A column that is constant but for its last bits has no room for a scale: fewer marks, and an end. */
static void last_bits_are_drawn(void **unused) {
    (void)unused;
    const char *names[] = {"time", "x", "energy"};
    cls_table *t = NULL;
    cls_error error = {0};
    char *html = NULL;
    assert_int_equal(cls_table_create(3, names, &t, &error), CLS_OK);
    for (int k = 0; k < 40; k++) {
        double row[] = {1e15 + k, 1 + DBL_EPSILON * (k % 2), 1e300 * (1 + DBL_EPSILON * (k % 3))};
        assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
    }
    cls_report_subject subject = {.name = "bits", .trajectory = t};
    assert_int_equal(cls_report_html(1, &subject, 0, NULL, NULL, NULL, &html, &error), CLS_OK);
    assert_true(strlen(html) < 200000);
    cls_text_free(&html);
    cls_table_free(&t);
}

/* A model that follows its own data exactly beats keeping the first value. */
static void free_run_is_scored(void **unused) {
    (void)unused;
    cls_system *s = NULL;
    cls_error error = {0};
    cls_simulator *sim = NULL;
    cls_table *t = NULL;
    char *json = NULL;
    const char *columns[] = {"time", "q", "v.q"};
    assert_int_equal(cls_system_load("pendulum", NULL, &s, &error), CLS_OK);
    cls_simulate_options o = cls_simulate_defaults();
    double state[2], row[3];
    assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_OK);
    assert_int_equal(cls_system_start(s, NULL, state, &error), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_OK);
    assert_int_equal(cls_table_create(3, columns, &t, &error), CLS_OK);
    for (int k = 0; k < 50; k++) {
        const double *z = cls_simulator_state(sim);
        row[0] = cls_simulator_time(sim), row[1] = z[0], row[2] = z[1];
        assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
        assert_int_equal(cls_simulator_advance(sim, 1, &error), CLS_OK);
    }
    const cls_table *data[] = {t};
    const char *names[] = {"run.csv"};
    cls_report_subject subject = {.name = "pendulum", .system = s};
    if (cls_report_json(1, &subject, 1, data, names, NULL, &json, &error))
        fail_msg("%s", error.message);
    const char *rmse = strstr(json, "\"rmse\": "), *still = strstr(json, "\"persistence\": ");
    assert_non_null(rmse), assert_non_null(still);
    assert_true(strtod(rmse + 8, NULL) <= 1e-9);
    assert_true(strtod(still + 15, NULL) >= 1e-3);
    cls_text_free(&json);
    cls_table_free(&t);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* The sketch is the one that the file asks for; a file that asks for what there is not is told so. */
static void picture_is_chosen(void **unused) {
    (void)unused;
    char *html = page_of("adiabatic-piston", 0, NULL, NULL);
    assert_non_null(
        strstr(html, "{\"kind\": \"piston\", \"names\": [\"x\"], \"low\": [-2], \"high\": [2]}"));
    cls_text_free(&html);
    html = page_of("mass-spring", 0, NULL, NULL);
    assert_non_null(strstr(html, "id=\"try-picture\">null<"));
    cls_text_free(&html);
    static const char *const bad[][2] = {{"picture clock q", "pendulum"},
                                         {"picture piston z", "variable"},
                                         {"picture body q", "three names"},
                                         {"picture piston q\npicture piston q", "second picture"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        cls_system *s = NULL;
        cls_error error = {0};
        snprintf(text, sizeof text, "coordinate q\nlagrangian v.q^2/2\nstart q = 0, v.q = 0\n%s\n",
                 bad[i][0]);
        assert_int_not_equal(cls_system_parse(text, "bad", NULL, &s, &error), CLS_OK);
        if (!strstr(error.message, bad[i][1])) fail_msg("%s", error.message);
    }
}

/* Exergy is destroyed where there are temperatures; where there are none nobody can say. */
static void exergy_needs_a_temperature(void **unused) {
    (void)unused;
    char *warm = page_of("adiabatic-piston", 0, NULL, NULL),
         *cold = page_of("mass-spring", 0, NULL, NULL);
    const char *at = strstr(warm, "Exergy destroyed: ");
    assert_non_null(at);
    assert_true(fabs(strtod(at + 18, NULL) - 0.6543) <= 1e-4); /* T1 at the start */
    assert_null(strstr(cold, "Exergy destroyed: "));
    assert_non_null(strstr(cold, "Where the energy went"));
    cls_text_free(&warm), cls_text_free(&cold);
}

/* Of five trajectories the worst, the median and the best are drawn, in this order; what follows from
 * the state (the momentum beside the velocity) stands in <details>; each channel is a panel. */
static void worst_median_best(void **unused) {
    (void)unused;
    cls_system *s = NULL;
    cls_error error = {0};
    cls_table *t = NULL;
    char *html = NULL;
    const char *columns[] = {"time", "trajectory", "q", "v.q", "p.q"};
    static const double off[] = {0.02, 0.5, 0, 0.1, 0.3};
    cls_simulate_options o = cls_simulate_defaults();
    assert_int_equal(cls_system_load("pendulum", NULL, &s, &error), CLS_OK);
    assert_int_equal(cls_table_create(5, columns, &t, &error), CLS_OK);
    for (int i = 0; i < 5; i++) {
        cls_simulator *sim = NULL;
        double state[2];
        assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_OK);
        assert_int_equal(cls_system_start(s, NULL, state, &error), CLS_OK);
        assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_OK);
        for (int k = 0; k < 40; k++) {
            const double *z = cls_simulator_state(sim);
            double d = k ? off[i] : 0,
                   row[] = {cls_simulator_time(sim), i, z[0] + d, z[1] + d, z[1]};
            assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
            assert_int_equal(cls_simulator_advance(sim, 1, &error), CLS_OK);
        }
        cls_simulator_free(&sim);
    }
    const cls_table *data[] = {t};
    const char *names[] = {"five.csv"};
    cls_report_subject subject = {.name = "pendulum", .system = s};
    if (cls_report_html(1, &subject, 1, data, names, NULL, &html, &error))
        fail_msg("%s", error.message);
    const char *worst = strstr(html, "Trajectory 2, the worst"),
               *median = strstr(html, "Trajectory 4, the median"),
               *best = strstr(html, "Trajectory 3, the best"),
               *derived = strstr(html, "Channels that follow from these");
    assert_non_null(worst), assert_non_null(median), assert_non_null(best),
        assert_non_null(derived);
    assert_true(worst < derived && derived < median && median < best);
    assert_int_equal(count(html, "<figure class=\"panel\""), 3 * 2 + 1);
    assert_non_null(strstr(html, "3 of 5 trajectories are drawn"));
    assert_int_equal(count(html, "role=\"img\"><title>"), count(html, "</title><desc>"));
    cls_text_free(&html);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Thinned series keep their extremes, in their order. */
static void thinning_keeps_extremes(void **unused) {
    (void)unused;
    enum { N = 1000, SLICES = 20 };
    double y[N];
    size_t keep[2 * SLICES];
    for (size_t k = 0; k < N; k++) y[k] = sin(0.1 * (double)k) + (k == 333 ? 7 : k == 700 ? -9 : 0);
    y[334] = NAN;
    size_t n = clsi_thin(N, y, SLICES, keep), peaks = 0;
    assert_true(n <= 2 * SLICES);
    for (size_t i = 0; i < n; i++) {
        peaks += keep[i] == 333 || keep[i] == 700;
        assert_true(!i || keep[i] > keep[i - 1]);
    }
    assert_int_equal(peaks, 2);
    assert_int_equal(clsi_thin(30, y, SLICES, keep), 30);
}

static void formulas_are_mathml(void **unused) {
    (void)unused;
    clsi_text t = {0};
    const char *latex = "p_{x} &= \\frac{m \\, \\dot{x}^{2}}{2} - \\sqrt{\\alpha_{1}} "
                        "\\left(\\log\\left(T\\right)\\right)";
    clsi_mathml(&t, latex, strlen(latex));
    assert_string_equal(
        t.data,
        "<math display=\"block\"><mrow><msub><mi>p</mi><mrow><mi>x</mi></mrow></msub><mo>=</mo>"
        "<mfrac><mrow><mi>m</mi><mspace "
        "width=\"0.17em\"/><msup><mover><mrow><mi>x</mi></mrow><mo>˙</mo></mover><mrow><mn>2</"
        "mn></mrow></msup></mrow>"
        "<mrow><mn>2</mn></mrow></mfrac><mo>−</mo><msqrt><mrow><msub><mi>α</mi><mrow><mn>1</mn></"
        "mrow></msub></mrow></msqrt>"
        "<mo stretchy=\"false\">(</mo><mi>log</mi><mo stretchy=\"false\">(</mo><mi>T</mi><mo "
        "stretchy=\"false\">)</mo><mo stretchy=\"false\">)</mo></mrow></math>");
    clsi_text_clear(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes),
        cmocka_unit_test(page_is_whole),
        cmocka_unit_test(hostile_names_are_text),
        cmocka_unit_test(hostile_models_are_text),
        cmocka_unit_test(last_bits_are_drawn),
        cmocka_unit_test(free_run_is_scored),
        cmocka_unit_test(picture_is_chosen),
        cmocka_unit_test(exergy_needs_a_temperature),
        cmocka_unit_test(worst_median_best),
        cmocka_unit_test(thinning_keeps_extremes),
        cmocka_unit_test(formulas_are_mathml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
