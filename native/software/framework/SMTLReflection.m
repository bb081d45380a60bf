/* What a pipeline tells about its kernel's arguments. */
#import "SMTLComputePipeline.h"
#import "SMTLMemory.h"

@interface SMTLBinding : SMTLObject <MTLBufferBinding, MTLThreadgroupBinding> {
    NSString *_name;
    MTLBindingType _type;
    MTLBindingAccess _access;
    NSUInteger _index;
    NSUInteger _size;
    BOOL _used;
}
- (instancetype)initWithArgument:(const smtl_argument *)argument;
@end

@implementation SMTLBinding

@synthesize name = _name;
@synthesize type = _type;
@synthesize access = _access;
@synthesize index = _index;
@synthesize used = _used;

+ (smtl_object_class)objectClass
{
    return SMTL_OBJECT_REFLECTION;
}

- (instancetype)initWithArgument:(const smtl_argument *)argument
{
    self = [super init];
    _name = [[NSString alloc] initWithUTF8String:argument->name];
    _type = argument->kind == SMTL_ARGUMENT_BUFFER ? MTLBindingTypeBuffer : MTLBindingTypeThreadgroupMemory;
    _access = argument->access == SMTL_ACCESS_READ_ONLY ? MTLBindingAccessReadOnly : MTLBindingAccessReadWrite;
    _index = argument->index;
    _size = argument->type_size;
    _used = argument->used;
    return self;
}

- (void)dealloc
{
    [_name release];
    [super dealloc];
}

/* Arguments that a function constant has removed do not get here. */
- (BOOL)isArgument
{
    return YES;
}

/* The largest power of two that divides the size, up to the largest alignment of a Metal type. */
static NSUInteger alignment_of(NSUInteger size)
{
    NSUInteger lowest = size & -size;
    return size == 0 ? 1 : lowest > 16 ? 16 : lowest;
}

- (NSUInteger)bufferAlignment
{
    return alignment_of(_size);
}

- (NSUInteger)bufferDataSize
{
    return _size;
}

- (MTLDataType)bufferDataType
{
    return MTLDataTypeNone;
}

- (NSUInteger)threadgroupMemoryAlignment
{
    return alignment_of(_size);
}

- (NSUInteger)threadgroupMemoryDataSize
{
    return _size;
}

@end

@implementation MTLArgument

- (instancetype)initWithBinding:(SMTLBinding *)binding
{
    self = [super init];
    _binding = [binding retain];
    return self;
}

- (void)dealloc
{
    [_binding release];
    [super dealloc];
}

- (NSString *)name
{
    return [_binding name];
}

- (MTLArgumentType)type
{
    return (MTLArgumentType)[_binding type];
}

- (MTLBindingAccess)access
{
    return [_binding access];
}

- (NSUInteger)index
{
    return [_binding index];
}

- (BOOL)isActive
{
    return [_binding isUsed];
}

- (NSUInteger)bufferAlignment
{
    return [(SMTLBinding *)_binding bufferAlignment];
}

- (NSUInteger)bufferDataSize
{
    return [(SMTLBinding *)_binding bufferDataSize];
}

- (MTLDataType)bufferDataType
{
    return [(SMTLBinding *)_binding bufferDataType];
}

- (NSUInteger)threadgroupMemoryAlignment
{
    return [(SMTLBinding *)_binding threadgroupMemoryAlignment];
}

- (NSUInteger)threadgroupMemoryDataSize
{
    return [(SMTLBinding *)_binding threadgroupMemoryDataSize];
}

/* Only textures and samplers come in arrays. */
- (NSUInteger)arrayLength
{
    return 1;
}

@end

@implementation MTLComputePipelineReflection

@synthesize bindings = _bindings;
@synthesize arguments = _arguments;

- (instancetype)initWithArguments:(const smtl_argument *)arguments count:(size_t)count
{
    self = [super init];
    NSMutableArray *bindings = [[NSMutableArray alloc] initWithCapacity:count];
    NSMutableArray *older = [[NSMutableArray alloc] initWithCapacity:count];
    for (size_t i = 0; i < count; i++) {
        SMTLBinding *binding = [[SMTLBinding alloc] initWithArgument:&arguments[i]];
        MTLArgument *argument = [[MTLArgument alloc] initWithBinding:binding];
        [bindings addObject:binding];
        [older addObject:argument];
        [argument release];
        [binding release];
    }
    _bindings = bindings;
    _arguments = older;
    return self;
}

- (void)dealloc
{
    [_bindings release];
    [_arguments release];
    [super dealloc];
}

@end
