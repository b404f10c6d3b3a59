/* Sums that are relayed along the edges of a tree. */

#include "kernels.h"

enum { WIDTH = 256 };       /* columns that are processed at once */
enum { TAKE = 8 * WIDTH };  /* columns that a thread claims at a time */
const size ngo_relayed_sums_width = WIDTH;

/* to += Σ of the rows `from` of `received`. */
static void add_rows(float *restrict to, const float *received, size stride, size from, size end,
                     size width)
{
    for (; from < end; from++) {
        const float *restrict row = received + from * stride;
        for (size v = 0; v < width; v++)
            to[v] += row[v];
    }
}

/* Both directions of one edge: each end sends its sum without what came from the other end. */
static void exchange(float *restrict at_i, float *restrict at_j, const float *restrict sum_i,
                     const float *restrict sum_j, size width)
{
    for (size v = 0; v < width; v++) {
        float from_j = at_i[v];
        at_i[v] = sum_j[v] - at_j[v];
        at_j[v] = sum_i[v] - from_j;
    }
}

/* Worker i sends X_i and all that it has received, but for what came from j, to each neighbour j. Then
 * X_i becomes the sum of X_i and of all that it now receives, over count_i.
 *
 * Row e of `received` [e, stride] came along edge e to worker i, for e from starts[i] to starts[i + 1],
 * from worker senders[e]; turned[e] is the edge in the other direction. Threads that pass the same
 * `next`, initially 0, share the columns of X [n, d]; each has a workspace of n · WIDTH elements. */
void ngo_relayed_sums(float *X, float *received, size stride, const size *starts, const size *senders,
                      const size *turned, const float *counts, size n, size d, size *next,
                      float *work)
{
    size taken;
    while ((taken = __atomic_fetch_add(next, TAKE, __ATOMIC_RELAXED)) < d)
        for (size at = taken; at < MIN(taken + TAKE, d); at += WIDTH) {
            size width = MIN(WIDTH, d - at);
            float *rows = received + at;
            for (size i = 0; i < n; i++) {
                memcpy(work + i * WIDTH, X + i * d + at, width * sizeof(float));
                add_rows(work + i * WIDTH, rows, stride, starts[i], starts[i + 1], width);
            }
            for (size i = 0; i < n; i++)
                for (size e = starts[i]; e < starts[i + 1]; e++)
                    if (e < turned[e])
                        exchange(rows + e * stride, rows + turned[e] * stride, work + i * WIDTH,
                                 work + senders[e] * WIDTH, width);
            for (size i = 0; i < n; i++) {
                float *x = X + i * d + at;
                add_rows(x, rows, stride, starts[i], starts[i + 1], width);
                for (size v = 0; v < width; v++)
                    x[v] /= counts[i];
            }
        }
}
