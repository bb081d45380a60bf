#import "SMTLLogState.h"

#include "objc_runtime/SMTLBlocks.h"
#import "support/SMTLError.h"
#include "support/settings.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

NSErrorDomain const MTLLogStateErrorDomain = @"MTLLogStateErrorDomain";

#define USUAL_SIZE (64 << 10)
#define LEAST_SIZE (1 << 10)
#define LARGEST_SIZE (1 << 30)

typedef void (^smtl_log_handler)(NSString *subSystem, NSString *category, MTLLogLevel level, NSString *message);

static const char *const level_names[] = {
    [MTLLogLevelUndefined] = "MTLLogLevelUndefined", [MTLLogLevelDebug] = "MTLLogLevelDebug",
    [MTLLogLevelInfo] = "MTLLogLevelInfo",           [MTLLogLevelNotice] = "MTLLogLevelNotice",
    [MTLLogLevelError] = "MTLLogLevelError",         [MTLLogLevelFault] = "MTLLogLevelFault",
};

/* The level of an os_log_type. */
static MTLLogLevel level_of(uint32_t type) {
    switch (type) {
    case 0x01: return MTLLogLevelInfo;
    case 0x02: return MTLLogLevelDebug;
    case 0x10: return MTLLogLevelError;
    case 0x11: return MTLLogLevelFault;
    default: return MTLLogLevelNotice;
    }
}

static NSString *string_of(const char *text) {
    NSString *string = [NSString stringWithUTF8String:text];
    return string == nil ? @"(not UTF-8)" : string;
}

@implementation SMTLLogState

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_LOG_STATE;
}

- (instancetype)initWithLevel:(MTLLogLevel)level bufferSize:(NSInteger)size error:(NSError **)error {
    self = [super init];
    if (size != 0 && (size < LEAST_SIZE || size > LARGEST_SIZE)) {
        NSString *text = [NSString
            stringWithFormat:@"a log state's buffer has %d to %d bytes, not %ld", LEAST_SIZE, LARGEST_SIZE, (long)size];
        SMTLStoreError(error, SMTLMakeError(MTLLogStateErrorDomain, MTLLogStateErrorInvalidSize, text));
        [self release];
        return nil;
    }
    _level = level;
    _bufferSize = size == 0 ? USUAL_SIZE : (size_t)size;
    SMTLStoreError(error, nil);
    return self;
}

- (void)dealloc {
    for (NSUInteger i = 0; i < _handlerCount; i++) Block_release(_handlers[i]);
    free(_handlers);
    [super dealloc];
}

- (void)addLogHandler:(void (^)(NSString *, NSString *, MTLLogLevel, NSString *))block {
    SMTL_REQUIRE(block != NULL, "-[MTLLogState addLogHandler:]", @"block must not be nil");
    @synchronized(self) {
        void **grown = realloc(_handlers, (_handlerCount + 1) * sizeof *grown);
        if (grown == NULL) [NSException raise:NSMallocException format:@"no memory for a log handler"];
        _handlers = grown;
        _handlers[_handlerCount++] = SMTLCopyBlock(block);
    }
}

- (void)deliverLevel:(MTLLogLevel)level
           subsystem:(const char *)subsystem
            category:(const char *)category
                text:(const char *)text {
    if (level < _level) return;
    @synchronized(self) {
        for (NSUInteger i = 0; i < _handlerCount; i++) {
            @autoreleasepool {
                @try {
                    ((smtl_log_handler)_handlers[i])(string_of(subsystem), string_of(category), level, string_of(text));
                } @catch (id exception) {
                    NSLog(@"software Metal: uncaught exception in a log handler: %@", exception);
                }
            }
        }
        if (_handlerCount == 0) fprintf(stderr, "%s:%s: %s: %s\n", subsystem, category, level_names[level], text);
    }
}

static void receive(void *state, const smtl_log_message *message) {
    [(SMTLLogState *)state deliverLevel:level_of(message->type) subsystem:message->subsystem category:message->category
                                   text:message->text];
}

- (void)deliver:(const struct smtl_log_buffer *)buffer {
    const uint64_t dropped = smtl_log_deliver(buffer, receive, self);
    if (dropped > 0) {
        char text[128];
        snprintf(text, sizeof text, "%llu messages did not fit into the log state's %zu bytes",
                 (unsigned long long)dropped, _bufferSize);
        [self deliverLevel:MTLLogLevelError subsystem:"" category:"" text:text];
    }
}

@end

static SMTLLogState *environment_state;

static void load_environment_state(void) {
    const smtl_settings *settings = smtl_settings_get();
    const NSInteger size = (NSInteger)settings->log_buffer_size;
    for (MTLLogLevel level = MTLLogLevelUndefined; level <= MTLLogLevelFault; level++)
        if (strcmp(settings->log_level, level_names[level]) == 0)
            environment_state = [[SMTLLogState alloc] initWithLevel:level bufferSize:size error:NULL];
}

SMTLLogState *SMTLEnvironmentLogState(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_environment_state);
    return environment_state;
}
