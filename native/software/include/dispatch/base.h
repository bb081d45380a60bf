#ifndef SMTL_DISPATCH_BASE_H
#define SMTL_DISPATCH_BASE_H

#ifdef __OBJC__
/* Not all of Foundation: some of its versions include this header. */
#import <Foundation/NSObject.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __clang__
#define DISPATCH_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define DISPATCH_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end")
#else
#define DISPATCH_ASSUME_NONNULL_BEGIN
#define DISPATCH_ASSUME_NONNULL_END
#ifndef _Nullable
#define _Nullable
#endif
#endif

#ifdef __cplusplus
#define DISPATCH_BEGIN \
    extern "C" {       \
    DISPATCH_ASSUME_NONNULL_BEGIN
#define DISPATCH_END            \
    DISPATCH_ASSUME_NONNULL_END \
    }
#else
#define DISPATCH_BEGIN DISPATCH_ASSUME_NONNULL_BEGIN
#define DISPATCH_END DISPATCH_ASSUME_NONNULL_END
#endif

/* As on Apple's systems these are objects for Objective-C: -retain and -release work too. */
#ifdef __OBJC__
#define DISPATCH_DECLARE_OBJECT(name) \
    @protocol OS_dispatch_            \
    ##name<OS_dispatch_object> @end   \
    typedef NSObject<OS_dispatch_##name> *dispatch_##name##_t
@protocol OS_dispatch_object <NSObject>
@end
typedef NSObject<OS_dispatch_object> *dispatch_object_t;
#else
#define DISPATCH_DECLARE_OBJECT(name) typedef struct dispatch_##name##_s *dispatch_##name##_t
typedef void *dispatch_object_t;
#endif

#define SMTL_DISPATCH_SYMBOL(name) __asm__("smtl_" #name)

typedef void (*dispatch_function_t)(void *_Nullable context);
#ifdef __BLOCKS__
typedef void (^dispatch_block_t)(void);
#endif

#endif
