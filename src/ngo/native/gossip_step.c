/* Gossip steps: nonlinear pulls along edges, and weighted sums of neighbours' rows. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int64_t size;
#define INLINE static inline __attribute__((always_inline))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* Columns of the state that are processed at once: their rows fit into a core's second-level cache. */
enum { WIDTH = 256 };
const size ngo_gossip_width = WIDTH;

/* 2^k for k from -127 (returns 0) to 128 (returns infinity). */
INLINE float exp2_of(int32_t k)
{
    int32_t bits = (k + 127) << 23;
    float power;
    memcpy(&power, &bits, 4);
    return power;
}

/* log₂ a = k + the result, for normal a: a = 2^k m with m in [√½, √2). The polynomial, like that in
 * `power`, has minimax coefficients. */
INLINE float log2_of(float a, int32_t *k)
{
#pragma clang fp reassociate(off)
    int32_t bits, m_bits;
    memcpy(&bits, &a, 4);
    *k = (bits - 0x3f3504f3) >> 23; /* the bits of √½ */
    m_bits = bits - (*k << 23);
    float m;
    memcpy(&m, &m_bits, 4);
    /* log₂ m = 2/ln 2 · artanh s, with s = (m − 1)/(m + 1), |s| < 0.172 */
    float s = (m - 1) / (m + 1), q = s * s;
    return s * (2.88539124f + q * (0.961470723f + q * 0.598976135f));
}

/* sign(z)|z|^e = z 2^(c log₂|z|) with c = e − 1 = c_high + c_low and log₂|z| = k + log_m. The relative
 * error is at most 2.2e-7 for e up to 3. z must be zero, normal or non-finite. 2^(c log₂|z|) can leave
 * the range of float exponents only for a `steep` power, which is why that one multiplies by two halves
 * of it. */
INLINE float power(float z, int32_t k, float log_m, float c_high, float c_low, const int steep)
{
#pragma clang fp reassociate(off)
    /* 2^(c (k + log₂ m)) = 2^whole · 2^part. The integer part of c·k is subtracted before rounding. */
    float whole = rintf(c_high * (k + log_m));
    float part = fmaf(c_high, k, -whole) + fmaf(c_low, k, c_high * log_m); /* |part| < 0.51 */
    float r = 0.0096184369f + part * (0.00133988739f + part * 0.00015353362f);
    r = 1 + part * (0.693147182f + part * (0.240226477f + part * (0.0555033237f + part * r)));
    if (!steep)
        return z * (r * exp2_of((int32_t)whole));
    int32_t half = (int32_t)fminf(fmaxf(whole / 2, -127), 128);
    int32_t other = (int32_t)fminf(fmaxf(whole - half, -127), 128);
    float value = z * exp2_of(half) * (r * exp2_of(other));
    return c_high < -1 && fabsf(z) == INFINITY ? 0 : value;
}

enum { TAKE = 8 * WIDTH }; /* columns that a thread claims at a time */

/* A function of y that is 1 far from 0, as chords first + slope |y|: those of y ≥ 0, then those of
 * y < 0. A cell's width is in proportion to |y| + offset, which is a power of 2: the leading bits of
 * this float are the cell's number. */
enum { CELL_BITS = 15 };
typedef struct {
    const float *first, *slope;
    float offset;
    int32_t lowest, cells;
} chords;

INLINE float chord(chords of, float y)
{
    float size = fminf(fabsf(y), 1e3f), shifted = size + of.offset;
    int32_t bits;
    memcpy(&bits, &shifted, 4);
    int32_t cell = MIN((bits >> CELL_BITS) - of.lowest, of.cells - 1) + (y < 0 ? of.cells : 0);
    return of.first[cell] + of.slope[cell] * size;
}

/* The constants of one edge, which adds weight · φ(z) to its ends. A subnormal z is scaled by 2^32, and
 * tiny_weight = 2^(-32 e) weight compensates. */
typedef struct {
    float weight, tiny_weight, c_high, c_low;
    float most;               /* the pull is at most this times z */
    float log_high, log_low;  /* log₂(2 weight) */
    chords rounded;           /* of an implicit pull */
} edge;

enum { SIGN, PLAIN, STEEP };       /* kinds of exponents: e = 0, e in [1/64, 1], all others */
enum { FREE, CAPPED, IMPLICIT };   /* limits of the pull */

/* An implicit pull is the smaller of weight φ(z) and z/2, times a factor that rounds the corner between
 * them, a function of y = log₂(2 weight |z|^(e-1)), which is 0 at the corner. */
INLINE void pulls(const float *restrict from_i, const float *restrict from_j, float *restrict to_i,
                  float *restrict to_j, edge of, size width, const int kind, const int limit)
{
#pragma clang loop interleave_count(8) /* hides the latency of the dependent steps in `power` */
    for (size v = 0; v < width; v++) {
        float z = from_j[v] - from_i[v], pull, factor = 1;
        float most = of.most * z;
        if (kind == SIGN)
            pull = z > 0 ? of.weight : z < 0 ? -of.weight : z; /* z is 0 or NaN */
        else {
            int tiny = fabsf(z) < FLT_MIN;
            z = tiny ? z * 0x1p32f : z;
            int32_t k;
            float log_m = log2_of(fabsf(z), &k);
            pull = (tiny ? of.tiny_weight : of.weight)
                   * power(z, k, log_m, of.c_high, of.c_low, kind == STEEP);
            if (limit == IMPLICIT) {
                float true_k = tiny ? k - 32 : k;
                float rest = of.log_low + of.c_low * true_k + of.c_high * log_m;
                factor = chord(of.rounded, fmaf(of.c_high, true_k, of.log_high) + rest);
            }
        }
        if (limit != FREE)
            pull = (fabsf(pull) < fabsf(most) ? pull : most) * factor;
        to_i[v] += pull;
        to_j[v] -= pull;
    }
}

/* One function for each kind: clang allocates registers better than for one function with branches. */
typedef void pulls_of_kind(const float *, const float *, float *, float *, edge, size);
#define PULLS(name, kind, limit)                                                                   \
    static void name(const float *from_i, const float *from_j, float *to_i, float *to_j, edge of,  \
                     size width)                                                                   \
    {                                                                                              \
        pulls(from_i, from_j, to_i, to_j, of, width, kind, limit);                                 \
    }
PULLS(sign_pulls, SIGN, FREE)
PULLS(plain_pulls, PLAIN, FREE)
PULLS(steep_pulls, STEEP, FREE)
PULLS(capped_sign_pulls, SIGN, CAPPED)
PULLS(capped_plain_pulls, PLAIN, CAPPED)
PULLS(capped_steep_pulls, STEEP, CAPPED)
PULLS(implicit_plain_pulls, PLAIN, IMPLICIT)
PULLS(implicit_steep_pulls, STEEP, IMPLICIT)
/* By limit and kind. At e = 0 an implicit pull has no rounded corner. */
static pulls_of_kind *const PULLS_OF[3][3] = {
    {sign_pulls, plain_pulls, steep_pulls},
    {capped_sign_pulls, capped_plain_pulls, capped_steep_pulls},
    {capped_sign_pulls, implicit_plain_pulls, implicit_steep_pulls},
};

/* The columns of `state` from `at` on, in rows of `stride`. */
INLINE void copy_columns(float *work, const float *state, size n, size d, size at, size width,
                         size stride)
{
    for (size i = 0; i < n; i++)
        memcpy(work + i * stride, state + i * d + at, width * sizeof(float));
}

/* Unaligned vectors, which clang splits where the processor's are shorter. */
typedef float v16 __attribute__((vector_size(64), aligned(4)));

/* Columns whose sums stay in registers. */
#if defined(__AVX512F__)
enum { VECTORS = 8, PART = 16 * VECTORS };
#else
enum { VECTORS = 4, PART = 16 * VECTORS };
#endif

/* The `count` vectors of row i of `ngo_sums` from column `at` of `work` on; `width` are in the row. */
INLINE void sum_part(const float *work, const float *X, float *new, const size *senders,
                     const double *weights, size edges, size i, float own, double gamma, size at,
                     size width, size stride, const int count)
{
    v16 sum[VECTORS];
    float sums[PART];
    for (int j = 0; j < count; j++)
        sum[j] = own * *(const v16 *)(work + i * stride + at + 16 * j);
    for (size k = 0; k < edges; k++) {
        const float *theirs = work + senders[k] * stride + at;
        float weight = gamma * weights[k];
        for (int j = 0; j < count; j++)
            sum[j] += weight * *(const v16 *)(theirs + 16 * j);
    }
    for (int j = 0; j < count; j++)
        *(v16 *)(sums + 16 * j) = sum[j];
    for (size v = 0; v < MIN(16 * count, width - at); v++)
        new[at + v] = X ? X[at + v] + sums[v] : sums[v];
}

/* One row of `ngo_sums`. */
INLINE void sum_row(const float *work, const float *X, float *new, const size *senders,
                    const double *weights, size edges, size i, float own, double gamma, size width,
                    size stride)
{
    size at = 0;
    for (; at + PART <= width; at += PART)
        sum_part(work, X, new, senders, weights, edges, i, own, gamma, at, width, stride, VECTORS);
    for (; at < width; at += 16)
        sum_part(work, X, new, senders, weights, edges, i, own, gamma, at, width, stride, 1);
}

/* One gossip step from the state X [n, d] to `new`, which may be X or `seen`. Differences are those of
 * `seen`; edge number k joins from[k] and to[k]. A CAPPED pull along it is at most cap · weights[k] · z.
 * `table` holds the 2 · cells first numbers and slopes of an IMPLICIT pull's chords. Threads that pass
 * the same `next`, initially 0, share the columns. Each thread has a workspace `work` of
 * n · min(d rounded up to vectors of 16, WIDTH) elements. */
void ngo_gossip(const float *seen, const float *X, float *new, const size *from, const size *to,
                const double *weights, size edges, double gamma, double e, size limit, double cap,
                const float *table, size cells, double offset, size n, size d, size *next,
                float *work)
{
    chords rounded = {table, table + 2 * cells, offset, 0, cells};
    memcpy(&rounded.lowest, &rounded.offset, 4);
    rounded.lowest >>= CELL_BITS;
    float c_high = e - 1, c_low = e - 1 - c_high;
    double tiny = exp2(-32 * e);
    int kind = e == 0 ? SIGN : e < 1. / 64 || e > 1 ? STEEP : PLAIN;
    pulls_of_kind *add = PULLS_OF[limit][kind];
    size taken, stride = MIN(WIDTH, d);
    while ((taken = __atomic_fetch_add(next, TAKE, __ATOMIC_RELAXED)) < d)
        for (size at = taken; at < MIN(taken + TAKE, d); at += WIDTH) {
            size width = MIN(WIDTH, d - at);
            copy_columns(work, seen, n, d, at, width, stride);
            if (new != X)
                for (size i = 0; i < n; i++)
                    memcpy(new + i * d + at, X + i * d + at, width * sizeof(float));
            for (size k = 0; k < edges; k++) {
                size i = from[k], j = to[k];
                double weight = gamma * weights[k];
                double most = limit == CAPPED ? cap * weights[k] : 0.5;
                double log = limit == IMPLICIT ? log2(2 * weight) : 0;
                edge of = {weight, weight * tiny, c_high, c_low, most, log, log - (float)log, rounded};
                add(work + i * stride, work + j * stride, new + i * d + at, new + j * d + at, of,
                    width);
            }
        }
}

/* new_i ← X_i + (a + b v_i) seen_i + γ Σ_j W_ij seen_j, without X_i where X is null. The senders j and
 * the weights of row i are from starts[i] to starts[i + 1]. `new` may be X or `seen`; threads and `work`
 * as above. */
void ngo_sums(const float *seen, const float *X, float *new, const size *starts,
              const size *senders, const double *weights, const double *v, double a, double b,
              double gamma, size n, size d, size *next, float *work)
{
    size taken, whole = MIN(WIDTH, (d + 15) & ~(size)15);
    while ((taken = __atomic_fetch_add(next, TAKE, __ATOMIC_RELAXED)) < d)
        for (size at = taken; at < MIN(taken + TAKE, d); at += WIDTH) {
            size width = MIN(WIDTH, d - at), stride = d;
            const float *from = seen + at;
            if (new == seen || width < WIDTH) { /* rows change, or have no whole vectors */
                copy_columns(work, seen, n, d, at, width, whole);
                from = work;
                stride = whole;
            }
            for (size i = 0; i < n; i++)
                sum_row(from, X ? X + i * d + at : 0, new + i * d + at, senders + starts[i],
                        weights + starts[i], starts[i + 1] - starts[i], i, a + b * v[i], gamma,
                        width, stride);
        }
}
