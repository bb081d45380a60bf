// Random numbers: y at element number n is made of what Philox 4x32-10 gives for the counter n (Salmon, Moraes, Dror
// and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3").
#include "tensor.h"

// INLINE: the work of an element is long, and becomes a vector loop only inside the loop over elements.

struct Counter {
    uint a;
    uint b;
    uint c;
    uint d;
};

INLINE Counter philox(Counter counter, uint key, uint other_key) {
    for (uint round = 0; round < 10; round++) {
        const ulong first = ulong(0xd2511f53u) * counter.a;
        const ulong second = ulong(0xcd9e8d57u) * counter.c;
        counter = {uint(second >> 32) ^ counter.b ^ key, uint(second), uint(first >> 32) ^ counter.d ^ other_key,
                   uint(first)};
        key += 0x9e3779b9u;
        other_key += 0xbb67ae85u;
    }
    return counter;
}

struct Source {
    ulong seed;
    ulong stream;
    ulong offset;
    INLINE Counter at(ulong element) const {
        const ulong number = offset + element;
        const Counter counter = {uint(number), uint(number >> 32), uint(stream), uint(stream >> 32)};
        return philox(counter, uint(seed), uint(seed >> 32));
    }
};

inline Source source_of(constant Walk &walk) { return {walk.parameters[0], walk.parameters[1], walk.parameters[2]}; }

// The lowest bits of the first two words.
template <typename T>
struct Bits {
    typedef T result;
    device T *y;
    Source source;
    T value(TensorOffsets offsets) const {
        const Counter words = source.at(offsets.at[1]);
        return T(ulong(words.a) | ulong(words.b) << 32);
    }
    void store(ulong offset, T value) const { y[offset] = value; }
};

template <typename T>
kernel void random_bits(constant Walk &walk [[buffer(0)]],
                        device T *y [[buffer(1)]],
                        uint2 position [[thread_position_in_grid]]) {
    const Bits<T> work = {y, source_of(walk)};
    walk_elements(walk, position, work);
}

// Everything below is made of roundings that are exact or prescribed, so that all devices give equal bits.

// The natural logarithm of a positive normal number: m 2^e with m within a factor of sqrt(2) of 1, and of m by
// a polynomial of its distance from 1, wrong by 1.4e-8 of the result.
INLINE float log_of(float x) {
    const uint bits = as_type<uint>(x) + (0x3f800000u - 0x3f3504f3u);
    const float exponent = float(int(bits >> 23) - 127);
    const float t = as_type<float>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float p = -0.0767364129f;
    p = fma(p, t, 0.127226725f);
    p = fma(p, t, -0.13127555f);
    p = fma(p, t, 0.142048553f);
    p = fma(p, t, -0.166266456f);
    p = fma(p, t, 0.200012341f);
    p = fma(p, t, -0.250007808f);
    p = fma(p, t, 0.333333313f);
    p = fma(p, t, -0.49999997f);
    return fma(exponent, -1.90465432e-9f, fma(exponent, 0.693147182f, fma(t * t, p, t)));
}

// The cosine of 2 pi times `turns` / 2^32: the quarter by the upper bits, the angle from its middle by the rest.
INLINE float cosine_of_turns(uint turns) {
    const uint shifted = turns + 0x20000000u;
    const uint quarter = shifted >> 30;
    const float angle = float(int(shifted & 0x3fffffffu) - 0x20000000) * 1.46291807e-9f;
    const float square = angle * angle;
    float sine = 2.72499256e-06f;
    sine = fma(sine, square, -0.00019840087f);
    sine = fma(sine, square, 0.00833333191f);
    sine = fma(sine, square, -0.166666672f);
    sine = fma(angle * square, sine, angle);
    float cosine = 2.44637886e-05f;
    cosine = fma(cosine, square, -0.00138875889f);
    cosine = fma(cosine, square, 0.0416666493f);
    cosine = fma(cosine, square, -0.5f);
    cosine = fma(square, cosine, 1.0f);
    const float value = (quarter & 1u) != 0 ? sine : cosine;
    // The sign of the quarters 1 and 2.
    return as_type<float>(as_type<uint>(value) ^ ((quarter + 1u) & 2u) << 30);
}

template <typename T>
struct Uniform {
    typedef float result;
    device T *y;
    Source source;
    float low;
    float width;
    INLINE float value(TensorOffsets offsets) const {
        return fma(float(source.at(offsets.at[1]).a >> 8) * 5.96046448e-8f, width, low);
    }
    void store(ulong offset, float value) const { y[offset] = Element<T>::put(value); }
};

// Box and Muller 1958: the radius by the first word, the angle by the second.
template <typename T>
struct Normal {
    typedef float result;
    device T *y;
    Source source;
    float mean;
    float deviation;
    INLINE float value(TensorOffsets offsets) const {
        const Counter words = source.at(offsets.at[1]);
        const float share = fma(float(words.a), 2.32830644e-10f, 1.16415322e-10f);
        const float radius = precise::sqrt(-2.0f * log_of(share));
        return fma(radius * cosine_of_turns(words.b), deviation, mean);
    }
    void store(ulong offset, float value) const { y[offset] = Element<T>::put(value); }
};

template <typename T, template <typename> class Work>
kernel void random(constant Walk &walk [[buffer(0)]],
                   device T *y [[buffer(1)]],
                   uint2 position [[thread_position_in_grid]]) {
    const Work<T> work = {y, source_of(walk), as_type<float>(uint(walk.parameters[3])),
                          as_type<float>(uint(walk.parameters[4]))};
    walk_elements(walk, position, work);
}

#define INSTANTIATE(name, T) \
    template [[host_name("uniform_" #name)]] kernel decltype(random<T, Uniform>) random<T, Uniform>; \
    template [[host_name("normal_" #name)]] kernel decltype(random<T, Normal>) random<T, Normal>;

INSTANTIATE(f32, float)
INSTANTIATE(f16, half)
INSTANTIATE(bf16, bf16)

#define INSTANTIATE_BITS(name, T) \
    template [[host_name("random_bits_" #name)]] kernel decltype(random_bits<T>) random_bits<T>;

INSTANTIATE_BITS(i8, char)
INSTANTIATE_BITS(u8, uchar)
INSTANTIATE_BITS(i32, int)
INSTANTIATE_BITS(u32, uint)
INSTANTIATE_BITS(i64, long)
