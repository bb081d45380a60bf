/* Blocks own what they capture, as on Apple's systems. */
#include "framework_test.h"
#include <Block.h>

typedef int (^counter)(void);

static counter copies[3];

static void test_values(void) {
    for (int i = 0; i < 3; i++) copies[i] = Block_copy(^{ return i; });
    for (int i = 0; i < 3; i++) {
        CHECK(copies[i]() == i);
        Block_release(copies[i]);
    }
    CHECK(Block_copy((counter)NULL) == NULL);
    counter global = ^{ return 7; };
    CHECK(Block_copy(global) == global && global() == 7);
    Block_release(global);
}

static void test_objects(void) {
    NSObject *object = [[NSObject alloc] init];
    counter block = Block_copy(^{ return (int)[object retainCount]; });
    CHECK([object retainCount] == 2 && block() == 2);
    counter again = Block_copy(block);
    CHECK(again == block && [object retainCount] == 2);
    counter outer = Block_copy(^{ return block(); });
    Block_release(block);
    Block_release(again);
    CHECK([object retainCount] == 2 && outer() == 2);
    Block_release(outer);
    CHECK([object retainCount] == 1);
    [object release];
}

static counter make_counter(void) {
    __block int count = 10;
    __block NSObject *unowned = nil; /* a __block object is not retained without ARC */
    counter first = Block_copy(^{ return ++count; });
    counter second = Block_copy(^{
        count += 100;
        return unowned == nil ? count : -1;
    });
    CHECK(first() == 11 && count == 11);
    CHECK(second() == 111 && count == 111);
    Block_release(second);
    return first;
}

static void test_variables(void) {
    counter block = make_counter();
    CHECK(block() == 112 && block() == 113);
    Block_release(block);
}

/* The count has sixteen bits. A block that has had more references lives for ever: a wrapped count would free it. */
static void test_many_references(void) {
    enum {
        REFERENCES = 70000,
        PAST_THE_END = REFERENCES + 1 - (1 << 16)
    };
    NSObject *object = [[NSObject alloc] init];
    static counter block; /* where a search for leaks finds it */
    block = Block_copy(^{ return (int)[object retainCount]; });
    for (int i = 0; i < REFERENCES; i++) Block_copy(block);
    for (int i = 0; i < PAST_THE_END; i++) Block_release(block);
    CHECK([object retainCount] == 2 && block() == 2);
}

int main(void) {
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        RUN(test_values);
        RUN(test_objects);
        RUN(test_variables);
        RUN(test_many_references);
        [device release];
    }
    return checks_report();
}
