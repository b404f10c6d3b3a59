/* A chain of elementwise operations on matrices, in one pass over memory. */

#include "kernels.h"

/* The order is that of elementwise.py. */
enum { ADD, SUBTRACT, MULTIPLY, DIVIDE, MULTIPLY_ADD, SQUARE_ROOT };
typedef struct {
    int32_t operation, out, a, b, c;
} instruction;

/* An operand is a matrix, or a column with one number for each row (a `stride` of 0: one number for
 * all), or, without `data`, an intermediate result. */
typedef struct {
    float *data;
    size stride; /* from row to row */
    int32_t is_matrix;
} operand;

enum { BLOCK = 512 };        /* columns that are processed at once: they fit into the first-level cache */
enum { TAKE = 32 * BLOCK };  /* columns that a thread claims at a time */
const size ngo_elementwise_block = BLOCK;

/* The result may take the place of an operand, element by element. */
#define EACH(result)                                                                               \
    _Pragma("clang loop vectorize(assume_safety)") for (size v = 0; v < width; v++) out[v] = result; \
    break;

/* Runs a program on `width` numbers of each operand. */
static void run(const instruction *program, size length, float *const *at, size width)
{
    for (const instruction *i = program; i < program + length; i++) {
        float *out = at[i->out];
        const float *a = at[i->a], *b = at[i->b], *c = at[i->c];
        switch (i->operation) {
        case ADD: EACH(a[v] + b[v])
        case SUBTRACT: EACH(a[v] - b[v])
        case MULTIPLY: EACH(a[v] * b[v])
        case DIVIDE: EACH(a[v] / b[v])
        case MULTIPLY_ADD: EACH(a[v] + b[v] * c[v])
        case SQUARE_ROOT: EACH(sqrtf(a[v]))
        }
    }
}

/* Runs the instructions of the program, in order, on each element of matrices [n, d]. Threads that pass
 * the same `next`, initially 0, share the elements. Each thread has a workspace `work` of
 * operand_count · BLOCK elements. */
void ngo_elementwise(const instruction *program, size length, const operand *operands,
                     size operand_count, size n, size d, size *next, float *work)
{
    size parts = (d + TAKE - 1) / TAKE, taken;
    float *at[operand_count];
    while ((taken = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < n * parts) {
        size row = taken / parts, from = taken % parts * TAKE, to = MIN(from + TAKE, d);
        for (size k = 0; k < operand_count; k++) {
            at[k] = work + k * BLOCK;
            if (operands[k].is_matrix)
                at[k] = operands[k].data + row * operands[k].stride + from;
            else if (operands[k].data)
                for (size v = 0; v < BLOCK; v++)
                    at[k][v] = operands[k].data[row * operands[k].stride];
        }
        for (; from < to; from += BLOCK) {
            run(program, length, at, MIN(BLOCK, to - from));
            for (size k = 0; k < operand_count; k++)
                if (operands[k].is_matrix)
                    at[k] += BLOCK;
        }
    }
}

/* A half step: a program on matrices of equal shape, among whose operands number `gradient` is the gradient.
 * It may be taken piece by piece, each with a gradient that is still in the cache. */
struct half_step {
    const instruction *program;
    size length;
    const operand *operands;
    size operand_count, gradient;
};

/* Takes it for `rows` runs of n elements of each matrix, `stride` apart, from element `from` on; their
 * gradient is contiguous. */
void ngo_half_step(const half_step *h, size from, float *gradient, size rows, size n, size stride)
{
    float work[h->operand_count][BLOCK], *at[h->operand_count];
    for (size k = 0; k < h->operand_count; k++)
        for (size v = 0; !h->operands[k].is_matrix && h->operands[k].data && v < MIN(BLOCK, n); v++)
            work[k][v] = *h->operands[k].data;
    for (size row = 0; row < rows; row++)
        for (size done = 0; done < n; done += BLOCK) {
            for (size k = 0; k < h->operand_count; k++) {
                const operand *o = h->operands + k;
                float *matrix = o->data + from + row * stride + done;
                at[k] = k == h->gradient ? gradient + row * n + done : o->is_matrix ? matrix : work[k];
            }
            run(h->program, h->length, at, MIN(BLOCK, n - done));
        }
}

/* Takes it for `count` pieces of X, of each the address, that of its gradient, and the number of elements. */
void ngo_half_steps(const half_step *h, const float *X, const size *pieces, size count)
{
    for (size k = 0; k < count; k++, pieces += 3)
        ngo_half_step(h, (const float *)pieces[0] - X, (float *)pieces[1], 1, pieces[2], 0);
}
