/* Pooling of images [channels, h, w, b]: the maximum or the mean of each window of k × k, `step` apart. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int64_t size;

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
                    if (average)
                        for (size v = 0; v < b; v++)
                            y[v] += from[v];
                    else
                        for (size v = 0; v < b; v++)
                            y[v] = from[v] > y[v] || from[v] != from[v] ? from[v] : y[v];
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
