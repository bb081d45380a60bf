/* Counter sample buffers: timestamps, on the clock of command buffers' GPU times. */
#ifndef SMTL_COUNTER_SAMPLE_BUFFER_H
#define SMTL_COUNTER_SAMPLE_BUFFER_H

#import "SMTLDevice.h"
#include "support/clock.h"
#import <Metal/MTLCounters.h>

#define SMTL_TIMESTAMP_FREQUENCY SMTL_SECOND_NS
/* Nanoseconds on the host's monotonic clock. */
uint64_t SMTLTimestamp(void);

/* The sets of every device: the timestamps. Autoreleased. */
NSArray *SMTLCounterSets(void);

@interface SMTLCounterSampleBuffer : SMTLObject <MTLCounterSampleBuffer> {
@public
    SMTLDevice *_device;
    NSUInteger _count;
    uint64_t *_samples; /* atomic each */
@protected
    MTLStorageMode _storageMode;
}
/* nil, and an autoreleased error, for a descriptor that cannot be met. */
- (instancetype)initWithDevice:(SMTLDevice *)device
                    descriptor:(MTLCounterSampleBufferDescriptor *)descriptor
                         error:(NSError **)error;
- (void)sampleAtIndex:(NSUInteger)index;
- (void)copySamples:(NSRange)range to:(void *)destination;
@end

/* Raises for nil, for another device's and for samples beyond the end. */
SMTLCounterSampleBuffer *SMTLCheckSampleBuffer(const char *where, id<MTLCounterSampleBuffer> buffer, NSRange range,
                                               SMTLDevice *device);

#endif
