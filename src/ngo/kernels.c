/* What training on a CPU spends its time on: small convolutions with pooling, nonlinear gossip, and
 * waiting. ngo.kernels compiles this for the machine that it runs on.
 *
 * Images lie with the batch last, [channels, height, width, batch]. So a row of an image is a run of
 * width · batch numbers, a tap of a convolution is that run moved by a multiple of the batch, and
 * the inner loops go through long runs, however few the channels are.
 */

#include <float.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

typedef int64_t size;
#define INLINE static inline __attribute__((always_inline))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* f(…, K) with K a constant, so that loops over it are unrolled. ngo.kernels knows these sizes. */
#define WITH_KERNEL_SIZE(k, f, ...)                                                                \
    switch (k) {                                                                                   \
    case 3: f(__VA_ARGS__, 3); break;                                                              \
    case 5: f(__VA_ARGS__, 5); break;                                                              \
    }

/* The sizes of a layer: its input [in, h, w, b], its output [out, ph, pw, b] after pooling. */
typedef struct {
    size b, in, h, w, out, ph, pw;
} sizes;

static sizes of_layer(size b, size in, size h, size w, size out, size k)
{
    return (sizes){b, in, h, w, out, (h - k + 1) / 2, (w - k + 1) / 2};
}

/* Convolution, the largest of every 2 × 2, and ReLU --------------------------------------------- */

/* One input row's part in `count` channels of an output row: acc[c] += Σ_t w[c, t] x[· + t b]. */
INLINE void add_row(float *restrict acc, const float *restrict x, const float *restrict w,
                    size w_stride, size n, size b, const int count, const int k)
{
    for (size v = 0; v < n; v++)
        for (int c = 0; c < count; c++) {
            float sum = acc[c * n + v];
            for (int t = 0; t < k; t++)
                sum += w[c * w_stride + t] * x[t * b + v];
            acc[c * n + v] = sum;
        }
}

enum { NONE = 4 }; /* in place of 0 to 3: ReLU lets nothing through */

/* `count` channels of the output from o on; acc holds two rows of a tile of each. */
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
                                w + ((o * s.in + i) * k + kh) * k, s.in * k * k, n, s.b, count, k);
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
                        for (int j = 0; j < 3; j++) { /* the first of equals; NaN beats all */
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

/* Output y and the place of the largest in each window, or NONE, from x, w [out, in, k, k] and bias.
 * acc has room for 2 · 4 rows of a tile: 16 · tile · b; a tile is so many columns after pooling. */
void ngo_conv_pool_relu(const float *x, const float *w, const float *bias, float *y, uint8_t *arg,
                        float *acc, size tile, size b, size in, size h, size width, size out,
                        size k)
{
    sizes s = of_layer(b, in, h, width, out, k);
    WITH_KERNEL_SIZE(k, forward, x, w, bias, y, arg, s, acc, tile)
}

/* The slopes of the pooling's input, [out, 2 ph, 2 pw, b], from those of its output. */
static void unpool(const float *restrict slope, const uint8_t *restrict arg, float *restrict d,
                   sizes s, size o)
{
    for (size ph = 0; ph < s.ph; ph++)
        for (size column = 0; column < s.pw; column++) {
            size from = ((o * s.ph + ph) * s.pw + column) * s.b;
            float *top = d + ((o * s.ph + ph) * s.pw * 2 + column) * 2 * s.b;
            float *bottom = top + 2 * s.pw * s.b;
            for (size v = 0; v < s.b; v++) {
                float g = slope[from + v];
                uint8_t place = arg[from + v];
                top[v] = place == 0 ? g : 0;
                top[s.b + v] = place == 1 ? g : 0;
                bottom[v] = place == 2 ? g : 0;
                bottom[s.b + v] = place == 3 ? g : 0;
            }
        }
}

/* Slopes of the weights of `count` output channels. */
INLINE void weight_slopes(const float *x, const float *d, float *restrict dw, float *restrict db,
                          sizes s, size o, const int count, const int k)
{
    size n = 2 * s.pw * s.b;
    const float *rows = d + o * 2 * s.ph * n;
    for (int c = 0; c < count; c++) {
        float sum = 0;
        for (size v = 0; v < 2 * s.ph * n; v++)
            sum += rows[c * 2 * s.ph * n + v];
        db[o + c] = sum;
    }
    for (size i = 0; i < s.in; i++)
        for (int kh = 0; kh < k; kh++) {
            float sums[2][5] = {{0}};
            for (size row = 0; row < 2 * s.ph; row++) {
                const float *from = x + (i * s.h + row + kh) * s.w * s.b;
                const float *slope = rows + row * n;
                for (size v = 0; v < n; v++)
                    for (int c = 0; c < count; c++)
                        for (int t = 0; t < k; t++)
                            sums[c][t] += slope[c * 2 * s.ph * n + v] * from[t * s.b + v];
            }
            for (int c = 0; c < count; c++)
                for (int t = 0; t < k; t++)
                    dw[(((o + c) * s.in + i) * k + kh) * k + t] = sums[c][t];
        }
}

/* What `count` output channels from o on add to the slopes of `of` input channels from i on. */
INLINE void input_slopes(const float *w, const float *d, float *restrict dx, sizes s, size o,
                         size i, const int count, const int of, const int k)
{
    size n = 2 * s.pw * s.b, image = 2 * s.ph * n;
    for (size row = 0; row < 2 * s.ph; row++)
        for (int kh = 0; kh < k; kh++)
            for (int t = 0; t < k; t++) {
                const float *slope = d + o * image + row * n;
                float *to = dx + ((i * s.h + row + kh) * s.w + t) * s.b;
                size in_stride = s.h * s.w * s.b;
                const float *taps = w + ((o * s.in + i) * k + kh) * k + t;
                for (size v = 0; v < n; v++)
                    for (int a = 0; a < of; a++) {
                        float sum = to[a * in_stride + v];
                        for (int c = 0; c < count; c++)
                            sum += taps[(c * s.in + a) * k * k] * slope[c * image + v];
                        to[a * in_stride + v] = sum;
                    }
            }
}

INLINE void backward(const float *x, const float *w, const uint8_t *arg, const float *slope,
                     float *dx, float *dw, float *db, float *d, sizes s, const int k)
{
    size o = 0, i = 0;
    for (; o + 2 <= s.out; o += 2) {
        unpool(slope, arg, d, s, o);
        unpool(slope, arg, d, s, o + 1);
        weight_slopes(x, d, dw, db, s, o, 2, k);
    }
    for (; o < s.out; o++) {
        unpool(slope, arg, d, s, o);
        weight_slopes(x, d, dw, db, s, o, 1, k);
    }
    if (!dx)
        return;
    memset(dx, 0, s.in * s.h * s.w * s.b * sizeof(float));
    for (; i + 2 <= s.in; i += 2) {
        for (o = 0; o + 4 <= s.out; o += 4)
            input_slopes(w, d, dx, s, o, i, 4, 2, k);
        for (; o < s.out; o++)
            input_slopes(w, d, dx, s, o, i, 1, 2, k);
    }
    for (; i < s.in; i++)
        for (o = 0; o < s.out; o++)
            input_slopes(w, d, dx, s, o, i, 1, 1, k);
}

/* The slopes dx (unless NULL), dw, db, from that of y; d is [out, 2 ph, 2 pw, b], to work in. */
void ngo_conv_pool_relu_backward(const float *x, const float *w, const uint8_t *arg,
                                 const float *slope, float *dx, float *dw, float *db, float *d,
                                 size b, size in, size h, size width, size out, size k)
{
    sizes s = of_layer(b, in, h, width, out, k);
    WITH_KERNEL_SIZE(k, backward, x, w, arg, slope, dx, dw, db, d, s)
}

/* Nonlinear gossip ----------------------------------------------------------------------------- */

/* 2^k, for k from -127, which gives 0, to 128, which gives infinity. */
INLINE float exp2_of(int32_t k)
{
    int32_t bits = (k + 127) << 23;
    float power;
    memcpy(&power, &bits, 4);
    return power;
}

/* sign(z)|z|^e = z 2^(c log₂|z|), c = e − 1 = c_high + c_low, right to 2.2e-7 of its size for e up to
 * 3. z is 0, has a leading 1, or is not finite. |z| = 2^k m with m in [√½, √2); the coefficients of
 * the series are those with the smallest largest error. Only a `steep` power takes 2^(c log₂|z|) out
 * of the range of exponents: it is multiplied by in two halves. */
INLINE float power(float z, float c_high, float c_low, const int steep)
{
#pragma clang fp reassociate(off)
    float a = fabsf(z);
    int32_t bits, m_bits;
    memcpy(&bits, &a, 4);
    int32_t k = (bits - 0x3f3504f3) >> 23; /* the bits of √½ */
    m_bits = bits - (k << 23);
    float m;
    memcpy(&m, &m_bits, 4);
    /* log₂ m = 2/ln 2 · artanh s, with s = (m − 1)/(m + 1), |s| < 0.172 */
    float s = (m - 1) / (m + 1), q = s * s;
    float log_m = s * (2.88539124f + q * (0.961470723f + q * 0.598976135f));
    /* 2^(c (k + log₂ m)) = 2^whole · 2^part: c·k is not rounded before its whole part is gone */
    float whole = rintf(c_high * (k + log_m));
    float part = fmaf(c_high, k, -whole) + fmaf(c_low, k, c_high * log_m); /* |part| < 0.51 */
    float r = 0.0096184369f + part * (0.00133988739f + part * 0.00015353362f);
    r = 1 + part * (0.693147182f + part * (0.240226477f + part * (0.0555033237f + part * r)));
    if (!steep)
        return z * (r * exp2_of((int32_t)whole));
    int32_t half = (int32_t)fminf(fmaxf(whole / 2, -127), 128);
    int32_t other = (int32_t)fminf(fmaxf(whole - half, -127), 128);
    float value = z * exp2_of(half) * (r * exp2_of(other));
    return c_high < -1 && a == INFINITY ? 0 : value;
}

enum { TAKE = 8 * WIDTH }; /* columns that a thread takes in one go */

/* What an edge adds to its ends: weight φ(z). A z without a leading 1 is made 2^32 times as large, and
 * tiny_weight = 2^(-32 e) weight makes up for it. */
typedef struct {
    float weight, tiny_weight, c_high, c_low;
} edge;

enum { SIGN, PLAIN, STEEP }; /* kinds of powers: e = 0, in [1/64, 1], any other */

INLINE void pulls(const float *restrict from_i, const float *restrict from_j, float *restrict to_i,
                  float *restrict to_j, edge of, size width, const int kind)
{
#pragma clang loop interleave_count(8) /* the steps of power wait for each other */
    for (size v = 0; v < width; v++) {
        float z = from_j[v] - from_i[v], pull;
        if (kind == SIGN)
            pull = z > 0 ? of.weight : z < 0 ? -of.weight : z; /* 0, and NaN */
        else {
            int tiny = fabsf(z) < FLT_MIN;
            z = tiny ? z * 0x1p32f : z;
            pull = (tiny ? of.tiny_weight : of.weight) * power(z, of.c_high, of.c_low, kind == STEEP);
        }
        to_i[v] += pull;
        to_j[v] -= pull;
    }
}

/* A function of its own for each kind: clang then shares out the registers better. */
typedef void pulls_of_kind(const float *, const float *, float *, float *, edge, size);
#define PULLS(name, kind)                                                                          \
    static void name(const float *from_i, const float *from_j, float *to_i, float *to_j, edge of,  \
                     size width)                                                                   \
    {                                                                                              \
        pulls(from_i, from_j, to_i, to_j, of, width, kind);                                        \
    }
PULLS(sign_pulls, SIGN)
PULLS(plain_pulls, PLAIN)
PULLS(steep_pulls, STEEP)

/* One consensus step from X [n, d] to new (which may be X, or seen), with the differences of seen, and
 * of the weights W [n, n] those above the diagonal. Threads that call this with the same `next`, 0 at
 * first, share the columns among them. work has room for n · WIDTH, of each thread's own. */
void ngo_gossip(const float *seen, const float *X, float *new, const double *W, double gamma,
                double e, size n, size d, size *next, float *work)
{
    float c_high = e - 1, c_low = e - 1 - c_high;
    double tiny = exp2(-32 * e);
    pulls_of_kind *add = e == 0 ? sign_pulls : e < 1. / 64 || e > 1 ? steep_pulls : plain_pulls;
    size taken;
    while ((taken = __atomic_fetch_add(next, TAKE, __ATOMIC_RELAXED)) < d)
        for (size at = taken; at < MIN(taken + TAKE, d); at += WIDTH) {
            size width = MIN(WIDTH, d - at);
            for (size i = 0; i < n; i++) {
                memcpy(work + i * WIDTH, seen + i * d + at, width * sizeof(float));
                if (new != X)
                    memcpy(new + i * d + at, X + i * d + at, width * sizeof(float));
            }
            for (size i = 0; i < n; i++)
                for (size j = i + 1; j < n; j++) {
                    double weight = gamma * W[i * n + j];
                    edge of = {weight, weight * tiny, c_high, c_low};
                    if (weight != 0)
                        add(work + i * WIDTH, work + j * WIDTH, new + i * d + at, new + j * d + at, of,
                            width);
                }
        }
}

/* Waiting -------------------------------------------------------------------------------------- */

/* Look at *count until it is no longer `seen`, some tenths of a millisecond at most. Who else wants
 * the core gets it. */
void ngo_wait(const size *count, size seen)
{
    for (int round = 0; round < 256; round++, sched_yield())
        for (int look = 0; look < 32; look++) {
            if (__atomic_load_n(count, __ATOMIC_RELAXED) != seen)
                return;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#elif defined(__aarch64__)
            __asm__ volatile("yield");
#endif
        }
}
