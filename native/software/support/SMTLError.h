/* Errors and misuse. */
#ifndef SMTL_ERROR_H
#define SMTL_ERROR_H

#import <Foundation/Foundation.h>

/* An autoreleased NSError with that text as its localizedDescription. */
NSError *SMTLMakeError(NSString *domain, NSInteger code, NSString *description);

/* Stores an error, or nil for success: callers pass an uninitialised variable and test it afterwards. */
static inline void SMTLStoreError(NSError **slot, NSError *error) {
    if (slot != NULL) *slot = error;
}

/* A string from a malloc'd C string, which is freed; `fallback` where it is NULL or not UTF-8. */
NSString *SMTLTakeString(char *text, NSString *fallback);

/* Raises what Metal's validation layer stops a program for: an exception named SMTLValidationException whose reason
 * begins with the method. */
extern NSString *const SMTLValidationException;
void SMTLRaise(const char *where, NSString *format, ...) __attribute__((noreturn, cold)) NS_FORMAT_FUNCTION(2, 3);

#define SMTL_REQUIRE(condition, where, ...)      \
    do {                                         \
        if (__builtin_expect(!(condition), 0)) { \
            SMTLRaise(where, __VA_ARGS__);       \
        }                                        \
    } while (0)

#endif
