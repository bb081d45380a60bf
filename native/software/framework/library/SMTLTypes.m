/* Types of arguments as reflection shows them. */
#import "SMTLTypes.h"

/* A structure may hold a pointer to its own type, so reflection stops at a depth beyond that of any useful argument
 * buffer. */
#define MAX_DEPTH 6

static MTLType *reflect(const smtl_type *type, unsigned depth);

/* `type` if it is of the class. */
static id as_class(MTLType *type, Class wanted) { return [type isKindOfClass:wanted] ? type : nil; }

static MTLBindingAccess access_of(smtl_access access) {
    return access == SMTL_ACCESS_READ_ONLY ? MTLBindingAccessReadOnly : MTLBindingAccessReadWrite;
}

/* What holds a pointer can only have been filled in as an argument buffer. */
static BOOL holds_pointer(const smtl_type *type) {
    for (size_t i = 0; i < type->member_count; i++)
        if (holds_pointer(type->members[i].type)) return YES;
    return type->data_type == MTLDataTypePointer ||
           (type->data_type == MTLDataTypeArray && holds_pointer(type->element));
}

@interface MTLType (SMTL)
- (instancetype)initWithType:(const smtl_type *)type depth:(unsigned)depth;
@property (readonly) MTLDataType elementType;
- (MTLStructType *)elementStructType;
- (MTLArrayType *)elementArrayType;
- (MTLPointerType *)elementPointerType;
@end

@interface MTLStructMember (SMTL)
- (instancetype)initWithMember:(const smtl_member *)member depth:(unsigned)depth;
@end

@implementation MTLType

@synthesize dataType = _dataType;

- (instancetype)initWithType:(const smtl_type *)type depth:(unsigned)depth {
    self = [super init];
    _dataType = (MTLDataType)type->data_type;
    /* A structure can hold itself only behind a pointer. */
    _element = [reflect(type->element, _dataType == MTLDataTypePointer ? depth + 1 : depth) retain];
    return self;
}

- (void)dealloc {
    [_element release];
    [super dealloc];
}

- (MTLDataType)elementType {
    return [_element dataType];
}

- (MTLStructType *)elementStructType {
    return as_class(_element, [MTLStructType class]);
}

- (MTLArrayType *)elementArrayType {
    return as_class(_element, [MTLArrayType class]);
}

- (MTLPointerType *)elementPointerType {
    return as_class(_element, [MTLPointerType class]);
}

@end

@implementation MTLStructMember

@synthesize name = _name;
@synthesize offset = _offset;
@synthesize argumentIndex = _argumentIndex;

- (instancetype)initWithMember:(const smtl_member *)member depth:(unsigned)depth {
    self = [super init];
    _name = [[NSString alloc] initWithUTF8String:member->name];
    _offset = member->offset;
    _argumentIndex = member->argument_index;
    _type = [reflect(member->type, depth) retain];
    return self;
}

- (void)dealloc {
    [_name release];
    [_type release];
    [super dealloc];
}

- (MTLDataType)dataType {
    return [_type dataType];
}

- (MTLStructType *)structType {
    return as_class(_type, [MTLStructType class]);
}

- (MTLArrayType *)arrayType {
    return as_class(_type, [MTLArrayType class]);
}

- (MTLPointerType *)pointerType {
    return as_class(_type, [MTLPointerType class]);
}

@end

@implementation MTLStructType

@synthesize members = _members;

- (instancetype)initWithType:(const smtl_type *)type depth:(unsigned)depth {
    self = [super initWithType:type depth:depth];
    NSMutableArray *members = [[NSMutableArray alloc] initWithCapacity:type->member_count];
    for (size_t i = 0; i < type->member_count; i++) {
        MTLStructMember *member = [[MTLStructMember alloc] initWithMember:&type->members[i] depth:depth];
        [members addObject:member];
        [member release];
    }
    _members = members;
    return self;
}

- (void)dealloc {
    [_members release];
    [super dealloc];
}

- (MTLStructMember *)memberByName:(NSString *)name {
    for (MTLStructMember *member in _members)
        if ([[member name] isEqual:name]) return member;
    return nil;
}

@end

/* MTLType answers for the elements of both. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wincomplete-implementation"
@implementation MTLArrayType

@dynamic elementType;
@synthesize arrayLength = _arrayLength;
@synthesize stride = _stride;
@synthesize argumentIndexStride = _argumentIndexStride;

- (instancetype)initWithType:(const smtl_type *)type depth:(unsigned)depth {
    self = [super initWithType:type depth:depth];
    _arrayLength = type->length;
    _stride = type->stride;
    _argumentIndexStride = type->element->argument_count;
    return self;
}

@end

@implementation MTLPointerType

@dynamic elementType;
@synthesize access = _access;
@synthesize alignment = _alignment;
@synthesize dataSize = _dataSize;
@synthesize elementIsArgumentBuffer = _elementIsArgumentBuffer;

- (instancetype)initWithType:(const smtl_type *)type depth:(unsigned)depth {
    self = [super initWithType:type depth:depth];
    _access = access_of(type->access);
    _alignment = type->element->alignment;
    _dataSize = type->element->size;
    _elementIsArgumentBuffer = [self elementStructType] != nil && holds_pointer(type->element);
    return self;
}

@end
#pragma clang diagnostic pop

static MTLType *reflect(const smtl_type *type, unsigned depth) {
    if (type == NULL || depth > MAX_DEPTH) return nil;
    Class shown = type->data_type == MTLDataTypeStruct    ? [MTLStructType class]
                  : type->data_type == MTLDataTypeArray   ? [MTLArrayType class]
                  : type->data_type == MTLDataTypePointer ? [MTLPointerType class]
                                                          : [MTLType class];
    return [[[shown alloc] initWithType:type depth:depth] autorelease];
}

MTLType *SMTLReflectType(const smtl_type *type) { return reflect(type, 0); }
