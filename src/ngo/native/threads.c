/* Waiting for work. */

#include <sched.h>
#include <stdint.h>

/* Spin until *count differs from `seen`, for a few tenths of a millisecond at most. Between rounds
 * the core is offered to other threads. */
void ngo_wait(const int64_t *count, int64_t seen)
{
    for (int round = 0; round < 256; round++, sched_yield())
        for (int look = 0; look < 32; look++) {
            if (__atomic_load_n(count, __ATOMIC_RELAXED) != seen)
                return;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#elif defined(__aarch64__)
            __asm__ volatile("yield");
#endif
        }
}
