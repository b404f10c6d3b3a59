/* A convolution without padding or stride, its gradients, and padding.
 *
 * Images have the batch as their last dimension, [channels, height, width, batch], and kernels the input
 * channels, [out, k, k, in]; k is any number.
 */

#include "kernels.h"

/* n consecutive numbers of an output row, for each output channel, `to` apart in y; x is where the first
 * one's patch begins. The terms of a sum are in groups of equal distances: of all channels, or, of one
 * channel, of a row. */
void ngo_convolve_row(const float *x, const float *w, const float *bias, float *y, size n, size to,
                      size b, size in, size h, size width, size out, size k)
{
    size groups = in == 1 ? k : k * k, size_of_group = in == 1 ? k : in;
    size between = in == 1 ? b : h * width * b, offsets[k * k];
    for (size g = 0; g < groups; g++)
        offsets[g] = in == 1 ? g * width * b : (g / k * width + g % k) * b;
    ngo_grouped_product(w, x, bias, y, out, n, size_of_group, k * k * in, 1, groups, between, offsets,
                        to, 0);
}

/* y [out, h - k + 1, width - k + 1, b]. */
static void convolve(const float *x, const float *w, const float *bias, float *y, size b, size in,
                     size h, size width, size out, size k)
{
    size rows = h - k + 1, n = (width - k + 1) * b;
    for (size r = 0; r < rows; r++)
        ngo_convolve_row(x + r * width * b, w, bias, y + r * n, n, rows * n, b, in, h, width, out, k);
}

/* The same, with the workspace of ngo_convolution_workspace. */
void ngo_convolution(const float *x, const float *w, const float *bias, float *y, float *workspace, size b,
                     size in, size h, size width, size out, size k)
{
    if (ngo_winograd_layer_workspace(b, in, h, width, out, k))
        ngo_winograd(x, w, bias, y, workspace, b, in, h, width, out);
    else
        convolve(x, w, bias, y, b, in, h, width, out, k);
}

/* Copies images between [channels, h, width, b] and the inside of [channels, h + 2 p, width + 2 p, b]. */
void ngo_pad(float *inside, float *padded, size channels, size h, size width, size b, size p,
             int to_padded)
{
    size n = width * b, row = (width + 2 * p) * b;
    if (to_padded)
        memset(padded, 0, channels * (h + 2 * p) * row * sizeof(float));
    for (size c = 0; c < channels; c++)
        for (size r = 0; r < h; r++) {
            float *in = inside + (c * h + r) * n, *out = padded + (c * (h + 2 * p) + p + r) * row + p * b;
            memcpy(to_padded ? out : in, to_padded ? in : out, n * sizeof(float));
        }
}

/* The number of elements of a workspace, which grows with b. */
size ngo_convolution_workspace(size b, size in, size h, size width, size out, size k)
{
    size patch = ROUND_UP(k * k * in, 16), of_w = ((width - k + 1) * b + out) * patch;
    size of_x = out * ((h + k - 1) * (width + k - 1) * b + k * k * in);
    return MAX(MAX(of_w, of_x), ngo_winograd_layer_workspace(b, in, h, width, out, k));
}

/* The gradients dx (unless NULL), dw and db (unless NULL) from dy. That of w is a sum over output rows of
 * products with the row's patches; that of x is the convolution of dy, padded, with mirrored kernels. */
void ngo_convolution_backward(const float *x, const float *w, const float *dy, float *dx, float *dw,
                              float *db, float *workspace, size b, size in, size h, size width,
                              size out, size k)
{
    if (ngo_winograd_layer_workspace(b, in, h, width, out, k)) {
        ngo_winograd_backward(x, w, dy, dx, dw, db, workspace, b, in, h, width, out);
        return;
    }
    size rows = h - k + 1, n = (width - k + 1) * b, patch = k * k * in, padded = ROUND_UP(patch, 16);
    float *sums = workspace, *patches = sums + out * padded;
    memset(sums, 0, out * padded * sizeof(float));
    for (size r = 0; r < rows; r++) {
        const float *taps[patch];
        for (size t = 0; t < patch; t++)
            taps[t] = x + ((t % in * h + r + t / in / k) * width + t / in % k) * b;
        ngo_transpose(taps, patch, n, patches, padded);
        ngo_grouped_product(dy + r * n, patches, NULL, sums, out, padded, n, rows * n, 1, 1, padded,
                            (size[]){0}, padded, 1);
    }
    for (size o = 0; o < out; o++) {
        memcpy(dw + o * patch, sums + o * padded, patch * sizeof(float));
        float sum = 0;
        for (size v = 0; db && v < rows * n; v++)
            sum += dy[o * rows * n + v];
        if (db)
            db[o] = sum;
    }
    if (!dx)
        return;
    float *mirrored = workspace, *around = mirrored + out * patch;
    for (size o = 0; o < out; o++)
        for (size t = 0; t < k * k; t++)
            for (size i = 0; i < in; i++)
                mirrored[(i * k * k + k * k - 1 - t) * out + o] = w[(o * k * k + t) * in + i];
    ngo_pad((float *)dy, around, out, rows, width - k + 1, b, k - 1, 1);
    convolve(around, mirrored, NULL, dx, b, out, h + k - 1, width + k - 1, in, k);
}
