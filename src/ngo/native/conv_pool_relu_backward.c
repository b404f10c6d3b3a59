/* The backward pass of conv_pool_relu.c.
 *
 * In each window only the winner, the place of the maximum, has a gradient, and only if it is neither
 * NONE nor 0. The weights' gradient is the sum of the winners' patches of x, each times its gradient;
 * the input's is the sum of the kernels, laid over the winners' patches. A gradient of 0 contributes
 * nothing, even where x or w is not finite.
 *
 * Samples are copied with their channels last, so that a patch is a few contiguous runs. They are
 * processed in a fixed order, in one thread.
 */

#include "kernels.h"

#define UNROLL _Pragma("unroll")

/* The lanes of a vector, and the vectors of a block that is kept in registers. */
#if defined(__AVX512F__)
enum { LANES = 16, REGISTERS = 25 };
#else
enum { LANES = 8, REGISTERS = 12 };
#endif
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t mask __attribute__((vector_size(4 * LANES), aligned(4)));
typedef float four __attribute__((vector_size(16), aligned(4)));
typedef int32_t eight __attribute__((vector_size(32), aligned(4)));
typedef uint8_t eight_bytes __attribute__((vector_size(8), aligned(1)));

enum { GROUP = 16, CHUNK = 4 }; /* samples that are copied, and that are processed, at a time */
enum { CHUNKS = GROUP / CHUNK };

/* The sizes of a layer, with the pooled output [out, ph, pw, b], and of patches in memory. A sample is
 * [h, w, pixel]: a pixel has the channels of `m` rows of the image, from its own row on, and padding. A
 * patch is `rows` runs of `run` elements, `stride` elements apart; in registers, a run is `columns`
 * vectors. With few channels, m > 1 fills a vector. Padding aligns vectors, where it adds few. An odd
 * number of cache lines spreads samples over the cache. */
typedef struct {
    size b, in, h, w, out, ph, pw, k, m, pixel, rows, run, columns, stride, sample;
} sizes;

static sizes of_layer(size b, size in, size h, size w, size out, size k, int of_input)
{
    sizes s = {b, in, h, w, out, (h - k + 1) / 2, (w - k + 1) / 2, k};
    s.m = of_input ? 1 : MIN(k, MAX(1, 16 / (k * in)));
    size channels = s.m * in, padded = ROUND_UP(channels, LANES);
    s.pixel = 5 * k * padded <= 7 * ROUND_UP(k * channels, LANES) ? padded : channels;
    s.rows = (k + s.m - 1) / s.m;
    s.run = k * s.pixel;
    s.columns = (s.run + LANES - 1) / LANES;
    s.stride = s.m * w * s.pixel;
    s.sample = (ROUND_UP(h * w * s.pixel, 16) / 16 | 1) * 16;
    return s;
}

/* The position of a winner's patch in a chunk of samples, and its gradient. */
typedef struct {
    int32_t at;
    float gradient;
} winner;

/* The parts of the workspace: samples of a group; the weights' gradient so far and the kernels,
 * [out, rows, columns, LANES]; the winners [CHUNKS, out, CHUNK ph pw] and their number [CHUNKS, out];
 * a row of windows [pw, GROUP], and -1 for the winners in it. */
typedef struct {
    float *x, *dx, *sums, *w, *end;
    winner *found, *candidates;
    size *count;
    int32_t *keep;
} memory;

static memory divide(float *workspace, sizes s)
{
    size kernels = s.out * s.rows * s.columns * LANES;
    memory m = {.x = (float *)ROUND_UP((uintptr_t)workspace, 64)};
    m.dx = m.x + GROUP * s.sample + LANES; /* a last vector may extend past the last run */
    m.sums = m.dx + GROUP * s.sample + LANES;
    m.w = m.sums + kernels;
    m.found = (winner *)(m.w + kernels);
    m.count = (size *)(m.found + CHUNKS * s.out * CHUNK * s.ph * s.pw);
    m.candidates = (winner *)(m.count + CHUNKS * s.out);
    m.keep = (int32_t *)(m.candidates + s.pw * GROUP);
    m.end = (float *)(m.keep + s.pw * GROUP);
    return m;
}

INLINE void transpose_four(float *const from[4], float *const to[4])
{
    four a = *(four *)from[0], b = *(four *)from[1], c = *(four *)from[2], d = *(four *)from[3];
    four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    *(four *)to[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(four *)to[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(four *)to[2] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(four *)to[3] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

/* Copies `count` elements (up to 4) of n samples between images, where element j of sample v is
 * image[j][v], and samples, where it is samples[v · sample + j]. */
INLINE void move(float *const image[4], float *samples, sizes s, size count, size n,
                 const int to_images)
{
    size v = 0;
    for (; count == 4 && v + 4 <= n; v += 4) {
        float *images[4], *rows[4];
        for (int j = 0; j < 4; j++) {
            images[j] = image[j] + v;
            rows[j] = samples + (v + j) * s.sample;
        }
        transpose_four(to_images ? rows : images, to_images ? images : rows);
    }
    for (; v < n; v++)
        for (size j = 0; j < count; j++) {
            float *a = image[j] + v, *b = samples + v * s.sample + j;
            *(to_images ? a : b) = *(to_images ? b : a);
        }
}

/* Copies n samples from images [in, h, w, b] to the layout of patches, or back. */
INLINE void transpose(float *images, float *samples, sizes s, size n, const int to_images)
{
    float *image[4], padding[GROUP] = {0};
    size count = 0;
    for (size row = 0; row < s.h; row++)
        for (size column = 0; column < s.w; column++)
            for (size e = 0, r = 0, i = 0; e < s.pixel; e++) {
                size from = MIN(row + r, s.h - 1); /* rows past the image are in no patch */
                image[count++] =
                    r < s.m ? images + ((i * s.h + from) * s.w + column) * s.b : padding;
                if (++i == s.in)
                    i = 0, r++;
                if (count == 4) {
                    move(image, samples, s, 4, n, to_images);
                    samples += 4;
                    count = 0;
                }
            }
    move(image, samples, s, count, n, to_images);
}

/* Writes the candidates of one window in eight samples; `base` is the window's position. */
INLINE void look(winner *candidates, int32_t *keep, const float *dy, const uint8_t *arg,
                 int32_t base, sizes s)
{
    int32_t sample = s.sample, down = s.w * s.pixel, right = s.pixel;
    eight place = __builtin_convertvector(*(const eight_bytes *)arg, eight);
    eight bits = *(const eight *)dy, in_chunk = {0, 1, 2, 3, 0, 1, 2, 3};
    eight at = base + in_chunk * sample + (-(place >> 1) & down) + (-(place & 1) & right);
    *(eight *)candidates = __builtin_shufflevector(at, bits, 0, 8, 1, 9, 2, 10, 3, 11);
    *(eight *)(candidates + 4) = __builtin_shufflevector(at, bits, 4, 12, 5, 13, 6, 14, 7, 15);
    *(eight *)keep = (place < NONE) & ((bits & INT32_MAX) != 0);
}

/* Finds the winners of output channel o in each chunk of n samples. */
static void find(memory m, const float *dy, const uint8_t *arg, sizes s, size o, size n)
{
    for (size c = 0; c < CHUNKS; c++)
        m.count[c * s.out + o] = 0;
    for (size ph = 0; ph < s.ph; ph++) {
        for (size pw = 0; pw < s.pw; pw++)
            for (size v = 0; v < n; v += 8) {
                size from = ((o * s.ph + ph) * s.pw + pw) * s.b + v, to = pw * GROUP + v;
                float few_dy[8] = {0};
                uint8_t few_arg[8] = {0};
                int few = v + 8 > n;
                if (few) {
                    memcpy(few_dy, dy + from, (n - v) * sizeof(float));
                    memcpy(few_arg, arg + from, n - v);
                }
                look(m.candidates + to, m.keep + to, few ? few_dy : dy + from,
                     few ? few_arg : arg + from, 2 * (ph * s.w + pw) * s.pixel, s);
            }
        for (size c = 0; c * CHUNK < n; c++) {
            winner *found = m.found + (c * s.out + o) * CHUNK * s.ph * s.pw;
            size count = m.count[c * s.out + o];
            for (size pw = 0; pw < s.pw; pw++)
                UNROLL for (size v = c * CHUNK; v < (c + 1) * CHUNK; v++) {
                    found[count] = m.candidates[pw * GROUP + v]; /* no branch */
                    count -= m.keep[pw * GROUP + v];
                }
            m.count[c * s.out + o] = count;
        }
    }
}

/* For each of rows × columns vectors, in row r and column c; j numbers them. */
#define FOR_BLOCK                                                                                  \
    UNROLL for (int r = 0, j = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++, j++)

INLINE void add_patch(lanes *block, const float *x, winner one, sizes s, const int rows,
                      const int columns)
{
    FOR_BLOCK block[j] += one.gradient * *(lanes *)(x + one.at + r * s.stride + c * LANES);
}

/* Adds a block of the winners' patches of x, times their gradients, to sums. */
INLINE void add_patches(float *sums, const float *x, const winner *found, size n, sizes s,
                        const int rows, const int columns)
{
    const int unroll = rows * columns <= 2 ? 4 : rows * columns <= 6 ? 2 : 1; /* hides latency */
    lanes block[4][REGISTERS] = {0};
    size i = 0;
    for (; i + unroll <= n; i += unroll)
        UNROLL for (int u = 0; u < unroll; u++)
            add_patch(block[u], x, found[i + u], s, rows, columns);
    for (; i < n; i++)
        add_patch(block[0], x, found[i], s, rows, columns);
    FOR_BLOCK {
        UNROLL for (int u = 1; u < unroll; u++)
            block[0][j] += block[u][j];
        *(lanes *)(sums + (r * s.columns + c) * LANES) += block[0][j];
    }
}

/* Adds a block of the kernel w, times the winners' gradients, to the winners' patches of dx. */
INLINE void add_kernels(const float *w, float *dx, const winner *found, size n, sizes s,
                        const int rows, const int columns)
{
    lanes block[REGISTERS];
    mask inside;
    FOR_BLOCK block[j] = *(lanes *)(w + (r * s.columns + c) * LANES);
    for (int v = 0; v < LANES; v++) /* the elements of the last column that belong to the run */
        inside[v] = -((columns - 1) * LANES + v < s.run);
    for (size i = 0; i < n; i++) {
        lanes g = found[i].gradient - (lanes){0}, last_g = (lanes)((mask)g & inside);
        float *to = dx + found[i].at;
        FOR_BLOCK *(lanes *)(to + r * s.stride + c * LANES) +=
            (c + 1 < columns ? g : last_g) * block[j];
    }
}

/* Adds `columns` vectors of each row, for n winners: to the kernel from samples, or the reverse. */
INLINE void add_columns(float *kernel, float *samples, const winner *found, size n, sizes s,
                        const int to_samples, const int columns)
{
    size row = 0;
#define ADD_ROWS(height)                                                                           \
    for (; height * columns <= REGISTERS && row + height <= s.rows; row += height)                 \
        if (to_samples)                                                                            \
            add_kernels(kernel + row * s.columns * LANES, samples + row * s.stride, found, n, s,   \
                        height, columns);                                                          \
        else                                                                                       \
            add_patches(kernel + row * s.columns * LANES, samples + row * s.stride, found, n, s,   \
                        height, columns);
    ADD_ROWS(5)
    ADD_ROWS(3)
    ADD_ROWS(2)
    ADD_ROWS(1)
}

/* Adds all columns, five at a time; s.run becomes what is left. */
INLINE void add(float *kernel, float *samples, const winner *found, size n, sizes s,
                const int to_samples)
{
    for (; s.run > 0; s.run -= 5 * LANES, kernel += 5 * LANES, samples += 5 * LANES)
        switch (MIN((s.run + LANES - 1) / LANES, 5)) {
        case 1: add_columns(kernel, samples, found, n, s, to_samples, 1); break;
        case 2: add_columns(kernel, samples, found, n, s, to_samples, 2); break;
        case 3: add_columns(kernel, samples, found, n, s, to_samples, 3); break;
        case 4: add_columns(kernel, samples, found, n, s, to_samples, 4); break;
        case 5: add_columns(kernel, samples, found, n, s, to_samples, 5); break;
        }
}

/* The number of elements of the workspace of ngo_conv_pool_relu_backward. */
size ngo_conv_pool_relu_backward_workspace(size b, size in, size h, size width, size out, size k)
{
    size most = 0;
    for (int of_input = 0; of_input < 2; of_input++)
        most = MAX(most, divide(NULL, of_layer(b, in, h, width, out, k, of_input)).end - (float *)NULL);
    return most + 64 / sizeof(float);
}

/* Computes the gradients dx (unless NULL), dw [out, k, k, in] and db from dy, the gradient of y. The
 * workspace has ngo_conv_pool_relu_backward_workspace elements. The other arguments are those of
 * ngo_conv_pool_relu. */
void ngo_conv_pool_relu_backward(const float *x, const float *w, const uint8_t *arg,
                                 const float *dy, float *dx, float *dw, float *db,
                                 float *workspace, size b, size in, size h, size width, size out,
                                 size k)
{
    sizes s = of_layer(b, in, h, width, out, k, dx != NULL);
    memory m = divide(workspace, s);
    size kernel = s.rows * s.columns * LANES, most = CHUNK * s.ph * s.pw;
    memset(db, 0, s.out * sizeof(float));
    memset(m.sums, 0, 2 * s.out * kernel * sizeof(float));
    for (size o = 0; dx && o < s.out; o++)
        for (size row = 0; row < k; row++)
            for (size column = 0; column < k; column++)
                for (size i = 0; i < s.in; i++)
                    m.w[o * kernel + row * s.columns * LANES + column * s.pixel + i] = *w++;
    for (size first = 0; first < s.b; first += GROUP) {
        size n = MIN(GROUP, s.b - first);
        transpose((float *)x + first, m.x, s, n, 0);
        if (dx)
            memset(m.dx, 0, n * s.sample * sizeof(float));
        for (size o = 0; o < s.out; o++)
            find(m, dy + first, arg + first, s, o, n);
        for (size c = 0; c * CHUNK < n; c++) {
            const winner *found = m.found + c * s.out * most;
            const size *count = m.count + c * s.out, samples = c * CHUNK * s.sample;
            for (size o = 0; o < s.out; o++) {
                float sum = 0;
                for (size i = 0; i < count[o]; i++)
                    sum += found[o * most + i].gradient;
                db[o] += sum;
                add(m.sums + o * kernel, m.x + samples, found + o * most, count[o], s, 0);
            }
            for (size o = 0; dx && o < s.out; o++)
                add(m.w + o * kernel, m.dx + samples, found + o * most, count[o], s, 1);
        }
        if (dx)
            transpose(dx + first, m.dx, s, n, 1);
    }
    for (size o = 0; o < s.out; o++)
        for (size row = 0; row < k; row++)
            for (size column = 0; column < k; column++) {
                const float *from = m.sums + o * kernel + row / s.m * s.columns * LANES;
                from += column * s.pixel + row % s.m * s.in;
                for (size i = 0; i < s.in; i++)
                    *dw++ = from[i];
            }
}
