/* Functions that are linked into a pipeline, and the tables by which its kernel calls them. */
#ifndef SMTL_VISIBLE_FUNCTION_TABLE_H
#define SMTL_VISIBLE_FUNCTION_TABLE_H

#import "SMTLComputePipeline.h"
#import "framework/memory/SMTLResource.h"
#import <Metal/MTLFunctionHandle.h>
#import <Metal/MTLVisibleFunctionTable.h>

@interface SMTLFunctionHandle : SMTLObject <MTLFunctionHandle> {
@public
    SMTLComputePipeline *_pipeline; /* retained */
    NSUInteger _number;
}
- (instancetype)initWithPipeline:(SMTLComputePipeline *)pipeline number:(NSUInteger)number;
@end

@interface SMTLVisibleFunctionTable : SMTLResource <MTLVisibleFunctionTable> {
@public
    SMTLComputePipeline *_pipeline; /* retained: its kernel has the functions */
    smtl_function_table *_table;
    NSUInteger _count;
    uint64_t _retained_by;
}
/* nil if memory has run out. */
- (instancetype)initWithPipeline:(SMTLComputePipeline *)pipeline count:(NSUInteger)count;
@end

/* Raises if the object is no table of the device. nil stays nil. */
SMTLVisibleFunctionTable *SMTLCheckFunctionTable(const char *where, id<MTLVisibleFunctionTable> table,
                                                 SMTLDevice *device);

#endif
