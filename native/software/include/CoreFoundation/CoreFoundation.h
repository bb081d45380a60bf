/* What headers for Metal name of CoreFoundation: metal-cpp includes this file. It is not CoreFoundation; if one is
 * installed (GNUstep's corebase), that is used. */
#if __has_include_next(<CoreFoundation/CoreFoundation.h>)
#include_next <CoreFoundation/CoreFoundation.h>
#else
#ifndef SMTL_COREFOUNDATION_H
#define SMTL_COREFOUNDATION_H

/* Apple's brings these, and programs rely on it. */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef const void *CFTypeRef;
typedef const struct __CFString *CFStringRef;
typedef double CFTimeInterval;

/* A string that lives as long as the program: the same one for the same characters, in UTF-8. It is an NSString. */
CFStringRef __CFStringMakeConstantString(const char *characters);
#define CFSTR(literal) ((CFStringRef)__builtin___CFStringMakeConstantString("" literal ""))

#ifdef __cplusplus
}
#endif

#endif
#endif
