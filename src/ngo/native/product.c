/* Products and transposes of matrices whose rows are contiguous. */

#include "kernels.h"

/* Sums of a block stay in registers: up to ROWS rows of VECTORS vectors. */
#if defined(__AVX512F__)
enum { ROWS = 8, VECTORS = 2 };
#else
enum { ROWS = 6, VECTORS = 1 };
#endif

/* C [m, n] = A B, or C += A B with `add`. Row r of A starts at r · row, and its elements are `step` apart.
 * The rows of B are in `groups` of k: row i of group g starts at offsets[g] + i · between. Rows of C are
 * `to` apart. */
typedef struct {
    size m, n, k, row, step, groups, between;
    const size *offsets;
    size to, add, ahead; /* whether what comes next of A is fetched meanwhile */
} sizes;

/* A whole vector, and, with AVX-512, the first n of its lanes. */
#define READ(vector, at, n) (*(const vector *)(at))
#define WRITE(vector, at, n, x) (*(vector *)(at) = (x))
#if defined(__AVX512F__)
#include <immintrin.h>
#define READ_FIRST(vector, at, n) ((vector)_mm512_maskz_loadu_ps((1 << (n)) - 1, at))
#define WRITE_FIRST(vector, at, n, x) _mm512_mask_storeu_ps(at, (1 << (n)) - 1, (__m512)(x))
#endif

/* A block of `rows` rows and `count` vectors of C, with the bias of each row. */
#define DEFINE_BLOCK(name, vector, READ, WRITE)                                                    \
    INLINE void name(const float *a, const float *b, const float *bias, float *c, sizes s,         \
                     const int rows, const int count)                                              \
    {                                                                                              \
        const size lanes = sizeof(vector) / sizeof(float);                                         \
        vector sums[ROWS][VECTORS];                                                                \
        for (int r = 0; r < rows; r++)                                                             \
            for (int j = 0; j < count; j++)                                                        \
                sums[r][j] = s.add ? READ(vector, c + r * s.to + j * lanes, s.n)                   \
                                   : (vector){0} + (bias ? bias[r] : 0);                           \
        for (size g = 0; g < s.groups; g++) {                                                      \
            const float *from = b + s.offsets[g];                                                  \
            for (size i = 0; i < s.k; i++, from += s.between, a += s.step) {                       \
                for (int r = 0; s.ahead && !(i & 15) && r < rows; r++)                             \
                    __builtin_prefetch(a + (rows + r) * s.row, 0, 2);                              \
                vector x[VECTORS];                                                                 \
                for (int j = 0; j < count; j++)                                                    \
                    x[j] = READ(vector, from + j * lanes, s.n);                                    \
                for (int r = 0; r < rows; r++)                                                     \
                    for (int j = 0; j < count; j++)                                                \
                        sums[r][j] += a[r * s.row] * x[j];                                         \
            }                                                                                      \
        }                                                                                          \
        for (int r = 0; r < rows; r++)                                                             \
            for (int j = 0; j < count; j++)                                                        \
                WRITE(vector, c + r * s.to + j * lanes, s.n, sums[r][j]);                          \
    }
DEFINE_BLOCK(block16, v16, READ, WRITE)
DEFINE_BLOCK(block8, v8, READ, WRITE)
DEFINE_BLOCK(block4, v4, READ, WRITE)
DEFINE_BLOCK(block1, float, READ, WRITE)
#if defined(__AVX512F__)
DEFINE_BLOCK(block_few, v16, READ_FIRST, WRITE_FIRST)
#endif

/* All columns of `rows` rows. Where the last columns do not fill a vector, it overlaps the one before. */
INLINE void columns(const float *a, const float *b, const float *bias, float *c, sizes s,
                    const int rows)
{
    size at = 0;
#if defined(__AVX512F__)
    if (8 < s.n && s.n < 16) {
        block_few(a, b, bias, c, s, rows, 1);
        return;
    }
#endif
    for (; at + 16 * VECTORS <= s.n; at += 16 * VECTORS, s.ahead = 0)
        block16(a, b + at, bias, c + at, s, rows, VECTORS);
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

/* C = A B + bias, where `bias` [m] may be NULL; with `add`, C += A B, where n must be a multiple of 16,
 * since the last vectors of another n overlap. Rows are divided into blocks of about equal size. */
void ngo_grouped_product(const float *a, const float *b, const float *bias, float *c, size m, size n,
                         size k, size row, size step, size groups, size between,
                         const size *offsets, size to, size add)
{
    sizes s = {m, n, k, row, step, groups, between, offsets, to, add, step == 1};
    size count;
    for (size r = 0, blocks = (m + ROWS - 1) / ROWS; r < m; r += count, blocks--) {
        count = (m - r + blocks - 1) / blocks;
#define WITH_ROWS(rows)                                                                            \
    case rows: columns(a + r * row, b, bias ? bias + r : bias, c + r * to, s, rows); break;
        switch (count) {
            WITH_ROWS(1)
            WITH_ROWS(2)
            WITH_ROWS(3)
            WITH_ROWS(4)
            WITH_ROWS(5)
            WITH_ROWS(6)
#if defined(__AVX512F__)
            WITH_ROWS(7)
            WITH_ROWS(8)
#endif
        }
    }
}

/* The same with the rows of B one after another. */
void ngo_product(const float *a, const float *b, const float *bias, float *c, size m, size n,
                 size k, size row, size step)
{
    ngo_grouped_product(a, b, bias, c, m, n, k, row, step, 1, n, (size[]){0}, n, 0);
}

#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/* An 8 × 8 block of `to`, whose rows are n apart, from 8 rows: blocks of 1, 2 and 4 trade places. */
INLINE void transpose8(const float *const *rows, float *to, size n)
{
    v8 x[8];
    for (int r = 0; r < 8; r++)
        x[r] = *(const v8 *)rows[r];
#define TRADE(distance, ...)                                                                       \
    for (int r = 0; r < 8; r++)                                                                    \
        if (!(r & distance)) {                                                                     \
            v8 a = x[r], b = x[r + distance];                                                      \
            TRADED(a, b, x[r], x[r + distance], __VA_ARGS__)                                       \
        }
#define TRADED(a, b, first, second, i0, i1, i2, i3, i4, i5, i6, i7, step)                          \
    first = MIX(a, b, i0, i1, i2, i3, i4, i5, i6, i7);                                             \
    second = MIX(a, b, i0 + step, i1 + step, i2 + step, i3 + step, i4 + step, i5 + step,           \
                 i6 + step, i7 + step);
    TRADE(1, 0, 8, 2, 10, 4, 12, 6, 14, 1)
    TRADE(2, 0, 1, 8, 9, 4, 5, 12, 13, 2)
    TRADE(4, 0, 1, 2, 3, 8, 9, 10, 11, 4)
    for (int r = 0; r < 8; r++)
        *(v8 *)(to + r * n) = x[r];
}

/* Columns of `to` [columns, n], from its `count` rows. Where the last ones do not fill a block, it overlaps the one
 * before. */
void ngo_transpose(const float *const *rows, size count, size columns, float *to, size n)
{
    int blocks = count >= 8 && columns >= 8;
    for (size r = 0; blocks && r < count; r += 8)
        for (size c = 0; c < columns; c += 8) {
            size row = MIN(r, count - 8), column = MIN(c, columns - 8);
            const float *block[8];
            for (int i = 0; i < 8; i++)
                block[i] = rows[row + i] + column;
            transpose8(block, to + column * n + row, n);
        }
    for (size r = 0; !blocks && r < count; r++)
        for (size c = 0; c < columns; c++)
            to[c * n + r] = rows[r][c];
}

/* `to` [columns, rows] from x [rows, columns]. */
void ngo_transpose_matrix(const float *x, float *to, size rows, size columns)
{
    const float *each[64];
    for (size from = 0, count; from < rows; from += count) {
        count = MIN(64, rows - from);
        for (size r = 0; r < count; r++)
            each[r] = x + (from + r) * columns;
        ngo_transpose(each, count, columns, to + from, rows);
    }
}
