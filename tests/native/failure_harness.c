/* Runs a program's tests of failures, and checks that they leave nothing behind. */
#include "failure_harness.h"

#include <unistd.h>

void check_status(mtb_error *error, mtb_status status, int64_t code, const char *file, int line) {
    check(mtb_error_status(error) == status && mtb_error_code(error) == code, mtb_status_name(status), file, line);
    check(error && strlen(mtb_error_message(error)) > 0, "the error has a message", file, line);
    mtb_error_release(error);
}

void note_completion(const mtb_completion *completion, void *context) {
    completion_record *seen = context;
    seen->calls++;
    seen->status = completion->status;
    seen->code = mtb_error_code(completion->error);
}

/* Metal's live objects, without the devices, which live as long as the process. */
static int64_t live_objects(void) { return smtl_live_objects_total() - smtl_live_objects(SMTL_OBJECT_DEVICE); }

static void run_test(const test *one) {
    int failures_before = failed_checks();
    MAKE(shared.device, mtb_device_create_default(&error));
    MAKE(shared.queue, mtb_command_queue_create(shared.device, 0, &error));
    one->run();
    smtl_clear_injections();
    mtb_command_queue_release(shared.queue);
    mtb_device_release(shared.device);
    /* The last reference may be that of a completion handler that has yet to end. */
    AWAIT(live_handles() == 0 && live_objects() == 0);
    CHECK(live_handles() == 0);
    CHECK(live_objects() == 0);
    printf("%s %s\n", failed_checks() == failures_before ? "ok    " : "FAILED", one->name);
}

int main(void) {
    CHECK(live_objects() == 0);
    for (const test *one = failure_tests; one->name; one++) run_test(one);
    printf("%s\n", failed_checks() ? "FAILED" : "all passed");
    return failed_checks() != 0;
}
