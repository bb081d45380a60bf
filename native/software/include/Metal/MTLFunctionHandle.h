#ifndef SMTL_MTLFUNCTIONHANDLE_H
#define SMTL_MTLFUNCTIONHANDLE_H

#import <Metal/MTLLibrary.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

/* A function linked into a pipeline; see MTLLinkedFunctions.h. */
@protocol MTLFunctionHandle <NSObject>
@property (readonly) MTLFunctionType functionType;
@property (readonly) NSString *name;
@property (readonly) id<MTLDevice> device;
@property (readonly) MTLResourceID gpuResourceID;
@end

NS_ASSUME_NONNULL_END
#endif
