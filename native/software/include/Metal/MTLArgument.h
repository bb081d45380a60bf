#ifndef SMTL_MTLARGUMENT_H
#define SMTL_MTLARGUMENT_H

#import <Metal/MTLDataType.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSInteger, MTLBindingType) {
    MTLBindingTypeBuffer = 0,
    MTLBindingTypeThreadgroupMemory = 1,
    MTLBindingTypeTexture = 2,
    MTLBindingTypeSampler = 3,
    MTLBindingTypeVisibleFunctionTable = 24,
};

typedef NS_ENUM(NSUInteger, MTLArgumentType) {
    MTLArgumentTypeBuffer = 0,
    MTLArgumentTypeThreadgroupMemory = 1,
    MTLArgumentTypeTexture = 2,
    MTLArgumentTypeSampler = 3,
    MTLArgumentTypeVisibleFunctionTable = 24,
};

typedef NS_ENUM(NSUInteger, MTLBindingAccess) {
    MTLBindingAccessReadOnly = 0,
    MTLBindingAccessReadWrite = 1,
    MTLBindingAccessWriteOnly = 2,
    MTLArgumentAccessReadOnly = MTLBindingAccessReadOnly,
    MTLArgumentAccessReadWrite = MTLBindingAccessReadWrite,
    MTLArgumentAccessWriteOnly = MTLBindingAccessWriteOnly,
};
typedef MTLBindingAccess MTLArgumentAccess;

@class MTLArrayType;
@class MTLPointerType;
@class MTLStructType;

/* The type of a member, an element or what a pointer points to. */
MTL_EXPORT
@interface MTLType : NSObject {
    MTLDataType _dataType;
    MTLType *_element; /* of an array or a pointer */
}
@property (readonly) MTLDataType dataType;
@end

MTL_EXPORT
@interface MTLStructMember : NSObject {
    NSString *_name;
    NSUInteger _offset;
    NSUInteger _argumentIndex;
    MTLType *_type;
}
@property (readonly) NSString *name;
@property (readonly) NSUInteger offset;
@property (readonly) MTLDataType dataType;
/* As [[id(n)]] says. */
@property (readonly) NSUInteger argumentIndex;
- (nullable MTLStructType *)structType;
- (nullable MTLArrayType *)arrayType;
- (nullable MTLPointerType *)pointerType;
@end

MTL_EXPORT
@interface MTLStructType : MTLType {
    NSArray<MTLStructMember *> *_members;
}
@property (readonly) NSArray<MTLStructMember *> *members;
- (nullable MTLStructMember *)memberByName:(NSString *)name;
@end

MTL_EXPORT
@interface MTLArrayType : MTLType {
    NSUInteger _arrayLength;
    NSUInteger _stride;
    NSUInteger _argumentIndexStride;
}
@property (readonly) MTLDataType elementType;
@property (readonly) NSUInteger arrayLength;
@property (readonly) NSUInteger stride;
@property (readonly) NSUInteger argumentIndexStride;
- (nullable MTLStructType *)elementStructType;
- (nullable MTLArrayType *)elementArrayType;
- (nullable MTLPointerType *)elementPointerType;
@end

MTL_EXPORT
@interface MTLPointerType : MTLType {
    MTLBindingAccess _access;
    NSUInteger _alignment;
    NSUInteger _dataSize;
    BOOL _elementIsArgumentBuffer;
}
@property (readonly) MTLDataType elementType;
@property (readonly) MTLBindingAccess access;
@property (readonly) NSUInteger alignment;
@property (readonly) NSUInteger dataSize;
@property (readonly) BOOL elementIsArgumentBuffer;
- (nullable MTLStructType *)elementStructType;
- (nullable MTLArrayType *)elementArrayType;
@end

@protocol MTLBinding <NSObject>
@property (readonly) NSString *name;
@property (readonly) MTLBindingType type;
@property (readonly) MTLBindingAccess access;
@property (readonly) NSUInteger index;
@property (readonly, getter=isUsed) BOOL used;
@property (readonly, getter=isArgument) BOOL argument;
@end

@protocol MTLBufferBinding <MTLBinding>
@property (readonly) NSUInteger bufferAlignment;
@property (readonly) NSUInteger bufferDataSize;
@property (readonly) MTLDataType bufferDataType;
@property (readonly, nullable) MTLStructType *bufferStructType;
@property (readonly, nullable) MTLPointerType *bufferPointerType;
@end

@protocol MTLThreadgroupBinding <MTLBinding>
@property (readonly) NSUInteger threadgroupMemoryAlignment;
@property (readonly) NSUInteger threadgroupMemoryDataSize;
@end

/* The older, single class for what the MTLBinding protocols describe. */
MTL_EXPORT
@interface MTLArgument : NSObject {
    id<MTLBinding> _binding;
}
@property (readonly) NSString *name;
@property (readonly) MTLArgumentType type;
@property (readonly) MTLBindingAccess access;
@property (readonly) NSUInteger index;
@property (readonly, getter=isActive) BOOL active;
@property (readonly) NSUInteger bufferAlignment;
@property (readonly) NSUInteger bufferDataSize;
@property (readonly) MTLDataType bufferDataType;
@property (readonly, nullable) MTLStructType *bufferStructType;
@property (readonly, nullable) MTLPointerType *bufferPointerType;
@property (readonly) NSUInteger threadgroupMemoryAlignment;
@property (readonly) NSUInteger threadgroupMemoryDataSize;
@property (readonly) NSUInteger arrayLength;
@end

NS_ASSUME_NONNULL_END
#endif
