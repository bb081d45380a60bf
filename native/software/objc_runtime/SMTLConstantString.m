/* CoreFoundation's constant strings, which clang emits for __builtin___CFStringMakeConstantString in every language:
 * CFSTR, and MTLSTR of metal-cpp. They are strings of Foundation too. */
#import <CoreFoundation/CoreFoundation.h>
#import <Foundation/Foundation.h>

/* The layout that the compiler emits. The flags tell the characters' encoding. */
@interface SMTLConstantString : NSString {
    int _flags;
    const void *_characters;
    long _length;
}
@end

#define FLAG_UTF16 0x10

@implementation SMTLConstantString

- (NSUInteger)length {
    return (NSUInteger)_length;
}

- (unichar)characterAtIndex:(NSUInteger)index {
    if (index >= (NSUInteger)_length) {
        [NSException raise:NSRangeException
                    format:@"index %lu is past the end of a string of length %ld", (unsigned long)index, _length];
    }
    return _flags & FLAG_UTF16 ? ((const unichar *)_characters)[index] : ((const unsigned char *)_characters)[index];
}

/* The string is part of the program: references are not counted. */
- (id)retain {
    return self;
}

- (oneway void)release {
}

- (id)autorelease {
    return self;
}

- (NSUInteger)retainCount {
    return NSUIntegerMax;
}

- (id)copyWithZone:(NSZone *)zone {
    (void)zone;
    return self;
}

@end

/* The first word of a constant string is the address of this symbol, and so of the class. */
__asm__(".globl __CFConstantStringClassReference\n"
        ".set __CFConstantStringClassReference, _OBJC_CLASS_SMTLConstantString\n");

CFStringRef __CFStringMakeConstantString(const char *characters) {
    static NSMutableSet *strings;
    @autoreleasepool {
        NSString *string = [NSString stringWithUTF8String:characters];
        if (string == nil) return NULL;
        @synchronized([SMTLConstantString class]) {
            if (strings == nil) strings = [NSMutableSet new];
            [strings addObject:string];
            return (CFStringRef)[strings member:string];
        }
    }
}
