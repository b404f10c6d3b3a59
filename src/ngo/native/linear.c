/* Linear layers: the backward pass, with the half step of the weights while they are in the cache; and both
 * passes as an operation of operations.py. */

#include "kernels.h"

enum { ROWS = 64, COLUMNS = 1024 }; /* of weights that stay in the second-level cache */

/* The number of elements of the workspace of ngo_linear_backward. */
size ngo_linear_workspace(size b, size in)
{
    return (b + ROWS) * MIN(in, COLUMNS);
}

/* The gradients dx [in, b] (unless NULL) and dw [out, in] of w [out, in], from x [b, in] and dy [out, b];
 * or dx [b, in] from dy [b, out], with `by_sample`. With a half step `then`, w is changed by it, and dw is
 * not written: w begins at element `from` of the matrices. */
void ngo_linear_backward(float *w, const float *x, const float *dy, float *dx, float *dw, float *workspace,
                         size b, size in, size out, size by_sample, const half_step *then, size from)
{
    size next = by_sample ? 1 : b, sample = by_sample ? out : 1; /* in dy */
    for (size at = 0, n; at < in; at += n) {
        n = MIN(COLUMNS, in - at);
        float *gradient = then ? workspace + b * n : NULL;
        size most = n % 16 && dx ? out : ROWS; /* sums go on only where vectors do not overlap */
        for (size r = 0, count; r < out; r += count) {
            count = MIN(most, out - r);
            if (dx)
                ngo_grouped_product(dy + r * next, w + r * in + at, NULL, by_sample ? dx + at : workspace, b, n,
                                    count, sample, next, 1, in, (size[]){0}, by_sample ? in : n, r > 0);
            for (size q = r + count; dx && q < MIN(r + count + ROWS, out); q++) /* what comes next */
                for (size c = 0; c < n; c += 16)
                    __builtin_prefetch(w + q * in + at + c, 1, 2);
            for (size q = r, some; q < r + count; q += some) {
                size first = q * in + at;
                some = MIN(ROWS, r + count - q);
                ngo_grouped_product(dy + q * next, x + at, NULL, then ? gradient : dw + first, some, n, b, next,
                                    sample, 1, in, (size[]){0}, then ? n : in, 0);
                if (then)
                    ngo_half_step(then, from + first, gradient, some, n, in);
            }
        }
        if (dx && !by_sample)
            ngo_transpose_matrix(workspace, dx + at * b, b, n);
    }
}

/* y [b, out] = x [b, in] Wᵀ + bias, with W [out, in]; bias may be NULL. What is smaller is transposed: W, or x
 * and y, 64 samples at a time. The workspace has (in + out) · min(b, 64) elements. */
void ngo_take_linear(const float *x, const float *w, const float *bias, float *y, float *work, size b,
                     size in, size out)
{
    size by_weight = in * out < (in + out) * MIN(b, ROWS);
    if (by_weight)
        ngo_transpose_matrix(w, work, out, in);
    for (size at = 0, count; at < b; at += count, x += count * in, y += count * out) {
        count = MIN(ROWS, b - at);
        if (by_weight) {
            ngo_product(x, work, NULL, y, count, out, in, in, 1);
            for (size v = 0; bias && v < count; v++)
                for (size o = 0; o < out; o++)
                    y[v * out + o] += bias[o];
        } else {
            ngo_transpose_matrix(x, work, count, in);
            ngo_product(w, work, bias, work + in * count, out, count, in, in, 1);
            ngo_transpose_matrix(work + in * count, y, out, count);
        }
    }
}

void ngo_take_linear_backward(float *x, float *w, float *bias, const float *dy, float *work, float *dx,
                              float *dw, float *db, size b, size in, size out)
{
    ngo_linear_backward(w, x, dy, dx, dw, NULL, b, in, out, 1, NULL, 0);
    for (size v = 0; db && v < b; v++)
        for (size o = 0; o < out; o++)
            db[o] = (v ? db[o] : 0) + dy[v * out + o];
}
