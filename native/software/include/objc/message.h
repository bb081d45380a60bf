/* GCC's header has the search for a method and nothing that sends a message. What Apple's declares beside it is in the
 * software Metal's library, for C++ and C that send messages through these functions, as metal-cpp does. As on Apple's
 * systems they are declared without arguments unless a program asks for the old form: they have to be cast to the
 * method's type. */
#include_next <objc/message.h>

#ifndef SMTL_OBJC_MESSAGE_H
#define SMTL_OBJC_MESSAGE_H

#ifdef __cplusplus
extern "C" {
#endif

#pragma clang diagnostic push
/* In Objective-C the compiler knows them, in their old form. */
#pragma clang diagnostic ignored "-Wincompatible-library-redeclaration"
#if defined(OBJC_OLD_DISPATCH_PROTOTYPES) && OBJC_OLD_DISPATCH_PROTOTYPES
id objc_msgSend(id self, SEL selector, ...);
void objc_msgSend_stret(id self, SEL selector, ...);
double objc_msgSend_fpret(id self, SEL selector, ...);
#else
void objc_msgSend(void);
void objc_msgSend_stret(void);
void objc_msgSend_fpret(void);
#endif
#pragma clang diagnostic pop

#ifdef __cplusplus
}
#endif

#endif
