/* The only random numbers: they depend on a seed alone, so that what they decide can be repeated. */
#ifndef SMTL_RANDOM_H
#define SMTL_RANDOM_H

#include <stdint.h>

/* A well-mixed function of its argument (splitmix64). */
static inline uint64_t smtl_mix(uint64_t value) {
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* The next number of the sequence, below `bound`. Any value of `*state` begins a sequence. */
static inline uint64_t smtl_random_below(uint64_t *state, uint64_t bound) {
    *state = smtl_mix(*state);
    return *state % bound;
}

#endif
