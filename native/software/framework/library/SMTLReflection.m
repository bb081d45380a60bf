#import "SMTLReflection.h"

#import "SMTLArgumentEncoder.h"
#import "SMTLLibrary.h"
#import "SMTLTypes.h"

@interface SMTLBinding : SMTLObject <MTLBufferBinding, MTLThreadgroupBinding> {
    NSString *_name;
    MTLBindingType _type;
    MTLBindingAccess _access;
    NSUInteger _index;
    NSUInteger _size;
    BOOL _used;
@public
    NSUInteger _arrayLength;
    const smtl_type *_type_of_data;
    SMTLLibrary *_library; /* retained: it keeps that type */
}
- (instancetype)initWithArgument:(const smtl_argument *)argument library:(SMTLLibrary *)library;
@end

@implementation SMTLBinding

@synthesize name = _name;
@synthesize type = _type;
@synthesize access = _access;
@synthesize index = _index;
@synthesize used = _used;

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_REFLECTION;
}

- (instancetype)initWithArgument:(const smtl_argument *)argument library:(SMTLLibrary *)library {
    self = [super init];
    _name = [[NSString alloc] initWithUTF8String:argument->name];
    _type = argument->kind == SMTL_ARGUMENT_BUFFER ? MTLBindingTypeBuffer : MTLBindingTypeThreadgroupMemory;
    if (argument->function_table) _type = MTLBindingTypeVisibleFunctionTable;
    _access = argument->access == SMTL_ACCESS_READ_ONLY ? MTLBindingAccessReadOnly : MTLBindingAccessReadWrite;
    _index = argument->index;
    _size = argument->type_size;
    _arrayLength = argument->array_length;
    _used = argument->used;
    _type_of_data = smtl_library_pointee(library->_library, argument);
    _library = [library retain];
    return self;
}

- (void)dealloc {
    [_name release];
    [_library release];
    [super dealloc];
}

/* Arguments that a function constant has removed do not get here. */
- (BOOL)isArgument {
    return YES;
}

/* The largest power of two that divides the size, up to the largest alignment of a Metal type. */
static NSUInteger alignment_of(NSUInteger size) {
    NSUInteger lowest = size & -size;
    return size == 0 ? 1 : lowest > 16 ? 16 : lowest;
}

- (NSUInteger)bufferAlignment {
    return _type_of_data == NULL ? alignment_of(_size) : _type_of_data->alignment;
}

- (NSUInteger)bufferDataSize {
    return _size;
}

- (MTLDataType)bufferDataType {
    return _type_of_data == NULL ? MTLDataTypeNone : (MTLDataType)_type_of_data->data_type;
}

- (MTLStructType *)bufferStructType {
    MTLType *type = SMTLReflectType(_type_of_data);
    return [type isKindOfClass:[MTLStructType class]] ? (MTLStructType *)type : nil;
}

- (MTLPointerType *)bufferPointerType {
    if (_type != MTLBindingTypeBuffer || _type_of_data == NULL) return nil;
    const smtl_type pointer = {
        .data_type = MTLDataTypePointer,
        .element = _type_of_data,
        .access = _access == MTLBindingAccessReadOnly ? SMTL_ACCESS_READ_ONLY : SMTL_ACCESS_READ_WRITE,
    };
    return (MTLPointerType *)SMTLReflectType(&pointer);
}

- (NSUInteger)threadgroupMemoryAlignment {
    return alignment_of(_size);
}

- (NSUInteger)threadgroupMemoryDataSize {
    return _size;
}

@end

@implementation MTLArgument

- (instancetype)initWithBinding:(SMTLBinding *)binding {
    self = [super init];
    _binding = [binding retain];
    return self;
}

- (void)dealloc {
    [_binding release];
    [super dealloc];
}

- (NSString *)name {
    return [_binding name];
}

- (MTLArgumentType)type {
    return (MTLArgumentType)[_binding type];
}

- (MTLBindingAccess)access {
    return [_binding access];
}

- (NSUInteger)index {
    return [_binding index];
}

- (BOOL)isActive {
    return [_binding isUsed];
}

- (NSUInteger)bufferAlignment {
    return [(SMTLBinding *)_binding bufferAlignment];
}

- (NSUInteger)bufferDataSize {
    return [(SMTLBinding *)_binding bufferDataSize];
}

- (MTLDataType)bufferDataType {
    return [(SMTLBinding *)_binding bufferDataType];
}

- (MTLStructType *)bufferStructType {
    return [(SMTLBinding *)_binding bufferStructType];
}

- (MTLPointerType *)bufferPointerType {
    return [(SMTLBinding *)_binding bufferPointerType];
}

- (NSUInteger)threadgroupMemoryAlignment {
    return [(SMTLBinding *)_binding threadgroupMemoryAlignment];
}

- (NSUInteger)threadgroupMemoryDataSize {
    return [(SMTLBinding *)_binding threadgroupMemoryDataSize];
}

- (NSUInteger)arrayLength {
    return ((SMTLBinding *)_binding)->_arrayLength;
}

@end

NSArray *SMTLReflectBindings(const smtl_argument *arguments, size_t count, SMTLLibrary *library) {
    NSMutableArray *bindings = [NSMutableArray arrayWithCapacity:count];
    for (size_t i = 0; i < count; i++) {
        SMTLBinding *binding = [[SMTLBinding alloc] initWithArgument:&arguments[i] library:library];
        [bindings addObject:binding];
        [binding release];
    }
    return bindings;
}

MTLArgument *SMTLReflectArgument(const smtl_argument *argument, SMTLLibrary *library) {
    SMTLBinding *binding = [[SMTLBinding alloc] initWithArgument:argument library:library];
    MTLArgument *shown = [[[MTLArgument alloc] initWithBinding:binding] autorelease];
    [binding release];
    return shown;
}

id<MTLArgumentEncoder> SMTLNewEncoderForBinding(SMTLDevice *device, id<MTLBufferBinding> binding) {
    SMTLBinding *own = [(id)binding isKindOfClass:[SMTLBinding class]] ? (SMTLBinding *)binding : nil;
    if (own == nil || own->_type_of_data == NULL || own->_type_of_data->data_type != MTLDataTypeStruct) return nil;
    return [[SMTLArgumentEncoder alloc] initWithDevice:device structure:own->_type_of_data owner:own->_library];
}

@implementation MTLComputePipelineReflection

@synthesize bindings = _bindings;
@synthesize arguments = _arguments;

- (instancetype)initWithArguments:(const smtl_argument *)arguments count:(size_t)count library:(SMTLLibrary *)library {
    self = [super init];
    _bindings = [SMTLReflectBindings(arguments, count, library) retain];
    NSMutableArray *older = [[NSMutableArray alloc] initWithCapacity:count];
    for (SMTLBinding *binding in _bindings) {
        MTLArgument *argument = [[MTLArgument alloc] initWithBinding:binding];
        [older addObject:argument];
        [argument release];
    }
    _arguments = older;
    return self;
}

- (void)dealloc {
    [_bindings release];
    [_arguments release];
    [super dealloc];
}

@end

@implementation MTLFunctionReflection

@synthesize bindings = _bindings;

- (instancetype)initWithBindings:(NSArray *)bindings {
    self = [super init];
    _bindings = [bindings retain];
    return self;
}

- (void)dealloc {
    [_bindings release];
    [super dealloc];
}

@end
