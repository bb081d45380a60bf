// Quantized weights in blocks of 32 that give each element by itself: Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4.
#ifndef METAL_BRIDGE_WEIGHTS_UNPACKED_H
#define METAL_BRIDGE_WEIGHTS_UNPACKED_H

#include "chunk.h"

// A half that lies on a multiple of two bytes.
inline float half_at(device const uchar *block, uint offset) { return float(*(device const half *)(block + offset)); }

// A format from what its blocks say of an element. `Format` has `elements` and `bytes` of a block, and for the block's
// elements 16 * part to 16 * part + 15, which are quant * factor * scale + offset:
//   scale(block), of all parts; factor(block, part), a whole number; offset(block, part), if it `has_offsets`
//   quant(block, part, i)                     a whole number, of element 16 * part + i
// These products have at most 24 significant bits, so that a fused multiply-add rounds as a product and a sum would.
// quant * factor is at most 2^12 large, so that a sum of 32 of them times 127 at most is exact as a float, too.
template <typename Format> struct Unpacked {
    enum : uint {
        ragged = 0,
        has_offsets = Format::has_offsets,
        step = Format::elements,
        second = 8,
        parts = Format::elements / chunk_elements
    };
    static float scale(device const uchar *block, uint part) {
        return Format::scale(block) * float(Format::factor(block, part));
    }
    static float quant(device const uchar *block, uint part, uint i) { return float(Format::quant(block, part, i)); }
    static ulong row_bytes(uint k) { return ulong(k / Format::elements) * Format::bytes; }
    static uint first(uint chunk) { return chunk * chunk_elements; }
    static Chunk load(device const uchar *row, uint chunk) {
        device const uchar *block = row + ulong(chunk / parts) * Format::bytes;
        const uint part = chunk % parts;
        const float4 scale = float4(Unpacked::scale(block, part));
        const float4 offset = float4(Format::offset(block, part));
        Chunk result;
        result.scale = 1.0f;
        for (uint i = 0; i < 4; i++) {
            const float4 quants = float4(quant(block, part, 4 * i), quant(block, part, 4 * i + 1),
                                         quant(block, part, 4 * i + 2), quant(block, part, 4 * i + 3));
            result.v[i] = fma(quants, scale, offset);
        }
        return result;
    }
    static IntegerChunk load_integers(device const uchar *row, uint chunk) {
        device const uchar *block = row + ulong(chunk / parts) * Format::bytes;
        const uint part = chunk % parts;
        const int4 factor = int4(Format::factor(block, part));
        IntegerChunk result;
        result.scale = Format::scale(block);
        result.offset = Format::offset(block, part);
        for (uint i = 0; i < 4; i++) {
            result.v[i] = factor * int4(Format::quant(block, part, 4 * i), Format::quant(block, part, 4 * i + 1),
                                        Format::quant(block, part, 4 * i + 2), Format::quant(block, part, 4 * i + 3));
        }
        return result;
    }
    METAL_FUNC static void integers(device const uchar *row, uint first, uint count, thread short *numbers,
                                    thread float *scales, thread float *offsets) {
        for (uint done = 0; done < count; done += Format::elements) {
            device const uchar *block = row + ulong((first + done) / Format::elements) * Format::bytes;
            // Scales and offsets are read before anything is written: the compiler must assume that a write changes the
            // block.
            const float scale = Format::scale(block);
            int factors[parts];
            float own_offsets[parts];
#pragma clang loop unroll(full)
            for (uint part = 0; part < parts; part++) {
                factors[part] = Format::factor(block, part);
                own_offsets[part] = Format::offset(block, part);
            }
#pragma clang loop unroll(full)
            for (uint part = 0; part < parts; part++) {
                scales[(done + part * chunk_elements) / block_elements] = scale;
                if (has_offsets) offsets[done / chunk_elements + part] = own_offsets[part];
            }
#pragma clang loop unroll(full)
            for (uint part = 0; part < parts; part++) {
                thread short *to = numbers + done + part * chunk_elements;
                const int factor = factors[part];
                CHUNK_LOOP
                for (uint i = 0; i < chunk_elements; i++) to[i] = short(Format::quant(block, part, i) * factor);
            }
        }
    }
    static Chunk load_tail(device const uchar *row, uint chunk, uint) { return load(row, chunk); }
    typedef thread const float *Elements;
    METAL_FUNC static Elements elements(device const uchar *row, uint first, uint count, thread float *unpacked) {
        for (uint done = 0; done < count; done += Format::elements) {
            device const uchar *block = row + ulong((first + done) / Format::elements) * Format::bytes;
            // Of parts that are constants the compiler knows the shifts.
            float scales[parts], offsets[parts];
#pragma clang loop unroll(full)
            for (uint part = 0; part < parts; part++) {
                scales[part] = scale(block, part);
                offsets[part] = Format::offset(block, part);
            }
#pragma clang loop unroll(full)
            for (uint part = 0; part < parts; part++) {
                thread float *to = unpacked + done + part * chunk_elements;
                const float own_scale = scales[part], offset = offsets[part];
                CHUNK_LOOP
                for (uint i = 0; i < chunk_elements; i++) to[i] = fma(quant(block, part, i), own_scale, offset);
            }
        }
        return unpacked;
    }
};

// In these formats 16 bytes hold the lower four bits of 32 elements: of the first 16, then of the others.
inline int four_bits(device const uchar *bytes, uint part, uint i) { return int(bytes[i]) >> (4 * part) & 15; }

// One more bit for each of 32 elements.
inline int fifth_bit(device const uchar *bits, uint part, uint i) {
    return (int(*(device const ushort *)(bits + 2 * part)) >> i & 1) << 4;
}

// A half scale, a half offset, four bits.
struct Q4_1Block {
    enum : uint {
        elements = 32,
        bytes = 20,
        has_offsets = 1
    };
    static float scale(device const uchar *block) { return half_at(block, 0); }
    static int factor(device const uchar *, uint) { return 1; }
    static float offset(device const uchar *block, uint) { return half_at(block, 2); }
    static int quant(device const uchar *block, uint part, uint i) { return four_bits(block + 4, part, i); }
};

// A half scale, the fifth bits, four bits: each element plus 16.
struct Q5_0Block {
    enum : uint {
        elements = 32,
        bytes = 22,
        has_offsets = 0
    };
    static float scale(device const uchar *block) { return half_at(block, 0); }
    static int factor(device const uchar *, uint) { return 1; }
    static float offset(device const uchar *, uint) { return 0.0f; }
    static int quant(device const uchar *block, uint part, uint i) {
        return (four_bits(block + 6, part, i) | fifth_bit(block + 2, part, i)) - 16;
    }
};

// A half scale, a half offset, the fifth bits, four bits.
struct Q5_1Block {
    enum : uint {
        elements = 32,
        bytes = 24,
        has_offsets = 1
    };
    static float scale(device const uchar *block) { return half_at(block, 0); }
    static int factor(device const uchar *, uint) { return 1; }
    static float offset(device const uchar *block, uint) { return half_at(block, 2); }
    static int quant(device const uchar *block, uint part, uint i) {
        return four_bits(block + 8, part, i) | fifth_bit(block + 4, part, i);
    }
};

// What four bits stand for in IQ4_NL and IQ4_XS.
constant char iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// A half scale, four bits that choose a level.
struct IQ4_NLBlock {
    enum : uint {
        elements = 32,
        bytes = 18,
        has_offsets = 0
    };
    static float scale(device const uchar *block) { return half_at(block, 0); }
    static int factor(device const uchar *, uint) { return 1; }
    static float offset(device const uchar *, uint) { return 0.0f; }
    static int quant(device const uchar *block, uint part, uint i) { return iq4_levels[four_bits(block + 2, part, i)]; }
};

// The exponent of the scale in a byte, four-bit floats.
struct MXFP4Block {
    enum : uint {
        elements = 32,
        bytes = 17,
        has_offsets = 0
    };
    // Half of 2^(exponent - 127), since `quant` counts halves; the two least are not normal floats.
    static float scale(device const uchar *block) {
        const uint exponent = block[0];
        return as_type<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
    }
    static int factor(device const uchar *, uint) { return 1; }
    static float offset(device const uchar *, uint) { return 0.0f; }
    static int quant(device const uchar *block, uint part, uint i) {
        // A sign, two bits of exponent, one of mantissa. The magnitudes are 0, 1, 2, 3, 4, 6, 8 and 12 halves: steps of
        // 1, from the fourth on of 2, from the sixth on of 4. No number is read by its bits, since that of 0.5 would
        // not be a normal half, which a GPU may take for zero.
        const int bits = four_bits(block + 1, part, i);
        const int number = bits & 7;
        const int magnitude = number + max(number, 4) + 2 * max(number, 6) - 16;
        return bits > 7 ? -magnitude : magnitude;
    }
};

typedef Unpacked<Q4_1Block> Q4_1;
typedef Unpacked<Q5_0Block> Q5_0;
typedef Unpacked<Q5_1Block> Q5_1;
typedef Unpacked<IQ4_NLBlock> IQ4_NL;
typedef Unpacked<MXFP4Block> MXFP4;

#endif
