/* A process has its devices even if its arguments and environment are not text: file names can be any bytes. */
#include "framework_test.h"
#include <stdlib.h>
#include <sys/wait.h>

#define WRONG "m\xff \xc3"
#define REPAIRED "m? ?"
#define TEXT "\xc3\xa4"

static void test_strings(char **arguments) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    CHECK(device != nil);
    [device release];
    NSProcessInfo *process = [NSProcessInfo processInfo];
    NSString *found[] = {[[process environment] objectForKey:@"SMTL_TEST_BYTES"],
                         [[process arguments] objectAtIndex:1]};
    const char *own[] = {getenv("SMTL_TEST_BYTES"), arguments[1]};
    for (int i = 0; i < 2; i++) {
        const BOOL is_text = strcmp(own[i], TEXT) == 0;
        CHECK(is_text || strcmp(own[i], WRONG) == 0);
        CHECK([found[i] isEqual:[NSString stringWithUTF8String:is_text ? TEXT : REPAIRED]]);
    }
}

/* Runs this program once more and returns its exit status. */
static int run_with(char *name, char *argument, char *variable) {
    char *const arguments[] = {name, argument, NULL};
    const pid_t child = fork();
    if (child == 0) {
        putenv(variable);
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

int main(int count, char **arguments) {
    if (count > 1) {
        @autoreleasepool {
            test_strings(arguments);
        }
    } else {
        CHECK(run_with("child", TEXT, "SMTL_TEST_BYTES=" TEXT) == 0);
        CHECK(run_with("child", WRONG, "SMTL_TEST_BYTES=" TEXT) == 0);
        CHECK(run_with("child", TEXT, "SMTL_TEST_BYTES=" WRONG) == 0);
        CHECK(run_with(WRONG, TEXT, "SMTL_TEST_BYTES=" TEXT) == 0);
    }
    return checks_report();
}
