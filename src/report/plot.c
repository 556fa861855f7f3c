/* Pictures of tables, as SVG or PNG by the ending of the path.
 *
 * Both come from the same drawing (draw.c). The bytes are made in memory and written atomically at
 * the end, so that a failure leaves nothing; they depend on tables and options alone (no dates, no
 * counters). The natural size follows from the number of panels, PNG with two pixels per unit; a
 * given width or height scales the page with its texts. SVG texts are outlines: no font is needed
 * to show them. Cost: a few passes over the rows; memory for the picture. */
#include "base/misuse.h"
#include "report/plot.h"
#include <cairo-svg.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 10000 }; /* pixels: 400 MB */

cls_plot_options cls_plot_defaults(void) {
    return (cls_plot_options){.size = sizeof(cls_plot_options)};
}

static int ends_in(const char *path, const char *ending) {
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcmp(path + n - m, ending) == 0;
}

static cls_status check(size_t n, const cls_table *const *tables, const char *const *labels,
                        const cls_plot_options *o, const char *path, cls_error *error) {
    if (n == 0) return clsi_fail(error, CLS_USAGE, "a plot needs at least one table");
    if (!ends_in(path, ".svg") && !ends_in(path, ".png") && strcmp(path, "-") != 0)
        return clsi_fail(error, CLS_USAGE, "%s: expected an ending .svg or .png", path);
    if (o->width < 0 || o->height < 0 || o->width > LARGEST || o->height > LARGEST)
        return clsi_fail(error, CLS_USAGE,
                         "width %d, height %d: expected 1 to %d pixels, or 0 for a choice",
                         o->width, o->height, LARGEST);
    for (size_t i = 0; i < n; i++)
        if (tables[i]->rows == 0)
            return clsi_fail(error, CLS_DATA, "%s has no rows: nothing to draw", labels[i]);
    return CLS_OK;
}

/* "system  scheme  h": the notes all tables agree on. NULL when there are none. */
static cls_status make_subtitle(size_t n, const cls_table *const *tables, char **out,
                                cls_error *error) {
    static const struct {
        const char *key, *before;
    } notes[] = {{"system", ""}, {"set", ""}, {"scheme", ""}, {"h", "h = "}};
    clsi_text text = {0};
    *out = NULL;
    for (size_t k = 0; k < sizeof notes / sizeof *notes; k++) {
        const char *value = cls_table_note(tables[0], notes[k].key);
        if (!value || !*value) continue;
        size_t same = 1;
        for (; same < n; same++) {
            const char *other = cls_table_note(tables[same], notes[k].key);
            if (!other || strcmp(other, value) != 0) break;
        }
        if (same < n) continue;
        clsi_text_printf(&text, "%s%s%s", text.length ? "  ·  " : "", notes[k].before, value);
    }
    if (!text.length && !text.failed) return CLS_OK;
    *out = clsi_text_take(&text);
    return *out ? CLS_OK : clsi_no_memory(error);
}

static cairo_status_t append_bytes(void *closure, const unsigned char *data, unsigned int n) {
    clsi_text *bytes = closure;
    clsi_text_append_n(bytes, (const char *)data, n);
    return bytes->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static cls_status cairo_failed(cairo_status_t status, cls_error *error) {
    if (status == CAIRO_STATUS_NO_MEMORY) return clsi_no_memory(error);
    return clsi_fail(error, CLS_IO, "cannot draw: %s", cairo_status_to_string(status));
}

static cls_status paint(cairo_surface_t *surface, double scale, clsi_drawing draw, void *context,
                        cls_error *error) {
    cairo_t *cr = cairo_create(surface);
    cairo_scale(cr, scale, scale);
    cls_status status = draw(context, cr, error);
    if (!status && cairo_status(cr)) status = cairo_failed(cairo_status(cr), error);
    cairo_destroy(cr);
    return status;
}

/* cairo numbers its surfaces through the life of the process: <g id="surface12">. The number goes,
 * so that the same plot gives the same bytes. */
static void forget_numbers(clsi_text *svg) {
    static const char mark[] = "id=\"surface";
    char *to = svg->data, *from = svg->data, *found;
    while ((found = strstr(from, mark))) {
        size_t n = (size_t)(found - from) + sizeof mark - 1;
        memmove(to, from, n);
        to += n;
        from += n;
        from += strspn(from, "0123456789");
    }
    memmove(to, from, strlen(from) + 1);
    svg->length = strlen(svg->data);
}

/* The pixels of the picture and the factor from page units to them. */
static double choose_size(clsi_page *page, const cls_plot_options *o, int png, int *w, int *h) {
    double scale = png ? 2 : 1;
    if (o->width && o->height)
        scale = fmin(o->width / page->width, o->height / page->height);
    else if (o->width || o->height)
        scale = o->width ? o->width / page->width : o->height / page->height;
    scale = fmin(scale, LARGEST / fmax(page->width, page->height));
    *w = o->width ? o->width : (int)ceil(page->width * scale);
    *h = o->height ? o->height : (int)ceil(page->height * scale);
    page->width = *w / scale;
    page->height = *h / scale;
    return scale;
}

static cls_status render(int w, int h, double scale, clsi_drawing draw, void *context, int png,
                         clsi_text *bytes, cls_error *error) {
    cairo_surface_t *surface = png ? cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h)
                                   : cairo_svg_surface_create_for_stream(append_bytes, bytes, w, h);
    cairo_status_t state = cairo_surface_status(surface);
    if (!state && !png) cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
    cls_status status =
        state ? cairo_failed(state, error) : paint(surface, scale, draw, context, error);
    if (!status && png) {
        state = cairo_surface_write_to_png_stream(surface, append_bytes, bytes);
    } else if (!status) {
        cairo_surface_finish(surface);
        state = cairo_surface_status(surface);
    }
    if (!status && state) status = cairo_failed(state, error);
    cairo_surface_destroy(surface);
    if (!status && !png) forget_numbers(bytes);
    return status;
}

static cls_status write_bytes(const clsi_text *bytes, const char *path, cls_error *error) {
    clsi_file file;
    cls_status status = clsi_file_open(&file, path, error);
    if (status) return status;
    if (fwrite(bytes->data, 1, bytes->length, file.stream) == bytes->length)
        return clsi_file_commit(&file, error);
    status = clsi_fail(error, CLS_IO, "%s: cannot write: %s", path, strerror(errno));
    clsi_file_discard(&file);
    return status;
}

cls_status clsi_picture_write(const char *path, int w, int h, double scale, clsi_drawing draw,
                              void *context, cls_error *error) {
    clsi_text bytes = {0};
    cls_status status = CLS_OK;
    if (!ends_in(path, ".svg") && !ends_in(path, ".png") && strcmp(path, "-") != 0)
        status = clsi_fail(error, CLS_USAGE, "%s: expected an ending .svg or .png", path);
    if (!status) status = render(w, h, scale, draw, context, ends_in(path, ".png"), &bytes, error);
    if (!status) status = write_bytes(&bytes, path, error);
    clsi_text_clear(&bytes);
    return status;
}

static cls_status draw_page(void *page, cairo_t *cr, cls_error *error) {
    return clsi_page_draw(page, cr, error);
}

static cls_status plot_labelled(size_t n, const cls_table *const *tables, const char *const *labels,
                                const cls_plot_options *o, const char *path, cls_error *error) {
    clsi_panels panels = {0};
    char *subtitle = NULL;
    cls_status status = check(n, tables, labels, o, path, error);
    if (!status) status = clsi_panels_make(n, tables, labels, o, &panels, error);
    if (!status) status = make_subtitle(n, tables, &subtitle, error);
    clsi_page page = {&panels, n, labels, o->title, subtitle, 0, 0, o->has_test, o->test_from};
    if (!status) {
        int w, h;
        clsi_page_measure(&page);
        double scale = choose_size(&page, o, ends_in(path, ".png"), &w, &h);
        status = clsi_picture_write(path, w, h, scale, draw_page, &page, error);
    }
    clsi_panels_clear(&panels);
    free(subtitle);
    return status;
}

cls_status cls_plot(size_t n, const cls_table *const *tables, const char *const *labels,
                    const cls_plot_options *options, const char *path, cls_error *error) {
    NEED(error, path);
    cls_plot_options o = cls_plot_defaults();
    TAKE_OPTIONS(&o, options);
    struct label {
        char text[32];
    } *numbered = clsi_calloc(n, sizeof *numbered);
    const char **names = clsi_calloc(n, sizeof *names);
    cls_status status = numbered && names ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; !status && i < n; i++) {
        snprintf(numbered[i].text, sizeof numbered[i].text, "table %zu", i + 1);
        names[i] = labels && labels[i] ? labels[i] : numbered[i].text;
    }
    if (!status) status = plot_labelled(n, tables, names, &o, path, error);
    free(numbered);
    free(names);
    return status;
}
