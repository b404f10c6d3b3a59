/* Gossip steps: nonlinear pulls along edges, and weighted sums of neighbours' rows. */

#include "kernels.h"

/* Columns of the state that are processed at once: in sums their rows fit into a core's second-level
 * cache. With pulls, those of 64 workers and their new ones fit into the first-level cache. */
enum { WIDTH = 256, COLUMNS = 64, STRIDE = 2 * COLUMNS };
const size ngo_gossip_width = WIDTH, ngo_gossip_stride = STRIDE;

/* log₂ a = k + the result, for normal a: a = 2^k m with m in [√½, √2). The polynomial has minimax
 * coefficients. */
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

/* With z = ± 2^k m and m in [1, 2), sign(z)|z|^e is `scales` by the first bits of z, its sign and k, times
 * a polynomial in m − 1. The scales of subnormal z are in the second half, by the bits of 2^32 z. Where
 * 0 < e < 1, those of most k are products `fine` · `coarse`, by the last and the first bits of k. */
enum { PLAIN_TERMS = 8, STEEP_TERMS = 11, SIGNED = 512, BIAS = 127 };
typedef struct {
    float scales[2 * SIGNED], fine[16], coarse[16], terms[STEEP_TERMS];
} power;

/* The power, as two factors: the polynomial and the scale. */
INLINE float powered(float z, const power *of, float *scale, const int count)
{
#pragma clang fp reassociate(off)
    int tiny = fabsf(z) < FLT_MIN;
    float m = tiny ? z * 0x1p32f : z, sum = of->terms[count - 1];
    uint32_t bits;
    memcpy(&bits, &m, 4);
    *scale = of->scales[(bits >> 23) + (tiny ? SIGNED : 0)];
    bits = (bits & 0x7fffff) | 0x3f800000;
    memcpy(&m, &bits, 4);
    m = z == z ? m - 1 : z; /* NaN stays */
    for (int i = count - 2; i >= 0; i--)
        sum = of->terms[i] + m * sum;
    return sum;
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

/* A step along edges: number k joins from[k] and to[k]. */
typedef struct {
    const size *from, *to;
    const double *weights;
    size edges;
    double gamma, cap;   /* a CAPPED pull is at most cap · weights[k] · z */
    float c_high, c_low; /* e − 1 */
    chords rounded;      /* of an implicit pull */
    const power *power;
} step;

/* Kinds of exponents: e = 0, 1, between, all others; QUICK is PLAIN with moderate rows. */
enum { SIGN, LINEAR, PLAIN, STEEP, QUICK };
enum { FREE, CAPPED, IMPLICIT };     /* limits of the pull */

#if defined(__FMA__) || defined(__aarch64__) /* elsewhere it is a call */
#define PLUS(to, a, b) __builtin_elementwise_fma(a, b, to)
#else
#define PLUS(to, a, b) ((to) + (a) * (b))
#endif

/* Adds weight · φ(z) to the ends of each edge. An implicit pull is the smaller of weight φ(z) and z/2,
 * times a factor that rounds the corner between them, a function of y = log₂(2 weight |z|^(e-1)), which
 * is 0 at the corner. */
INLINE void pulls(const float *restrict rows, float *restrict sums, const step *of, const int kind,
                  const int limit)
{
    double log = 0, logged = 0;
    for (size k = 0; k < of->edges; k++) {
        size i = of->from[k] * STRIDE, j = of->to[k] * STRIDE;
        double exact = of->gamma * of->weights[k];
        float weight = exact, share = limit == CAPPED ? of->cap * of->weights[k] : 0.5;
        if (limit == IMPLICIT && logged != exact)
            log = log2(2 * (logged = exact));
        float log_high = log, log_low = log - log_high;
#pragma clang loop vectorize(assume_safety)
        for (size v = 0; v < COLUMNS; v++) {
            float z = rows[j + v] - rows[i + v], scale = z, sum = weight, factor = 1;
            if (kind == SIGN) /* else z is 0 or NaN */
                scale = z > 0 ? 1 : z < 0 ? -1 : z;
            else if (kind == LINEAR) {
                scale = weight * z;
                sum = 1;
            } else {
                sum = powered(z, of->power, &scale, kind == STEEP ? STEEP_TERMS : PLAIN_TERMS);
                scale *= weight;
            }
            if (limit == IMPLICIT && kind != SIGN) {
                int32_t k, tiny = fabsf(z) < FLT_MIN;
                float log_m = log2_of(fabsf(tiny ? z * 0x1p32f : z), &k), true_k = tiny ? k - 32 : k;
                float rest = log_low + of->c_low * true_k + of->c_high * log_m;
                factor = chord(of->rounded, fmaf(of->c_high, true_k, log_high) + rest);
            }
            if (limit != FREE) {
                float pull = scale * sum, most = share * z;
                scale = (fabsf(pull) < fabsf(most) ? pull : most) * factor;
                sum = 1;
            }
            sums[i + v] = PLUS(sums[i + v], scale, sum);
            sums[j + v] = PLUS(sums[j + v], -scale, sum);
        }
    }
}

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__) && defined(__FMA__)
#define LANES 8
#endif
#ifdef LANES
enum { SIDE_BY_SIDE = LANES / 4 };
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t words __attribute__((vector_size(4 * LANES)));

/* The scales of differences with these bits; in AVX-512 as products of two that are in registers. */
INLINE lanes scales_of(words bits, const power *of)
{
#if LANES == 16
    lanes fine = *(const lanes *)of->fine, coarse = *(const lanes *)of->coarse;
    return __builtin_ia32_permvarsf512(fine, bits >> 23)
           * __builtin_ia32_vpermi2varps512(coarse, bits >> 27, -coarse);
#else
    return __builtin_ia32_gatherd_ps256((lanes){0}, of->scales, bits >> 23 & (SIGNED - 1),
                                        (lanes)(bits | -1), 4);
#endif
}

/* Whether all numbers are 0 or from 2^-87 to 2^111. Then differences are 0 or from 2^-111 to 2^112. */
static int moderate(const float *rows, size count)
{
    uint32_t bits, least = -1, most = 0;
    for (size v = 0; v < count; v++) {
        memcpy(&bits, rows + v, 4);
        bits <<= 1; /* without the sign */
        most = bits > most ? bits : most;
        least = MIN(bits - 1, least); /* 0 becomes the largest of all */
    }
    return most < (BIAS + 111u) << 24 && least >= (BIAS - 87u) << 24;
}

/* `pulls` of moderate rows with 0 < e < 1, to the byte. Some vectors are computed side by side, which
 * hides the latency of each. */
INLINE void quick_pulls(const float *rows, float *sums, const step *of, const int limit)
{
#pragma clang fp reassociate(off)
    const float *terms = of->power->terms;
    for (size at = 0; at < COLUMNS; at += LANES * SIDE_BY_SIDE)
        for (size k = 0; k < of->edges;) {
            size here = of->from[k];
            lanes *sum_i = (lanes *)(sums + at + here * STRIDE), row[SIDE_BY_SIDE], total[SIDE_BY_SIDE];
            memcpy(row, rows + at + here * STRIDE, sizeof row);
            memcpy(total, sum_i, sizeof total);
            for (; k < of->edges && of->from[k] == here; k++) {
                float weight = of->gamma * of->weights[k], share = of->cap * of->weights[k];
                const lanes *row_j = (const lanes *)(rows + at + of->to[k] * STRIDE);
                lanes *sum_j = (lanes *)(sums + at + of->to[k] * STRIDE);
                lanes z[SIDE_BY_SIDE], scale[SIDE_BY_SIDE], m[SIDE_BY_SIDE], sum[SIDE_BY_SIDE];
                for (int v = 0; v < SIDE_BY_SIDE; v++) {
                    words bits = (words)(z[v] = row_j[v] - row[v]);
                    scale[v] = scales_of(bits, of->power) * weight;
                    m[v] = (lanes)((bits & 0x7fffff) | 0x3f800000) - 1;
                    sum[v] = (lanes){0} + terms[PLAIN_TERMS - 1];
                }
                for (int t = PLAIN_TERMS - 2; t >= 0; t--)
                    for (int v = 0; v < SIDE_BY_SIDE; v++)
                        sum[v] = terms[t] + m[v] * sum[v];
                for (int v = 0; v < SIDE_BY_SIDE; v++) {
                    if (limit == CAPPED) {
                        lanes pull = scale[v] * sum[v], most = share * z[v];
                        words less = __builtin_elementwise_abs(pull) < __builtin_elementwise_abs(most);
                        scale[v] = (lanes)((less & (words)pull) | (~less & (words)most));
                        sum[v] = (lanes){0} + 1;
                    }
                    total[v] = PLUS(total[v], scale[v], sum[v]);
                    sum_j[v] = PLUS(sum_j[v], -scale[v], sum[v]);
                }
            }
            memcpy(sum_i, total, sizeof total);
        }
}
#else
#define moderate(rows, count) 0
#define quick_pulls(rows, sums, of, limit) pulls(rows, sums, of, PLAIN, limit)
#endif

/* One function for each kind: clang allocates registers better than for one function with branches. */
typedef void pulls_of_kind(const float *, float *, const step *);
#define PULLS(kind, limit)                                                                         \
    static void kind##_##limit(const float *rows, float *sums, const step *of)                     \
    {                                                                                              \
        kind == QUICK ? quick_pulls(rows, sums, of, limit) : pulls(rows, sums, of, kind, limit);   \
    }
PULLS(SIGN, FREE) PULLS(LINEAR, FREE) PULLS(PLAIN, FREE) PULLS(STEEP, FREE) PULLS(QUICK, FREE)
PULLS(SIGN, CAPPED) PULLS(LINEAR, CAPPED) PULLS(PLAIN, CAPPED) PULLS(STEEP, CAPPED)
PULLS(QUICK, CAPPED) PULLS(SIGN, IMPLICIT) PULLS(LINEAR, IMPLICIT) PULLS(PLAIN, IMPLICIT)
/* By limit and kind. An implicit pull has e up to 1; at e = 0 it has no rounded corner. */
static pulls_of_kind *const PULLS_OF[3][5] = {
    {SIGN_FREE, LINEAR_FREE, PLAIN_FREE, STEEP_FREE, QUICK_FREE},
    {SIGN_CAPPED, LINEAR_CAPPED, PLAIN_CAPPED, STEEP_CAPPED, QUICK_CAPPED},
    {SIGN_IMPLICIT, LINEAR_IMPLICIT, PLAIN_IMPLICIT},
};

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

/* With a known width, clang copies without a call. */
INLINE void copy_row(float *to, const float *from, size width)
{
    width == COLUMNS ? memcpy(to, from, 4 * COLUMNS) : memcpy(to, from, 4 * width);
}

/* One gossip step from the state X [n, d] to `new`, which may be X or `seen`. Differences are those of
 * `seen`. `table` holds the 2 · cells first numbers and slopes of an IMPLICIT pull's chords. Threads
 * that pass the same `next`, initially 0, share the columns. Each thread has a workspace `work` of
 * n · STRIDE elements. */
void ngo_gossip(const float *seen, const float *X, float *new, const size *from, const size *to,
                const double *weights, size edges, double gamma, double e, const power *power,
                size limit, double cap, const float *table, size cells, double offset, size n, size d, size *next,
                float *work)
{
    float c_high = e - 1;
    step of = {from, to, weights, edges, gamma, cap, c_high, e - 1 - c_high,
               {table, table + 2 * cells, offset, 0, cells}, power};
    memcpy(&of.rounded.lowest, &of.rounded.offset, 4);
    of.rounded.lowest >>= CELL_BITS;
    int kind = e == 0 ? SIGN : e == 1 ? LINEAR : e > 0 && e < 1 ? PLAIN : STEEP;
    float *rows = work, *sums = work + COLUMNS;
    memset(work, 0, n * STRIDE * sizeof(float));
    size taken;
    while ((taken = __atomic_fetch_add(next, TAKE, __ATOMIC_RELAXED)) < d)
        for (size at = taken; at < MIN(taken + TAKE, d); at += COLUMNS) {
            size width = MIN(COLUMNS, d - at);
            for (size i = 0; i < n; i++) {
                for (size next_at = i * d + at + COLUMNS, v = 0; v < COLUMNS; v += 16) {
                    __builtin_prefetch(seen + next_at + v);
                    __builtin_prefetch(X + next_at + v);
                    __builtin_prefetch(new + next_at + v, 1);
                }
                copy_row(rows + i * STRIDE, seen + i * d + at, width);
                copy_row(sums + i * STRIDE, X + i * d + at, width);
            }
            int quick = limit != IMPLICIT && kind == PLAIN && moderate(rows, n * STRIDE);
            PULLS_OF[limit][quick ? QUICK : kind](rows, sums, &of);
            for (size i = 0; i < n; i++)
                copy_row(new + i * d + at, sums + i * STRIDE, width);
        }
}

/* new_i ← X_i + (a + b v_i) seen_i + γ Σ_j W_ij seen_j, without X_i where X is null. The senders j and
 * the weights of row i are from starts[i] to starts[i + 1]. `new` may be X or `seen`. Threads
 * share columns as above; `work` has n · min(d rounded up to vectors of 16, WIDTH) elements. */
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
                for (size i = 0; i < n; i++)
                    memcpy(work + i * whole, from + i * d, width * sizeof(float));
                from = work;
                stride = whole;
            }
            for (size i = 0; i < n; i++)
                sum_row(from, X ? X + i * d + at : 0, new + i * d + at, senders + starts[i],
                        weights + starts[i], starts[i + 1] - starts[i], i, a + b * v[i], gamma,
                        width, stride);
        }
}
