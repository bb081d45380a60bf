/* What a launch must satisfy, however it is encoded. What is required raises. */
#ifndef SMTL_LAUNCH_CHECK_H
#define SMTL_LAUNCH_CHECK_H

#import "framework/library/SMTLComputePipeline.h"
#import "framework/memory/SMTLBuffer.h"
#import <Metal/MTLTypes.h>

/* The length of threadgroup memory is a multiple of it. */
#define SMTL_THREADGROUP_MEMORY_UNIT 16u

void SMTLRequireArgumentIndex(const char *where, NSUInteger index);
/* The length of one dynamic threadgroup memory argument. */
void SMTLRequireThreadgroupMemory(const char *where, NSUInteger length);
bool SMTLIsEmpty(MTLSize size);
bool SMTLThreadgroupFits(MTLSize group, NSUInteger limit);
/* What the pipeline requires, or it requires nothing. */
bool SMTLIsRequiredThreadgroup(const SMTLComputePipeline *pipeline, MTLSize group);
/* From 1 to `limit` threads. */
void SMTLRequireThreadgroup(const char *where, MTLSize group, NSUInteger limit);
void SMTLRequireThreadgroupOf(const char *where, const SMTLComputePipeline *pipeline, MTLSize group);
/* The threadgroup suits the pipeline, every argument that the kernel uses is bound, and what is bound large enough for
 * one value of its type. `lengths` and `threadgroup_lengths` are those of the bindings, 0 for none. */
void SMTLRequireLaunch(const char *where, const SMTLComputePipeline *pipeline, MTLSize group, const size_t *lengths,
                       const uint32_t *threadgroup_lengths);
/* Whether a visible function table is bound where the kernel takes memory: it would write to the table. */
bool SMTLTakesTableForMemory(const SMTLComputePipeline *pipeline, const size_t *lengths);

/* `size` bytes of indirect arguments lie in the buffer. */
void SMTLRequireIndirectArguments(const char *where, const SMTLBuffer *buffer, NSUInteger offset, NSUInteger size);

/* Stores count times scale, which must fit. */
void SMTLStoreGrid(const char *where, MTLSize count, MTLSize scale, uint32_t stored[3]);
/* A product that is too large to be stored becomes the largest number. */
void SMTLStoreSize(MTLSize size, uint32_t stored[3]);

#endif
