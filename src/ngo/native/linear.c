/* The backward pass of a linear layer, and the half step of its weights while they are in the cache. */

#include <stddef.h>
#include <stdint.h>

typedef int64_t size;
#define MIN(a, b) ((a) < (b) ? (a) : (b))

void ngo_grouped_product(const float *a, const float *b, const float *bias, float *c, size m, size n,
                         size k, size row, size step, size groups, size between,
                         const size *offsets, size to, size add);
void ngo_transpose(const float *const *rows, size count, size columns, float *to, size n);
void ngo_half_step(const void *h, size from, float *gradient, size rows, size n, size stride);

enum { ROWS = 64, COLUMNS = 1024 }; /* of weights that stay in the second-level cache */

/* The number of elements of the workspace of ngo_linear_backward. */
size ngo_linear_workspace(size b, size in)
{
    return (b + ROWS) * MIN(in, COLUMNS);
}

/* Columns of `to` [columns, rows], from x [rows, columns]. */
static void transpose(const float *x, float *to, size rows, size columns)
{
    const float *each[64];
    for (size from = 0, count; from < rows; from += count) {
        count = MIN(64, rows - from);
        for (size r = 0; r < count; r++)
            each[r] = x + (from + r) * columns;
        ngo_transpose(each, count, columns, to + from, rows);
    }
}

/* The gradients dx [in, b] (unless NULL) and dw [out, in] of w [out, in], from x [b, in] and dy [out, b].
 * With a half step `then`, w is changed by it, and dw is not written: w begins at element `from` of the
 * matrices. */
void ngo_linear_backward(float *w, const float *x, const float *dy, float *dx, float *dw,
                         float *workspace, size b, size in, size out, const void *then, size from)
{
    for (size at = 0, n; at < in; at += n) {
        n = MIN(COLUMNS, in - at);
        float *gradient = workspace + b * n;
        size most = n % 16 && dx ? out : ROWS; /* sums go on only where vectors do not overlap */
        for (size r = 0, count; r < out; r += count) {
            count = MIN(most, out - r);
            if (dx)
                ngo_grouped_product(dy + r * b, w + r * in + at, NULL, workspace, b, n, count, 1, b, 1, in,
                                    (size[]){0}, n, r > 0);
            for (size q = r, some; q < r + count; q += some) {
                size first = q * in + at;
                some = MIN(ROWS, r + count - q);
                ngo_grouped_product(dy + q * b, x + at, NULL, then ? gradient : dw + first, some, n, b, b,
                                    1, 1, in, (size[]){0}, then ? n : in, 0);
                if (then)
                    ngo_half_step(then, from + first, gradient, some, n, in);
            }
        }
        if (dx)
            transpose(workspace, dx + at * b, b, n);
    }
}
