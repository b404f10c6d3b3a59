/* Group normalization of images whose channels come last, [n, positions, channels], as an operation of
 * operations.py: numbers of a group have mean 0 and variance 1, then `scale` and `shift` [channels], or NULL.
 * Numbers of the output below `least` become `least`: 0 for a ReLU, else minus infinity. */

#include "kernels.h"

/* Several positions make a row of `width` lanes, so that sums of few channels are independent, too. */
enum { LANES = 64, FEW = 16 };                                     /* whose sums stay in registers */
enum { BLOCK = 256 };                                              /* rows, whose sums are floats */
enum { MEAN, FACTOR, MORE, SLOPE, LESS, TERMS, SUM = TERMS, PRODUCT, ROWS }; /* of a table */
enum { MOMENTS, OUTPUT, PRODUCTS, GRADIENT };                      /* kinds of passes over an image */

static size width_of(size channels)
{
    size width = channels;
    while (width % FEW || width < LANES)
        width *= 2;
    return width;
}

INLINE void step(const float *x, const float *dy, float *out, const float *t, size stride, float *sum,
                 float *product, float least, size count, const int kind)
{
    for (size c = 0; c < count; c++) {
        float z = x[c] - t[MEAN * stride + c], factor = t[FACTOR * stride + c];
        float y = z * factor + t[MORE * stride + c];
        float g = kind == MOMENTS ? z : kind == OUTPUT || y <= least ? 0 : dy[c];
        if (kind == OUTPUT)
            out[c] = y < least ? least : y;
        else if (kind == GRADIENT)
            out[c] = g * factor - z * t[SLOPE * stride + c] - t[LESS * stride + c];
        else
            sum[c] += g, product[c] += g * z;
    }
}

INLINE void lanes_of(const float *x, const float *dy, float *out, float *t, size width, float least, size all,
                     const int kind, const size lanes)
{
    float terms[TERMS * LANES], sum[LANES] = {0}, product[LANES] = {0};
    for (size row = 0; row < TERMS; row++)
        memcpy(terms + row * lanes, t + row * width, lanes * sizeof(float));
    size at = 0;
    for (; at + lanes <= all; at += width)
        step(x + at, dy + at, out + at, terms, lanes, sum, product, least, lanes, kind);
    memcpy(t + SUM * width, sum, lanes * sizeof(float));
    memcpy(t + PRODUCT * width, product, lanes * sizeof(float));
    if (at < all)
        step(x + at, dy + at, out + at, t, width, t + SUM * width, t + PRODUCT * width, least, all - at, kind);
}

/* A pass over the `all` numbers of an image, with a table [ROWS, width] whose first `channels` columns are
 * given. MOMENTS: for each channel, the sums of x - mean and of its square; PRODUCTS: those of dy and of
 * (x - mean) dy. */
INLINE void pass(const float *x, const float *dy, float *out, float *t, size channels, float least, size all,
                 const int kind)
{
    size width = width_of(channels), c = 0;
    for (size row = 0; row < TERMS; row++)
        for (size j = channels; j < width; j++)
            t[row * width + j] = t[row * width + j - channels];
    for (; c + LANES <= width; c += LANES)
        lanes_of(x + c, dy + c, out + c, t + c, width, least, all - c, kind, LANES);
    for (; c < width; c += FEW)
        lanes_of(x + c, dy + c, out + c, t + c, width, least, all - c, kind, FEW);
    for (size row = SUM; row < ROWS; row++)
        for (size j = width; j-- > channels;)
            t[row * width + j - channels] += t[row * width + j];
}

/* MOMENTS or PRODUCTS, whose sums over blocks of rows are added in double: in float, as in torch, those over
 * the positions of a batch lose digits. */
INLINE void sums_of(const float *x, const float *dy, float *t, size channels, float least, size all, const int kind)
{
    size width = width_of(channels), block = BLOCK * width;
    float *sums = t + SUM * width;
    double total[2 * width];
    memset(total, 0, sizeof total);
    for (size at = 0; at < all; at += block) {
        pass(x + at, dy + at, NULL, t, channels, least, all - at < block ? all - at : block, kind);
        for (size j = 0; j < 2 * width; j++)
            total[j] += sums[j];
    }
    for (size j = 0; j < 2 * width; j++)
        sums[j] = total[j];
}

/* `means` [2, n, groups] become the means, and 1 over the standard deviations. */
void ngo_take_group_norm(const float *x, const float *scale, const float *shift, float *y, float *means,
                         size n, size positions, size channels, size groups, double epsilon, double least)
{
    size each = channels / groups, all = positions * channels, width = width_of(channels);
    float table[ROWS * width], *mean = table, *sum = table + SUM * width, *square = sum + width;
    for (size k = 0; k < n; k++, x += all, y += all) {
        memcpy(mean, x, channels * sizeof(float)); /* of the size of the numbers, for exact squares */
        sums_of(x, x, table, channels, least, all, MOMENTS);
        for (size g = k * groups, first = 0; first < channels; g++, first += each) {
            double total = 0, squares = 0;
            for (size c = first; c < first + each; c++)
                total += mean[c] + sum[c] / (double)positions;
            means[g] = total /= each;
            for (size c = first; c < first + each; c++) {
                double off = mean[c] - total;
                squares += square[c] + off * (2 * sum[c] + off * positions);
            }
            means[n * groups + g] = 1 / sqrt(squares / (each * positions) + epsilon);
            for (size c = first; c < first + each; c++) {
                mean[c] = means[g];
                table[FACTOR * width + c] = means[n * groups + g] * (scale ? scale[c] : 1);
                table[MORE * width + c] = shift ? shift[c] : 0;
            }
        }
        pass(x, x, y, table, channels, least, all, OUTPUT);
    }
}

void ngo_take_group_norm_backward(const float *x, const float *scale, const float *shift, const float *dy,
                                  const float *means, float *dx, float *dscale, float *dshift, size n,
                                  size positions, size channels, size groups, double epsilon, double least)
{
    size each = channels / groups, all = positions * channels, width = width_of(channels);
    float table[ROWS * width], *sums = table + SUM * width, *products = sums + width;
    for (size k = 0; k < n; k++, x += all, dy += all, dx = dx ? dx + all : dx) {
        for (size c = 0; c < channels; c++) {
            table[MEAN * width + c] = means[k * groups + c / each];
            table[FACTOR * width + c] = means[(n + k) * groups + c / each] * (scale ? scale[c] : 1);
            table[MORE * width + c] = shift ? shift[c] : 0;
        }
        sums_of(x, dy, table, channels, least, all, PRODUCTS);
        for (size g = 0; g < groups; g++) {
            double inverse = means[(n + k) * groups + g], product = 0, sum = 0;
            for (size c = g * each; c < (g + 1) * each; c++) {
                product += products[c] * table[FACTOR * width + c];
                sum += sums[c] * table[FACTOR * width + c];
                if (dscale)
                    dscale[c] = (k ? dscale[c] : 0) + products[c] * inverse;
                if (dshift)
                    dshift[c] = (k ? dshift[c] : 0) + sums[c];
            }
            for (size c = g * each; c < (g + 1) * each; c++) {
                table[SLOPE * width + c] = product * inverse * inverse / (each * positions);
                table[LESS * width + c] = sum / (each * positions);
            }
        }
        if (dx)
            pass(x, dy, dx, table, channels, least, all, GRADIENT);
    }
}
