#ifndef SMTL_BLIT_ENCODER_H
#define SMTL_BLIT_ENCODER_H

#import "SMTLCommandEncoder.h"
#import <Metal/MTLBlitCommandEncoder.h>

@interface SMTLBlitEncoder : SMTLCommandEncoder <MTLBlitCommandEncoder>
@end

#endif
