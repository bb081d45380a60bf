// Quantized weights whose blocks of 32 have one scale for all elements, and no more: the scale multiplies sums.
#ifndef METAL_BRIDGE_WEIGHTS_ONE_SCALE_H
#define METAL_BRIDGE_WEIGHTS_ONE_SCALE_H

#include "chunk.h"

// 32 elements: a half scale, then 32 signed bytes.
struct Q8_0 {
    enum : uint {
        ragged = 0,
        has_offsets = 0,
        step = 32,
        second = 8,
        block_bytes = 34
    };
    static ulong row_bytes(uint k) { return ulong(k / 32) * block_bytes; }
    static uint first(uint chunk) { return chunk * chunk_elements; }
    static Chunk load(device const uchar *row, uint chunk) {
        device const uchar *block = row + ulong(chunk / 2) * block_bytes;
        device const packed_char4 *quants = (device const packed_char4 *)(block + 2 + (chunk % 2) * 16);
        Chunk result;
        result.scale = float(*(device const half *)block);
        for (uint i = 0; i < 4; i++) result.v[i] = float4(char4(quants[i]));
        return result;
    }
    static IntegerChunk load_integers(device const uchar *row, uint chunk) {
        device const uchar *block = row + ulong(chunk / 2) * block_bytes;
        device const packed_char4 *quants = (device const packed_char4 *)(block + 2 + (chunk % 2) * 16);
        IntegerChunk result;
        result.scale = float(*(device const half *)block);
        result.offset = 0.0f;
        for (uint i = 0; i < 4; i++) result.v[i] = int4(char4(quants[i]));
        return result;
    }
    METAL_FUNC static void integers(device const uchar *row, uint first, uint count, thread short *numbers,
                                    thread float *scales, thread float *) {
        for (uint done = 0; done < count; done += block_elements) {
            device const uchar *block = row + ulong((first + done) / block_elements) * block_bytes;
            device const char *quants = (device const char *)(block + 2);
            scales[done / block_elements] = float(*(device const half *)block);
            thread short *low = numbers + done, *high = low + chunk_elements;
            CHUNK_LOOP
            for (uint i = 0; i < chunk_elements; i++) low[i] = short(quants[i]);
            CHUNK_LOOP
            for (uint i = 0; i < chunk_elements; i++) high[i] = short((quants + chunk_elements)[i]);
        }
    }
    static Chunk load_tail(device const uchar *row, uint chunk, uint) { return load(row, chunk); }
    typedef thread const float *Elements;
    METAL_FUNC static Elements elements(device const uchar *row, uint first, uint count, thread float *unpacked) {
        for (uint done = 0; done < count; done += block_elements) {
            device const uchar *block = row + ulong((first + done) / block_elements) * block_bytes;
            device const char *quants = (device const char *)(block + 2);
            const float scale = float(*(device const half *)block);
            thread float *low = unpacked + done, *high = low + chunk_elements;
            CHUNK_LOOP
            for (uint i = 0; i < chunk_elements; i++) low[i] = float(quants[i]) * scale;
            CHUNK_LOOP
            for (uint i = 0; i < chunk_elements; i++) high[i] = float((quants + chunk_elements)[i]) * scale;
        }
        return unpacked;
    }
};

// 32 elements: a half scale, then 16 bytes whose low nibbles are elements 0 to 15 and high nibbles 16 to 31, each
// plus 8. A chunk takes 8 of the bytes, so that no byte is read twice.
struct Q4_0 {
    enum : uint {
        ragged = 0,
        has_offsets = 0,
        step = 32,
        second = 16,
        block_bytes = 18
    };
    static ulong row_bytes(uint k) { return ulong(k / 32) * block_bytes; }
    static uint first(uint chunk) { return (chunk / 2) * 32 + (chunk % 2) * 8; }
    static Chunk load(device const uchar *row, uint chunk) {
        device const uchar *block = row + ulong(chunk / 2) * block_bytes;
        device const packed_uchar4 *quants = (device const packed_uchar4 *)(block + 2 + (chunk % 2) * 8);
        Chunk result;
        result.scale = float(*(device const half *)block);
        for (uint i = 0; i < 2; i++) {
            const uint4 pair = uint4(uchar4(quants[i]));
            result.v[i] = float4(pair & uint4(15)) - 8.0f;
            result.v[i + 2] = float4(pair >> uint4(4)) - 8.0f;
        }
        return result;
    }
    static IntegerChunk load_integers(device const uchar *row, uint chunk) {
        device const uchar *block = row + ulong(chunk / 2) * block_bytes;
        device const packed_uchar4 *quants = (device const packed_uchar4 *)(block + 2 + (chunk % 2) * 8);
        IntegerChunk result;
        result.scale = float(*(device const half *)block);
        result.offset = 0.0f;
        for (uint i = 0; i < 2; i++) {
            const int4 pair = int4(uchar4(quants[i]));
            result.v[i] = (pair & int4(15)) - int4(8);
            result.v[i + 2] = (pair >> int4(4)) - int4(8);
        }
        return result;
    }
    METAL_FUNC static void integers(device const uchar *row, uint first, uint count, thread short *numbers,
                                    thread float *scales, thread float *) {
        for (uint done = 0; done < count; done += block_elements) {
            device const uchar *block = row + ulong((first + done) / block_elements) * block_bytes;
            thread short *low = numbers + done, *high = low + chunk_elements;
            scales[done / block_elements] = float(*(device const half *)block);
            CHUNK_LOOP
            for (uint i = 0; i < chunk_elements; i++) {
                low[i] = short(int((block + 2)[i] & 15) - 8);
                high[i] = short(int((block + 2)[i] >> 4) - 8);
            }
        }
    }
    static Chunk load_tail(device const uchar *row, uint chunk, uint) { return load(row, chunk); }
    typedef thread const float *Elements;
    METAL_FUNC static Elements elements(device const uchar *row, uint first, uint count, thread float *unpacked) {
        for (uint done = 0; done < count; done += block_elements) {
            device const uchar *block = row + ulong((first + done) / block_elements) * block_bytes;
            const float scale = float(*(device const half *)block);
            thread float *low = unpacked + done, *high = low + chunk_elements;
            CHUNK_LOOP
            for (uint i = 0; i < chunk_elements; i++) {
                low[i] = float(int((block + 2)[i] & 15) - 8) * scale;
                high[i] = float(int((block + 2)[i] >> 4) - 8) * scale;
            }
        }
        return unpacked;
    }
};

#endif
