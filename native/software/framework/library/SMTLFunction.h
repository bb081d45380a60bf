#ifndef SMTL_FUNCTION_H
#define SMTL_FUNCTION_H

#include "msl/msl.h"
#import "support/SMTLObject.h"
#import <Metal/MTLLibrary.h>

@class SMTLLibrary;

@interface MTLFunctionConstantValues (SMTL)
/* What was set, in order; valid until the next change. */
- (const smtl_constant_value *)values;
- (size_t)count;
@end

@interface MTLFunctionConstant (SMTL)
- (instancetype)initWithConstant:(const smtl_function_constant *)constant;
@end

@interface SMTLFunction : SMTLObject <MTLFunction> {
@public
    SMTLLibrary *_library; /* retained */
    NSString *_name; /* in the library */
    NSString *_specializedName; /* nil if it has no other */
    MTLFunctionConstantValues *_constants; /* a copy; nil for none */
    BOOL _isVisible; /* and no kernel */
}
- (instancetype)initWithLibrary:(SMTLLibrary *)library
                           name:(NSString *)name
                      constants:(MTLFunctionConstantValues *)constants;
@end

#endif
