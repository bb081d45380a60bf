#import "SMTLVisibleFunctionTable.h"

#import "SMTLFunction.h"
#import "SMTLLinking.h"
#import "support/SMTLError.h"

@implementation SMTLFunctionHandle

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_FUNCTION;
}

- (instancetype)initWithPipeline:(SMTLComputePipeline *)pipeline number:(NSUInteger)number {
    self = [super init];
    _pipeline = [pipeline retain];
    _number = number;
    return self;
}

- (void)dealloc {
    [_pipeline release];
    [super dealloc];
}

- (MTLFunctionType)functionType {
    return MTLFunctionTypeVisible;
}

- (NSString *)name {
    return [[_pipeline->_linking->_functions objectAtIndex:_number] name];
}

- (id<MTLDevice>)device {
    return _pipeline->_device;
}

/* The place of the function in memory, by which tables know it. */
- (MTLResourceID)gpuResourceID {
    MTLResourceID identifier = {(uint64_t)(uintptr_t)smtl_kernel_find_function(_pipeline->_kernel, (uint32_t)_number)};
    return identifier;
}

@end

@implementation SMTLVisibleFunctionTable

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_VISIBLE_FUNCTION_TABLE;
}

- (instancetype)initWithPipeline:(SMTLComputePipeline *)pipeline count:(NSUInteger)count {
    self = [super init];
    _device = pipeline->_device;
    _options = SMTLResolveOptions("-[MTLComputePipelineState newVisibleFunctionTableWithDescriptor:]",
                                  MTLResourceStorageModePrivate, false);
    _pipeline = [pipeline retain];
    _count = count;
    _table = smtl_function_table_create(pipeline->_kernel, count);
    if (_table == NULL) {
        [self release];
        return nil;
    }
    return self;
}

- (void)dealloc {
    smtl_function_table_free(_table);
    [_pipeline release];
    [super dealloc];
}

- (void)setFunction:(id<MTLFunctionHandle>)function atIndex:(NSUInteger)index where:(const char *)where {
    SMTL_REQUIRE(index < _count, where, @"index %lu is not below the table's functionCount %lu", (unsigned long)index,
                 (unsigned long)_count);
    SMTLFunctionHandle *own = (SMTLFunctionHandle *)function;
    SMTL_REQUIRE(own == nil || own->_pipeline == _pipeline, where,
                 @"the handle of function %@ is of another pipeline than the table", [own name]);
    smtl_function_table_set(_table, index,
                            own == nil ? NULL : smtl_kernel_find_function(_pipeline->_kernel, (uint32_t)own->_number));
}

- (void)setFunction:(id<MTLFunctionHandle>)function atIndex:(NSUInteger)index {
    [self setFunction:function atIndex:index where:"-[MTLVisibleFunctionTable setFunction:atIndex:]"];
}

- (void)setFunctions:(const id<MTLFunctionHandle>[])functions withRange:(NSRange)range {
    for (NSUInteger i = 0; i < range.length; i++)
        [self setFunction:functions[i] atIndex:range.location + i
                    where:"-[MTLVisibleFunctionTable setFunctions:withRange:]"];
}

- (MTLResourceID)gpuResourceID {
    MTLResourceID identifier = {(uint64_t)(uintptr_t)_table};
    return identifier;
}

/* A table lies in no heap. */
- (id<MTLHeap>)heap {
    return nil;
}

- (NSUInteger)heapOffset {
    return 0;
}

- (void)makeAliasable {
}

- (BOOL)isAliasable {
    return NO;
}

- (NSUInteger)allocatedSize {
    return _count * sizeof(void *);
}

@end

SMTLVisibleFunctionTable *SMTLCheckFunctionTable(const char *where, id<MTLVisibleFunctionTable> table,
                                                 SMTLDevice *device) {
    SMTLVisibleFunctionTable *own = (SMTLVisibleFunctionTable *)table;
    SMTL_REQUIRE(own == nil || own->_device == device, where, @"the visible function table belongs to another device");
    return own;
}
