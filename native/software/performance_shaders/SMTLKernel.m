#import "SMTLShaders.h"

@implementation MPSKernel

@synthesize options = _options;
@synthesize device = _device;
@synthesize label = _label;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
    self = [super init];
    if (device == nil) {
        [self release];
        SMTLRaise("-[MPSKernel initWithDevice:]", @"device must not be nil");
    }
    _device = [device retain];
    return self;
}

- (void)dealloc {
    [_label release];
    [_device release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    return [self copyWithZone:zone device:nil];
}

/* What a subclass adds are numbers, which NSCopyObject copies. */
- (instancetype)copyWithZone:(NSZone *)zone device:(id<MTLDevice>)device {
    MPSKernel *copy = (MPSKernel *)NSCopyObject(self, 0, zone);
    copy->_device = [(device == nil ? _device : device) retain];
    copy->_label = [_label copy];
    return copy;
}

@end
