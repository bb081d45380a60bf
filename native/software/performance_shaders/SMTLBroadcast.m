#import "SMTLBroadcast.h"

#include <string.h>

NSString *SMTLDescribeLengths(const size_t *lengths, uint32_t rank) {
    NSMutableString *text = [NSMutableString stringWithString:@"["];
    for (uint32_t i = 0; i < rank; i++) [text appendFormat:i == 0 ? @"%lu" : @", %lu", (unsigned long)lengths[i]];
    [text appendString:@"]"];
    return text;
}

smtl_tensor SMTLCommonShape(const char *where, const smtl_tensor *const *tensors, NSUInteger count, uint32_t kept) {
    smtl_tensor common = {.rank = 0};
    for (NSUInteger i = 0; i < count; i++) {
        const uint32_t rank = tensors[i]->rank - kept;
        common.rank = rank > common.rank ? rank : common.rank;
    }
    for (uint32_t d = 0; d < common.rank; d++) {
        common.lengths[d] = 1;
        for (NSUInteger i = 0; i < count; i++) {
            const uint32_t missing = common.rank - (tensors[i]->rank - kept);
            const size_t length = d < missing ? 1 : tensors[i]->lengths[d - missing];
            SMTL_REQUIRE(length == 1 || common.lengths[d] == 1 || length == common.lengths[d], where,
                         @"the shapes %@ and %@ cannot be broadcast to each other",
                         SMTLDescribeLengths(tensors[0]->lengths, tensors[0]->rank),
                         SMTLDescribeLengths(tensors[i]->lengths, tensors[i]->rank));
            common.lengths[d] = length == 1 ? common.lengths[d] : length;
        }
    }
    return common;
}

void SMTLBroadcastTensor(const char *where, NSString *name, smtl_tensor *tensor, const size_t *lengths, uint32_t rank,
                         uint32_t kept) {
    const smtl_tensor from = *tensor;
    SMTL_REQUIRE(from.rank >= kept && from.rank - kept <= rank && rank + kept <= SMTL_MAX_RANK, where,
                 @"the %@ has %u dimensions, which do not fit %u", name, from.rank, rank + kept);
    const uint32_t missing = rank - (from.rank - kept);
    tensor->rank = rank + kept;
    for (uint32_t i = 0; i < rank; i++) {
        const size_t length = i < missing ? 1 : from.lengths[i - missing];
        SMTL_REQUIRE(length == 1 || length == lengths[i], where, @"the %@ of shape %@ cannot be broadcast to %@", name,
                     SMTLDescribeLengths(from.lengths, from.rank), SMTLDescribeLengths(lengths, rank));
        tensor->lengths[i] = lengths[i];
        tensor->strides[i] = length == 1 ? 0 : from.strides[i - missing];
    }
    memcpy(tensor->lengths + rank, from.lengths + from.rank - kept, kept * sizeof(size_t));
    memcpy(tensor->strides + rank, from.strides + from.rank - kept, kept * sizeof(size_t));
}
