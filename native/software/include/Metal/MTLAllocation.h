#ifndef SMTL_MTLALLOCATION_H
#define SMTL_MTLALLOCATION_H

#import <Metal/MTLDefines.h>

/* What a residency set may hold. */
@protocol MTLAllocation <NSObject>
@property (readonly) NSUInteger allocatedSize;
@end

#endif
