/* Capturing: the scopes work as markers, and every destination is reported as unsupported, as on a Mac outside Xcode.
 */
#ifndef SMTL_MTLCAPTUREMANAGER_H
#define SMTL_MTLCAPTUREMANAGER_H

#import <Metal/MTLCaptureScope.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXTERN NSErrorDomain const MTLCaptureErrorDomain;

typedef NS_ENUM(NSInteger, MTLCaptureError) {
    MTLCaptureErrorNotSupported = 1,
    MTLCaptureErrorAlreadyCapturing = 2,
    MTLCaptureErrorInvalidDescriptor = 3,
};

typedef NS_ENUM(NSInteger, MTLCaptureDestination) {
    MTLCaptureDestinationDeveloperTools = 1,
    MTLCaptureDestinationGPUTraceDocument = 2,
};

MTL_EXPORT
@interface MTLCaptureDescriptor : NSObject <NSCopying> {
    id _captureObject;
    MTLCaptureDestination _destination;
    NSURL *_outputURL;
}
@property (nonatomic, retain, nullable) id captureObject;
@property (nonatomic) MTLCaptureDestination destination;
@property (nonatomic, copy, nullable) NSURL *outputURL;
@end

MTL_EXPORT
@interface MTLCaptureManager : NSObject {
    id<MTLCaptureScope> _defaultCaptureScope;
}
+ (MTLCaptureManager *)sharedCaptureManager;
@property (nullable, readwrite, retain, atomic) id<MTLCaptureScope> defaultCaptureScope;
@property (readonly) BOOL isCapturing;
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device;
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)commandQueue;
- (BOOL)supportsDestination:(MTLCaptureDestination)destination;
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor error:(NSError *_Nullable *_Nullable)error;
- (void)startCaptureWithDevice:(id<MTLDevice>)device;
- (void)startCaptureWithCommandQueue:(id<MTLCommandQueue>)commandQueue;
- (void)startCaptureWithScope:(id<MTLCaptureScope>)captureScope;
- (void)stopCapture;
@end

NS_ASSUME_NONNULL_END
#endif
