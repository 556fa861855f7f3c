/* order: numbers in order, medians and quantiles. NaN counts as the largest. */
#include "base/base.h"
#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

void clsi_sort(size_t n, double *list) {
    if (n > 1) qsort(list, n, sizeof *list, ascending);
}

static void swap(double *a, double *b) {
    double t = *a;
    *a = *b;
    *b = t;
}

/* Hoare's selection in list[low .. high], which has no NaN: list[k] is where sorting would put it,
 * nothing larger stands before it and nothing smaller behind. Orders that spoil the choice of the
 * pivot are sorted after a number of rounds that chance does not reach. */
static void find(double *list, size_t low, size_t high, size_t k) {
    for (int rounds = 0; low < high; rounds++) {
        if (rounds == 128) {
            clsi_sort(high - low + 1, list + low);
            return;
        }
        size_t middle = low + (high - low) / 2, i = low, j = high;
        if (list[middle] < list[low]) swap(&list[middle], &list[low]);
        if (list[high] < list[low]) swap(&list[high], &list[low]);
        if (list[high] < list[middle]) swap(&list[high], &list[middle]);
        double pivot = list[middle];
        while (i <= j) {
            while (list[i] < pivot) i++;
            while (pivot < list[j]) j--;
            if (i > j) break;
            swap(&list[i++], &list[j]);
            if (!j) break;
            j--;
        }
        if (k > j && k < i) return;
        if (k <= j)
            high = j;
        else
            low = i;
    }
}

double clsi_median(size_t n, double *list) {
    size_t numbers = 0, k = n / 2;
    for (size_t i = 0; i < n; i++)
        if (!isnan(list[i])) swap(&list[i], &list[numbers++]);
    if (!n) return 0;
    if (k >= numbers) return NAN;
    find(list, 0, numbers - 1, k);
    if (n % 2) return list[k];
    double below = list[0];
    for (size_t i = 1; i < k; i++) below = fmax(below, list[i]);
    return (below + list[k]) / 2;
}

double clsi_quantile(size_t n, const double *sorted, double share) {
    double place = share * (double)(n - 1), low = floor(place);
    size_t i = (size_t)low;
    return place > low ? sorted[i] + (place - low) * (sorted[i + 1] - sorted[i]) : sorted[i];
}
