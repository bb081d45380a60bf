/* What every header of the software Metal needs. */
#ifndef SMTL_MTLDEFINES_H
#define SMTL_MTLDEFINES_H

#import <CoreFoundation/CoreFoundation.h>
#import <Foundation/Foundation.h>
#include <stddef.h>
#include <stdint.h>

#define MTL_EXPORT __attribute__((visibility("default")))
#ifdef __cplusplus
#define MTL_EXTERN extern "C" MTL_EXPORT
#else
#define MTL_EXTERN extern MTL_EXPORT
#endif

#endif
