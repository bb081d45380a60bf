/* Loops over the positions of tensors, and on several threads. */
#ifndef SMTL_LOOPS_H
#define SMTL_LOOPS_H

#include <dispatch/dispatch.h>

#include <algorithm>
#include <cstddef>

#include "tensor.h"

namespace smtl {

/* Where the `index`th position of the first `rank` dimensions of `lengths` begins in the tensor, in the order of
 * memory.
 */
inline uint8_t *address_at(const smtl_tensor &tensor, const size_t *lengths, uint32_t rank, size_t index) {
    uint8_t *bytes = tensor.bytes;
    for (uint32_t i = rank; i-- > 0;) {
        bytes += index % lengths[i] * tensor.strides[i];
        index /= lengths[i];
    }
    return bytes;
}

/* Calls work(begin, end) for parts of `count`, each of them at least `smallest` long, on several threads. */
template <typename function> void in_parts(size_t count, size_t smallest, const function &work) {
    constexpr size_t most = 32;
    smallest = std::max<size_t>(smallest, 1);
    const size_t size = std::max(smallest, (count + most - 1) / most), parts = (count + size - 1) / size;
    if (parts <= 1) {
        if (count > 0) work((size_t)0, count);
        return;
    }
    struct context {
        const function &work;
        size_t count, size;
    } all{work, count, size};
    dispatch_apply_f(parts, DISPATCH_APPLY_AUTO, &all, [](void *argument, size_t part) {
        const context &all = *static_cast<context *>(argument);
        all.work(part * all.size, std::min(all.count, (part + 1) * all.size));
    });
}

}  // namespace smtl

#endif
