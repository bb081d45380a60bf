// What poolings and resamplings share: images of two tensors, and the part of a thread in one of them.
#ifndef METAL_BRIDGE_IMAGES_H
#define METAL_BRIDGE_IMAGES_H

#include "tensor.h"

// Whether a thread takes neighbouring channels at one position; otherwise neighbouring columns of one channel.
constant bool takes_channels [[function_constant(2)]];

// Of two numbers the first is for rows of an image, the second for its columns.
struct Images {
    uint channels;
    // Results that a thread takes: at most `run_length`.
    uint per_thread;
    int x_size[2];
    int y_size[2];
    // Image, channel, row, column.
    ulong x_strides[4];
    ulong y_strides[4];
};

// A GPU takes one result a thread.
constant constexpr uint run_length = BLOCK > short_block ? 128 : 1;

// Some results side by side: where the image, or the channel, begins in x, where the first result is in y, and which.
struct Part {
    ulong x;
    ulong y;
    uint count;
    int row;
    int column;
    // From one result to the next.
    ulong x_step;
    ulong y_step;
};

inline Part part_of(constant Images &images, uint2 position) {
    const uint first = position.x * images.per_thread;
    const uint width = uint(images.y_size[1]);
    const uint height = uint(images.y_size[0]);
    const uint along = takes_channels ? images.channels : width;
    Part part;
    part.count = min(min(run_length, images.per_thread), along - first);
    uint rest = position.y;
    part.column = int(first);
    if (takes_channels) {
        part.column = int(rest % width);
        rest /= width;
    }
    part.row = int(rest % height);
    rest /= height;
    uint channel = first;
    if (!takes_channels) {
        channel = rest % images.channels;
        rest /= images.channels;
    }
    part.x = rest * images.x_strides[0] + channel * images.x_strides[1];
    part.y = rest * images.y_strides[0] + channel * images.y_strides[1] + ulong(part.row) * images.y_strides[2] +
             ulong(part.column) * images.y_strides[3];
    part.x_step = images.x_strides[takes_channels ? 1 : 3];
    part.y_step = images.y_strides[takes_channels ? 1 : 3];
    return part;
}

#endif
