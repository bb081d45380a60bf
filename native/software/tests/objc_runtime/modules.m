/* Objective-C as clang compiles it for a newer runtime than GCC's (this file is built with
 * -fobjc-runtime=gnustep-1.6): subscripts, synthesised properties, instance variables of the implementation, classes
 * whose superclass is loaded after them, protocols, categories, message sending with every kind of argument and result.
 */
#include "framework_test.h"
#include <objc/message.h>
#include <objc/runtime.h>

@protocol Unadopted
- (void)nothing;
@end

@protocol Counting <NSObject>
- (int)count;
@end

@interface Counter : NSObject <Counting>
@property (nonatomic, assign) int count;
@property (nonatomic, retain) NSString *name;
@property (atomic, copy) NSString *title;
@end

@interface Counter (Doubling)
- (int)doubled;
@end

@interface Pair : Counter
@property (nonatomic, assign) double second;
- (char)last;
@end

typedef struct {
    double values[5];
} five;

@interface Sender : NSObject
- (double)sum:(int)a b:(double)b c:(long)c d:(float)d e:(int)e f:(int)f g:(int)g h:(double)h;
- (five)five:(double)first;
- (NSRange)range;
- (long double)longer;
@end

@implementation Counter {
    int _hidden;
}
- (instancetype)init {
    self = [super init];
    _hidden = 7;
    return self;
}
- (int)hidden {
    return _hidden;
}
- (void)dealloc {
    [_name release];
    [_title release];
    [super dealloc];
}
@end

@implementation Counter (Doubling)
- (int)doubled {
    return 2 * self.count;
}
@end

@implementation Pair {
    char _last;
}
- (instancetype)init {
    self = [super init];
    _last = 'z';
    return self;
}
- (char)last {
    return _last;
}
@end

@implementation Sender
- (double)sum:(int)a b:(double)b c:(long)c d:(float)d e:(int)e f:(int)f g:(int)g h:(double)h {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
- (five)five:(double)first {
    five result = {{first, 2, 3, 4, 5}};
    return result;
}
- (NSRange)range {
    return NSMakeRange(3, 4);
}
- (long double)longer {
    return 1.5L;
}
@end

static void test_subscripts(void) {
    NSMutableDictionary *dictionary = [NSMutableDictionary dictionary];
    dictionary[@"one"] = @(1);
    NSMutableArray *array = [NSMutableArray arrayWithArray:@[ @"a", @"b" ]];
    array[1] = dictionary[@"one"];
    CHECK([array[1] intValue] == 1 && [array[0] isEqual:@"a"] && dictionary[@"two"] == nil);
    NSString *caught = nil;
    @try {
        (void)array[9];
    } @catch (NSException *exception) {
        caught = exception.name;
    }
    CHECK([caught isEqual:NSRangeException]);
}

static void test_layout(void) {
    Pair *pair = [[Pair alloc] init];
    pair.count = 4;
    pair.second = 0.5;
    pair.name = @"name";
    pair.title = [NSMutableString stringWithString:@"title"];
    CHECK(pair.count == 4 && pair.second == 0.5 && [pair.name isEqual:@"name"] && [pair.title isEqual:@"title"]);
    CHECK([pair last] == 'z' && [(id)pair hidden] == 7 && [pair doubled] == 8);
    CHECK(class_getInstanceSize([Counter class]) >=
          class_getInstanceSize([NSObject class]) + 2 * sizeof(int) + 2 * sizeof(id));
    CHECK(class_getInstanceSize([Pair class]) >= class_getInstanceSize([Counter class]) + sizeof(double) + 1);
    CHECK([pair conformsToProtocol:@protocol(Counting)] && ![pair conformsToProtocol:@protocol(NSCoding)]);
    /* Protocols that no class of this module adopts are objects, too. */
    CHECK([NSStringFromProtocol(@protocol(Unadopted)) isEqual:@"Unadopted"]);
    CHECK([@"" conformsToProtocol:@protocol(NSCopying)] && ![pair conformsToProtocol:@protocol(Unadopted)]);
    [pair release];
}

static void test_messages(void) {
    Sender *sender = [[Sender alloc] init];
    CHECK([sender sum:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1] == 36);
    five five = [sender five:1];
    CHECK(five.values[0] == 1 && five.values[4] == 5);
    CHECK([sender range].location == 3 && [sender range].length == 4 && [sender longer] == 1.5L);
    [sender release];
    Sender *nothing = nil;
    CHECK([nothing sum:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1] == 0 && [nothing range].length == 0 && [nothing longer] == 0);
    CHECK([nothing five:1].values[0] == 0 && [(NSString *)nil length] == 0);
}

static id<MTLDevice> device;

static void test_metal(void) {
    NSDictionary *buffers = @{@"a" : [[device newBufferWithLength:16 options:0] autorelease]};
    id<MTLBuffer> buffer = buffers[@"a"];
    CHECK(buffer.length == 16 && buffer.contents != NULL);
    id<MTLCommandQueue> queue = [device newCommandQueue];
    @autoreleasepool {
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        [commands commit];
        [commands waitUntilCompleted];
        CHECK(commands.status == MTLCommandBufferStatusCompleted);
    }
    [queue release];
}

int main(void) {
    device = MTLCreateSystemDefaultDevice();
    RUN(test_subscripts);
    RUN(test_layout);
    RUN(test_messages);
    RUN(test_metal);
    [device release];
    return checks_report();
}
