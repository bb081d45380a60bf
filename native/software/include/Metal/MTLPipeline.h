#ifndef SMTL_MTLPIPELINE_H
#define SMTL_MTLPIPELINE_H

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSUInteger, MTLMutability) {
    MTLMutabilityDefault = 0,
    MTLMutabilityMutable = 1,
    MTLMutabilityImmutable = 2,
};

typedef NS_ENUM(NSInteger, MTLShaderValidation) {
    MTLShaderValidationDefault = 0,
    MTLShaderValidationEnabled = 1,
    MTLShaderValidationDisabled = 2,
};

MTL_EXPORT
@interface MTLPipelineBufferDescriptor : NSObject <NSCopying> {
    MTLMutability _mutability;
}
@property (nonatomic) MTLMutability mutability;
@end

MTL_EXPORT
@interface MTLPipelineBufferDescriptorArray : NSObject {
    NSMutableDictionary<NSNumber *, MTLPipelineBufferDescriptor *> *_descriptors;
}
- (MTLPipelineBufferDescriptor *)objectAtIndexedSubscript:(NSUInteger)bufferIndex;
- (void)setObject:(nullable MTLPipelineBufferDescriptor *)buffer atIndexedSubscript:(NSUInteger)bufferIndex;
@end

NS_ASSUME_NONNULL_END
#endif
