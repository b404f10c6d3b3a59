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

/* Adds one input row's contribution to `count` channels of an output row:
 * acc[c] += Σ_t w[c, t] x[· + t b]. Taps are `in` elements apart, and channels k² in. */
INLINE void add_row(float *restrict acc, const float *restrict x, const float *restrict w, size in,
                    size n, size b, const int count, const int k)
{
    for (size v = 0; v < n; v++)
        for (int c = 0; c < count; c++) {
            float sum = acc[c * n + v];
            for (int t = 0; t < k; t++)
                sum += w[(c * k * k + t) * in] * x[t * b + v];
            acc[c * n + v] = sum;
        }
}

enum { NONE = 4 }; /* instead of a place from 0 to 3, where the output of ReLU is 0 */

/* Computes `count` output channels, starting at o; acc holds two rows of a tile for each of them. */
INLINE void forward_channels(const float *x, const float *w, const float *bias, float *restrict y,
                             uint8_t *restrict arg, sizes s, size o, float *restrict acc, size tile,
                             const int count, const int k)
{
    for (size ph = 0; ph < s.ph; ph++)
        for (size at = 0; at < s.pw; at += tile) {
            size width = MIN(tile, s.pw - at), n = 2 * width * s.b;
            for (int r = 0; r < 2; r++) {
                float *rows = acc + r * count * n;
                for (int c = 0; c < count; c++)
                    for (size v = 0; v < n; v++)
                        rows[c * n + v] = bias[o + c];
                for (size i = 0; i < s.in; i++)
                    for (int kh = 0; kh < k; kh++)
                        add_row(rows, x + ((i * s.h + 2 * ph + r + kh) * s.w + 2 * at) * s.b,
                                w + (o * k + kh) * k * s.in + i, s.in, n, s.b, count, k);
            }
            for (int c = 0; c < count; c++) {
                size to = (((o + c) * s.ph + ph) * s.pw + at) * s.b;
                for (size column = 0; column < width; column++) {
                    const float *top = acc + c * n + 2 * column * s.b;
                    const float *bottom = top + count * n;
                    float *out = y + to + column * s.b;
                    uint8_t *which = arg + to + column * s.b;
                    for (size v = 0; v < s.b; v++) {
                        float best = top[v];
                        uint8_t place = 0;
                        float others[3] = {top[s.b + v], bottom[v], bottom[s.b + v]};
                        for (int j = 0; j < 3; j++) { /* the first of equal values; NaN wins */
                            int better = others[j] > best || others[j] != others[j];
                            best = better ? others[j] : best;
                            place = better ? j + 1 : place;
                        }
                        out[v] = best < 0 ? 0 : best;
                        which[v] = best <= 0 ? NONE : place;
                    }
                }
            }
        }
}

INLINE void forward(const float *x, const float *w, const float *bias, float *y, uint8_t *arg,
                    sizes s, float *acc, size tile, const int k)
{
    size o = 0;
    for (; o + 4 <= s.out; o += 4)
        forward_channels(x, w, bias, y, arg, s, o, acc, tile, 4, k);
    for (; o + 2 <= s.out; o += 2)
        forward_channels(x, w, bias, y, arg, s, o, acc, tile, 2, k);
    for (; o < s.out; o++)
        forward_channels(x, w, bias, y, arg, s, o, acc, tile, 1, k);
}

/* Computes the output y, and in arg the place of each window's maximum (or NONE), from x,
 * w [out, k, k, in] and bias. `tile` is a number of columns after pooling; the workspace acc holds
 * 2 · 4 rows of a tile, 16 · tile · b elements. */
void ngo_conv_pool_relu(const float *x, const float *w, const float *bias, float *y, uint8_t *arg,
                        float *acc, size tile, size b, size in, size h, size width, size out,
                        size k)
{
    sizes s = of_layer(b, in, h, width, out, k);
    WITH_KERNEL_SIZE(k, forward, x, w, bias, y, arg, s, acc, tile)
}
