/* Networks at one point, or between two, whose weights are being learned: values and gradients of
 * many points side by side, and what is added to the gradient in theta, for network_body.h (behind network_node.inc, whose states and letters these
 * are).
 *
 *     point   F = a phi + b.grad phi:   zd_l = W ad_(l-1), ad_l = s zd_l, ad_(-1) = b, and backwards
 *             zb_l = s W^T zb_(l+1) + h zd_l c_l + what pairs add;  zb_last from a times the output
 *     pair    F = b.gbar:               the same ad with the quotients q in the place of s; what they
 *             add at u is zd_l c_l dq/dz_u, at w with dq/dz_w
 *
 *     dF/dW_l = zb_l a_(l-1)^T + e_l ad_(l-1)^T,   dF/db_l = zb_l,   dF/dw = a a_last + ad_last
 *
 *     curvature  F = sum_i b_i d2phi/dx_i dx_j: all of the above for b.grad phi, differentiated in x_j; the
 *             letters with a j at their end. Those of the passes (zj, aj, cj, ej) are in the state.
 *
 * Every number is a sum over the same terms in the same order in all tables. */

/* ---- many points: states are `step` apart, inputs (n, CLSI_N_INPUTS) ---- */

enum { NODE_TOGETHER = 16 }; /* points whose gradients leave together */

/* Of `wide` units at n points; the short layers of many points are activated together. */
TARGET static void node_activate(const int *f, int wide, int n, double *z, int step) {
    int units = f[CLSI_N_UNITS], together = f[CLSI_N_ACTIVATION] == CLSI_N_TANH;
    if (together) node_tanh_points(wide / V, n, z, z + units, step);
    for (int s = 0; s < n; s++) {
        double *a = z + s * step + units, *slope = a + units, *bend = slope + units;
        if (!together) clsi_n_activate(f, wide, a - units, a, slope, bend);
        for (int i = 0; together && i < wide; i++) slope[i] = 1 - a[i] * a[i];
        for (int i = 0; together && i < wide; i++) bend[i] = -2 * a[i] * slope[i];
    }
}

TARGET static void node_values(const int *f, const double *theta, int n, const double *x,
                               double *own, int step) {
    int units = f[CLSI_N_UNITS], hidden = f[CLSI_N_HIDDEN], before_step = CLSI_N_INPUTS, width = 0;
    double *z = own + CLSI_N_POINT(f[CLSI_N_D]);
    const double *before = x, *last = theta + f[CLSI_N_WEIGHT + hidden];
    for (int l = 0; l < hidden; l++, z += CLSI_N_PAD(width)) {
        width = f[CLSI_N_WIDTH + l];
        clsi_n_times(f, theta, l, 1, n, before, before_step, z, step);
        node_activate(f, CLSI_N_PAD(width), n, z, step);
        before = z + units;
        before_step = step;
    }
    for (int s = 0; s < n; s++) own[s * step] = clsi_n_output(width, last, before + s * step);
}

TARGET static void node_gradients(const int *f, const double *theta, int n, double *own, int step) {
    int d = f[CLSI_N_D], units = f[CLSI_N_UNITS], hidden = f[CLSI_N_HIDDEN], at = units, above;
    double *slope = own + CLSI_N_POINT(d) + 2 * units, *c = slope + 2 * units, *e = c + units;
    const double *last = theta + f[CLSI_N_WEIGHT + hidden];
    double x[NODE_TOGETHER * CLSI_N_INPUTS];
    for (int l = hidden - 1; l >= 0; l--) {
        int width = f[CLSI_N_WIDTH + l], wide = CLSI_N_PAD(width);
        above = at;
        at -= wide;
        if (l + 1 < hidden) clsi_n_back(f, theta, l + 1, n, e + above, step, c + at, step);
        for (int s = 0; s < n; s++) {
            const double *sl = slope + s * step + at;
            double *cl = c + s * step + at, *el = e + s * step + at;
            if (l + 1 == hidden)
                for (int i = 0; i < wide; i++) cl[i] = i < width ? last[i] : 0;
            for (int i = 0; i < wide; i++) el[i] = sl[i] * cl[i];
        }
    }
    for (int first = 0; first < n; first += NODE_TOGETHER) {
        int some = n - first < NODE_TOGETHER ? n - first : NODE_TOGETHER;
        clsi_n_back(f, theta, 0, some, e + first * step, step, x, CLSI_N_INPUTS);
        for (int s = 0; s < some; s++)
            for (int i = 0; i < d; i++) own[(first + s) * step + 1 + i] = x[s * CLSI_N_INPUTS + i];
    }
}

/* ---- backwards ---- */

/* out (rows, columns) += y x^T + e d^T; e NULL: the first alone. */
TARGET static void node_outer(int rows, int columns, const double *y, const double *x,
                              const double *e, const double *d, double *out) {
    for (int i = 0; i < rows; i++, out += columns) {
        double yi = y[i], ei = e ? e[i] : 0;
        if (e)
            for (int k = 0; k < columns; k++) out[k] = (out[k] + yi * x[k]) + ei * d[k];
        else
            for (int k = 0; k < columns; k++) out[k] += yi * x[k];
    }
}

/* zd, ad of all layers along b, with slopes s. */
TARGET static void node_along(const int *f, const double *theta, const double *s, const double *b,
                              double *zd, double *ad) {
    const double *before = b;
    for (int l = 0, at = 0; l < f[CLSI_N_HIDDEN]; l++) {
        int n = CLSI_N_PAD(f[CLSI_N_WIDTH + l]);
        clsi_n_times(f, theta, l, 0, 1, before, 0, zd + at, 0);
        for (int i = 0; i < n; i++) ad[at + i] = s[at + i] * zd[at + i];
        before = ad + at;
        at += n;
    }
}

TARGET static void node_back_point(const int *f, const double *theta, const clsi_field_seeds *seeds,
                                   double *out) {
    int d = f[CLSI_N_D], units = f[CLSI_N_UNITS], hidden = f[CLSI_N_HIDDEN], at = units, above = 0;
    const double *a = seeds->own + CLSI_N_POINT(d) + units, *s = a + units, *h = s + units;
    const double *c = h + units, *e = c + units, *b = seeds->b, *last;
    double *zd = seeds->room, *ad = zd + units, *zb = ad + units, *ab = zb + units;
    if (b) node_along(f, theta, s, b, zd, ad);
    for (int l = hidden - 1; l >= 0; l--, above = at) {
        int width = f[CLSI_N_WIDTH + l], n = CLSI_N_PAD(width), columns = clsi_n_before(f, l);
        at -= n;
        if (l + 1 < hidden) {
            clsi_n_back(f, theta, l + 1, 1, zb + above, 0, ab, 0);
        } else {
            last = theta + f[CLSI_N_WEIGHT + hidden];
            for (int i = 0; i < width; i++) ab[i] = seeds->a * last[i];
            for (int i = width; i < n; i++) ab[i] = 0;
        }
        for (int i = 0; i < n; i++) zb[at + i] = s[at + i] * ab[i] + seeds->by_u[at + i];
        for (int i = 0; b && i < n; i++) zb[at + i] += h[at + i] * zd[at + i] * c[at + i];
        double *to = out + f[CLSI_N_WEIGHT + l];
        int before = at - (l ? CLSI_N_PAD(columns) : 0);
        node_outer(width, columns, zb + at, l ? a + before : seeds->x, b ? e + at : NULL,
                   l ? ad + before : b, to);
        to += width * columns;
        for (int i = 0; i < width; i++) to[i] += zb[at + i];
    }
    int width = f[CLSI_N_WIDTH + hidden - 1];
    double *to = out + f[CLSI_N_WEIGHT + hidden];
    at = units - CLSI_N_PAD(width);
    for (int i = 0; i < width; i++) to[i] += seeds->a * a[at + i];
    for (int i = 0; b && i < width; i++) to[i] += ad[at + i];
}

/* zdj, adj of all layers: zd, ad along b, which are there, differentiated in an input. */
TARGET static void node_along_by(const int *f, const double *theta, const double *own, int j,
                                 const double *zd, double *zdj, double *adj) {
    int d = f[CLSI_N_D], units = f[CLSI_N_UNITS], at = 0, before = 0;
    const double *s = own + CLSI_N_POINT(d) + 2 * units, *h = s + units, *zj = h + 3 * units;
    for (int l = 0; l < f[CLSI_N_HIDDEN]; l++) {
        int n = CLSI_N_PAD(f[CLSI_N_WIDTH + l]);
        const double *zjl = zj + d * at + j * n;
        if (l)
            clsi_n_times(f, theta, l, 0, 1, adj + before, 0, zdj + at, 0);
        else
            for (int i = 0; i < n; i++) zdj[i] = 0;
        for (int i = 0; i < n; i++)
            adj[at + i] = h[at + i] * zjl[i] * zd[at + i] + s[at + i] * zdj[at + i];
        before = at;
        at += n;
    }
}

/* F = sum_i b_i d2phi/dx_i dx_j */
TARGET static void node_back_curvature(const int *f, const double *theta,
                                       const clsi_field_seeds *seeds, const double *b, int j,
                                       double *out) {
    int d = f[CLSI_N_D], units = f[CLSI_N_UNITS], hidden = f[CLSI_N_HIDDEN], at = units, above = 0;
    const double *z = seeds->own + CLSI_N_POINT(d), *a = z + units, *s = a + units, *h = s + units;
    const double *c = h + units, *e = c + units, *zj = e + units, *aj = zj + d * units;
    const double *cj = aj + d * units, *ej = cj + d * units;
    double *zd = seeds->room, *ad = zd + units, *zdj = ad + units, *adj = zdj + units;
    double *g = adj + units, *zb = g + units, *zbj = zb + units, *ab = zbj + units;
    double *abj = ab + units;
    clsi_n_bend(f, units, z, a, s, h, g);
    node_along(f, theta, s, b, zd, ad);
    node_along_by(f, theta, seeds->own, j, zd, zdj, adj);
    for (int l = hidden - 1; l >= 0; l--, above = at) {
        int width = f[CLSI_N_WIDTH + l], n = CLSI_N_PAD(width), columns = clsi_n_before(f, l);
        at -= n;
        if (l + 1 < hidden)
            clsi_n_back(f, theta, l + 1, 2, zb + above, units, ab, units);
        else
            for (int i = 0; i < n; i++) ab[i] = abj[i] = 0;
        for (int i = 0, k = at; i < n; i++, k++) {
            double by = zj[d * at + j * n + i];
            zb[k] = s[k] * ab[i] + h[k] * zd[k] * c[k];
            zbj[k] =
                (h[k] * by * ab[i] + s[k] * abj[i]) + ((g[k] * by * zd[k] + h[k] * zdj[k]) * c[k] +
                                                       h[k] * zd[k] * cj[d * at + j * n + i]);
        }
        double *to = out + f[CLSI_N_WEIGHT + l];
        int wide = l ? CLSI_N_PAD(columns) : 0, before = at - wide;
        const double *ejl = ej + d * at + j * n;
        node_outer(width, columns, zbj + at, l ? a + before : seeds->x, ejl, l ? ad + before : b,
                   to);
        if (l)
            node_outer(width, columns, zb + at, aj + d * before + j * wide, e + at, adj + before,
                       to);
        else
            for (int i = 0; i < width; i++) to[i * d + j] += zb[i];
        to += width * columns;
        for (int i = 0; i < width; i++) to[i] += zbj[at + i];
    }
    int width = f[CLSI_N_WIDTH + hidden - 1];
    const double *last = adj + units - CLSI_N_PAD(width);
    for (int i = 0; i < width; i++) out[f[CLSI_N_WEIGHT + hidden] + i] += last[i];
}

TARGET static void node_back_curvatures(const int *f, const double *theta,
                                        const clsi_field_seeds *seeds, double *out) {
    int d = f[CLSI_N_D];
    for (int j = 0; j < d; j++) {
        double b[CLSI_N_INPUTS];
        int some = 0;
        for (int i = 0; i < d; i++) b[i] = seeds->c[i * d + j], some |= b[i] != 0;
        if (some) node_back_curvature(f, theta, seeds, b, j, out);
    }
}

TARGET static void node_back_pair(const int *f, const double *theta, const clsi_field_seeds *seeds,
                                  double *out) {
    int d = f[CLSI_N_D], units = f[CLSI_N_UNITS], hidden = f[CLSI_N_HIDDEN], at = 0, columns = d;
    const double *zu = seeds->u + CLSI_N_POINT(d), *zw = seeds->w + CLSI_N_POINT(d);
    const double *au = zu + units, *aw = zw + units, *su = au + units, *sw = aw + units;
    const double *q = seeds->own + CLSI_N_BETWEEN(d), *c = q + units, *e = c + units;
    const double *t = e + units, *before = seeds->b;
    double *zd = seeds->room, *ad = zd + units, *r = ad + units;
    node_along(f, theta, q, seeds->b, zd, ad);
    clsi_n_quotient_slope(f, units, zu, zw, au, aw, su, t, r);
    for (int i = 0; i < units; i++) seeds->by_u[i] += zd[i] * c[i] * r[i];
    clsi_n_quotient_slope(f, units, zw, zu, aw, au, sw, t, r);
    for (int i = 0; i < units; i++) seeds->by_w[i] += zd[i] * c[i] * r[i];
    for (int l = 0; l < hidden; l++) {
        int width = f[CLSI_N_WIDTH + l];
        node_outer(width, columns, e + at, before, NULL, NULL, out + f[CLSI_N_WEIGHT + l]);
        before = ad + at;
        columns = width;
        at += CLSI_N_PAD(width);
    }
    for (int i = 0; i < columns; i++) out[f[CLSI_N_WEIGHT + hidden] + i] += before[i];
}

TARGET static void node_back(const int *f, const double *theta, const clsi_field_seeds *seeds,
                             double *out) {
    if (seeds->u)
        node_back_pair(f, theta, seeds, out);
    else
        node_back_point(f, theta, seeds, out);
    if (seeds->c) node_back_curvatures(f, theta, seeds, out);
}
