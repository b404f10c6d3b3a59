/* Losses, and the codes whose divergence is a part of one: their sum over a batch, and the gradient of their
 * mean over it; and activations.
 *
 * The outputs y are [outputs, b]. The gradient goes to dy, which holds the targets before, unless they are
 * classes.
 */

#include "kernels.h"

/* e^x for x ≤ 0, with a relative error of 1e-7; 0 below -87. */
static inline float exp_of(float x)
{
#pragma clang fp reassociate(off)
    float low = x < -87 ? -87 : x; /* NaN stays */
    float whole = rintf(low * 1.44269504f);
    float part = fmaf(whole, -0.693359375f, low);
    part = fmaf(whole, 2.12194440e-4f, part);
    float r = 0.166666667f + part * (0.0416666667f + part * (0.00833333333f + part * 0.00138888889f));
    r = 1 + part * (1 + part * (0.5f + part * r));
    int32_t bits = ((int32_t)whole + 127) << 23;
    float power;
    memcpy(&power, &bits, 4);
    return x < -87 ? 0 : r * power;
}

/* The targets are classes, of the rows `samples` (NULL: the first b). `correct` counts the samples whose
 * largest output is that of their class; it is -1 if a target is no class. */
double ngo_cross_entropy(const float *y, float *dy, const size *targets, const size *samples, size b,
                         size classes, size *correct)
{
    double loss = 0;
    *correct = 0;
    for (size v = 0; v < b; v++) {
        size target = targets[samples ? samples[v] : v], best = 0;
        if (target < 0 || target >= classes) {
            *correct = -1;
            return NAN;
        }
        float top = y[v], sum = 0;
        for (size k = 1; k < classes; k++) { /* the first of equal values; NaN wins */
            float value = y[k * b + v];
            int better = value > top || (value != value && top == top);
            top = better ? value : top;
            best = better ? k : best;
        }
        for (size k = 0; k < classes; k++)
            sum += dy[k * b + v] = expf(y[k * b + v] - top);
        for (size k = 0; k < classes; k++)
            dy[k * b + v] = (dy[k * b + v] / sum - (k == target)) / b;
        loss += logf(sum) + ((double)top - y[target * b + v]);
        *correct += best == target;
    }
    return loss;
}

/* The softmax y [n, b] of each column of x; with dy, the gradient in its place instead. */
void ngo_softmax(const float *x, float *y, float *dy, size n, size b)
{
    for (size v = 0; v < b; v++) {
        float top = x[v], sum = 0;
        for (size k = 1; k < n; k++)
            top = MAX(top, x[k * b + v]);
        for (size k = v; k < n * b; k += b)
            sum += dy ? dy[k] * y[k] : (y[k] = expf(x[k] - top));
        for (size k = v; k < n * b; k += b)
            if (dy)
                dy[k] = y[k] * (dy[k] - sum);
            else
                y[k] /= sum;
    }
}

/* The mean over the n outputs of a sample. */
double ngo_squared_error(const float *y, float *dy, size n, size b)
{
    double loss = 0;
    for (size v = 0; v < n * b; v++) {
        float difference = y[v] - dy[v];
        loss += difference * difference;
        dy[v] = 2 * difference / (n * b);
    }
    return loss / n;
}

/* The Bernoulli likelihood of shares, for logits y. A logarithm is that of a product of up to 64 numbers
 * 1 + e^-|y|. The workspace has 2 b elements. */
double ngo_bernoulli(const float *y, float *dy, size n, size b, float *restrict sums)
{
    double loss = 0;
    float *restrict products = sums + b;
    for (size at = 0; at < n; at += 64) {
        for (size v = 0; v < b; v++)
            sums[v] = 0, products[v] = 1;
        for (size f = at; f < at + 64 && f < n; f++)
            for (size v = 0; v < b; v++) {
                float logit = y[f * b + v], share = dy[f * b + v];
                float power = exp_of(logit > 0 ? -logit : logit);
                sums[v] += (logit > 0 ? logit : 0) - logit * share;
                products[v] *= 1 + power;
                dy[f * b + v] = ((logit > 0 ? 1 : power) / (1 + power) - share) / b;
            }
        for (size v = 0; v < b; v++)
            loss += sums[v] + logf(products[v]);
    }
    return loss;
}

/* Codes z [out, b] from their means and log-variances x [2 out, b] and normal noise [b, out]; the
 * divergence of all samples from a normal distribution, which is a part of the loss. */
double ngo_gaussian_code(const float *x, const float *noise, float *z, size out, size b)
{
    double divergence = 0;
    for (size j = 0; j < out; j++)
        for (size v = 0; v < b; v++) {
            float mean = x[j * b + v], log_variance = x[(out + j) * b + v];
            float deviation = expf(log_variance / 2);
            z[j * b + v] = mean + deviation * noise[v * out + j];
            divergence += (mean * mean + deviation * deviation - 1 - log_variance) / 2;
        }
    return divergence;
}

/* The gradient of x, with that of the divergence. */
void ngo_gaussian_code_backward(const float *x, const float *noise, const float *dz, float *dx,
                                size out, size b)
{
    for (size j = 0; j < out; j++)
        for (size v = 0; v < b; v++) {
            size mean = j * b + v, log_variance = (out + j) * b + v;
            float deviation = expf(x[log_variance] / 2);
            dx[mean] = dz[mean] + x[mean] / b;
            dx[log_variance] = (dz[mean] * deviation * noise[v * out + j]
                                + (deviation * deviation - 1) / b) / 2;
        }
}

static inline float tanh_of(float x)
{
    float size_of = x < 0 ? -x : x, square = x * x, power = exp_of(-2 * size_of);
    float large = (1 - power) / (1 + power);
    float small = x * (1 + square * (-0.333333333f + square * (0.133333333f - square * 0.0539682540f)));
    return size_of < 0.2f ? small : x < 0 ? -large : large;
}

static inline float sigmoid_of(float x)
{
    float power = exp_of(x < 0 ? x : -x);
    return (x < 0 ? power : 1) / (1 + power);
}

/* x, but for x < 0 height · (e^(x / width) − 1); or its slope. */
static inline float elu(float x, float height, float width, int slope)
{
    float power = exp_of(x > 0 ? 0 : x / width);
    return x > 0 ? slope ? 1 : x : height * (slope ? power / width : power - 1);
}

static inline float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x; /* NaN stays */
}

/* log(1 + e^x), by 2 artanh s = log((1 + s) / (1 − s)). */
static inline float softplus(float x)
{
    float power = exp_of(x < 0 ? x : -x), s = power / (2 + power), q = s * s, sum = 0;
    for (int k = 15; k > 0; k -= 2)
        sum = 1.0f / k + q * sum;
    return (x > 0 ? x : 0) + 2 * s * sum;
}

/* x tanh(log(1 + e^x)), or its slope. */
static inline float mish(float x, int slope)
{
    float power = exp_of(x < 0 ? x : -x), part = x < 0 ? power * (power + 2) : 1 + 2 * power;
    float share = part / (part + (x < 0 ? 2 : 2 * power * power));
    return slope ? share + x * sigmoid_of(x) * (1 - share * share) : x * share;
}

/* x Φ(x), or its slope, for the normal distribution Φ (Abramowitz and Stegun, 7.1.26). */
static inline float gelu(float x, int slope)
{
    float far = fabsf(x) * 0.707106781f, power = exp_of(-far * far), t = 1 / (1 + 0.3275911f * far);
    float tail = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    float below = x < 0 ? tail * power / 2 : 1 - tail * power / 2;
    return slope ? below + x * power * 0.398942280f : x * below;
}

/* x σ(s(x)), or its slope, for the sigmoid σ: SiLU, and GELU by tanh. */
static inline float gated(float x, int by_tanh, int slope)
{
    float scale = by_tanh ? 1.59576912f : 1, bend = by_tanh ? 0.044715f * scale * x * x : 0;
    float gate = sigmoid_of(x * (scale + bend));
    return slope ? gate * (1 + x * (1 - gate) * (scale + 3 * bend)) : x * gate;
}

#define EACH(value, slope)                                                                         \
    for (size v = 0; !dy && v < n; v++)                                                            \
        y[v] = value;                                                                              \
    for (size v = 0; dy && v < n; v++)                                                             \
        dy[v] *= slope;                                                                            \
    break;

/* y = f(x) of n numbers; or, with dy, its product with f's slope there. `c` is LeakyReLU's slope, α of ELU and CELU,
 * Hardtanh's limit. */
void ngo_activate(size kind, float c, const float *restrict x, float *restrict y, float *restrict dy, size n)
{
    switch (kind) {
    case LEAKY_RELU: EACH(x[v] * (x[v] > 0 ? 1 : c), x[v] > 0 ? 1 : c)
    case ELU: EACH(elu(x[v], c, 1, 0), elu(x[v], c, 1, 1))
    case CELU: EACH(elu(x[v], c, c, 0), elu(x[v], c, c, 1))
    case SELU: EACH(1.05070099f * elu(x[v], 1.67326324f, 1, 0), 1.05070099f * elu(x[v], 1.67326324f, 1, 1))
    case RELU6: EACH(clamp(x[v], 0, 6), x[v] > 0 && x[v] < 6)
    case HARDTANH: EACH(clamp(x[v], -c, c), x[v] > -c && x[v] < c)
    case HARDSIGMOID: EACH(clamp(x[v] + 3, 0, 6) / 6, x[v] > -3 && x[v] < 3 ? 1 / 6.0f : 0)
    case HARDSWISH: EACH(x[v] * clamp(x[v] + 3, 0, 6) / 6, x[v] <= -3 ? 0 : x[v] < 3 ? x[v] / 3 + 0.5f : 1)
    case SOFTPLUS: EACH(softplus(x[v]), sigmoid_of(x[v]))
    case MISH: EACH(mish(x[v], 0), mish(x[v], 1))
    case SILU: EACH(gated(x[v], 0, 0), gated(x[v], 0, 1))
    case GELU: EACH(gelu(x[v], 0), gelu(x[v], 1))
    case GELU_TANH: EACH(gated(x[v], 1, 0), gated(x[v], 1, 1))
    case TANH: EACH(tanh_of(x[v]), 1 - y[v] * y[v])
    case SIGMOID: EACH(sigmoid_of(x[v]), y[v] * (1 - y[v]))
    }
}
