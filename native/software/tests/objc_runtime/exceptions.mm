// C++ and Objective-C exceptions in the same functions, and C++ objects inside Objective-C ones.
#include "framework_test.h"
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int destroyed;

struct Local {
    ~Local() { ++destroyed; }
};

enum class Kind {
    cxx,
    raised,
    string
};

void thrower(Kind kind) {
    Local local;
    if (kind == Kind::cxx) throw std::runtime_error("cxx");
    if (kind == Kind::raised) [NSException raise:NSRangeException format:@"raised"];
    @throw @"string";
}

std::string catcher(Kind kind) {
    std::string caught;
    @try {
        thrower(kind);
    } @catch (NSException *exception) {
        caught = [[exception reason] UTF8String];
    } @catch (NSString *string) {
        caught = [string UTF8String];
    } @finally {
        caught += "!";
    }
    return caught;
}

std::string cxx_catcher(Kind kind) {
    try {
        thrower(kind);
    } catch (const std::logic_error &) {
        return "wrong";
    } catch (const std::exception &error) {
        return error.what();
    } catch (...) {
        return "other";
    }
    return "nothing";
}

// A handler that does not match, then one that throws the exception on, then one that handles it.
std::string through(Kind kind) {
    try {
        @try {
            try {
                thrower(kind);
            } catch (const std::logic_error &) {
                return "wrong";
            } catch (...) {
                throw;
            }
        } @catch (NSNumber *) {
            return "wrong";
        }
    } catch (NSException *exception) {
        return [[exception name] UTF8String];
    } catch (const std::runtime_error &error) {
        return error.what();
    } catch (id) {
        return "id";
    }
    return "nothing";
}

}  // namespace

@interface Holder : NSObject {
    std::vector<int> _numbers;
}
- (int)add:(int)number;
@end

@implementation Holder {
    Local _local;
    std::string _text;
}
- (int)add:(int)number {
    _numbers.push_back(number);
    _text += 'x';
    return static_cast<int>(_numbers.size() * 10 + _text.size());
}
@end

static void test_handlers() {
    CHECK(catcher(Kind::raised) == "raised!" && catcher(Kind::string) == "string!");
    CHECK(std::uncaught_exceptions() == 0);
    CHECK(cxx_catcher(Kind::cxx) == "cxx" && cxx_catcher(Kind::raised) == "other" &&
          cxx_catcher(Kind::string) == "other");
    CHECK(through(Kind::cxx) == "cxx" && through(Kind::raised) == "NSRangeException" && through(Kind::string) == "id");
    std::string passed;
    try {
        passed = catcher(Kind::cxx);
    } catch (const std::exception &error) {
        passed = error.what();
    }
    CHECK(passed == "cxx");
    CHECK(destroyed == 9);
}

static void test_members() {
    destroyed = 0;
    Holder *holder = [[Holder alloc] init];
    CHECK([holder add:1] == 11 && [holder add:2] == 22);
    [holder release];
    CHECK(destroyed == 1);
}

// The library's own exceptions, which Objective-C code compiled for GCC's runtime throws.
static void test_validation() {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    CHECK_RAISES("no buffer", [encoder setBufferOffset:0 atIndex:3]);
    [encoder endEncoding];
    [commands commit];
    [queue release];
    [device release];
}

int main() {
    @autoreleasepool {
        test_handlers();
        test_members();
        test_validation();
    }
    return checks_report();
}
