/* What the C files share: types, and the functions of one that others call, explained where they are defined. */

#pragma once

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int64_t size;
#define INLINE static inline __attribute__((always_inline))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define ROUND_UP(n, to) (((n) + (to) - 1) / (to) * (to))

/* Unaligned vectors, which clang splits where the processor's are shorter. */
typedef float v16 __attribute__((vector_size(64), aligned(4)));
typedef float v8 __attribute__((vector_size(32), aligned(4)));
typedef float v4 __attribute__((vector_size(16), aligned(4)));

/* product.c */
void ngo_grouped_product(const float *a, const float *b, const float *bias, float *c, size m, size n, size k,
                         size row, size step, size groups, size between, const size *offsets, size to, size add);
void ngo_product(const float *a, const float *b, const float *bias, float *c, size m, size n, size k, size row,
                 size step);
void ngo_transpose(const float *const *rows, size count, size columns, float *to, size n);
void ngo_transpose_matrix(const float *x, float *to, size rows, size columns);

/* elementwise.c */
typedef struct half_step half_step;
void ngo_half_step(const half_step *h, size from, float *gradient, size rows, size n, size stride);

/* linear.c */
size ngo_linear_workspace(size b, size in);
void ngo_linear_backward(float *w, const float *x, const float *dy, float *dx, float *dw, float *workspace, size b,
                         size in, size out, size by_sample, const half_step *then, size from);

/* winograd.c */
size ngo_winograd_layer_workspace(size b, size in, size h, size w, size out, size k);
void ngo_winograd(const float *x, const float *w, const float *bias, float *y, float *work, size b, size in, size h,
                  size width, size out);
void ngo_winograd_backward(const float *x, const float *w, const float *dy, float *dx, float *dw, float *db,
                           float *work, size b, size in, size h, size width, size out);

/* convolution.c */
void ngo_convolve_row(const float *x, const float *w, const float *bias, float *y, size n, size to, size b, size in,
                      size h, size width, size out, size k);
size ngo_convolution_workspace(size b, size in, size h, size width, size out, size k);
void ngo_convolution(const float *x, const float *w, const float *bias, float *y, float *workspace, size b, size in,
                     size h, size width, size out, size k);
void ngo_convolution_backward(const float *x, const float *w, const float *dy, float *dx, float *dw, float *db,
                              float *workspace, size b, size in, size h, size width, size out, size k);
void ngo_pad(float *inside, float *padded, size channels, size h, size width, size b, size p, int to_padded);

/* conv_pool_relu.c and conv_pool_relu_backward.c */
enum { NONE = 4 }; /* instead of a place from 0 to 3, where the output of ReLU is 0 */
void ngo_pool_relu(const float *x, float *y, uint8_t *arg, size channels, size h, size width, size b, size relu);
void ngo_conv_pool_relu(const float *x, const float *w, const float *bias, float *y, uint8_t *arg, float *acc,
                        size tile, size b, size in, size h, size width, size out, size k, size relu);
size ngo_conv_pool_relu_backward_workspace(size b, size in, size h, size width, size out, size k);
void ngo_conv_pool_relu_backward(const float *x, const float *w, const uint8_t *arg, const float *dy, float *dx,
                                 float *dw, float *db, float *workspace, size b, size in, size h, size width,
                                 size out, size k);

/* pool_and_norm.c */
void ngo_pool(const float *x, float *y, size channels, size h, size width, size b, size k, size step, int average);
void ngo_pool_backward(const float *x, const float *y, const float *dy, float *dx, float *left, size channels,
                       size h, size width, size b, size k, size step, int average);
void ngo_normalise(const float *x, const float *scale, const float *shift, float *y, float *moments, size channels,
                   size plane, size b, size groups, float eps);
void ngo_normalise_backward(const float *x, const float *scale, const float *dy, const float *moments, float *dx,
                            float *dscale, float *dshift, float *sums, size channels, size plane, size b,
                            size groups);
void ngo_batch_norm(const float *x, const float *scale, const float *shift, float *y, float *moments, float *running,
                    size channels, size n, float eps, float momentum);
void ngo_batch_norm_backward(const float *x, const float *scale, const float *dy, const float *moments, float *dx,
                             float *dscale, float *dshift, size channels, size n);

/* losses.c */
void ngo_softmax(const float *x, float *y, float *dy, size n, size b);
double ngo_cross_entropy(const float *y, float *dy, const size *targets, const size *samples, size b, size classes,
                         size *correct);
double ngo_squared_error(const float *y, float *dy, size n, size b);
double ngo_gaussian_code(const float *x, const float *noise, float *z, size out, size b);
void ngo_gaussian_code_backward(const float *x, const float *noise, const float *dz, float *dx, size out, size b);
double ngo_bernoulli(const float *y, float *dy, size n, size b, float *sums);
enum { /* in the order of LAYERS in layer_chain.py; the last two need their output in the backward pass */
    LEAKY_RELU, ELU, CELU, SELU, RELU6, HARDTANH, HARDSIGMOID, HARDSWISH, SOFTPLUS, MISH, SILU, GELU, GELU_TANH,
    TANH, SIGMOID
};
void ngo_activate(size kind, float c, const float *x, float *y, float *dy, size n);
