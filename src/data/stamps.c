/* Dates and times of day, as loggers write them, as seconds.
 *
 *   2026-01-31 13:05:09.25   with T, blanks or nothing between; / for -; a zone (Z, +02:00) behind
 *   31.01.2026 13:05         days first where points separate
 *   31-Jan-2026, 2026-Jan-31 months by their English letters
 *   1/31/2026 1:05 PM        which is the month some row of the file must tell: 1/2/2026 alone is refused
 *   13:05:09                 a time of day; beside a column of dates the two are one time
 *
 * Seconds count from the first row, which keeps their last digits; the note `begins` says when that was, so that
 * two files can be laid side by side (cls_table_align). Days have 86400 seconds: leap seconds are not known, and
 * local times jump where summer time begins. Columns of words (comments, labels) are left out, with a remark. */
#include "base/base.h"
#include "base/locale.h"
#include "base/misuse.h"
#include "data/source.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_ROWS = 2000, LOOK_CELLS = 1 << 20, FEWEST = 50 };

/* ---- one stamp ---- */

typedef struct reading {
    const char *s, *end;
} reading;

/* A whole number of `least` to `most` digits; -1 when there is none. */
static int digits(reading *r, int least, int most, int *count) {
    int value = 0, n = 0;
    while (r->s < r->end && *r->s >= '0' && *r->s <= '9' && n < most)
        value = 10 * value + (*r->s++ - '0'), n++;
    if (count) *count = n;
    return n >= least ? value : -1;
}

static int take(reading *r, char c) {
    if (r->s == r->end || *r->s != c) return 0;
    r->s++;
    return 1;
}

static int month_word(reading *r) {
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    if (r->end - r->s < 3) return -1;
    for (int m = 0; m < 12; m++) {
        int same = 1;
        for (int i = 0; i < 3; i++) same &= (r->s[i] | 32) == names[3 * m + i];
        if (!same) continue;
        r->s += 3;
        return m + 1;
    }
    return -1;
}

/* Days since 1970-01-01 of the Gregorian calendar; years begin in March here. */
static int64_t day_of(int year, int month, int day) {
    int y = year - (month <= 2), era = y / 400, of_era = y - era * 400;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return (int64_t)era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int is_date(int year, int month, int day) {
    static const int length[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= length[month - 1] &&
           (month != 2 || day < 29 || leap);
}

/* order: 1 the month stands before the day where both are numbers and the year is last, 2 behind it, 0 not known. */
static int read_date(reading *r, int order, clsi_stamp *out) {
    int n, first = digits(r, 1, 4, &n);
    if (first < 0 || r->s == r->end) return 0;
    char between = *r->s++;
    if (!strchr("-/. ", between)) return 0;
    int word = month_word(r), second = word > 0 ? word : digits(r, 1, 2, NULL);
    if (second < 0 || !take(r, between)) return 0;
    int year = first, month = second, day;
    if (n == 4) {
        day = digits(r, 1, 2, NULL);
    } else {
        int length;
        year = digits(r, 4, 4, &length);
        int later = word > 0 || between == '.' || order == 2 || (order == 0 && first > 12);
        if (word < 0 && between != '.' && order == 0 && first != second)
            out->tells = first > 12 ? 2 : second > 12 ? 1 : 3;
        day = later ? first : second;
        month = later ? second : first;
    }
    if (year < 0 || !is_date(year, month, day)) return 0;
    out->kind |= CLSI_DATE;
    out->day = day_of(year, month, day);
    return 1;
}

static int read_zone(reading *r, double *second) {
    if (take(r, 'Z') || take(r, 'z')) return 1;
    if (r->s == r->end || (*r->s != '+' && *r->s != '-')) return 1;
    double sign = *r->s++ == '+' ? -1 : 1;
    int hours = digits(r, 2, 2, NULL);
    take(r, ':');
    int minutes = r->s < r->end ? digits(r, 2, 2, NULL) : 0;
    if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return 0;
    *second += sign * (3600.0 * hours + 60.0 * minutes);
    return 1;
}

static int read_noon(reading *r, int *hours) {
    reading from = *r;
    while (take(&from, ' '))
        ;
    if (from.end - from.s < 2 || (from.s[1] | 32) != 'm') return 1;
    int after = (*from.s | 32) == 'p';
    if (!after && (*from.s | 32) != 'a') return 1;
    if (*hours < 1 || *hours > 12) return 0;
    *hours = *hours % 12 + 12 * after;
    from.s += 2;
    *r = from;
    return 1;
}

static int read_clock(reading *r, clsi_stamp *out) {
    int hours = digits(r, 1, 2, NULL), minutes, whole = 0;
    double part = 0, scale = 0.1;
    if (hours < 0 || !take(r, ':') || (minutes = digits(r, 2, 2, NULL)) < 0) return 0;
    if (take(r, ':')) {
        if ((whole = digits(r, 2, 2, NULL)) < 0) return 0;
        if (take(r, '.') || take(r, ','))
            for (; r->s < r->end && *r->s >= '0' && *r->s <= '9'; r->s++, scale /= 10)
                part += (*r->s - '0') * scale;
    } else {
        out->brief = 1;
    }
    if (!read_noon(r, &hours) || hours > 24 || minutes > 59 || whole > 60) return 0;
    out->kind |= CLSI_CLOCK;
    out->second = 3600.0 * hours + 60.0 * minutes + whole + part;
    return read_zone(r, &out->second);
}

int clsi_stamp_read(const char *s, size_t n, int order, clsi_stamp *out) {
    *out = (clsi_stamp){0};
    if (n >= 2 && *s == '"' && s[n - 1] == '"') s++, n -= 2;
    reading r = {s, s + n}, again = r;
    while (r.end > r.s && r.end[-1] == ' ') r.end--;
    if (read_date(&r, order, out)) {
        if (r.s == r.end) return 1;
        if (!take(&r, 'T') && !take(&r, 't') && !take(&r, ' ') && !take(&r, '-')) return 0;
        while (take(&r, ' '))
            ;
    } else {
        *out = (clsi_stamp){0};
        r.s = again.s;
    }
    return read_clock(&r, out) && r.s == r.end;
}

/* ---- columns ---- */

typedef struct tally {
    size_t numbers, stamps, words;
    int kind, brief;
    clsi_cell vague; /* the first that may be read in two ways */
} tally;

enum { VAGUE = 3 }; /* 3/4/2026 */

/* One row into the tallies of n columns; which of day and month comes first, where it tells. */
static void count_row(const clsi_dialect *d, const char *s, const char *stop, size_t n, tally *of,
                      int *order) {
    for (size_t i = 0; i < n && s; i++) {
        clsi_cell c;
        clsi_stamp t;
        s = clsi_next_cell(s, stop, d->separator, &c);
        if (c.begin == c.end) continue;
        if (clsi_is_number_cell(&c, d->separator)) {
            of[i].numbers++;
        } else if (clsi_stamp_read(c.begin, (size_t)(c.end - c.begin), *order, &t)) {
            of[i].stamps++;
            of[i].kind |= t.kind;
            of[i].brief |= t.brief;
            if (t.tells == VAGUE && !of[i].vague.begin) of[i].vague = c;
            if (!*order && t.tells != VAGUE) *order = t.tells;
        } else {
            of[i].words++;
        }
    }
}

static const char *shown(const clsi_cell *c, char out[48]) {
    size_t n = (size_t)(c->end - c->begin);
    char *text = clsi_shown_text(c->begin, n < 30 ? n : 30);
    snprintf(out, 48, "%s%s", text ? text : "", n > 30 ? "..." : "");
    free(text);
    return out;
}

static void cell_of(const clsi_dialect *d, const char *s, const char *stop, size_t column,
                    clsi_cell *out) {
    for (size_t i = 0; i <= column && s; i++) s = clsi_next_cell(s, stop, d->separator, out);
}

/* The first row, from s to stop: does it have nothing but numbers? */
static int is_plain(const clsi_dialect *d, const char *s, const char *stop) {
    for (size_t i = 0; i < d->names.n && s; i++) {
        clsi_cell c;
        s = clsi_next_cell(s, stop, d->separator, &c);
        if (!clsi_is_number_cell(&c, d->separator)) return 0;
    }
    return 1;
}

static const char *end_of_line(const clsi_lines *l, const char *s) {
    const char *stop = memchr(s, '\n', (size_t)(l->block + l->end - s));
    return stop ? stop : l->block + l->end;
}

static const char *next_row(const clsi_lines *l, const char *s, const char **stop) {
    for (const char *end = l->block + l->end; s < end; s = *stop + 1) {
        const char *word = s;
        *stop = end_of_line(l, s);
        while (word < *stop && strchr(" \t\r", *word)) word++;
        if (word == *stop || clsi_is_comment(word)) continue;
        for (const char *cut = *stop; cut > s && cut[-1] == '\r'; cut--) *stop = cut - 1;
        return s;
    }
    return NULL;
}

static void tell(const clsi_dialect *d, const char *s, const char *stop, size_t i, cls_table *head,
                 const char *what) {
    clsi_cell c = {s, s};
    char text[48];
    cell_of(d, s, stop, i, &c);
    clsi_table_remark(head, "column \"%s\": %s (\"%s\")", d->names.items[i], what, shown(&c, text));
}

/* With the line of the date, which lies in the block. */
static cls_status refuse_vague(const clsi_lines *l, const clsi_dialect *d, size_t column,
                               const clsi_cell *c, cls_error *error) {
    clsi_lines there = *l;
    char text[48];
    there.line++;
    for (const char *s = l->block + l->begin; s < c->begin; s++) there.line += *s == '\n';
    return clsi_lines_bad(&there, (int)column + 1, error,
                          "column \"%s\": no row tells whether the day or the month comes "
                          "first in \"%s\"; write dates as 2026-01-31",
                          d->names.items[column], shown(c, text));
}

/* From tallies to kinds (whole: rows of the file, where all of them were looked at; else 0); which column of dates goes with which one of times. */
static cls_status decide(clsi_stamps *k, const clsi_lines *l, const clsi_dialect *d,
                         const tally *of, size_t whole, int order, const char *s, const char *stop,
                         cls_table *notes, cls_error *error) {
    size_t n = d->names.n, dates = 0, clocks = 0;
    for (size_t i = 0; i < n; i++) {
        if (of[i].numbers) continue;
        if (of[i].stamps && of[i].stamps >= of[i].words) k->kind[i] = (unsigned char)of[i].kind;
        if (!of[i].stamps && (of[i].words > 1 || (whole > 1 && !of[i].words)))
            k->kind[i] =
                CLSI_WORDS; /* a column in which nothing ever stands has no numbers either */
        if (k->kind[i] == CLSI_DATE) dates++, k->date = i;
        if (k->kind[i] == CLSI_CLOCK) clocks++, k->clock = i;
        if (of[i].vague.begin && !order && (k->kind[i] & CLSI_DATE))
            return refuse_vague(l, d, i, &of[i].vague, error);
    }
    k->order = order;
    k->pair = dates == 1 && clocks == 1;
    for (size_t i = 0; i < n; i++) {
        if (k->kind[i] == CLSI_CLOCK && of[i].brief && !k->pair) k->kind[i] = CLSI_WORDS;
        if (k->kind[i] == CLSI_WORDS)
            tell(d, s, stop, i, notes, of[i].words ? "text, left out" : "empty, left out");
    }
    return CLS_OK;
}

/* When the first row was. */
static void begin(clsi_stamps *k, const clsi_dialect *d, const char *s, const char *stop,
                  cls_table *notes) {
    for (size_t i = 0; i < d->names.n; i++) {
        clsi_cell c = {s, s};
        clsi_stamp t;
        if (!k->kind[i] || k->kind[i] == CLSI_WORDS) continue;
        cell_of(d, s, stop, i, &c);
        if (!clsi_stamp_read(c.begin, (size_t)(c.end - c.begin), k->order, &t)) continue;
        int own = (k->kind[i] & CLSI_DATE) && !k->dated;
        if (own) k->day = t.day;
        if ((own || (k->pair && i == k->clock)) && (t.kind & CLSI_CLOCK)) k->second = t.second;
        k->dated |= own;
    }
    for (size_t i = 0; i < d->names.n; i++)
        if (k->kind[i] && k->kind[i] != CLSI_WORDS && !(k->pair && i == k->date))
            tell(d, s, stop, i, notes,
                 k->kind[i] & CLSI_DATE || k->pair ? "dates, read as seconds from the first row on"
                                                   : "times of day, read as seconds");
}

cls_status clsi_stamps_find(clsi_stamps *k, const clsi_lines *l, const clsi_dialect *d,
                            cls_table *notes, cls_error *error) {
    size_t n = d->names.n, rows = LOOK_CELLS / (n + 1) + FEWEST;
    const char *stop, *first = next_row(l, l->block + l->begin, &stop), *first_stop = stop;
    int order = 0;
    *k = (clsi_stamps){0};
    if (!first || is_plain(d, first, stop)) return CLS_OK;
    tally *of = clsi_calloc(n + 1, sizeof *of);
    k->kind = clsi_calloc(n + 1, 1);
    cls_status status = of && k->kind ? CLS_OK : clsi_no_memory(error);
    const char *s = first;
    size_t r = 0;
    for (; status == CLS_OK && s && r < rows && r < LOOK_ROWS; r++) {
        count_row(d, s, stop, n, of, &order);
        const char *after = end_of_line(l, stop);
        s = after < l->block + l->end ? next_row(l, after + 1, &stop) : NULL;
    }
    if (status == CLS_OK)
        status =
            decide(k, l, d, of, !s && l->ended ? r : 0, order, first, first_stop, notes, error);
    int any = 0;
    for (size_t i = 0; status == CLS_OK && i < n; i++) any |= k->kind[i];
    if (any) begin(k, d, first, first_stop, notes);
    free(of);
    if (!any || status != CLS_OK) clsi_stamps_free(k);
    return status;
}

void clsi_stamps_free(clsi_stamps *k) {
    free(k->kind);
    k->kind = NULL;
}

double clsi_stamps_seconds(const clsi_stamps *k, const clsi_stamp *t) {
    double days = t->kind & CLSI_DATE ? (double)(t->day - k->day) * 86400 : 0;
    return days + (t->kind & CLSI_CLOCK ? t->second : k->pair ? k->second : 0) - k->second;
}

/* ---- when a table begins ---- */

void clsi_stamps_begin_text(const clsi_stamps *k, char out[48]) {
    double second = k->second;
    int64_t day = k->day + (int64_t)floor(second / 86400), z = day + 719468;
    second -= 86400 * floor(second / 86400);
    int64_t era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;
    int64_t date = of_year - (153 * m + 2) / 5 + 1, month = m < 10 ? m + 3 : m - 9;
    int whole = (int)second;
    clsi_snprintf(out, 48, "%04d-%02d-%02d %02d:%02d:%09.6f", (int)(y + era * 400 + (month <= 2)),
                  (int)month, (int)date, whole / 3600, whole / 60 % 60, second - whole / 60 * 60);
}

cls_status cls_table_align(cls_table *t, const char *begins, cls_error *error) {
    NEED(error, t);
    const char *own = cls_table_note(t, "begins");
    clsi_stamp a, b;
    int time = clsi_table_time(t);
    if (!begins || !own || time < 0 || !clsi_stamp_read(own, strlen(own), 0, &a) ||
        !clsi_stamp_read(begins, strlen(begins), 0, &b))
        return CLS_OK;
    double later = (double)(a.day - b.day) * 86400 + (a.second - b.second);
    if (later != 0 && t->borrowed)
        return clsi_fail(error, CLS_USAGE, "the times of a borrowed table cannot be changed");
    for (size_t i = 0; i < t->rows && later != 0; i++) t->columns[time][i] += later;
    return cls_table_set_note(t, "begins", begins, error);
}
