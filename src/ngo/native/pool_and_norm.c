/* Images [channels, h, w, b]: their pooling, by the maximum or the mean of each window of k × k, `step` apart;
 * and their group normalization. */

#include "kernels.h"

/* y [channels, (h − k) / step + 1, (w − k) / step + 1, b]; of equal maxima the first, and NaN above all. */
void ngo_pool(const float *x, float *restrict y, size channels, size h, size width, size b, size k, size step,
              int average)
{
    for (size c = 0; c < channels; c++, x += h * width * b)
        for (size i = 0; i + k <= h; i += step)
            for (size j = 0; j + k <= width; j += step, y += b) {
                memcpy(y, x + (i * width + j) * b, b * sizeof(float));
                for (size at = 1; at < k * k; at++) {
                    const float *from = x + ((i + at / k) * width + j + at % k) * b;
                    for (size v = 0; v < b; v++)
                        y[v] = average ? y[v] + from[v] : from[v] > y[v] || from[v] != from[v] ? from[v] : y[v];
                }
                for (size v = 0; average && v < b; v++)
                    y[v] /= k * k;
            }
}

/* dx from dy; `left` has b elements. */
void ngo_pool_backward(const float *x, const float *y, const float *dy, float *restrict dx,
                       float *restrict left, size channels, size h, size width, size b, size k, size step,
                       int average)
{
    memset(dx, 0, channels * h * width * b * sizeof(float));
    for (size c = 0; c < channels; c++, x += h * width * b, dx += h * width * b)
        for (size i = 0; i + k <= h; i += step)
            for (size j = 0; j + k <= width; j += step, y += b, dy += b) {
                for (size v = 0; v < b; v++)
                    left[v] = average ? dy[v] / (k * k) : dy[v];
                for (size at = 0; at < k * k; at++) {
                    size place = ((i + at / k) * width + j + at % k) * b;
                    if (average)
                        for (size v = 0; v < b; v++)
                            dx[place + v] += left[v];
                    else
                        for (size v = 0; v < b; v++) {
                            float taken = x[place + v] == y[v] ? left[v] : 0;
                            dx[place + v] += taken;
                            left[v] -= taken;
                        }
                }
            }
}

/* y [channels, plane, b]: the numbers of each sample's groups of channels with mean 0 and variance 1, then
 * `scale` and `shift` [channels]. `moments` [groups, 2, b] are the means, and what made variances 1. */
void ngo_normalise(const float *x, const float *scale, const float *shift, float *restrict y,
                   float *restrict moments, size channels, size plane, size b, size groups, float eps)
{
    size rows = channels / groups * plane;
    float share = 1.0f / rows;
    for (size g = 0; g < groups; g++, x += rows * b, y += rows * b, moments += 2 * b) {
        float *mean = moments, *factor = moments + b;
        memset(moments, 0, 2 * b * sizeof(float));
        for (size r = 0; r < rows; r++)
            for (size v = 0; v < b; v++)
                mean[v] += x[r * b + v] * share;
        for (size r = 0; r < rows; r++)
            for (size v = 0; v < b; v++) {
                float apart = x[r * b + v] - mean[v];
                factor[v] += apart * apart * share;
            }
        for (size v = 0; v < b; v++)
            factor[v] = 1 / sqrtf(factor[v] + eps);
        for (size r = 0; r < rows; r++) {
            size c = (g * rows + r) / plane;
            for (size v = 0; v < b; v++)
                y[r * b + v] = (x[r * b + v] - mean[v]) * factor[v] * scale[c] + shift[c];
        }
    }
}

/* The gradients dx (unless NULL), dscale and dshift, from dy; `sums` has 2 b elements. */
void ngo_normalise_backward(const float *x, const float *scale, const float *dy, const float *moments,
                            float *restrict dx, float *restrict dscale, float *restrict dshift,
                            float *restrict sums, size channels, size plane, size b, size groups)
{
    size rows = channels / groups * plane;
    float *restrict products = sums + b, share = 1.0f / rows;
    memset(dscale, 0, channels * sizeof(float));
    memset(dshift, 0, channels * sizeof(float));
    for (size g = 0; g < groups; g++, x += rows * b, dy += rows * b, moments += 2 * b) {
        const float *mean = moments, *factor = moments + b;
        memset(sums, 0, 2 * b * sizeof(float));
        for (size r = 0; r < rows; r++) {
            size c = (g * rows + r) / plane;
            float along = 0, sum = 0;
            for (size v = 0; v < b; v++) {
                float slope = dy[r * b + v], z = (x[r * b + v] - mean[v]) * factor[v];
                along += slope * z, sum += slope;
                sums[v] += slope * scale[c] * share;
                products[v] += slope * scale[c] * z * share;
            }
            dscale[c] += along, dshift[c] += sum;
        }
        for (size r = 0; dx && r < rows; r++)
            for (size v = 0, c = (g * rows + r) / plane; v < b; v++) {
                float z = (x[r * b + v] - mean[v]) * factor[v];
                dx[(g * rows + r) * b + v] = factor[v] * (dy[r * b + v] * scale[c] - sums[v] - z * products[v]);
            }
    }
}

/* y [channels, n]: each channel with mean 0 and variance 1, then `scale` and `shift` [channels]. `moments`
 * [channels, 2] are its mean, and what made its variance 1. The running means and variances [2, channels] move towards
 * those of the batch by the share `momentum`. */
void ngo_batch_norm(const float *x, const float *scale, const float *shift, float *restrict y, float *moments,
                    float *running, size channels, size n, float eps, float momentum)
{
    for (size c = 0; c < channels; c++, x += n, y += n, moments += 2) {
        double sum = 0, squares = 0;
        for (size v = 0; v < n; v++)
            sum += x[v];
        float mean = sum / n;
        for (size v = 0; v < n; v++)
            squares += (x[v] - mean) * (x[v] - mean);
        float factor = 1 / sqrt(squares / n + eps);
        for (size v = 0; v < n; v++)
            y[v] = (x[v] - mean) * factor * scale[c] + shift[c];
        running[c] += momentum * (mean - running[c]);
        running[channels + c] += momentum * ((float)(squares / (n - 1)) - running[channels + c]);
        moments[0] = mean, moments[1] = factor;
    }
}

/* The gradients dx (unless NULL), dscale and dshift, from dy. */
void ngo_batch_norm_backward(const float *x, const float *scale, const float *dy, const float *moments,
                             float *restrict dx, float *dscale, float *dshift, size channels, size n)
{
    for (size c = 0; c < channels; c++, x += n, dy += n, dx += dx ? n : 0, moments += 2) {
        float mean = moments[0], factor = moments[1];
        double sum = 0, along = 0;
        for (size v = 0; v < n; v++)
            sum += dy[v], along += dy[v] * ((x[v] - mean) * factor);
        float share = sum / n, slope = along / n;
        for (size v = 0; dx && v < n; v++)
            dx[v] = factor * scale[c] * (dy[v] - share - (x[v] - mean) * factor * slope);
        dscale[c] = along, dshift[c] = sum;
    }
}
