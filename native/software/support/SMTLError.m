#import "SMTLError.h"

#include <stdarg.h>
#include <stdlib.h>

NSString *const SMTLValidationException = @"SMTLValidationException";

NSError *SMTLMakeError(NSString *domain, NSInteger code, NSString *description) {
    NSDictionary *info = [NSDictionary dictionaryWithObject:description forKey:NSLocalizedDescriptionKey];
    return [NSError errorWithDomain:domain code:code userInfo:info];
}

NSString *SMTLTakeString(char *text, NSString *fallback) {
    NSString *string = text == NULL ? nil : [NSString stringWithUTF8String:text];
    free(text);
    return string == nil ? fallback : string;
}

void SMTLRaise(const char *where, NSString *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    NSString *message = [[[NSString alloc] initWithFormat:format arguments:arguments] autorelease];
    va_end(arguments);
    [NSException raise:SMTLValidationException format:@"%s: %@", where, message];
    abort(); /* not reached: tells the compiler that raise does not return */
}
