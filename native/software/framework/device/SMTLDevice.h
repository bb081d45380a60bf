#ifndef SMTL_DEVICE_H
#define SMTL_DEVICE_H

#import "SMTLDeviceModel.h"
#import <Metal/MTLDevice.h>

/* The part of a device that makes libraries and pipelines. */
@interface SMTLLibraryFactory : SMTLDeviceModel
@end

/* Devices are made once and never destroyed: other objects refer to them without retaining. */
@interface SMTLDevice : SMTLLibraryFactory
@end

/* Counts `size` bytes for the device and for the process; false if `owned` memory would exceed what the machine has.
 */
bool SMTLDeviceTakeMemory(SMTLDevice *device, size_t size, bool owned);
void SMTLDeviceGiveMemory(SMTLDevice *device, size_t size, bool owned);

#endif
