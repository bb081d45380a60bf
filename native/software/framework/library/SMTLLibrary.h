#ifndef SMTL_LIBRARY_H
#define SMTL_LIBRARY_H

#import "framework/device/SMTLDevice.h"
#include "msl/msl.h"

@interface SMTLLibrary : SMTLObject <MTLLibrary> {
@public
    SMTLDevice *_device;
    smtl_library *_library;
    NSUInteger _maxThreads;   /* of a threadgroup, as the compile options limit it */
    MTLSize _requiredThreads; /* the same; zeros if they require nothing */
    NSString *_installName;
    NSArray *_libraries; /* SMTLDynamicLibrary, in which functions that are only declared are looked up */
    NSData *_source; /* of a dynamic library, whose file has it */
    MTLCompileOptions *_options; /* the same */
@protected
    MTLLibraryType _type;
}
/* Compiles; nil and an autoreleased error with the compiler's log if that fails. `options` may be nil. */
- (instancetype)initWithDevice:(SMTLDevice *)device
                        source:(NSData *)source
                       options:(MTLCompileOptions *)options
                         error:(NSError **)error;
/* A function that kernels may call through tables. */
- (BOOL)hasVisibleFunction:(NSString *)name;
@end

#endif
