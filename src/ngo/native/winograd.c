/* A 3 × 3 convolution without stride, with 2.25 times fewer products: Winograd's F(2 × 2, 3 × 3) (Lavin and
 * Gray, arXiv 1509.09308).
 *
 * A tile of 2 × 2 outputs is Aᵀ [Σ (G g Gᵀ) ⊙ (Bᵀ d B)] A, with the kernel g and the 4 × 4 inputs d around the
 * tile; the sum is over input channels. Each of the 16 places so is a product of matrices of all tiles. Gradients
 * are by the adjoints of these steps.
 *
 * Images are [b, h, w, channels] and kernels [out, 3, 3, in]. Numbers of channels are multiples of 16.
 */

#include "kernels.h"

/* CACHED numbers of a block of tiles stay in the second-level cache. Pairs of channels are at most MOST_PAIRS, and
 * MOST_OF_TILE for each tile. */
enum { PLACES = 16, CACHED = 1 << 16, MOST_PAIRS = 1 << 17, MOST_OF_TILE = 1 << 12 };

/* Defines a step of a tile of 4 × 4 vectors: four of each column, then of each row, become others. */
#define DEFINE_STEP(name, first, second, third, fourth)                                            \
    INLINE void name(v16 *tile)                                                                    \
    {                                                                                              \
        for (int apart = 4; apart > 0; apart -= 3)                                                 \
            for (int i = 0; i < 4; i++) {                                                          \
                v16 *t = tile + i * (5 - apart);                                                   \
                v16 a = t[0], b = t[apart], c = t[2 * apart], d = t[3 * apart];                    \
                t[0] = first, t[apart] = second, t[2 * apart] = third, t[3 * apart] = fourth;      \
            }                                                                                      \
    }
DEFINE_STEP(of_inputs, a - c, b + c, c - b, b - d) /* Bᵀ d B */
DEFINE_STEP(of_inputs_adjoint, a, b - c + d, b + c - a, -d)
DEFINE_STEP(of_kernels, a, (a + b + c) / 2, (a - b + c) / 2, c) /* G g Gᵀ, where 3 × 3 are given */
DEFINE_STEP(of_kernels_adjoint, a + (b + c) / 2, (b - c) / 2, (b + c) / 2 + d, d)
DEFINE_STEP(to_outputs, a + b + c, b - c - d, c, d) /* Aᵀ m A, of which 2 × 2 are taken */
DEFINE_STEP(to_outputs_adjoint, a, a + b, a - b, -b)

/* Images, and the tiles `from` to `from` + `count` of all that are over them, of which `across` and `down` are in
 * an image. The first one's edge × edge numbers begin at (-padding, -padding). */
typedef struct {
    size h, w, channels, padding, across, down, from, count;
} grid;

/* The distance between the matrices of two places, which would share lines of the cache if it were a power of 2. */
INLINE size apart(size rows, size channels)
{
    return rows * channels + 16;
}

/* Where the edge × edge numbers of tile t are, NULL outside of the image. */
INLINE void find(float *images, grid g, size t, const int edge, float **at)
{
    size top = t / g.across % g.down * 2 - g.padding, left = t % g.across * 2 - g.padding;
    images += t / g.across / g.down * g.h * g.w * g.channels;
    for (size i = 0; i < edge * edge; i++) {
        size y = top + i / edge, x = left + i % edge;
        at[i] = y >= 0 && y < g.h && x >= 0 && x < g.w ? images + (y * g.w + x) * g.channels : NULL;
    }
}

/* The places' matrices [tiles, channels] from the tiles of images, by a step. */
INLINE void take(const float *images, grid g, float *matrices, const int edge, void (*step)(v16 *))
{
    float *at[PLACES];
    for (size t = 0; t < g.count; t++) {
        find((float *)images, g, g.from + t, edge, at);
        for (size c = 0; c < g.channels; c += 16) {
            v16 x[PLACES] = {0};
            for (int i = 0; i < edge * edge; i++)
                if (at[i])
                    x[i / edge * 4 + i % edge] = *(v16 *)(at[i] + c);
            step(x);
            for (int i = 0; i < PLACES; i++)
                *(v16 *)(matrices + i * apart(g.count, g.channels) + t * g.channels + c) = x[i];
        }
    }
}

/* Adds the tiles of these matrices, by a step, to images; or they take their place, with the bias if that is not
 * NULL. */
INLINE void put(const float *matrices, grid g, float *images, const int edge, void (*step)(v16 *), const int add,
                const float *bias)
{
    float *at[PLACES];
    for (size t = 0; t < g.count; t++) {
        find(images, g, g.from + t, edge, at);
        for (size c = 0; c < g.channels; c += 16) {
            v16 x[PLACES], shift = bias ? *(const v16 *)(bias + c) : (v16){0};
            for (int i = 0; i < PLACES; i++)
                x[i] = *(const v16 *)(matrices + i * apart(g.count, g.channels) + t * g.channels + c);
            step(x);
            for (int i = 0; i < edge * edge; i++)
                if (at[i])
                    *(v16 *)(at[i] + c) = (add ? *(v16 *)(at[i] + c) : shift) + x[i / edge * 4 + i % edge];
        }
    }
}

/* The places' matrices [out, in] of kernels; or, with `back`, kernels from them by the adjoint. */
static void kernels(float *w, float *matrices, size in, size out, const int back)
{
    for (size o = 0; o < out; o++)
        for (size c = 0; c < in; c += 16) {
            v16 x[PLACES] = {0};
            float *kernel = w + o * 9 * in + c, *to = matrices + o * in + c;
            for (int i = 0; i < (back ? PLACES : 9); i++)
                x[back ? i : i / 3 * 4 + i % 3] = *(v16 *)(back ? to + i * apart(out, in) : kernel + i * in);
            back ? of_kernels_adjoint(x) : of_kernels(x);
            for (int i = 0; i < (back ? 9 : PLACES); i++)
                *(v16 *)(back ? kernel + i * in : to + i * apart(out, in)) = x[back ? i / 3 * 4 + i % 3 : i];
        }
}

/* The grids over inputs and outputs; the number of tiles. */
static size lay(grid *inputs, grid *outputs, size b, size in, size h, size w, size out, size padding)
{
    size rows = h + 2 * padding - 2, columns = w + 2 * padding - 2, down = (rows + 1) / 2, across = (columns + 1) / 2;
    *inputs = (grid){h, w, in, padding, across, down};
    *outputs = (grid){rows, columns, out, 0, across, down};
    return b * down * across;
}

/* The tiles of a block. */
static size block_of(size in, size out)
{
    return MAX(16, CACHED / PLACES / (in + out) / 8 * 8);
}

/* The number of elements of the workspace of the operations below; 0 if a direct convolution is faster: the kernels'
 * matrices should stay in a cache, and cost less than the tiles' products save. */
size ngo_winograd_workspace(size b, size in, size h, size w, size out, size padding)
{
    grid inputs, outputs;
    size tiles = lay(&inputs, &outputs, b, in, h, w, out, padding), block = block_of(in, out);
    int right = in % 16 == 0 && out % 16 == 0 && outputs.h > 0 && outputs.w > 0;
    if (!right || in * out > MIN(MOST_PAIRS, MOST_OF_TILE * tiles))
        return 0;
    return PLACES * (2 * apart(out, in) + apart(block, in) + apart(block, out));
}

/* y [b, h + 2 padding - 2, …, out] of x [b, h, w, in]; bias may be NULL. */
void ngo_take_winograd(const float *x, const float *w, const float *bias, float *y, float *work, size b, size in,
                       size h, size width, size out, size padding)
{
    grid inputs, outputs;
    size tiles = lay(&inputs, &outputs, b, in, h, width, out, padding), block = block_of(in, out);
    float *U = work, *turned = U + PLACES * apart(out, in), *V = turned + PLACES * apart(out, in);
    float *M = V + PLACES * apart(block, in);
    kernels((float *)w, U, in, out, 0);
    for (size i = 0; i < PLACES; i++)
        ngo_transpose_matrix(U + i * apart(out, in), turned + i * apart(out, in), out, in);
    for (size from = 0; from < tiles; from += block) {
        size count = MIN(block, tiles - from);
        inputs.from = outputs.from = from, inputs.count = outputs.count = count;
        take(x, inputs, V, 4, of_inputs);
        for (size i = 0; i < PLACES; i++)
            ngo_grouped_product(V + i * apart(count, in), turned + i * apart(out, in), NULL, M + i * apart(count, out),
                                count, out, in, in, 1, 1, out, (size[]){0}, out, 0);
        put(M, outputs, y, 2, to_outputs, 0, bias);
    }
}

/* The gradients dx, dw and db, unless NULL, from dy. */
void ngo_take_winograd_backward(const float *x, float *w, const float *bias, const float *dy, float *work, float *dx,
                                float *dw, float *db, size b, size in, size h, size width, size out, size padding)
{
    grid inputs, outputs;
    size tiles = lay(&inputs, &outputs, b, in, h, width, out, padding), block = block_of(in, out);
    float *U = work, *dU = U + PLACES * apart(out, in), *V = dU + PLACES * apart(out, in);
    float *M = V + PLACES * apart(block, in);
    kernels(w, U, in, out, 0);
    memset(dU, 0, PLACES * apart(out, in) * sizeof(float));
    if (dx)
        memset(dx, 0, b * h * width * in * sizeof(float));
    for (size from = 0; from < tiles; from += block) {
        size count = MIN(block, tiles - from);
        inputs.from = outputs.from = from, inputs.count = outputs.count = count;
        take(x, inputs, V, 4, of_inputs);
        take(dy, outputs, M, 2, to_outputs_adjoint);
        for (size i = 0; dw && i < PLACES; i++)
            ngo_grouped_product(M + i * apart(count, out), V + i * apart(count, in), NULL, dU + i * apart(out, in),
                                out, in, count, 1, out, 1, in, (size[]){0}, in, 1);
        if (!dx)
            continue;
        for (size i = 0; i < PLACES; i++)
            ngo_grouped_product(M + i * apart(count, out), U + i * apart(out, in), NULL, V + i * apart(count, in),
                                count, in, out, out, 1, 1, in, (size[]){0}, in, 0);
        put(V, inputs, dx, 4, of_inputs_adjoint, 1, NULL);
    }
    if (dw)
        kernels(dw, dU, in, out, 1);
    double sums[out];
    memset(sums, 0, sizeof sums);
    for (size v = 0; db && v < b * outputs.h * outputs.w; v++)
        for (size o = 0; o < out; o++)
            sums[o] += dy[v * out + o];
    for (size o = 0; db && o < out; o++)
        db[o] = sums[o];
}

/* Images [channels, positions, b] to [b, positions, channels], or back. */
static void turn(float *from, float *to, size channels, size positions, size b, int back)
{
    size count = back ? b : channels, columns = back ? channels : b;
    const float *rows[count];
    for (size p = 0; p < positions; p++) {
        for (size r = 0; r < count; r++)
            rows[r] = from + (r * positions + p) * columns;
        ngo_transpose(rows, count, columns, to + p * count, positions * count);
    }
}

/* The number of elements of the workspace of the functions below; 0 as above, and with kernels of k × k. */
size ngo_winograd_layer_workspace(size b, size in, size h, size w, size out, size k)
{
    size work = k == 3 ? ngo_winograd_workspace(b, in, h, w, out, 0) : 0;
    return work ? work + (2 * in * h * w + out * (h - 2) * (w - 2)) * b : 0;
}

/* The same without padding where the batch is last, as in convolution.c. */
void ngo_winograd(const float *x, const float *w, const float *bias, float *y, float *work, size b, size in, size h,
                  size width, size out)
{
    size positions = (h - 2) * (width - 2);
    float *images = work, *outputs = images + in * h * width * b;
    turn((float *)x, images, in, h * width, b, 0);
    ngo_take_winograd(images, w, bias, outputs, outputs + out * positions * b, b, in, h, width, out, 0);
    turn(outputs, y, out, positions, b, 1);
}

void ngo_winograd_backward(const float *x, const float *w, const float *dy, float *dx, float *dw, float *db,
                           float *work, size b, size in, size h, size width, size out)
{
    size n = in * h * width * b, positions = (h - 2) * (width - 2);
    float *images = work, *gradient = images + n, *outputs = gradient + n;
    turn((float *)x, images, in, h * width, b, 0);
    turn((float *)dy, outputs, out, positions, b, 0);
    ngo_take_winograd_backward(images, (float *)w, NULL, outputs, outputs + out * positions * b, dx ? gradient : NULL, dw,
                               db, b, in, h, width, out, 0);
    if (dx)
        turn(gradient, dx, in, h * width, b, 1);
}
