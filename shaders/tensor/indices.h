// Indices of the types that tensors of indices have.
#ifndef METAL_BRIDGE_INDICES_H
#define METAL_BRIDGE_INDICES_H

#include "tensor.h"

struct Indices {
    device const uchar *bytes;
    // In the order of `DataType` in src/ops/tensor/data_type.rs: 5 is i32, 6 u32, 7 i64.
    uint type;
    // Negative ones are large, and so out of any range.
    ulong at(ulong offset) const {
        switch (type) {
        case 5: return ulong(long(((device const int *)bytes)[offset]));
        case 6: return ((device const uint *)bytes)[offset];
        default: return ulong(((device const long *)bytes)[offset]);
        }
    }
};

#endif
