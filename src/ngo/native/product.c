/* A matrix product whose rows are contiguous. */

#include <stdint.h>

typedef int64_t size;
#define INLINE static inline __attribute__((always_inline))

/* Unaligned vectors, which clang splits where the processor's are shorter. */
typedef float v16 __attribute__((vector_size(64), aligned(4)));
typedef float v8 __attribute__((vector_size(32), aligned(4)));
typedef float v4 __attribute__((vector_size(16), aligned(4)));

/* Sums of a block stay in registers: ROWS rows of VECTORS vectors. */
#if defined(__AVX512F__)
enum { ROWS = 8, VECTORS = 2 };
#else
enum { ROWS = 4, VECTORS = 1 };
#endif

/* The sizes of a product: C [m, n] = A [m, k] B [k, n]. Row r of A starts at r · row, and its elements
 * are `step` apart; the rows of B and C are n apart. */
typedef struct {
    size m, n, k, row, step;
} sizes;

/* A block of `rows` rows and `count` vectors of C, with the bias of each row. */
#define DEFINE_BLOCK(name, vector)                                                                 \
    INLINE void name(const float *a, const float *b, const float *bias, float *c, sizes s,         \
                     const int rows, const int count)                                              \
    {                                                                                              \
        const size lanes = sizeof(vector) / sizeof(float);                                         \
        vector sums[ROWS][VECTORS];                                                                \
        for (int r = 0; r < rows; r++)                                                             \
            for (int j = 0; j < count; j++)                                                        \
                sums[r][j] = (vector){0} + (bias ? bias[r] : 0);                                   \
        for (size i = 0; i < s.k; i++) {                                                           \
            vector x[VECTORS];                                                                     \
            for (int j = 0; j < count; j++)                                                        \
                x[j] = *(const vector *)(b + i * s.n + j * lanes);                                 \
            for (int r = 0; r < rows; r++)                                                         \
                for (int j = 0; j < count; j++)                                                    \
                    sums[r][j] += a[r * s.row + i * s.step] * x[j];                                \
        }                                                                                          \
        for (int r = 0; r < rows; r++)                                                             \
            for (int j = 0; j < count; j++)                                                        \
                *(vector *)(c + r * s.n + j * lanes) = sums[r][j];                                 \
    }
DEFINE_BLOCK(block16, v16)
DEFINE_BLOCK(block8, v8)
DEFINE_BLOCK(block4, v4)
DEFINE_BLOCK(block1, float)

/* All columns of `rows` rows. Where the last columns do not fill a vector, the one before overlaps them. */
INLINE void columns(const float *a, const float *b, const float *bias, float *c, sizes s,
                    const int rows)
{
    size at = 0;
    for (; at + 16 * VECTORS <= s.n; at += 16 * VECTORS)
        block16(a, b + at, bias, c + at, s, rows, VECTORS);
    if (at == s.n)
        return;
#define REST(block, lanes)                                                                         \
    for (; at < s.n && lanes <= s.n && (at + lanes <= s.n || lanes < 16); at += lanes) {           \
        size from = at + lanes <= s.n ? at : s.n - lanes;                                          \
        block(a, b + from, bias, c + from, s, rows, 1);                                            \
    }
    REST(block16, 16)
    REST(block8, 8)
    REST(block4, 4)
    REST(block1, 1)
}

/* C = A B + bias, where `bias` [m] may be NULL. */
void ngo_product(const float *a, const float *b, const float *bias, float *c, size m, size n,
                 size k, size row, size step)
{
    sizes s = {m, n, k, row, step};
    size r = 0;
#define WITH_ROWS(count)                                                                           \
    for (; r + count <= m; r += count)                                                             \
        columns(a + r * row, b, bias ? bias + r : bias, c + r * n, s, count);
    WITH_ROWS(ROWS)
    WITH_ROWS(4)
    WITH_ROWS(2)
    WITH_ROWS(1)
}
