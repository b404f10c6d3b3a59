/* A convolution without padding, 2 × 2 max pooling and ReLU.
 *
 * Images have the batch as their last dimension, [channels, height, width, batch]. An image row is one
 * contiguous run of width · batch numbers, and a tap of the kernel shifts that run by a multiple of the
 * batch. Inner loops therefore run over long runs, however few channels there are. Kernels have the
 * input channels last, [out, k, k, in].
 */

#include <stdint.h>
#include <string.h>

typedef int64_t size;
#define INLINE static inline __attribute__((always_inline))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

void ngo_grouped_product(const float *a, const float *b, const float *bias, float *c, size m, size n,
                         size k, size row, size step, size groups, size between,
                         const size *offsets);

/* f(…, K) with a constant K, so that loops over it are unrolled. The sizes are KERNEL_SIZES of
 * conv_pool_relu.py. */
#define WITH_KERNEL_SIZE(k, f, ...)                                                                \
    switch (k) {                                                                                   \
    case 3: f(__VA_ARGS__, 3); break;                                                              \
    case 5: f(__VA_ARGS__, 5); break;                                                              \
    }

/* The sizes of a layer with the input [in, h, w, b] and the pooled output [out, ph, pw, b]. */
typedef struct {
    size b, in, h, w, out, ph, pw;
} sizes;

static sizes of_layer(size b, size in, size h, size w, size out, size k)
{
    return (sizes){b, in, h, w, out, (h - k + 1) / 2, (w - k + 1) / 2};
}

enum { NONE = 4 }; /* instead of a place from 0 to 3, where the output of ReLU is 0 */

/* The maximum of each window of two rows of `width` windows, and its place in arg, unless that is NULL. */
INLINE void pool(const float *top, const float *bottom, float *restrict y, uint8_t *restrict arg,
                 size width, size b, const int places)
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
            y[v] = best < 0 ? 0 : best;
            if (places)
                arg[v] = best <= 0 ? NONE : place;
        }
}

/* Computes the output y, and in arg the place of each window's maximum (or NONE), from x,
 * w [out, k, k, in] and bias; arg may be NULL. `tile` is a number of columns after pooling; the workspace
 * acc holds two rows of a tile for each output channel, 4 · out · tile · b elements. */
void ngo_conv_pool_relu(const float *x, const float *w, const float *bias, float *y, uint8_t *arg,
                        float *acc, size tile, size b, size in, size h, size width, size out,
                        size k)
{
    sizes s = of_layer(b, in, h, width, out, k);
    /* The terms of a sum are in groups of equal distances: of all channels, or, of one channel, of a row. */
    size groups = in == 1 ? k : k * k, size_of_group = in == 1 ? k : in;
    size between = in == 1 ? b : h * width * b, offsets[k * k];
    for (size g = 0; g < groups; g++)
        offsets[g] = in == 1 ? g * width * b : (g / k * width + g % k) * b;
    for (size ph = 0; ph < s.ph; ph++)
        for (size at = 0; at < s.pw; at += tile) {
            size columns = MIN(tile, s.pw - at), n = 2 * columns * b;
            for (int r = 0; r < 2; r++)
                ngo_grouped_product(w, x + ((2 * ph + r) * width + 2 * at) * b, bias,
                                    acc + r * out * n, out, n, size_of_group, k * k * in, 1,
                                    groups, between, offsets);
            for (size o = 0; o < out; o++) {
                const float *top = acc + o * n;
                size to = ((o * s.ph + ph) * s.pw + at) * b;
                if (arg)
                    pool(top, top + out * n, y + to, arg + to, columns, b, 1);
                else
                    pool(top, top + out * n, y + to, arg, columns, b, 0);
            }
        }
}
