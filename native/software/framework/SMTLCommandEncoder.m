#import "SMTLCommandEncoder.h"

#import "SMTLError.h"
#import "SMTLEvent.h"

void SMTLCheckFence(const char *where, id<MTLFence> fence, SMTLCommandEncoder *encoder)
{
    SMTL_REQUIRE_ENCODING(encoder, where);
    SMTL_REQUIRE(fence != nil, where, @"fence must not be nil");
    SMTL_REQUIRE(((SMTLFence *)fence)->_device == encoder->_device, where, @"the fence belongs to another device");
}

@implementation SMTLCommandEncoder

- (instancetype)initWithCommandBuffer:(SMTLCommandBuffer *)buffer
{
    self = [super init];
    _buffer = [buffer retain];
    _device = buffer->_device;
    return self;
}

- (void)dealloc
{
    if (!_ended) {
        [_buffer encoderLost:self];
    }
    [_info release];
    [_buffer release];
    [super dealloc];
}

- (void)setInfo:(SMTLCommandBufferEncoderInfo *)info
{
    _info = [info retain];
}

- (void)endEncoding
{
    SMTL_REQUIRE(!_ended, "-[MTLCommandEncoder endEncoding]", @"the encoder has ended already");
    _ended = YES;
    if (_info != nil) {
        _info->_label = [[self label] copy];
    }
    [_buffer encoderEnded];
}

- (id<MTLDevice>)device
{
    return _device;
}

- (void)insertDebugSignpost:(NSString *)string
{
    SMTL_REQUIRE(string != nil, "-[MTLCommandEncoder insertDebugSignpost:]", @"string must not be nil");
    if (_info != nil) {
        [_info->_debugSignposts addObject:string];
    }
}

- (void)pushDebugGroup:(NSString *)string
{
    SMTL_REQUIRE(string != nil, "-[MTLCommandEncoder pushDebugGroup:]", @"string must not be nil");
    _debugGroups++;
}

- (void)popDebugGroup
{
    SMTL_REQUIRE(_debugGroups > 0, "-[MTLCommandEncoder popDebugGroup]", @"no debug group is open");
    _debugGroups--;
}

@end
