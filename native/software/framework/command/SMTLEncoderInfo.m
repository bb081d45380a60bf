#import "SMTLEncoderInfo.h"

@implementation SMTLCommandBufferEncoderInfo

- (instancetype)init {
    self = [super init];
    _debugSignposts = [[NSMutableArray alloc] init];
    _errorState = MTLCommandEncoderErrorStateUnknown;
    return self;
}

- (void)dealloc {
    [_label release];
    [_debugSignposts release];
    [super dealloc];
}

- (NSString *)label {
    return _label == nil ? @"" : [[_label retain] autorelease];
}

- (NSArray *)debugSignposts {
    return [[_debugSignposts copy] autorelease];
}

- (MTLCommandEncoderErrorState)errorState {
    return _errorState;
}

@end
