// Quantized weights in blocks of 256, whose parts of 16 or 32 elements have small scales of their own: Q2_K to Q6_K,
// IQ4_XS. Fields stand in the order in which they are stored.
#ifndef METAL_BRIDGE_WEIGHTS_SUPER_BLOCKS_H
#define METAL_BRIDGE_WEIGHTS_SUPER_BLOCKS_H

#include "unpacked.h"

// Two bits for each of 256 elements: a byte has those of four elements that are 32 apart.
inline int two_bits(device const uchar *bytes, uint part, uint i) {
    return int((bytes + ulong(part / 8 * 32 + part % 2 * 16))[i]) >> (part / 2 % 4 * 2) & 3;
}

// Four bits for each of 256 elements: a byte has those of two elements that are 32 apart.
inline int four_bits_of_256(device const uchar *bytes, uint part, uint i) {
    return int((bytes + ulong(part / 4 * 32 + part % 2 * 16))[i]) >> (part / 2 % 2 * 4) & 15;
}

// One bit for each of 256 elements: a byte has those of eight elements that are 32 apart.
inline int one_bit(device const uchar *bytes, uint part, uint i) {
    return int((bytes + ulong(part % 2 * 16))[i]) >> (part / 2) & 1;
}

// Four-bit scales and offsets of 16 parts, two bits of each element, a half scale and a half offset.
struct Q2_KBlock {
    enum : uint {
        elements = 256,
        bytes = 84,
        has_offsets = 1
    };
    static float scale(device const uchar *block) { return half_at(block, 80); }
    static int factor(device const uchar *block, uint part) { return block[part] & 15; }
    static float offset(device const uchar *block, uint part) { return -half_at(block, 82) * float(block[part] >> 4); }
    static int quant(device const uchar *block, uint part, uint i) { return two_bits(block + 16, part, i); }
};

// The third bits of the elements, two bits of each, six-bit scales of 16 parts, a half scale. A third bit that is clear
// takes 4 from the element.
struct Q3_KBlock {
    enum : uint {
        elements = 256,
        bytes = 110,
        has_offsets = 0
    };
    static float scale(device const uchar *block) { return half_at(block, 108); }
    static int factor(device const uchar *block, uint part) {
        device const uchar *factors = block + 96;
        const int low = int(factors[part % 8]) >> (part / 8 * 4) & 15;
        const int high = int(factors[8 + part % 4]) >> (part / 4 * 2) & 3;
        return (low | high << 4) - 32;
    }
    static float offset(device const uchar *, uint) { return 0.0f; }
    static int quant(device const uchar *block, uint part, uint i) {
        return (two_bits(block + 32, part, i) | one_bit(block, part, i) << 2) - 4;
    }
};

// The scale (`which` 0) or the offset (`which` 1) of eight parts of 32, six bits each in twelve bytes: four of each in
// the lower bits of eight bytes; of the others four bits in the last four bytes, and two in the upper bits of the
// eight.
inline int six_bits(device const uchar *scales, uint index, uint which) {
    const int one = scales[index % 4 + 4 * which];
    const int other = scales[8 + index % 4];
    return index < 4 ? one & 63 : (other >> (4 * which) & 15) | (one >> 6 << 4);
}

// A half scale and a half offset, six-bit scales and offsets of eight parts, four bits of each element.
struct Q4_KBlock {
    enum : uint {
        elements = 256,
        bytes = 144,
        has_offsets = 1
    };
    static float scale(device const uchar *block) { return half_at(block, 0); }
    static int factor(device const uchar *block, uint part) { return six_bits(block + 4, part / 2, 0); }
    static float offset(device const uchar *block, uint part) {
        return -half_at(block, 2) * float(six_bits(block + 4, part / 2, 1));
    }
    static int quant(device const uchar *block, uint part, uint i) { return four_bits_of_256(block + 16, part, i); }
};

// As Q4_K, with the fifth bits of the elements before the four.
struct Q5_KBlock {
    enum : uint {
        elements = 256,
        bytes = 176,
        has_offsets = 1
    };
    static float scale(device const uchar *block) { return Q4_KBlock::scale(block); }
    static int factor(device const uchar *block, uint part) { return Q4_KBlock::factor(block, part); }
    static float offset(device const uchar *block, uint part) { return Q4_KBlock::offset(block, part); }
    static int quant(device const uchar *block, uint part, uint i) {
        return four_bits_of_256(block + 48, part, i) | one_bit(block + 16, part, i) << 4;
    }
};

// Four lower bits of the elements, two upper bits, signed scales of 16 parts, a half scale: each element plus 32. Of
// 128 elements the first 64 are in the lower halves of 64 bytes, the others in the upper halves.
struct Q6_KBlock {
    enum : uint {
        elements = 256,
        bytes = 210,
        has_offsets = 0
    };
    static float scale(device const uchar *block) { return half_at(block, 208); }
    static int factor(device const uchar *block, uint part) { return ((device const char *)block)[192 + part]; }
    static float offset(device const uchar *, uint) { return 0.0f; }
    static int quant(device const uchar *block, uint part, uint i) {
        const int low = int((block + ulong(part / 8 * 64 + part % 4 * 16))[i]) >> (part / 4 % 2 * 4) & 15;
        return (low | two_bits(block + 128, part, i) << 4) - 32;
    }
};

// A half scale, six-bit scales of eight parts (two upper bits in a word, four in four bytes), four bits that choose a
// level: a part's 16 bytes have its first 16 elements in the lower halves, the others in the upper halves.
struct IQ4_XSBlock {
    enum : uint {
        elements = 256,
        bytes = 136,
        has_offsets = 0
    };
    static float scale(device const uchar *block) { return half_at(block, 0); }
    static int factor(device const uchar *block, uint part) {
        const uint index = part / 2;
        const int low = int(block[4 + index / 2]) >> (index % 2 * 4) & 15;
        const int high = int(block[2 + index / 4]) >> (index % 4 * 2) & 3;
        return (low | high << 4) - 32;
    }
    static float offset(device const uchar *, uint) { return 0.0f; }
    static int quant(device const uchar *block, uint part, uint i) {
        return iq4_levels[four_bits(block + 8 + part / 2 * 16, part % 2, i)];
    }
};

typedef Unpacked<Q2_KBlock> Q2_K;
typedef Unpacked<Q3_KBlock> Q3_K;
typedef Unpacked<Q4_KBlock> Q4_K;
typedef Unpacked<Q5_KBlock> Q5_K;
typedef Unpacked<Q6_KBlock> Q6_K;
typedef Unpacked<IQ4_XSBlock> IQ4_XS;

#endif
