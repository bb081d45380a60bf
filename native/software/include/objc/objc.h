/* GCC's YES is a cast, of which `@YES` makes no number. Its `nil` has the type `id`. Programs written for Apple's
 * runtime give it to anything that takes a null pointer, `error:nil` above all, which Objective-C++ refuses for an
 * `id`. No guard: GCC's own headers may have brought its definition back. */
#include_next <objc/objc.h>

#undef nil
#undef Nil
#undef YES
#undef NO
#ifdef __cplusplus
#define nil nullptr
#define Nil nullptr
#else
#define nil ((void *)0)
#define Nil ((void *)0)
#endif

#ifdef __clang__
#define YES __objc_yes
#define NO __objc_no
#else
#define YES ((BOOL)1)
#define NO ((BOOL)0)
#endif
