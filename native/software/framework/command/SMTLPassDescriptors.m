/* Descriptors of encoders, with the counter samples that are taken where one begins and ends. */
#import "SMTLPassDescriptors.h"

/* An attachment of either kind of pass: which samples to take. */
#define IMPLEMENT_SAMPLE_ATTACHMENT(NAME)                               \
    @implementation NAME                                                \
    @synthesize sampleBuffer = _sampleBuffer;                           \
    @synthesize startOfEncoderSampleIndex = _startOfEncoderSampleIndex; \
    @synthesize endOfEncoderSampleIndex = _endOfEncoderSampleIndex;     \
    -(instancetype)init {                                               \
        self = [super init];                                            \
        _startOfEncoderSampleIndex = MTLCounterDontSample;              \
        _endOfEncoderSampleIndex = MTLCounterDontSample;                \
        return self;                                                    \
    }                                                                   \
    -(void)dealloc {                                                    \
        [_sampleBuffer release];                                        \
        [super dealloc];                                                \
    }                                                                   \
    -(id)copyWithZone : (NSZone *)zone {                                \
        NAME *copy = [[[self class] allocWithZone:zone] init];          \
        [copy setSampleBuffer:_sampleBuffer];                           \
        copy->_startOfEncoderSampleIndex = _startOfEncoderSampleIndex;  \
        copy->_endOfEncoderSampleIndex = _endOfEncoderSampleIndex;      \
        return copy;                                                    \
    }                                                                   \
    @end

/* The attachments by index, made when they are first asked for. */
#define IMPLEMENT_SAMPLE_ATTACHMENT_ARRAY(NAME, ATTACHMENT)                                        \
    @implementation NAME                                                                           \
    -(instancetype)init {                                                                          \
        self = [super init];                                                                       \
        _attachments = [[NSMutableDictionary alloc] init];                                         \
        return self;                                                                               \
    }                                                                                              \
    -(void)dealloc {                                                                               \
        [_attachments release];                                                                    \
        [super dealloc];                                                                           \
    }                                                                                              \
    -(ATTACHMENT *)objectAtIndexedSubscript : (NSUInteger)attachmentIndex {                        \
        NSNumber *key = [NSNumber numberWithUnsignedInteger:attachmentIndex];                      \
        ATTACHMENT *attachment = [_attachments objectForKey:key];                                  \
        if (attachment == nil) {                                                                   \
            attachment = [[[ATTACHMENT alloc] init] autorelease];                                  \
            [_attachments setObject:attachment forKey:key];                                        \
        }                                                                                          \
        return attachment;                                                                         \
    }                                                                                              \
    -(void)setObject : (ATTACHMENT *)attachment atIndexedSubscript : (NSUInteger)attachmentIndex { \
        NSNumber *key = [NSNumber numberWithUnsignedInteger:attachmentIndex];                      \
        if (attachment == nil) {                                                                   \
            [_attachments removeObjectForKey:key];                                                 \
        } else {                                                                                   \
            [_attachments setObject:[[attachment copy] autorelease] forKey:key];                   \
        }                                                                                          \
    }                                                                                              \
    -(NSArray *)attachmentsWithSamples {                                                           \
        NSMutableArray *used = [NSMutableArray array];                                             \
        for (ATTACHMENT * attachment in [_attachments objectEnumerator]) {                         \
            if ([attachment sampleBuffer] != nil) {                                                \
                [used addObject:[[attachment copy] autorelease]];                                  \
            }                                                                                      \
        }                                                                                          \
        return used;                                                                               \
    }                                                                                              \
    -(void)setFrom : (NAME *)other {                                                               \
        for (NSNumber * key in other->_attachments) {                                              \
            ATTACHMENT *attachment = [other->_attachments objectForKey:key];                       \
            [self setObject:attachment atIndexedSubscript:[key unsignedIntegerValue]];             \
        }                                                                                          \
    }                                                                                              \
    @end

IMPLEMENT_SAMPLE_ATTACHMENT(MTLComputePassSampleBufferAttachmentDescriptor)
IMPLEMENT_SAMPLE_ATTACHMENT(MTLBlitPassSampleBufferAttachmentDescriptor)
IMPLEMENT_SAMPLE_ATTACHMENT_ARRAY(MTLComputePassSampleBufferAttachmentDescriptorArray,
                                  MTLComputePassSampleBufferAttachmentDescriptor)
IMPLEMENT_SAMPLE_ATTACHMENT_ARRAY(MTLBlitPassSampleBufferAttachmentDescriptorArray,
                                  MTLBlitPassSampleBufferAttachmentDescriptor)

@implementation MTLComputePassDescriptor

@synthesize dispatchType = _dispatchType;
@synthesize sampleBufferAttachments = _sampleBufferAttachments;

+ (MTLComputePassDescriptor *)computePassDescriptor {
    return [[[self alloc] init] autorelease];
}

- (instancetype)init {
    self = [super init];
    _sampleBufferAttachments = [[MTLComputePassSampleBufferAttachmentDescriptorArray alloc] init];
    return self;
}

- (void)dealloc {
    [_sampleBufferAttachments release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLComputePassDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_dispatchType = _dispatchType;
    [copy->_sampleBufferAttachments setFrom:_sampleBufferAttachments];
    return copy;
}

@end

@implementation MTLBlitPassDescriptor

@synthesize sampleBufferAttachments = _sampleBufferAttachments;

+ (MTLBlitPassDescriptor *)blitPassDescriptor {
    return [[[self alloc] init] autorelease];
}

- (instancetype)init {
    self = [super init];
    _sampleBufferAttachments = [[MTLBlitPassSampleBufferAttachmentDescriptorArray alloc] init];
    return self;
}

- (void)dealloc {
    [_sampleBufferAttachments release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLBlitPassDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy->_sampleBufferAttachments setFrom:_sampleBufferAttachments];
    return copy;
}

@end
