#import "SMTLFunction.h"

#import "SMTLArgumentEncoder.h"
#import "SMTLLibrary.h"
#import "SMTLReflection.h"
#import "support/SMTLError.h"
#include <string.h>

/* Bytes of one value of a type that a function constant may have, which is a scalar or a vector; 0 for any other. */
static size_t constant_size(MTLDataType type) {
    const bool matrix = (type >= MTLDataTypeFloat2x2 && type <= MTLDataTypeFloat4x4) ||
                        (type >= MTLDataTypeHalf2x2 && type <= MTLDataTypeHalf4x4);
    return matrix ? 0 : smtl_data_type_size(type);
}

@implementation MTLFunctionConstantValues

- (instancetype)init {
    self = [super init];
    _values = [[NSMutableData alloc] init];
    return self;
}

- (void)dealloc {
    [self reset];
    [_values release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLFunctionConstantValues *copy = [[[self class] allocWithZone:zone] init];
    for (size_t i = 0; i < [self count]; i++) [copy addValue:&[self values][i]];
    return copy;
}

- (const smtl_constant_value *)values {
    return [_values bytes];
}

- (size_t)count {
    return [_values length] / sizeof(smtl_constant_value);
}

/* Adds the value, replacing an earlier one for the same constant; takes a copy of the name. */
- (void)addValue:(const smtl_constant_value *)value {
    smtl_constant_value *stored = [_values mutableBytes];
    for (size_t i = 0; i < [self count]; i++) {
        bool same = value->name == NULL ? stored[i].name == NULL && stored[i].index == value->index
                                        : stored[i].name != NULL && strcmp(stored[i].name, value->name) == 0;
        if (same) {
            stored[i].data_type = value->data_type;
            memcpy(stored[i].bytes, value->bytes, sizeof value->bytes);
            return;
        }
    }
    smtl_constant_value added = *value;
    if (value->name != NULL) added.name = strdup(value->name);
    [_values appendBytes:&added length:sizeof added];
}

/* For `where`, the method that the program has called. */
- (void)setValue:(const void *)value
            type:(MTLDataType)type
            name:(const char *)name
           index:(NSUInteger)index
           where:(const char *)where {
    size_t size = constant_size(type);
    SMTL_REQUIRE(value != NULL, where, @"value must not be NULL");
    SMTL_REQUIRE(size != 0, where, @"a function constant cannot have data type %lu", (unsigned long)type);
    SMTL_REQUIRE(index < UINT16_MAX, where, @"function constant index %lu: the largest is %d", (unsigned long)index,
                 UINT16_MAX - 1);
    smtl_constant_value added = {.name = name, .index = (uint32_t)index, .data_type = (uint32_t)type};
    memcpy(added.bytes, value, size);
    [self addValue:&added];
}

- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index {
    const char *where = "-[MTLFunctionConstantValues setConstantValue:type:atIndex:]";
    [self setValue:value type:type name:NULL index:index where:where];
}

- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range {
    const char *where = "-[MTLFunctionConstantValues setConstantValues:type:withRange:]";
    const uint8_t *bytes = values;
    for (NSUInteger i = 0; i < range.length; i++)
        [self setValue:bytes + i * constant_size(type) type:type name:NULL index:range.location + i where:where];
}

- (void)setConstantValue:(const void *)value type:(MTLDataType)type withName:(NSString *)name {
    const char *where = "-[MTLFunctionConstantValues setConstantValue:type:withName:]";
    SMTL_REQUIRE(name != nil, where, @"name must not be nil");
    [self setValue:value type:type name:[name UTF8String] index:0 where:where];
}

- (void)reset {
    smtl_constant_value *stored = [_values mutableBytes];
    for (size_t i = 0; i < [self count]; i++) free((char *)stored[i].name);
    [_values setLength:0];
}

@end

@implementation MTLFunctionConstant

@synthesize name = _name;
@synthesize type = _type;
@synthesize index = _index;
@synthesize required = _required;

- (instancetype)initWithConstant:(const smtl_function_constant *)constant {
    self = [super init];
    _name = [[NSString alloc] initWithUTF8String:constant->name];
    _type = (MTLDataType)constant->data_type;
    _index = constant->index;
    _required = constant->required;
    return self;
}

- (void)dealloc {
    [_name release];
    [super dealloc];
}

@end

@implementation SMTLFunction

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_FUNCTION;
}

- (instancetype)initWithLibrary:(SMTLLibrary *)library
                           name:(NSString *)name
                      constants:(MTLFunctionConstantValues *)constants {
    self = [super init];
    _library = [library retain];
    _name = [name copy];
    _constants = [constants copy];
    _isVisible = [library hasVisibleFunction:name];
    return self;
}

- (void)dealloc {
    [_library release];
    [_name release];
    [_specializedName release];
    [_constants release];
    [super dealloc];
}

- (NSString *)name {
    return [[_specializedName ? _specializedName : _name retain] autorelease];
}

- (id<MTLDevice>)device {
    return [_library device];
}

- (MTLFunctionType)functionType {
    return _isVisible ? MTLFunctionTypeVisible : MTLFunctionTypeKernel;
}

- (MTLFunctionOptions)options {
    return MTLFunctionOptionNone;
}

- (const smtl_argument *)bufferArgumentAt:(NSUInteger)index {
    const smtl_argument *arguments = NULL;
    const size_t count = smtl_library_arguments(_library->_library, [_name UTF8String], &arguments);
    for (size_t i = 0; count != SIZE_MAX && i < count; i++)
        if (arguments[i].kind == SMTL_ARGUMENT_BUFFER && arguments[i].index == index) return &arguments[i];
    return NULL;
}

- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)bufferIndex {
    return [self newArgumentEncoderWithBufferIndex:bufferIndex reflection:NULL];
}

- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)bufferIndex
                                                 reflection:(MTLAutoreleasedArgument *)reflection {
    const char *where = "-[MTLFunction newArgumentEncoderWithBufferIndex:]";
    const smtl_argument *argument = [self bufferArgumentAt:bufferIndex];
    SMTL_REQUIRE(argument != NULL, where, @"function %@ takes no buffer at index %lu", _name,
                 (unsigned long)bufferIndex);
    const smtl_type *pointee = smtl_library_pointee(_library->_library, argument);
    SMTL_REQUIRE(
        pointee != NULL && pointee->data_type == MTLDataTypeStruct, where,
        @"buffer %lu of function %@ is not an argument buffer: its type is not a structure of plain members with "
        @"indices of their own",
        (unsigned long)bufferIndex, _name);
    if (reflection != NULL) *reflection = SMTLReflectArgument(argument, _library);
    return [[SMTLArgumentEncoder alloc] initWithDevice:_library->_device structure:pointee owner:_library];
}

- (NSDictionary *)functionConstantsDictionary {
    const smtl_function_constant *constants = NULL;
    size_t count = smtl_library_function_constants(_library->_library, &constants);
    NSMutableDictionary *dictionary = [NSMutableDictionary dictionaryWithCapacity:count];
    for (size_t i = 0; i < count; i++) {
        MTLFunctionConstant *constant = [[MTLFunctionConstant alloc] initWithConstant:&constants[i]];
        [dictionary setObject:constant forKey:[constant name]];
        [constant release];
    }
    return dictionary;
}

@end
