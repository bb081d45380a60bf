#import "SMTLResidencySet.h"

#import "support/SMTLError.h"

enum {
    MAX_SETS = 32 /* on a queue, and on a command buffer: Apple's feature set tables */
};

void SMTLCheckResidencySet(const char *where, id<MTLResidencySet> set, SMTLDevice *device) {
    SMTL_REQUIRE(set != nil, where, @"residency set must not be nil");
    SMTL_REQUIRE(((SMTLResidencySet *)set)->_device == device, where, @"the residency set belongs to another device");
}

NSMutableSet *SMTLAddResidencySets(const char *where, NSMutableSet *known, const id<MTLResidencySet> sets[],
                                   NSUInteger count) {
    NSMutableSet *all = known != nil ? [known mutableCopy] : [[NSMutableSet alloc] init];
    for (NSUInteger i = 0; i < count; i++) [all addObject:sets[i]];
    const NSUInteger total = [all count];
    if (total > MAX_SETS) [all release];
    SMTL_REQUIRE(total <= MAX_SETS, where, @"%lu residency sets are more than the %d that Metal takes",
                 (unsigned long)total, MAX_SETS);
    [known release];
    return all;
}

@implementation SMTLResidencySet

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_RESIDENCY_SET;
}

- (instancetype)initWithDevice:(SMTLDevice *)device descriptor:(MTLResidencySetDescriptor *)descriptor {
    self = [super init];
    _device = device;
    [self setLabel:[descriptor label]];
    _committed = [[NSMutableSet alloc] init];
    _pending = [[NSMutableSet alloc] initWithCapacity:[descriptor initialCapacity]];
    return self;
}

- (void)dealloc {
    [_committed release];
    [_pending release];
    [super dealloc];
}

- (id<MTLDevice>)device {
    return _device;
}

- (void)addAllocation:(id<MTLAllocation>)allocation {
    [self addAllocations:&allocation count:1];
}

- (void)addAllocations:(const id<MTLAllocation>[])allocations count:(NSUInteger)count {
    const char *where = "-[MTLResidencySet addAllocations:count:]";
    for (NSUInteger i = 0; i < count; i++) {
        SMTL_REQUIRE(allocations[i] != nil, where, @"allocation %lu must not be nil", (unsigned long)i);
        /* Buffers, heaps and indirect command buffers have this message, but MTLAllocation does not declare it. */
        id<MTLDevice> owner = [(id<MTLResource>)allocations[i] device];
        SMTL_REQUIRE(owner == _device, where, @"allocation %lu belongs to another device", (unsigned long)i);
    }
    @synchronized(self) {
        for (NSUInteger i = 0; i < count; i++) [_pending addObject:allocations[i]];
    }
}

- (void)removeAllocation:(id<MTLAllocation>)allocation {
    [self removeAllocations:&allocation count:1];
}

- (void)removeAllocations:(const id<MTLAllocation>[])allocations count:(NSUInteger)count {
    @synchronized(self) {
        for (NSUInteger i = 0; i < count; i++)
            if (allocations[i] != nil) [_pending removeObject:allocations[i]];
    }
}

- (void)removeAllAllocations {
    @synchronized(self) {
        [_pending removeAllObjects];
    }
}

- (void)commit {
    @synchronized(self) {
        [_committed setSet:_pending];
    }
}

- (BOOL)containsAllocation:(id<MTLAllocation>)anAllocation {
    @synchronized(self) {
        return [_pending containsObject:anAllocation];
    }
}

- (NSArray *)allAllocations {
    @synchronized(self) {
        return [_pending allObjects];
    }
}

- (NSUInteger)allocationCount {
    @synchronized(self) {
        return [_pending count];
    }
}

- (uint64_t)allocatedSize {
    uint64_t size = 0;
    @synchronized(self) {
        for (id<MTLAllocation> allocation in _committed) size += [allocation allocatedSize];
    }
    return size;
}

/* Hints about paging, which the host decides here. */
- (void)requestResidency {
}

- (void)endResidency {
}

@end
