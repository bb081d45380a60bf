// Initialisers of C++ that send messages before main: on Apple's systems every class is there before the first of them
// runs.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <cstdio>
#include <cstring>

@interface Counter : NSObject {
    int _count;
}
- (int)next;
@end

@interface NSString (Initialisers)
- (NSString *)twice;
@end

namespace {

// Sent by the earliest initialisers that a program can have, in every form that has them.
struct Early {
    Early() : options([[MTLCompileOptions alloc] init]), counter([[Counter alloc] init]) {
        [options setFastMathEnabled:NO];
    }
    MTLCompileOptions *options;
    Counter *counter;
};
__attribute__((init_priority(101))) Early early;

int next_in_constructor;
__attribute__((constructor(102))) void count() { next_in_constructor = [early.counter next]; }

void *const pool = [[NSAutoreleasePool alloc] init];
id<MTLDevice> device = MTLCreateSystemDefaultDevice();
NSString *const name = [[[device name] twice] copy];
const bool caught = [] {
    @try {
        [NSException raise:@"Early" format:@"raised before main"];
    } @catch (NSException *exception) {
        return [[exception name] isEqual:@"Early"] != NO;
    }
    return false;
}();

}  // namespace

@implementation Counter
- (int)next {
    return ++_count;
}
@end

@implementation NSString (Initialisers)
- (NSString *)twice {
    return [self stringByAppendingString:self];
}
@end

int main() {
    const bool right = ![early.options fastMathEnabled] && next_in_constructor == 1 && [early.counter next] == 2 &&
                       caught && [name isEqual:[[device name] twice]] && std::strlen([name UTF8String]) > 0;
    [(id)pool drain];
    [name release];
    [device release];
    [early.counter release];
    [early.options release];
    std::puts(right ? "initialisers: right" : "initialisers: wrong");
    return right ? 0 : 1;
}
