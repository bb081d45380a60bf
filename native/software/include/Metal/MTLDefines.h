/* What every header of the software Metal needs. */
#ifndef SMTL_MTLDEFINES_H
#define SMTL_MTLDEFINES_H

#import <Foundation/Foundation.h>
#include <stddef.h>
#include <stdint.h>

#define MTL_EXPORT __attribute__((visibility("default")))
#ifdef __cplusplus
#define MTL_EXTERN extern "C" MTL_EXPORT
#else
#define MTL_EXTERN extern MTL_EXPORT
#endif

/* Core Foundation's name for a time in seconds; GNUstep base does not have it. */
typedef double CFTimeInterval;

#endif
