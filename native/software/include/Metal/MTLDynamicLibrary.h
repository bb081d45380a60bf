/* Libraries whose functions kernels of other libraries call. */
#ifndef SMTL_MTLDYNAMICLIBRARY_H
#define SMTL_MTLDYNAMICLIBRARY_H

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

MTL_EXTERN NSErrorDomain const MTLDynamicLibraryDomain;

typedef NS_ENUM(NSUInteger, MTLDynamicLibraryError) {
    MTLDynamicLibraryErrorNone = 0,
    MTLDynamicLibraryErrorInvalidFile = 1,
    MTLDynamicLibraryErrorCompilationFailure = 2,
    MTLDynamicLibraryErrorUnresolvedInstallName = 3,
    MTLDynamicLibraryErrorDependencyLoadFailure = 4,
    MTLDynamicLibraryErrorUnsupported = 5,
};

@protocol MTLDynamicLibrary <NSObject>
@property (nullable, copy, atomic) NSString *label;
@property (readonly) id<MTLDevice> device;
@property (readonly) NSString *installName;
- (BOOL)serializeToURL:(NSURL *)url error:(NSError *_Nullable *_Nullable)error;
@end

NS_ASSUME_NONNULL_END
#endif
