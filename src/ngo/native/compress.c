/* Compressions of rows z = x − h; x is [n, d], and h is [n, d], or, with a stride of 0, one row. Threads
 * that pass the same `next`, initially 0, share the rows. Each has a workspace of d elements. */

#include "kernels.h"

#define EACH_ROW(row) for (size row; (row = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < n;)

enum { BLOCK = 1024 }; /* entries whose sum is taken in single precision */

typedef struct {
    double sizes, squares;
} sums; /* Σ|z|, Σz² */

static sums sums_of(const float *x, const float *h, size d)
{
    sums s = {0, 0};
    for (size at = 0; at < d; at += BLOCK) {
        float sizes = 0, squares = 0;
        for (size v = at; v < MIN(at + BLOCK, d); v++) {
            float z = x[v] - h[v];
            sizes += fabsf(z);
            squares += z * z;
        }
        s.sizes += sizes;
        s.squares += squares;
    }
    return s;
}

void ngo_row_sums(const float *x, const float *h, size h_stride, size n, size d, sums *found,
                  size *next, uint64_t *work)
{
    EACH_ROW(row)
        found[row] = sums_of(x + row * d, h + row * h_stride, d);
}

/* h += sign(z) · mean|z|, with sign(0) = 1. */
void ngo_add_signs(const float *x, float *h, size h_stride, size n, size d, size *next,
                   uint64_t *work)
{
    EACH_ROW(row) {
        const float *restrict from = x + row * d;
        float *restrict to = h + row * h_stride, scale = sums_of(from, to, d).sizes / d;
        for (size v = 0; v < d; v++)
            to[v] += from[v] - to[v] < 0 ? -scale : scale;
    }
}

/* The state of a Mersenne Twister (MT19937; Matsumoto and Nishimura 1998), as torch saves it. */
enum { WORDS = 624, MIDDLE = 397 };
typedef struct {
    uint64_t seed;
    int32_t left, seeded; /* left - 1 words are still to be used, from `next` on */
    uint64_t next, words[WORDS];
} stream;

static void twist(uint32_t *word, size from, size to, size middle)
{
#pragma clang loop vectorize(assume_safety) /* no distance between words is below 227 */
    for (size k = from; k < to; k++) {
        uint32_t y = (word[k] & 0x80000000) | (word[k + 1] & 0x7fffffff);
        word[k] = word[k + middle] ^ (y >> 1) ^ (-(y & 1) & 0x9908b0df);
    }
}

/* Draws `count` numbers that are uniform in [0, 1), multiples of 2^-24, as torch does. `word` has one
 * more element than the stream. */
static void uniform(stream *s, uint32_t *word, float *out, size count)
{
    for (size done = 0, taken; done < count; done += taken) {
        if (s->left == 1) {
            twist(word, 0, WORDS - MIDDLE, MIDDLE);
            twist(word, WORDS - MIDDLE, WORDS - 1, MIDDLE - WORDS);
            word[WORDS] = word[0];
            twist(word, WORDS - 1, WORDS, MIDDLE - WORDS);
            s->left = WORDS + 1;
            s->next = 0;
        }
        taken = MIN(count - done, s->left - 1);
        for (size k = 0; k < taken; k++) {
            uint32_t y = word[s->next + k];
            y ^= y >> 11;
            y ^= (y << 7) & 0x9d2c5680;
            y ^= (y << 15) & 0xefc60000;
            y ^= y >> 18;
            out[done + k] = (float)(int32_t)(y & 0xffffff) * 0x1p-24f;
        }
        s->left -= taken;
        s->next += taken;
    }
}

/* Rounds levels |z| / ‖z‖ at random to a level, one of its two neighbours from 0 to `levels`. Each row
 * has a stream. Writes the level to `codes`, and `negative` in addition where z < 0. Without codes,
 * h += sign(z) · level · ‖z‖ / divisor, and done[row] is 1; or, if the squares exceed the range of
 * numbers, or fall below it, the row and its stream do not change, and done[row] is 0. */
void ngo_round_at_random(const float *x, float *h, size h_stride, size n, size d, size levels,
                         float divisor, stream *const *streams, uint8_t *codes, uint8_t negative,
                         uint8_t *done, size *next, uint64_t *work)
{
    uint32_t word[WORDS + 1];
    float draws[WORDS], most = levels;
    EACH_ROW(row) {
        stream *s = streams[row];
        float norm = (float)sqrt(sums_of(x + row * d, h + row * h_stride, d).squares);
        float factor = most / fmaxf(norm, FLT_MIN), unit = norm / divisor;
        done[row] = codes || !(norm == INFINITY || norm < 0x1.6a09e6p-52f); /* √(FLT_MIN / 2^-23) */
        if (!done[row])
            continue;
        for (size k = 0; k < WORDS; k++)
            word[k] = (uint32_t)s->words[k];
        for (size at = 0; at < d; at += WORDS) {
            size width = MIN(WORDS, d - at);
            const float *restrict from = x + row * d + at;
            float *restrict to = h + row * h_stride + at;
            uniform(s, word, draws, width);
            for (size v = 0; v < width; v++)
                draws[v] = fminf(draws[v] + fabsf(from[v] - to[v]) * factor, most);
            if (codes) {
                uint8_t *restrict code = codes + row * d + at;
                for (size v = 0; v < width; v++)
                    code[v] = (uint8_t)draws[v] | (from[v] - to[v] < 0 ? negative : 0);
                continue;
            }
            for (size v = 0; v < width; v++) {
                int32_t level = (int32_t)draws[v];
                draws[v] = (float)(from[v] - to[v] < 0 ? -level : level) * unit;
            }
            for (size v = 0; v < width; v++) /* not in the loop above: products are rounded */
                to[v] += draws[v];
        }
        for (size k = 0; k < WORDS; k++)
            s->words[k] = word[k];
    }
}

/* Keys are in the order of |z|, and among equals the first entry has the largest. NaN is largest. */
static uint64_t key_of(const float *x, const float *h, size v)
{
    float z = fabsf(x[v] - h[v]);
    uint32_t bits;
    memcpy(&bits, &z, 4);
    return (uint64_t)bits << 32 | (uint32_t)~v;
}

/* Reorders different keys such that the k largest come first, from 1 to `count` of them; the k-th. */
static uint64_t select_largest(uint64_t *keys, size count, size k)
{
    size low = 0, high = count - 1;
    while (low < high) {
        uint64_t pivot = keys[low + (high - low) / 2];
        size i = low, j = high;
        while (i <= j) {
            while (keys[i] > pivot)
                i++;
            while (keys[j] < pivot)
                j--;
            if (i <= j) {
                uint64_t other = keys[i];
                keys[i++] = keys[j];
                keys[j--] = other;
            }
        }
        if (k - 1 <= j)
            high = j;
        else if (k - 1 >= i)
            low = i;
        else
            break;
    }
    return keys[k - 1];
}

/* Writes the keys that are at least `lowest`, which are few, to `keys`; their number. */
static size collect(const float *x, const float *h, size d, uint64_t lowest, uint64_t *keys)
{
    enum { GROUP = 16 };
    uint32_t least = lowest >> 32;
    size count = 0;
    for (size v = 0; v < d; v += GROUP) {
        int32_t found = v + GROUP > d; /* the last ones are fewer */
        if (!found)
            for (size k = v; k < v + GROUP; k++) {
                float z = fabsf(x[k] - h[k]);
                uint32_t bits;
                memcpy(&bits, &z, 4);
                found |= bits >= least;
            }
        for (size k = v; found && k < MIN(v + GROUP, d); k++) {
            keys[count] = key_of(x, h, k);
            count += keys[count] >= lowest;
        }
    }
    return count;
}

/* indices[row] = the places of the k largest |z|. A sample gives a bound that few entries reach. */
void ngo_largest(const float *x, const float *h, size h_stride, size n, size d, size k,
                 int64_t *indices, size *next, uint64_t *keys)
{
    enum { SAMPLE = 2048 };
    EACH_ROW(row) {
        const float *from = x + row * d, *less = h + row * h_stride;
        size every = (d + SAMPLE - 1) / SAMPLE, count = 0, wanted;
        for (size v = 0; v < d; v += every)
            keys[count++] = key_of(from, less, v);
        double expected = (double)k * count / d;
        wanted = every == 1 ? k : expected + 4 * sqrt(expected) + 4;
        uint64_t lowest = wanted < count ? select_largest(keys, count, wanted) : 0;
        count = collect(from, less, d, lowest, keys);
        if (count < k)
            count = collect(from, less, d, 0, keys);
        select_largest(keys, count, k);
        for (size i = 0; i < k; i++)
            indices[row * k + i] = (uint32_t)~keys[i];
    }
}

/* h += x - h at the k `indices` of each row, all different, rounded as receivers round it. */
void ngo_add_entries(const float *x, float *h, size h_stride, size n, size d, size k,
                     const int64_t *indices, size *next, uint64_t *work)
{
#pragma clang fp reassociate(off)
    EACH_ROW(row) {
        const float *restrict from = x + row * d;
        float *restrict to = h + row * h_stride;
        for (const int64_t *at = indices + row * k; at < indices + (row + 1) * k; at++)
            to[*at] += from[*at] - to[*at];
    }
}
