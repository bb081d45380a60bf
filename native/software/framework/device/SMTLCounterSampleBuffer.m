#import "SMTLCounterSampleBuffer.h"

#import "support/SMTLError.h"
#include <stdlib.h>

MTLCommonCounter const MTLCommonCounterTimestamp = @"GPUTimestamp";
MTLCommonCounterSet const MTLCommonCounterSetTimestamp = @"timestamp";
NSErrorDomain const MTLCounterErrorDomain = @"MTLCounterErrorDomain";

#define MAX_SAMPLES ((NSUInteger)32768 / sizeof(MTLCounterResultTimestamp)) /* 32 KiB, as on Apple's systems */

uint64_t SMTLTimestamp(void) { return smtl_now_ns(); }

@interface SMTLTimestampCounter : NSObject <MTLCounter>
@end

@implementation SMTLTimestampCounter

- (NSString *)name {
    return MTLCommonCounterTimestamp;
}

@end

@interface SMTLTimestampSet : NSObject <MTLCounterSet>
@end

@implementation SMTLTimestampSet

- (NSString *)name {
    return MTLCommonCounterSetTimestamp;
}

- (NSArray *)counters {
    return [NSArray arrayWithObject:[[[SMTLTimestampCounter alloc] init] autorelease]];
}

@end

NSArray *SMTLCounterSets(void) { return [NSArray arrayWithObject:[[[SMTLTimestampSet alloc] init] autorelease]]; }

SMTLCounterSampleBuffer *SMTLCheckSampleBuffer(const char *where, id<MTLCounterSampleBuffer> buffer, NSRange range,
                                               SMTLDevice *device) {
    SMTL_REQUIRE(buffer != nil, where, @"the sample buffer must not be nil");
    SMTLCounterSampleBuffer *own = (SMTLCounterSampleBuffer *)buffer;
    SMTL_REQUIRE(own->_device == device, where, @"the sample buffer belongs to another device");
    SMTL_REQUIRE(range.location <= own->_count && range.length <= own->_count - range.location, where,
                 @"samples {%lu, %lu} exceed the sample buffer's %lu", (unsigned long)range.location,
                 (unsigned long)range.length, (unsigned long)own->_count);
    return own;
}

@implementation SMTLCounterSampleBuffer

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_COUNTER_SAMPLE_BUFFER;
}

- (BOOL)refuse:(MTLCounterSampleBufferError)code because:(NSString *)reason error:(NSError **)error {
    SMTLStoreError(error, SMTLMakeError(MTLCounterErrorDomain, code, reason));
    return NO;
}

- (BOOL)takeDescriptor:(MTLCounterSampleBufferDescriptor *)descriptor error:(NSError **)error {
    _count = [descriptor sampleCount];
    _storageMode = [descriptor storageMode];
    if (![[[descriptor counterSet] name] isEqual:MTLCommonCounterSetTimestamp]) {
        return [self refuse:MTLCounterSampleBufferErrorInvalid
                    because:@"the descriptor's counter set is not one of the device's"
                      error:error];
    }
    if (_storageMode != MTLStorageModeShared && _storageMode != MTLStorageModePrivate) {
        return [self refuse:MTLCounterSampleBufferErrorInvalid
                    because:@"a sample buffer's storage must be shared or private"
                      error:error];
    }
    if (_count == 0 || _count > MAX_SAMPLES) {
        NSString *reason = [NSString stringWithFormat:@"a sample buffer has from 1 to %lu samples, not %lu",
                                                      (unsigned long)MAX_SAMPLES, (unsigned long)_count];
        return [self refuse:MTLCounterSampleBufferErrorInvalid because:reason error:error];
    }
    _samples = malloc(_count * sizeof *_samples);
    if (_samples == NULL)
        return [self refuse:MTLCounterSampleBufferErrorOutOfMemory because:@"out of memory" error:error];
    for (NSUInteger i = 0; i < _count; i++) _samples[i] = MTLCounterErrorValue;
    return YES;
}

- (instancetype)initWithDevice:(SMTLDevice *)device
                    descriptor:(MTLCounterSampleBufferDescriptor *)descriptor
                         error:(NSError **)error {
    self = [super init];
    _device = device;
    if (![self takeDescriptor:descriptor error:error]) {
        [self release];
        return nil;
    }
    [self setLabel:[descriptor label]];
    SMTLStoreError(error, nil);
    return self;
}

- (void)dealloc {
    free(_samples);
    [super dealloc];
}

- (void)sampleAtIndex:(NSUInteger)index {
    __atomic_store_n(&_samples[index], SMTLTimestamp(), __ATOMIC_RELEASE);
}

- (void)copySamples:(NSRange)range to:(void *)destination {
    MTLCounterResultTimestamp *results = destination;
    for (NSUInteger i = 0; i < range.length; i++)
        results[i].timestamp = __atomic_load_n(&_samples[range.location + i], __ATOMIC_ACQUIRE);
}

- (NSData *)resolveCounterRange:(NSRange)range {
    SMTLCheckSampleBuffer("-[MTLCounterSampleBuffer resolveCounterRange:]", self, range, _device);
    if (_storageMode == MTLStorageModePrivate) return nil;
    NSMutableData *data = [NSMutableData dataWithLength:range.length * sizeof(MTLCounterResultTimestamp)];
    [self copySamples:range to:[data mutableBytes]];
    return data;
}

- (id<MTLDevice>)device {
    return _device;
}

- (NSUInteger)sampleCount {
    return _count;
}

@end
