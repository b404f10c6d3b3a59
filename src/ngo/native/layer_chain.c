/* Chains of layers: losses, and gradients or scores, of many models.
 *
 * Activations have the batch as their last dimension, [channels, height, width, batch].
 */

#include "kernels.h"

/* Kinds of layers and losses, in the order of LAYERS and LOSSES in layer_chain.py. */
enum {
    CONV_POOL_RELU, LINEAR, RELU, DROPOUT, GAUSSIAN_CODE, CONV_POOL, CONVOLUTION, PADDING, MAXIMUM, AVERAGE,
    NORM, BATCH_NORM, SOFTMAX, ACTIVATIONS /* and those after, of losses.c */
};
enum { CROSS_ENTROPY, SQUARED_ERROR, NEGATIVE_ELBO };

typedef struct {
    size kind;
    size in, h, w;         /* channels, height and width of the input; or its features, 1 and 1 */
    size out, k, step;     /* output channels or features; the size of the kernel, window or padding, or groups; strides */
    size weight, bias;     /* where they start among the parameters; bias -1: none */
    size drawn, draws;     /* random numbers of a sample: of earlier layers, of this one */
    double constant;       /* dropout's probability of keeping a number; an activation's; ε */
    size buffer;           /* where batch normalization's running means and variances start among the buffers */
    double momentum;
} layer;

typedef struct {
    const layer *layers;
    size count, loss;
    size features, plane;      /* numbers of an input, and of one of its channels */
    const float *shades;       /* [channels, 256]: what uint8 inputs stand for; NULL for float inputs */
    const float *grey;         /* [256]: what uint8 targets stand for; NULL for float targets */
    size rows;                 /* of inputs and targets, among which items have samples */
    const half_step *then;     /* the half step of each item; NULL: none */
    float *X;                  /* the parameters of all models */
    size d;                    /* of one model */
} chain;

/* One model and one batch. */
typedef struct {
    const float *parameters;
    float *gradient;     /* NULL: none is wanted */
    const void *inputs, *targets;
    const size *samples; /* which rows of inputs and targets; NULL: the first b */
    const float *noise;  /* the layers' random numbers, [b, draws] of each; NULL: no dropout */
    float *buffers;
    size b;
} item;

/* The output of a layer, and what its backward pass needs. */
typedef struct {
    float *y;
    uint8_t *which;
} place;

/* A thread's memory. */
typedef struct {
    place *places;
    float *inputs, *dy, *dx, *scratch, *gradient;
} space;

static int is_pooled(const layer *l)
{
    return l->kind == CONV_POOL_RELU || l->kind == CONV_POOL;
}

static int is_convolution(const layer *l)
{
    return is_pooled(l) || l->kind == CONVOLUTION;
}

static int normalises(const layer *l)
{
    return l->kind == NORM || l->kind == BATCH_NORM;
}

static int has_parameters(const layer *l)
{
    return is_convolution(l) || l->kind == LINEAR || normalises(l);
}

static int pools(const layer *l)
{
    return l->kind == MAXIMUM || l->kind == AVERAGE;
}

static int is_simple(const layer *l)
{
    return l->kind == RELU || l->kind == DROPOUT;
}

/* Whether layer i takes the place of its input: a simple one, but after those whose backward pass needs their
 * output. */
static int in_place(const layer *layers, size i)
{
    size before = i ? layers[i - 1].kind : PADDING;
    int needed = before == MAXIMUM || before == SOFTMAX || before >= ACTIVATIONS + TANH;
    return is_simple(layers + i) && !needed;
}

static size outputs(const layer *l)
{
    if (is_pooled(l))
        return l->out * ((l->h - l->k + 1) / 2) * ((l->w - l->k + 1) / 2);
    if (l->kind == CONVOLUTION)
        return l->out * (l->h - l->k + 1) * (l->w - l->k + 1);
    if (pools(l))
        return l->in * ((l->h - l->k) / l->step + 1) * ((l->w - l->k) / l->step + 1);
    if (l->kind == PADDING)
        return l->in * (l->h + 2 * l->k) * (l->w + 2 * l->k);
    return l->kind == LINEAR || l->kind == GAUSSIAN_CODE ? l->out : l->in * l->h * l->w;
}

static size tile_of(size b)
{
    return MAX(1, 512 / b);
}

static float *take(float **rest, size n)
{
    float *taken = *rest;
    *rest += (n + 15) & ~(size)15;
    return taken;
}

/* Divides `work` among what batches of b samples need; the number of floats, which grows with b. */
static size lay_out(const chain *c, size b, float *work, space *s)
{
    float *rest = work;
    size widest = c->features, scratch = 2 * b;
    s->inputs = take(&rest, c->features * b);
    for (size i = 0; i < c->count; i++) {
        const layer *l = c->layers + i;
        place *p = s->places + i;
        size in = l->in * l->h * l->w, out = outputs(l);
        widest = MAX(widest, out);
        if (in_place(c->layers, i)) {
            p->y = i ? s->places[i - 1].y : s->inputs;
            continue;
        }
        p->y = take(&rest, (out + (l->kind == NORM ? 2 * l->k : 0)) * b + (l->kind == BATCH_NORM ? 2 * l->in : 0));
        if (l->kind == LINEAR)
            scratch = MAX(scratch, in * b + ngo_linear_workspace(b, in));
        if (l->kind == CONVOLUTION)
            scratch = MAX(scratch, ngo_convolution_workspace(b, l->in, l->h, l->w, l->out, l->k));
        if (is_pooled(l)) {
            size back = ngo_conv_pool_relu_backward_workspace(b, l->in, l->h, l->w, l->out, l->k);
            size work = ngo_winograd_layer_workspace(b, l->in, l->h, l->w, l->out, l->k);
            scratch = MAX(scratch, work ? work + l->out * (l->h - 2) * (l->w - 2) * b : 0);
            p->which = (uint8_t *)take(&rest, out * b / 4 + 1);
            scratch = MAX(scratch, MAX(4 * l->out * MAX(512, b), back));
        }
    }
    s->dy = take(&rest, widest * b);
    s->dx = take(&rest, widest * b);
    s->scratch = take(&rest, scratch);
    s->gradient = take(&rest, c->d);
    return rest - work;
}

/* x [features, b] from the item's rows of `features` numbers; or of uint8 values, where there are shades
 * for each plane. */
static void gather(const item *it, const void *rows, const float *shades, size features, size plane,
                   float *restrict x)
{
    const float *each[8];
    float decoded[8][256];
    for (size v = 0; v < it->b; v += 8)
        for (size from = 0; from < features; from += plane)
            for (size at = from, width; at < from + plane; at += width) {
                size count = MIN(8, it->b - v);
                width = MIN(256, from + plane - at);
                for (size r = 0; r < count; r++) {
                    size first = (it->samples ? it->samples[v + r] : v + r) * features + at;
                    const uint8_t *values = (const uint8_t *)rows + first;
                    each[r] = shades ? decoded[r] : (const float *)rows + first;
                    for (size f = 0; shades && f < width; f++)
                        decoded[r][f] = shades[from / plane * 256 + values[f]];
                }
                ngo_transpose(each, count, width, x + at * it->b + v, it->b);
            }
}

/* Whether all samples are rows that exist. */
static int in_range(const chain *c, const item *it)
{
    int outside = 0;
    for (size v = 0; it->samples && v < it->b; v++)
        outside |= it->samples[v] < 0 || it->samples[v] >= c->rows;
    return !outside;
}

/* Multiplies by dropout's masks. */
static void drop(const layer *l, const item *it, float *restrict x, float *restrict mask)
{
    if (!it->noise)
        return;
    const float *noise = it->noise + l->drawn * it->b;
    size plane = l->in * l->h * l->w / l->draws;
    float scale = 1 / (float)l->constant;
    for (size j = 0; j < l->draws; j++) {
        for (size v = 0; v < it->b; v++)
            mask[v] = noise[v * l->draws + j] * scale;
        for (size f = 0; f < plane; f++, x += it->b)
            for (size v = 0; v < it->b; v++)
                x[v] *= mask[v];
    }
}

/* Computes the outputs of all layers; what layers add to the loss. */
static double forward(const chain *c, const item *it, const space *s)
{
    double loss = 0;
    const float *x = s->inputs;
    for (size i = 0; i < c->count; i++) {
        const layer *l = c->layers + i;
        place p = s->places[i];
        const float *weight = it->parameters + l->weight;
        const float *bias = l->bias < 0 ? NULL : it->parameters + l->bias;
        size n = outputs(l) * it->b;
        if (is_simple(l) && !in_place(c->layers, i))
            memcpy(p.y, x, n * sizeof(float));
        if (is_pooled(l)) {
            uint8_t *which = it->gradient ? p.which : NULL;
            size work = ngo_winograd_layer_workspace(it->b, l->in, l->h, l->w, l->out, l->k);
            if (work) {
                ngo_convolution(x, weight, bias, s->scratch + work, s->scratch, it->b, l->in, l->h, l->w, l->out, l->k);
                ngo_pool_relu(s->scratch + work, p.y, which, l->out, l->h - 2, l->w - 2, it->b,
                              l->kind == CONV_POOL_RELU);
            } else
                ngo_conv_pool_relu(x, weight, bias, p.y, which, s->scratch, tile_of(it->b), it->b,
                                   l->in, l->h, l->w, l->out, l->k, l->kind == CONV_POOL_RELU);
        } else if (l->kind == CONVOLUTION)
            ngo_convolution(x, weight, bias, p.y, s->scratch, it->b, l->in, l->h, l->w, l->out, l->k);
        else if (l->kind == PADDING)
            ngo_pad((float *)x, p.y, l->in, l->h, l->w, it->b, l->k, 1);
        else if (pools(l))
            ngo_pool(x, p.y, l->in, l->h, l->w, it->b, l->k, l->step, l->kind == AVERAGE);
        else if (l->kind == NORM)
            ngo_normalise(x, weight, bias, p.y, p.y + n, l->in, l->h * l->w, it->b, l->k, l->constant);
        else if (l->kind == BATCH_NORM)
            ngo_batch_norm(x, weight, bias, p.y, p.y + n, it->buffers + l->buffer, l->in, l->h * l->w * it->b,
                           l->constant, l->momentum);
        else if (l->kind == SOFTMAX)
            ngo_softmax(x, p.y, NULL, outputs(l), it->b);
        else if (l->kind >= ACTIVATIONS)
            ngo_activate(l->kind - ACTIVATIONS, l->constant, x, p.y, NULL, n);
        else if (l->kind == LINEAR)
            ngo_product(weight, x, bias, p.y, l->out, it->b, l->in, l->in, 1);
        else if (l->kind == RELU)
            for (size v = 0; v < n; v++)
                p.y[v] = p.y[v] < 0 ? 0 : p.y[v];
        else if (l->kind == DROPOUT)
            drop(l, it, p.y, s->scratch);
        else
            loss += ngo_gaussian_code(x, it->noise + l->drawn * it->b, p.y, l->out, it->b);
        x = p.y;
    }
    return loss;
}

/* Computes the gradient of the parameters, and with `to_inputs` that of s->inputs in s->dy, from that of the
 * last layer's output in s->dy. */
static void backward(const chain *c, const item *it, space *s, int to_inputs)
{
    size first = 0; /* the first layer with parameters */
    while (!to_inputs && !has_parameters(c->layers + first))
        first++;
    for (size i = c->count - 1; i >= first; i--) {
        const layer *l = c->layers + i;
        const float *x = i ? s->places[i - 1].y : s->inputs;
        float *y = s->places[i].y;
        float *gradient = c->then ? s->gradient : it->gradient;
        float *dx = to_inputs || i > first ? s->dx : NULL, *dw = gradient + l->weight;
        float *db = l->bias < 0 ? NULL : gradient + l->bias;
        size n = outputs(l) * it->b, from = it->parameters - c->X;
        if (l->kind == RELU)
            for (size v = 0; v < n; v++)
                s->dy[v] = y[v] <= 0 ? 0 : s->dy[v];
        else if (l->kind == DROPOUT)
            drop(l, it, s->dy, s->scratch);
        else if (l->kind == SOFTMAX)
            ngo_softmax(x, (float *)y, s->dy, outputs(l), it->b);
        else if (l->kind >= ACTIVATIONS)
            ngo_activate(l->kind - ACTIVATIONS, l->constant, x, y, s->dy, n);
        else if (is_pooled(l))
            ngo_conv_pool_relu_backward(x, it->parameters + l->weight, s->places[i].which, s->dy, dx,
                                        dw, db, s->scratch, it->b, l->in, l->h, l->w, l->out, l->k);
        else if (l->kind == LINEAR) {
            ngo_transpose_matrix(x, s->scratch, l->in, it->b);
            for (size o = 0; db && o < l->out; o++) {
                float sum = 0;
                for (size v = 0; v < it->b; v++)
                    sum += s->dy[o * it->b + v];
                db[o] = sum;
            }
            ngo_linear_backward((float *)it->parameters + l->weight, s->scratch, s->dy, dx, dw,
                                s->scratch + l->in * it->b, it->b, l->in, l->out, 0, c->then,
                                from + l->weight);
        } else if (l->kind == CONVOLUTION)
            ngo_convolution_backward(x, it->parameters + l->weight, s->dy, dx, dw, db, s->scratch, it->b,
                                     l->in, l->h, l->w, l->out, l->k);
        else if (l->kind == NORM)
            ngo_normalise_backward(x, it->parameters + l->weight, s->dy, y + n, dx, dw, db, s->scratch, l->in,
                                   l->h * l->w, it->b, l->k);
        else if (l->kind == BATCH_NORM)
            ngo_batch_norm_backward(x, it->parameters + l->weight, s->dy, y + n, dx, dw, db, l->in, l->h * l->w * it->b);
        else if (pools(l))
            ngo_pool_backward(x, y, s->dy, dx, s->scratch, l->in, l->h, l->w, it->b, l->k, l->step,
                              l->kind == AVERAGE);
        else if (l->kind == PADDING)
            ngo_pad(dx, s->dy, l->in, l->h, l->w, it->b, l->k, 0);
        else
            ngo_gaussian_code_backward(x, it->noise + l->drawn * it->b, s->dy, s->dx, l->out,
                                       it->b);
        if (is_simple(l) || l->kind >= SOFTMAX) /* dy itself has changed */
            continue;
        size width = normalises(l) ? l->in : l->out;
        if (c->then && has_parameters(l) && l->kind != LINEAR)
            ngo_half_step(c->then, from + l->weight, dw, 1,
                          normalises(l) ? width : width * l->in * l->k * l->k, 0);
        if (c->then && db && has_parameters(l))
            ngo_half_step(c->then, from + l->bias, db, 1, width, 0);
        s->dx = s->dy;
        s->dy = dx;
    }
}

/* The number of floats that a thread needs for batches of up to b samples. */
size ngo_chain_workspace(const chain *c, size b)
{
    place places[c->count];
    space s = {.places = places};
    return lay_out(c, b, NULL, &s);
}

/* For each item: the sum of its samples' losses, the number of samples whose class is right (-1 if a target is no
 * class, -2 if a sample is no row), and the gradient of the mean loss. Threads that pass the same `next`, initially 0,
 * share the items; each has its own `work`. */
void ngo_chain(const chain *c, const item *items, size n, double *losses, size *correct, size *next, float *work)
{
    place places[c->count];
    size k;
    while ((k = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < n) {
        const item *it = items + k;
        space s = {.places = places};
        if ((correct[k] = in_range(c, it) ? 0 : -2))
            continue;
        lay_out(c, it->b, work, &s);
        gather(it, it->inputs, c->shades, c->features, c->plane, s.inputs);
        double loss = forward(c, it, &s);
        const float *y = places[c->count - 1].y;
        size width = outputs(c->layers + c->count - 1);
        if (c->loss == CROSS_ENTROPY)
            loss += ngo_cross_entropy(y, s.dy, it->targets, it->samples, it->b, width, correct + k);
        else {
            gather(it, it->targets, c->grey, width, width, s.dy);
            loss += c->loss == SQUARED_ERROR ? ngo_squared_error(y, s.dy, width, it->b)
                                             : ngo_bernoulli(y, s.dy, width, it->b, s.scratch);
        }
        losses[k] = loss;
        if (it->gradient && correct[k] >= 0)
            backward(c, it, &s, 0);
    }
}

/* The passes of a chain without noise as an operation of operations.py: y [b, outputs] from x [b, features];
 * and the gradients, of which dx may be NULL. `work` is that of ngo_chain_workspace, kept between them. */
void ngo_take_chain(const float *x, const float *parameters, float *y, float *work, const chain *c, size b)
{
    place places[c->count];
    space s = {.places = places};
    item it = {parameters, work, x, .b = b}; /* a gradient is wanted */
    lay_out(c, b, work, &s);
    gather(&it, x, NULL, c->features, c->features, s.inputs);
    forward(c, &it, &s);
    ngo_transpose_matrix(places[c->count - 1].y, y, outputs(c->layers + c->count - 1), b);
}

void ngo_take_chain_backward(const float *x, const float *parameters, const float *dy, float *work, float *dx,
                             float *gradient, const chain *c, size b)
{
    place places[c->count];
    space s = {.places = places};
    item it = {parameters, gradient, x, .b = b};
    size width = outputs(c->layers + c->count - 1);
    lay_out(c, b, work, &s);
    gather(&it, dy, NULL, width, width, s.dy);
    backward(c, &it, &s, dx != NULL);
    if (dx)
        ngo_transpose_matrix(s.dy, dx, c->features, b);
}
