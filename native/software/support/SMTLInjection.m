#include "SMTLInjection.h"

#import <Metal/MTLCommandBuffer.h>
#include <SoftwareMetal/SoftwareMetal.h>
#include <pthread.h>

#include "settings.h"

/* Events left until each failure; 0 is off. */
static uint64_t allocation_countdown;
static uint64_t compile_countdown;
static uint64_t command_buffer_countdown;
static uint64_t command_buffer_code;
static uint64_t device_countdown;
static bool device_lost;

static pthread_once_t environment_once = PTHREAD_ONCE_INIT;

static void load_environment(void) {
    const smtl_settings *settings = smtl_settings_get();
    const smtl_nth_with_code command_buffer = settings->fail_command_buffer;
    allocation_countdown = settings->fail_allocation;
    compile_countdown = settings->fail_compile;
    device_countdown = settings->lose_device;
    command_buffer_countdown = command_buffer.nth;
    command_buffer_code = command_buffer.code != 0 ? command_buffer.code : MTLCommandBufferErrorInternal;
}

/* Counts one event; true exactly once, for the event that brings the countdown to zero. */
static bool counts_down_to_failure(uint64_t *countdown) {
    uint64_t left = __atomic_load_n(countdown, __ATOMIC_RELAXED);
    while (left != 0)
        if (__atomic_compare_exchange_n(countdown, &left, left - 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return left == 1;
    return false;
}

static void arm(uint64_t *countdown, uint64_t nth) {
    pthread_once(&environment_once, load_environment);
    __atomic_store_n(countdown, nth, __ATOMIC_RELEASE);
}

bool smtl_allocation_must_fail(void) {
    pthread_once(&environment_once, load_environment);
    return __atomic_load_n(&device_lost, __ATOMIC_ACQUIRE) || counts_down_to_failure(&allocation_countdown);
}

bool smtl_compile_must_fail(void) {
    pthread_once(&environment_once, load_environment);
    return counts_down_to_failure(&compile_countdown);
}

uint64_t smtl_command_buffer_must_fail(void) {
    pthread_once(&environment_once, load_environment);
    if (counts_down_to_failure(&device_countdown)) __atomic_store_n(&device_lost, true, __ATOMIC_RELEASE);
    if (__atomic_load_n(&device_lost, __ATOMIC_ACQUIRE)) return MTLCommandBufferErrorDeviceRemoved;
    return counts_down_to_failure(&command_buffer_countdown) ? __atomic_load_n(&command_buffer_code, __ATOMIC_RELAXED)
                                                             : 0;
}

void smtl_inject_allocation_failure(uint64_t nth) { arm(&allocation_countdown, nth); }

void smtl_inject_compile_failure(uint64_t nth) { arm(&compile_countdown, nth); }

void smtl_inject_command_buffer_error(uint64_t nth, uint64_t code) {
    pthread_once(&environment_once, load_environment);
    __atomic_store_n(&command_buffer_code, code, __ATOMIC_RELAXED);
    arm(&command_buffer_countdown, nth);
}

void smtl_inject_device_loss(uint64_t nth) { arm(&device_countdown, nth); }

void smtl_clear_injections(void) {
    arm(&allocation_countdown, 0);
    arm(&compile_countdown, 0);
    arm(&command_buffer_countdown, 0);
    arm(&device_countdown, 0);
    __atomic_store_n(&device_lost, false, __ATOMIC_RELEASE);
}
