/* Capturing: scopes exist and mark nothing; no destination is supported. */
#import <Metal/MTLCaptureManager.h>

#import "framework/command/SMTLCommandQueue.h"
#import "support/SMTLError.h"
#import "support/SMTLObject.h"

NSErrorDomain const MTLCaptureErrorDomain = @"MTLCaptureErrorDomain";

@interface SMTLCaptureScope : SMTLObject <MTLCaptureScope> {
    id<MTLDevice> _device;
    id<MTLCommandQueue> _commandQueue;
}
@end

@implementation SMTLCaptureScope

@synthesize device = _device;
@synthesize commandQueue = _commandQueue;

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_CAPTURE_SCOPE;
}

- (instancetype)initWithDevice:(id<MTLDevice>)device queue:(id<MTLCommandQueue>)queue {
    self = [super init];
    _device = [device retain];
    _commandQueue = [queue retain];
    return self;
}

- (void)dealloc {
    [_device release];
    [_commandQueue release];
    [super dealloc];
}

- (void)beginScope {
}

- (void)endScope {
}

@end

@implementation MTLCaptureDescriptor

@synthesize captureObject = _captureObject;
@synthesize destination = _destination;
@synthesize outputURL = _outputURL;

- (instancetype)init {
    self = [super init];
    _destination = MTLCaptureDestinationDeveloperTools;
    return self;
}

- (void)dealloc {
    [_captureObject release];
    [_outputURL release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLCaptureDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setCaptureObject:_captureObject];
    [copy setDestination:_destination];
    [copy setOutputURL:_outputURL];
    return copy;
}

@end

@implementation MTLCaptureManager

@synthesize defaultCaptureScope = _defaultCaptureScope;

+ (MTLCaptureManager *)sharedCaptureManager {
    static MTLCaptureManager *shared;
    @synchronized(self) {
        if (shared == nil) shared = [[MTLCaptureManager alloc] init];
    }
    return shared;
}

- (void)dealloc {
    [_defaultCaptureScope release];
    [super dealloc];
}

- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device {
    return [[SMTLCaptureScope alloc] initWithDevice:device queue:nil];
}

- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)commandQueue {
    return [[SMTLCaptureScope alloc] initWithDevice:[commandQueue device] queue:commandQueue];
}

- (BOOL)supportsDestination:(MTLCaptureDestination)destination {
    (void)destination;
    return NO;
}

- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor error:(NSError **)error {
    (void)descriptor;
    SMTLStoreError(error, SMTLMakeError(MTLCaptureErrorDomain, MTLCaptureErrorNotSupported,
                                        @"the software Metal does not capture"));
    return NO;
}

/* The older ways to begin say nothing of a failure. */
- (void)startCaptureWithDevice:(id<MTLDevice>)device {
    (void)device;
}

- (void)startCaptureWithCommandQueue:(id<MTLCommandQueue>)commandQueue {
    (void)commandQueue;
}

- (void)startCaptureWithScope:(id<MTLCaptureScope>)captureScope {
    (void)captureScope;
}

- (void)stopCapture {
}

- (BOOL)isCapturing {
    return NO;
}

@end
