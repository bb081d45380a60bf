/* GCC's runtime initialises a class at its first message, holding a lock of its own; Foundation's +initialize methods
 * take Foundation's locks, which other threads hold while they send first messages. Two threads that meet there wait
 * for each other for ever. Foundation also fills variables of its own at first use with no lock at all:
 * +[NSAutoreleasePool new], which every thread calls when it ends, stores the two methods that it goes on to call one
 * after the other, so that of two threads that end first together one may call nothing. What the software Metal's
 * threads use is therefore initialised by one thread, before there are others. */
#include "SMTLFoundation.h"

#include "SMTLProcessStrings.h"

#import <Foundation/Foundation.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool tells_of_missing_pools(void) {
    const char *wish = getenv("OBJC_DEBUG_MISSING_POOLS");
    return wish != NULL && strcmp(wish, "YES") == 0;
}

static NSLog_printf_handler *foundations_handler;

/* What Foundation logs, without what it says of each object that is autoreleased where no pool is: Apple's systems say
 * nothing unless they are asked to, and programs that live without pools there would drown in it. */
static void write_log(NSString *message) {
    if ([message rangeOfString:@"autorelease called without pool for"].location == NSNotFound ||
        tells_of_missing_pools()) {
        foundations_handler(message);
    }
}

static void set_log_handler(void) {
    foundations_handler = _NSLog_printf_handler;
    if (foundations_handler != NULL) {
        _NSLog_printf_handler = write_log;
    }
}

/* Before a program's first initialiser; a handler of the program's own takes the place of this one. */
__attribute__((section(".init_array.00001"), used)) static void (*const first_initialiser)(void) = set_log_handler;

void SMTLInitialiseFoundation(void) {
    @autoreleasepool {
        SMTLReadProcessStrings();
        const Class classes[] = {
            [NSDate class],         [NSError class],         [NSException class],
            [NSMutableArray class], [NSMutableData class],   [NSMutableDictionary class],
            [NSMutableSet class],   [NSMutableString class], [NSNotificationCenter class],
            [NSNumber class],       [NSRunLoop class],       [NSThread class],
            [NSURL class],
        };
        /* Concrete classes behind the abstract ones come to light at their first use only. */
        NSString *text = [NSString stringWithFormat:@"%zu%s", sizeof classes / sizeof classes[0], ""];
        [NSDictionary dictionaryWithObject:[NSArray arrayWithObject:text] forKey:text];
        [[NSSet setWithObject:text] anyObject];
        [[NSNotificationCenter defaultCenter] self];
        [[NSThread currentThread] threadDictionary];
        /* What tells the main thread of a block in its queue. */
        [NSObject performSelectorOnMainThread:@selector(class) withObject:nil waitUntilDone:NO];
        /* Sent and not written as @autoreleasepool, which is +alloc and -init. */
        [[NSAutoreleasePool new] drain];
    }
}
