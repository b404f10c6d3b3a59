/* Group normalization of images whose channels come last, [n, positions, channels], as an operation of
 * operations.py: numbers of a group have mean 0 and variance 1, then `scale` and `shift` [channels], or NULL. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int64_t size;
#define INLINE static inline __attribute__((always_inline))

enum { LANES = 16 }; /* channels whose sums stay in a register */
enum { SUMS, SQUARES, PRODUCTS };

INLINE void sums_of_lanes(const float *x, const float *dy, const float *mean, float *sums, size positions,
                          size channels, const int kind, const size lanes)
{
    float totals[LANES] = {0};
    for (size at = 0; at < positions * channels; at += channels)
        for (size c = 0; c < lanes; c++) {
            float z = kind == SUMS ? x[at + c] : x[at + c] - mean[c];
            totals[c] += kind == SUMS ? z : kind == SQUARES ? z * z : z * dy[at + c];
        }
    memcpy(sums, totals, lanes * sizeof(float));
}

/* For each channel, the sum over positions of x, of (x - mean)², or of (x - mean) dy. */
INLINE void sums_of(const float *x, const float *dy, const float *mean, float *sums, size positions,
                    size channels, const int kind)
{
    size c = 0;
    for (; c + LANES <= channels; c += LANES)
        sums_of_lanes(x + c, dy ? dy + c : dy, mean + c, sums + c, positions, channels, kind, LANES);
    if (c < channels)
        sums_of_lanes(x + c, dy ? dy + c : dy, mean + c, sums + c, positions, channels, kind, channels - c);
}

/* `means` [2, n, groups] become the means, and 1 over the standard deviations. */
void ngo_take_group_norm(const float *x, const float *scale, const float *shift, float *y, float *means,
                         size n, size positions, size channels, size groups, double epsilon)
{
    size width = channels / groups;
    float *inverses = means + n * groups, sums[channels], mean[channels], factor[channels], more[channels];
    for (size k = 0; k < n; k++, x += positions * channels, y += positions * channels) {
        for (int kind = SUMS; kind <= SQUARES; kind++) {
            kind == SUMS ? sums_of(x, NULL, mean, sums, positions, channels, SUMS)
                         : sums_of(x, NULL, mean, sums, positions, channels, SQUARES);
            for (size g = k * groups, c = 0; c < channels; g++) {
                double sum = 0;
                for (size j = 0; j < width; j++)
                    sum += sums[c + j] / (width * positions);
                *(kind == SUMS ? means + g : inverses + g) = kind == SUMS ? sum : 1 / sqrt(sum + epsilon);
                for (size j = 0; j < width; j++, c++) {
                    mean[c] = means[g];
                    factor[c] = inverses[g] * (scale ? scale[c] : 1);
                    more[c] = shift ? shift[c] : 0;
                }
            }
        }
        for (size at = 0; at < positions * channels; at += channels)
            for (size c = 0; c < channels; c++)
                y[at + c] = (x[at + c] - mean[c]) * factor[c] + more[c];
    }
}

void ngo_take_group_norm_backward(const float *x, const float *scale, const float *shift, const float *dy,
                                  const float *means, float *dx, float *dscale, float *dshift, size n,
                                  size positions, size channels, size groups, double epsilon)
{
    size width = channels / groups, all = positions * channels;
    const float *inverses = means + n * groups;
    float products[channels], sums[channels], mean[channels], factor[channels], slope[channels], less[channels];
    for (size k = 0; k < n; k++, x += all, dy += all, dx = dx ? dx + all : dx) {
        for (size c = 0; c < channels; c++)
            mean[c] = means[k * groups + c / width];
        sums_of(x, dy, mean, products, positions, channels, PRODUCTS);
        sums_of(dy, NULL, mean, sums, positions, channels, SUMS);
        for (size g = 0; g < groups; g++) {
            double inverse = inverses[k * groups + g], product = 0, sum = 0;
            for (size c = g * width; c < (g + 1) * width; c++) {
                factor[c] = inverse * (scale ? scale[c] : 1);
                product += products[c] * factor[c];
                sum += sums[c] * factor[c];
                if (dscale)
                    dscale[c] = (k ? dscale[c] : 0) + products[c] * inverse;
                if (dshift)
                    dshift[c] = (k ? dshift[c] : 0) + sums[c];
            }
            for (size c = g * width; c < (g + 1) * width; c++) {
                slope[c] = product * inverse * inverse / (width * positions);
                less[c] = sum / (width * positions);
            }
        }
        for (size at = 0; dx && at < all; at += channels)
            for (size c = 0; c < channels; c++)
                dx[at + c] = dy[at + c] * factor[c] - (x[at + c] - mean[c]) * slope[c] - less[c];
    }
}
