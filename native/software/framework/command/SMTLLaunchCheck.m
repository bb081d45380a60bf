#import "SMTLLaunchCheck.h"

#import "support/SMTLError.h"

void SMTLRequireArgumentIndex(const char *where, NSUInteger index) {
    SMTL_REQUIRE(index < SMTL_MAX_BUFFER_ARGUMENTS, where, @"index %lu is not below %u", (unsigned long)index,
                 SMTL_MAX_BUFFER_ARGUMENTS);
}

void SMTLRequireThreadgroupMemory(const char *where, NSUInteger length) {
    SMTL_REQUIRE(length % SMTL_THREADGROUP_MEMORY_UNIT == 0, where, @"length(%lu) must be a multiple of %u bytes",
                 (unsigned long)length, SMTL_THREADGROUP_MEMORY_UNIT);
    SMTL_REQUIRE(length <= SMTL_MAX_THREADGROUP_MEMORY, where, @"length(%lu) must be <= %u", (unsigned long)length,
                 SMTL_MAX_THREADGROUP_MEMORY);
}

bool SMTLIsEmpty(MTLSize size) { return size.width == 0 || size.height == 0 || size.depth == 0; }

bool SMTLThreadgroupFits(MTLSize group, NSUInteger limit) {
    return group.width <= limit && group.height <= limit && group.depth <= limit &&
           group.width * group.height * group.depth <= limit;
}

void SMTLRequireThreadgroup(const char *where, MTLSize group, NSUInteger limit) {
    SMTL_REQUIRE(!SMTLIsEmpty(group), where, @"threadsPerThreadgroup {%lu, %lu, %lu} must have no zero",
                 (unsigned long)group.width, (unsigned long)group.height, (unsigned long)group.depth);
    SMTL_REQUIRE(SMTLThreadgroupFits(group, limit), where,
                 @"threadsPerThreadgroup {%lu, %lu, %lu} has more than the pipeline's %lu threads",
                 (unsigned long)group.width, (unsigned long)group.height, (unsigned long)group.depth,
                 (unsigned long)limit);
}

/* For the buffers that an argument takes. An array takes several, and hosts may leave out those that the kernel does
 * not touch: zero if none is there. */
static size_t shortest(const size_t *lengths, const smtl_argument *argument) {
    size_t length = 0;
    for (uint32_t i = argument->index; i < argument->index + argument->array_length; i++)
        length = length == 0 || (lengths[i] > 0 && lengths[i] < length) ? lengths[i] : length;
    return length;
}

/* The encoder knows the length of all bindings but tables. */
static bool binds_table(const smtl_argument *argument, const size_t *lengths, uint32_t index) {
    return argument->kind == SMTL_ARGUMENT_BUFFER && lengths[index] == SMTL_UNKNOWN_LENGTH;
}

static void require_kind(const char *where, const smtl_argument *argument, const size_t *lengths) {
    for (uint32_t i = argument->index; i < argument->index + argument->array_length; i++) {
        const bool is_table = binds_table(argument, lengths, i);
        SMTL_REQUIRE(!is_table || argument->function_table, where,
                     @"argument %s at index %u is a buffer, and a visible function table is bound there",
                     argument->name, i);
        SMTL_REQUIRE(is_table || lengths[i] == 0 || !argument->function_table, where,
                     @"argument %s at index %u is a visible function table, and a buffer is bound there",
                     argument->name, i);
    }
}

bool SMTLTakesTableForMemory(const SMTLComputePipeline *pipeline, const size_t *lengths) {
    for (size_t i = 0; i < pipeline->_argumentCount; i++) {
        const smtl_argument *argument = &pipeline->_arguments[i];
        for (uint32_t at = argument->index; at < argument->index + argument->array_length; at++)
            if (!argument->function_table && binds_table(argument, lengths, at)) return true;
    }
    return false;
}

static void require_arguments(const char *where, const SMTLComputePipeline *pipeline, const size_t *lengths,
                              const uint32_t *threadgroup_lengths) {
    size_t threadgroup_memory = pipeline->_staticMemory;
    for (size_t i = 0; i < pipeline->_argumentCount; i++) {
        const smtl_argument *argument = &pipeline->_arguments[i];
        bool buffer = argument->kind == SMTL_ARGUMENT_BUFFER;
        size_t length = buffer ? shortest(lengths, argument) : threadgroup_lengths[argument->index];
        threadgroup_memory += buffer ? 0 : length;
        if (buffer) require_kind(where, argument, lengths);
        /* Kernels share signatures, and hosts leave out threadgroup memory that the kernel at hand does not touch. Its
         * machine code cannot always tell. A kernel that does touch it faults. */
        if (length == 0 && (!argument->used || !buffer)) continue;
        SMTL_REQUIRE(length > 0, where, @"missing buffer binding at index %u for %s", argument->index, argument->name);
        SMTL_REQUIRE(length >= argument->type_size, where,
                     @"argument %s at index %u has space for %zu bytes, but its type takes %zu", argument->name,
                     argument->index, length, argument->type_size);
    }
    SMTL_REQUIRE(threadgroup_memory <= SMTL_MAX_THREADGROUP_MEMORY, where,
                 @"%zu bytes of threadgroup memory exceed the device's %u", threadgroup_memory,
                 SMTL_MAX_THREADGROUP_MEMORY);
}

bool SMTLIsRequiredThreadgroup(const SMTLComputePipeline *pipeline, MTLSize group) {
    const MTLSize required = pipeline->_requiredThreads;
    return required.width == 0 ||
           (group.width == required.width && group.height == required.height && group.depth == required.depth);
}

void SMTLRequireThreadgroupOf(const char *where, const SMTLComputePipeline *pipeline, MTLSize group) {
    SMTLRequireThreadgroup(where, group, pipeline->_maxThreads);
    const MTLSize required = pipeline->_requiredThreads;
    SMTL_REQUIRE(SMTLIsRequiredThreadgroup(pipeline, group), where,
                 @"threadsPerThreadgroup {%lu, %lu, %lu} is not what the pipeline requires, {%lu, %lu, %lu}",
                 (unsigned long)group.width, (unsigned long)group.height, (unsigned long)group.depth,
                 (unsigned long)required.width, (unsigned long)required.height, (unsigned long)required.depth);
}

void SMTLRequireLaunch(const char *where, const SMTLComputePipeline *pipeline, MTLSize group, const size_t *lengths,
                       const uint32_t *threadgroup_lengths) {
    SMTL_REQUIRE(pipeline != nil, where, @"no compute pipeline state is set");
    SMTLRequireThreadgroupOf(where, pipeline, group);
    require_arguments(where, pipeline, lengths, threadgroup_lengths);
}

void SMTLRequireIndirectArguments(const char *where, const SMTLBuffer *buffer, NSUInteger offset, NSUInteger size) {
    SMTL_REQUIRE(offset % sizeof(uint32_t) == 0, where, @"offset %lu must be a multiple of 4", (unsigned long)offset);
    SMTL_REQUIRE(buffer->_length >= size && offset <= buffer->_length - size, where,
                 @"%lu bytes at offset %lu exceed the buffer's length %lu", (unsigned long)size, (unsigned long)offset,
                 (unsigned long)buffer->_length);
}

void SMTLStoreGrid(const char *where, MTLSize count, MTLSize scale, uint32_t stored[3]) {
    const NSUInteger counts[3] = {count.width, count.height, count.depth};
    const NSUInteger scales[3] = {scale.width, scale.height, scale.depth};
    for (int i = 0; i < 3; i++) {
        SMTL_REQUIRE(scales[i] == 0 || counts[i] <= UINT32_MAX / scales[i], where,
                     @"the grid has more than %u threads in a dimension", UINT32_MAX);
        stored[i] = (uint32_t)(counts[i] * scales[i]);
    }
}

void SMTLStoreSize(MTLSize size, uint32_t stored[3]) {
    stored[0] = (uint32_t)MIN(size.width, UINT32_MAX);
    stored[1] = (uint32_t)MIN(size.height, UINT32_MAX);
    stored[2] = (uint32_t)MIN(size.depth, UINT32_MAX);
}
