#ifndef SMTL_DYNAMIC_LIBRARY_H
#define SMTL_DYNAMIC_LIBRARY_H

#import "framework/device/SMTLDevice.h"
#import <Metal/MTLDynamicLibrary.h>

@class SMTLLibrary;

/* A library whose functions kernels of other libraries call. Its file is a container: source and compile options. */
@interface SMTLDynamicLibrary : SMTLObject <MTLDynamicLibrary> {
@public
    SMTLLibrary *_library; /* retained */
}
/* nil, and an autoreleased error, if the library is not of type dynamic, or its functions cannot be compiled. */
- (instancetype)initWithLibrary:(SMTLLibrary *)library error:(NSError **)error;
@end

/* Raises for an object that is not a dynamic library of the device. */
void SMTLCheckDynamicLibrary(const char *where, id<MTLDynamicLibrary> library, SMTLDevice *device);

/* The dynamic libraries of these install names, for the container at `path`, which is nil for one in memory. nil and an
 * autoreleased error if one cannot be loaded. */
NSArray *SMTLLoadDependencies(SMTLDevice *device, NSArray *names, NSString *path, NSError **error);

/* +1; nil and an autoreleased error if it cannot be loaded. */
SMTLDynamicLibrary *SMTLLoadDynamicLibrary(SMTLDevice *device, NSString *path, NSError **error);

#endif
