#import "SMTLArgumentEncoder.h"

#import "SMTLComputePipeline.h"
#import "SMTLVisibleFunctionTable.h"
#import "framework/memory/SMTLBuffer.h"
#import "support/SMTLError.h"
#import <Metal/MTLIndirectCommandBuffer.h>
#include <stdlib.h>
#include <string.h>

#define POINTER_SIZE sizeof(MTLGPUAddress)

static size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

static bool is_handle(MTLDataType type) {
    return type == MTLDataTypePointer || type == MTLDataTypeComputePipeline ||
           type == MTLDataTypeIndirectCommandBuffer || type == MTLDataTypeVisibleFunctionTable;
}

@implementation SMTLArgumentEncoder

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_ARGUMENT_ENCODER;
}

/* --- Layout ------------------------------------------------------------------------------------------------------- */

- (void)addSlot:(smtl_argument_slot)slot {
    smtl_argument_slot *grown = realloc(_slots, (_slotCount + 1) * sizeof *grown);
    if (grown == NULL) [NSException raise:NSMallocException format:@"no memory for an argument encoder"];
    _slots = grown;
    _slots[_slotCount++] = slot;
}

/* Structures and arrays of them dissolve into their members; an array of anything else, however many dimensions it has,
 * is one slot. */
- (void)addType:(const smtl_type *)type index:(NSUInteger)index offset:(size_t)offset {
    const smtl_type *single = type;
    while (single->data_type == MTLDataTypeArray) single = single->element;
    if (single->data_type != MTLDataTypeStruct) {
        smtl_argument_slot slot = {
            .index = index,
            .count = type->argument_count,
            .type = (MTLDataType)single->data_type,
            .offset = offset,
            .stride = single->size,
            .element = single->data_type == MTLDataTypePointer ? single->element : NULL,
        };
        [self addSlot:slot];
        return;
    }
    for (size_t i = 0; i < type->length; i++)
        [self addType:type->element index:index + i * type->element->argument_count offset:offset + i * type->stride];
    for (size_t i = 0; i < type->member_count; i++) {
        const smtl_member *member = &type->members[i];
        [self addType:member->type index:index + member->argument_index offset:offset + member->offset];
    }
}

- (instancetype)initWithDevice:(SMTLDevice *)device structure:(const smtl_type *)structure owner:(id)owner {
    self = [super init];
    _device = device;
    _owner = [owner retain];
    _length = structure->size;
    _alignment = structure->alignment == 0 ? POINTER_SIZE : structure->alignment;
    [self addType:structure index:0 offset:0];
    return self;
}

- (void)addDescriptor:(MTLArgumentDescriptor *)descriptor {
    const char *where = "-[MTLDevice newArgumentEncoderWithArguments:]";
    const MTLDataType type = [descriptor dataType];
    const bool handle = is_handle(type);
    const size_t size = handle ? POINTER_SIZE : smtl_data_type_size(type);
    size_t alignment = handle ? POINTER_SIZE : smtl_data_type_alignment(type);
    SMTL_REQUIRE(size > 0, where, @"data type %lu cannot be an argument", (unsigned long)type);
    const NSUInteger block = [descriptor constantBlockAlignment];
    SMTL_REQUIRE((block & (block - 1)) == 0, where, @"constantBlockAlignment %lu is not a power of two",
                 (unsigned long)block);
    alignment = block > alignment ? block : alignment;
    const NSUInteger count = [descriptor arrayLength] == 0 ? 1 : [descriptor arrayLength];
    const size_t most = [_device maxBufferLength];
    SMTL_REQUIRE(count <= (most - MIN(most, _length + alignment)) / size && [descriptor index] <= NSUIntegerMax - count,
                 where, @"arrayLength %lu of argument %lu needs more than maxBufferLength", (unsigned long)count,
                 (unsigned long)[descriptor index]);
    for (size_t i = 0; i < _slotCount; i++) {
        SMTL_REQUIRE([descriptor index] >= _slots[i].index + _slots[i].count, where,
                     @"two descriptors have argument index %lu", (unsigned long)[descriptor index]);
    }
    smtl_argument_slot slot = {
        .index = [descriptor index],
        .count = count,
        .type = type,
        .offset = round_up(_length, alignment),
        .stride = size,
        .element = NULL,
    };
    [self addSlot:slot];
    _length = slot.offset + count * size;
    _alignment = alignment > _alignment ? alignment : _alignment;
}

- (instancetype)initWithDevice:(SMTLDevice *)device descriptors:(NSArray *)descriptors {
    self = [super init];
    _device = device;
    _alignment = POINTER_SIZE;
    NSSortDescriptor *order = [NSSortDescriptor sortDescriptorWithKey:@"index" ascending:YES];
    NSArray *sorted = [descriptors sortedArrayUsingDescriptors:[NSArray arrayWithObject:order]];
    @try {
        for (MTLArgumentDescriptor *descriptor in sorted) [self addDescriptor:descriptor];
    } @catch (NSException *exception) {
        [self release];
        @throw;
    }
    _length = round_up(_length, _alignment);
    return self;
}

- (void)dealloc {
    free(_slots);
    [_owner release];
    [_buffer release];
    [super dealloc];
}

- (NSUInteger)encodedLength {
    return _length;
}

- (NSUInteger)alignment {
    return _alignment;
}

- (id<MTLDevice>)device {
    return _device;
}

/* --- Destination -------------------------------------------------------------------------------------------------- */

- (void)setArgumentBuffer:(id<MTLBuffer>)argumentBuffer offset:(NSUInteger)offset {
    const char *where = "-[MTLArgumentEncoder setArgumentBuffer:offset:]";
    SMTLBuffer *buffer = nil;
    if (argumentBuffer != nil) {
        buffer = SMTLCheckBuffer(where, argumentBuffer, _device);
        SMTL_REQUIRE(offset % _alignment == 0, where, @"offset(%lu) must be a multiple of the alignment %zu",
                     (unsigned long)offset, _alignment);
        SMTL_REQUIRE(offset <= buffer->_length && _length <= buffer->_length - offset, where,
                     @"%zu bytes at offset %lu exceed the buffer's length %lu", _length, (unsigned long)offset,
                     (unsigned long)buffer->_length);
        SMTL_REQUIRE(buffer->_cpu_bytes != NULL, where, @"the CPU cannot write into a private buffer");
    }
    [buffer retain];
    [_buffer release];
    _buffer = buffer;
    _offset = offset;
}

- (void)setArgumentBuffer:(id<MTLBuffer>)argumentBuffer
              startOffset:(NSUInteger)startOffset
             arrayElement:(NSUInteger)arrayElement {
    NSUInteger offset;
    SMTL_REQUIRE(!__builtin_mul_overflow(arrayElement, round_up(_length, _alignment), &offset) &&
                     !__builtin_add_overflow(offset, startOffset, &offset),
                 "-[MTLArgumentEncoder setArgumentBuffer:startOffset:arrayElement:]",
                 @"array element %lu, counted from offset %lu, is past the end of any buffer",
                 (unsigned long)arrayElement, (unsigned long)startOffset);
    [self setArgumentBuffer:argumentBuffer offset:offset];
}

/* --- Arguments ---------------------------------------------------------------------------------------------------- */

- (const smtl_argument_slot *)slotAt:(NSUInteger)index where:(const char *)where {
    for (size_t i = 0; i < _slotCount; i++)
        if (index >= _slots[i].index && index - _slots[i].index < _slots[i].count) return &_slots[i];
    SMTLRaise(where, @"there is no argument with index %lu", (unsigned long)index);
}

- (uint8_t *)addressOf:(const smtl_argument_slot *)slot index:(NSUInteger)index where:(const char *)where {
    SMTL_REQUIRE(_buffer != nil, where, @"no argument buffer is set");
    return _buffer->_cpu_bytes + _offset + slot->offset + (index - slot->index) * slot->stride;
}

- (uint8_t *)handleAt:(NSUInteger)index type:(MTLDataType)type where:(const char *)where {
    const smtl_argument_slot *slot = [self slotAt:index where:where];
    SMTL_REQUIRE(slot->type == type, where, @"the argument with index %lu is of another type", (unsigned long)index);
    return [self addressOf:slot index:index where:where];
}

- (void)store:(uint64_t)handle type:(MTLDataType)type index:(NSUInteger)index where:(const char *)where {
    memcpy([self handleAt:index type:type where:where], &handle, sizeof handle);
}

/* Nothing is stored if one of them may not be. */
- (void)requireHandles:(NSRange)range type:(MTLDataType)type where:(const char *)where {
    for (NSUInteger i = 0; i < range.length; i++) [self handleAt:range.location + i type:type where:where];
}

- (uint64_t)addressOf:(id<MTLBuffer>)buffer offset:(NSUInteger)offset where:(const char *)where {
    if (buffer == nil) return 0;
    SMTLBuffer *own = SMTLCheckBuffer(where, buffer, _device);
    SMTL_REQUIRE(offset < own->_length, where, @"offset(%lu) must be < [buffer length](%lu)", (unsigned long)offset,
                 (unsigned long)own->_length);
    return [own gpuAddress] + offset;
}

- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    const char *where = "-[MTLArgumentEncoder setBuffer:offset:atIndex:]";
    [self store:[self addressOf:buffer offset:offset where:where] type:MTLDataTypePointer index:index where:where];
}

- (void)setBuffers:(const id<MTLBuffer>[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range {
    const char *where = "-[MTLArgumentEncoder setBuffers:offsets:withRange:]";
    [self requireHandles:range type:MTLDataTypePointer where:where];
    for (NSUInteger i = 0; i < range.length; i++) [self addressOf:buffers[i] offset:offsets[i] where:where];
    for (NSUInteger i = 0; i < range.length; i++)
        [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
}

- (void)setComputePipelineState:(id<MTLComputePipelineState>)pipeline atIndex:(NSUInteger)index {
    [self store:[pipeline gpuResourceID]._impl type:MTLDataTypeComputePipeline index:index
          where:"-[MTLArgumentEncoder setComputePipelineState:atIndex:]"];
}

- (void)setComputePipelineStates:(const id<MTLComputePipelineState>[])pipelines withRange:(NSRange)range {
    [self requireHandles:range type:MTLDataTypeComputePipeline
                   where:"-[MTLArgumentEncoder setComputePipelineStates:withRange:]"];
    for (NSUInteger i = 0; i < range.length; i++)
        [self setComputePipelineState:pipelines[i] atIndex:range.location + i];
}

- (void)setIndirectCommandBuffer:(id<MTLIndirectCommandBuffer>)indirectCommandBuffer atIndex:(NSUInteger)index {
    [self store:[indirectCommandBuffer gpuResourceID]._impl type:MTLDataTypeIndirectCommandBuffer index:index
          where:"-[MTLArgumentEncoder setIndirectCommandBuffer:atIndex:]"];
}

- (void)setIndirectCommandBuffers:(const id<MTLIndirectCommandBuffer>[])buffers withRange:(NSRange)range {
    [self requireHandles:range type:MTLDataTypeIndirectCommandBuffer
                   where:"-[MTLArgumentEncoder setIndirectCommandBuffers:withRange:]"];
    for (NSUInteger i = 0; i < range.length; i++) [self setIndirectCommandBuffer:buffers[i] atIndex:range.location + i];
}

- (void)setVisibleFunctionTable:(id<MTLVisibleFunctionTable>)table atIndex:(NSUInteger)index {
    const char *where = "-[MTLArgumentEncoder setVisibleFunctionTable:atIndex:]";
    (void)SMTLCheckFunctionTable(where, table, _device);
    [self store:[table gpuResourceID]._impl type:MTLDataTypeVisibleFunctionTable index:index where:where];
}

- (void)setVisibleFunctionTables:(const id<MTLVisibleFunctionTable>[])tables withRange:(NSRange)range {
    const char *where = "-[MTLArgumentEncoder setVisibleFunctionTables:withRange:]";
    [self requireHandles:range type:MTLDataTypeVisibleFunctionTable where:where];
    for (NSUInteger i = 0; i < range.length; i++) (void)SMTLCheckFunctionTable(where, tables[i], _device);
    for (NSUInteger i = 0; i < range.length; i++) [self setVisibleFunctionTable:tables[i] atIndex:range.location + i];
}

- (void *)constantDataAtIndex:(NSUInteger)index {
    const char *where = "-[MTLArgumentEncoder constantDataAtIndex:]";
    const smtl_argument_slot *slot = [self slotAt:index where:where];
    SMTL_REQUIRE(!is_handle(slot->type), where, @"the argument with index %lu is not a constant", (unsigned long)index);
    return [self addressOf:slot index:index where:where];
}

- (id<MTLArgumentEncoder>)newArgumentEncoderForBufferAtIndex:(NSUInteger)index {
    const char *where = "-[MTLArgumentEncoder newArgumentEncoderForBufferAtIndex:]";
    const smtl_argument_slot *slot = [self slotAt:index where:where];
    SMTL_REQUIRE(slot->type == MTLDataTypePointer, where, @"the argument with index %lu is not a buffer",
                 (unsigned long)index);
    if (slot->element == NULL || slot->element->data_type != MTLDataTypeStruct) return nil;
    return [[SMTLArgumentEncoder alloc] initWithDevice:_device structure:slot->element owner:_owner];
}

@end
