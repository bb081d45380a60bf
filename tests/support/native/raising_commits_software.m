/* Commits in which Metal raises an Objective-C exception, before it takes the work or after. */
#import <Metal/Metal.h>
#import <objc/runtime.h>

void mbts_raise_in_commits(bool takes_work);
void mbts_end_raising(void);

/* Metal's own method, while another one is in its place. */
static IMP metals;

static void raise_at_once(id self, SEL selector) {
    (void)self, (void)selector;
    [NSException raise:NSInvalidArgumentException format:@"the test's exception in a commit"];
}

static void commit_and_raise(id self, SEL selector) {
    ((void (*)(id, SEL))(void *)metals)(self, selector);
    raise_at_once(self, selector);
}

/* `commit` of the class of command buffers. */
static Method commit_method(void) {
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        id<MTLCommandQueue> queue = [device newCommandQueue];
        const Method method = class_getInstanceMethod(object_getClass([queue commandBuffer]), @selector(commit));
        [queue release];
        [device release];
        return method;
    }
}

void mbts_raise_in_commits(bool takes_work) {
    void (*const method)(id, SEL) = takes_work ? commit_and_raise : raise_at_once;
    metals = method_setImplementation(commit_method(), (IMP)(void *)method);
}

void mbts_end_raising(void) { method_setImplementation(commit_method(), metals); }
