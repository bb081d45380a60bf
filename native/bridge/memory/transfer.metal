// What blits cannot do: they copy and fill whole words, on some GPUs at multiples of four only. A thread moves UNIT
// bytes of a row, or UNIT words of it.
#include <metal_stdlib>
using namespace metal;

constant uint UNIT = 16;

struct Rows {
    ulong source_pitch;
    ulong destination_pitch;
    ulong width;
    uint height;
    uint pattern;
};

kernel void copy_rows(device const uchar *source [[buffer(0)]], device uchar *destination [[buffer(1)]],
                      constant Rows &rows [[buffer(2)]], uint2 at [[thread_position_in_grid]])
{
    if (at.y >= rows.height)
        return;
    const ulong begin = ulong(at.x) * UNIT;
    const ulong end = min(begin + UNIT, rows.width);
    device const uchar *from = source + at.y * rows.source_pitch;
    device uchar *to = destination + at.y * rows.destination_pitch;
    for (ulong i = begin; i < end; ++i)
        to[i] = from[i];
}

// The pattern has four bytes: shorter ones are repeated in it.
kernel void fill_rows(device uchar *destination [[buffer(1)]], constant Rows &rows [[buffer(2)]],
                      uint2 at [[thread_position_in_grid]])
{
    if (at.y >= rows.height)
        return;
    const ulong begin = ulong(at.x) * UNIT;
    const ulong end = min(begin + UNIT, rows.width);
    device uchar *to = destination + at.y * rows.destination_pitch;
    for (ulong i = begin; i < end; ++i)
        to[i] = uchar(rows.pattern >> (8 * (i % 4)));
}

// For rows that begin at words and have whole words; the pitch is words too.
kernel void fill_words(device uint *destination [[buffer(1)]], constant Rows &rows [[buffer(2)]],
                       uint2 at [[thread_position_in_grid]])
{
    if (at.y >= rows.height)
        return;
    const ulong begin = ulong(at.x) * UNIT;
    const ulong end = min(begin + UNIT, rows.width);
    device uint *to = destination + at.y * rows.destination_pitch;
    for (ulong i = begin; i < end; ++i)
        to[i] = rows.pattern;
}
