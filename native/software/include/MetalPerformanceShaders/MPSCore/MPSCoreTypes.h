#ifndef SMTL_MPSCORETYPES_H
#define SMTL_MPSCORETYPES_H

#import <Metal/Metal.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_OPTIONS(NSUInteger, MPSKernelOptions) {
    MPSKernelOptionsNone = 0,
    MPSKernelOptionsSkipAPIValidation = 1 << 0,
    MPSKernelOptionsAllowReducedPrecision = 1 << 1,
    MPSKernelOptionsDisableInternalTiling = 1 << 2,
    MPSKernelOptionsInsertDebugGroups = 1 << 3,
    MPSKernelOptionsVerbose = 1 << 4,
};

/* The low 16 bits are the bits of an element. */
typedef NS_ENUM(uint32_t, MPSDataType) {
    MPSDataTypeInvalid = 0,

    MPSDataTypeFloatBit = 0x10000000,
    MPSDataTypeFloat32 = MPSDataTypeFloatBit | 32,
    MPSDataTypeFloat16 = MPSDataTypeFloatBit | 16,

    MPSDataTypeComplexBit = 0x01000000,
    MPSDataTypeComplexFloat32 = MPSDataTypeFloatBit | MPSDataTypeComplexBit | 64,
    MPSDataTypeComplexFloat16 = MPSDataTypeFloatBit | MPSDataTypeComplexBit | 32,

    MPSDataTypeSignedBit = 0x20000000,
    MPSDataTypeIntBit = MPSDataTypeSignedBit,
    MPSDataTypeInt2 = MPSDataTypeSignedBit | 2,
    MPSDataTypeInt4 = MPSDataTypeSignedBit | 4,
    MPSDataTypeInt8 = MPSDataTypeSignedBit | 8,
    MPSDataTypeInt16 = MPSDataTypeSignedBit | 16,
    MPSDataTypeInt32 = MPSDataTypeSignedBit | 32,
    MPSDataTypeInt64 = MPSDataTypeSignedBit | 64,

    MPSDataTypeUInt2 = 2,
    MPSDataTypeUInt4 = 4,
    MPSDataTypeUInt8 = 8,
    MPSDataTypeUInt16 = 16,
    MPSDataTypeUInt32 = 32,
    MPSDataTypeUInt64 = 64,

    MPSDataTypeAlternateEncodingBit = 0x80000000,
    MPSDataTypeBool = MPSDataTypeAlternateEncodingBit | 8,
    MPSDataTypeBFloat16 = MPSDataTypeAlternateEncodingBit | MPSDataTypeFloat16,

    MPSDataTypeNormalizedBit = 0x40000000,
    MPSDataTypeUnorm1 = MPSDataTypeNormalizedBit | 1,
    MPSDataTypeUnorm8 = MPSDataTypeNormalizedBit | 8,
};

typedef struct {
    NSUInteger start;
    NSUInteger length;
} MPSDimensionSlice;

/* Lengths, the slowest dimension first. */
typedef NSArray<NSNumber *> MPSShape;

NS_ASSUME_NONNULL_END
#endif
