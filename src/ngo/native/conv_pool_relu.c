/* A convolution without padding, 2 × 2 max pooling and, unless it is left out, ReLU.
 *
 * Images have the batch as their last dimension, [channels, height, width, batch]. An image row is one
 * contiguous run of width · batch numbers, and a tap of the kernel shifts that run by a multiple of the
 * batch. Inner loops therefore run over long runs, however few channels there are. Kernels have the
 * input channels last, [out, k, k, in].
 */

#include "kernels.h"

/* The maximum of each window of two rows of `width` windows, and its place in arg, unless that is NULL. */
INLINE void pool(const float *top, const float *bottom, float *restrict y, uint8_t *restrict arg,
                 size width, size b, const int places, const int relu)
{
    for (size column = 0; column < width; column++, y += b, arg += b, top += 2 * b, bottom += 2 * b)
        for (size v = 0; v < b; v++) {
            float best = top[v];
            uint8_t place = 0;
            float others[3] = {top[b + v], bottom[v], bottom[b + v]};
            for (int j = 0; j < 3; j++) { /* the first of equal values; NaN wins */
                int better = others[j] > best || others[j] != others[j];
                best = better ? others[j] : best;
                place = better ? j + 1 : place;
            }
            y[v] = relu && best < 0 ? 0 : best;
            if (places)
                arg[v] = relu && best <= 0 ? NONE : place;
        }
}

/* The same, compiled for each case. */
static void pool_pair(const float *top, const float *bottom, float *y, uint8_t *arg, size width, size b, size relu)
{
    if (arg && relu)
        pool(top, bottom, y, arg, width, b, 1, 1);
    else if (arg)
        pool(top, bottom, y, arg, width, b, 1, 0);
    else
        pool(top, bottom, y, arg, width, b, 0, relu);
}

/* Pooling and, unless it is left out, ReLU of images [channels, h, width, b]; arg may be NULL. */
void ngo_pool_relu(const float *x, float *y, uint8_t *arg, size channels, size h, size width, size b, size relu)
{
    size n = width / 2 * b;
    for (size c = 0; c < channels; c++, x += h * width * b)
        for (size row = 0; row < h / 2; row++, y += n, arg += arg ? n : 0) {
            const float *top = x + 2 * row * width * b;
            pool_pair(top, top + width * b, y, arg, width / 2, b, relu);
        }
}

/* Computes the output y, and in arg the place of each window's maximum (or NONE), from x,
 * w [out, k, k, in] and bias; arg may be NULL. Without `relu`, y is the maximum. `tile` is a number of
 * columns after pooling; the workspace acc holds two rows of a tile for each output channel,
 * 4 · out · tile · b elements. */
void ngo_conv_pool_relu(const float *x, const float *w, const float *bias, float *y, uint8_t *arg,
                        float *acc, size tile, size b, size in, size h, size width, size out,
                        size k, size relu)
{
    size rows = (h - k + 1) / 2, every = (width - k + 1) / 2; /* of windows */
    for (size row = 0; row < rows; row++)
        for (size at = 0; at < every; at += tile) {
            size columns = MIN(tile, every - at), n = 2 * columns * b;
            for (int r = 0; r < 2; r++)
                ngo_convolve_row(x + ((2 * row + r) * width + 2 * at) * b, w, bias, acc + r * out * n, n,
                                 n, b, in, h, width, out, k);
            for (size o = 0; o < out; o++) {
                const float *top = acc + o * n;
                size to = ((o * rows + row) * every + at) * b;
                pool_pair(top, top + out * n, y + to, arg ? arg + to : arg, columns, b, relu);
            }
        }
}
