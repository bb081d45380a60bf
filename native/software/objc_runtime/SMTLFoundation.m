/* GCC's runtime initialises a class at its first message, holding a lock of its own; Foundation's +initialize methods
 * take Foundation's locks, which other threads hold while they send first messages. Two threads that meet there wait
 * for each other for ever. Therefore one thread initialises what the software Metal's threads use, before there are
 * other threads. */
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

/* Writes what Foundation logs, but not its message about each object that is autoreleased where no pool is. Apple's
 * systems say nothing of these unless they are asked to, and programs that live without pools there would drown in such
 * messages. */
static void write_log(NSString *message) {
    if ([message rangeOfString:@"autorelease called without pool for"].location == NSNotFound ||
        tells_of_missing_pools()) {
        foundations_handler(message);
    }
}

static void set_log_handler(void) {
    foundations_handler = _NSLog_printf_handler;
    if (foundations_handler != NULL) _NSLog_printf_handler = write_log;
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
        /* The runtime initialises the concrete classes behind abstract ones only when they are used. */
        NSString *text = [NSString stringWithFormat:@"%zu%s", sizeof classes / sizeof classes[0], ""];
        [NSDictionary dictionaryWithObject:[NSArray arrayWithObject:text] forKey:text];
        [[NSSet setWithObject:text] anyObject];
        [[NSNotificationCenter defaultCenter] self];
        [[NSThread currentThread] threadDictionary];
        /* The main queue tells the main thread of a block by this call. */
        [NSObject performSelectorOnMainThread:@selector(class) withObject:nil waitUntilDone:NO];
    }
}
