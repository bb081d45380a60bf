#include "SMTLFault.h"

#import <Metal/MTLCommandBuffer.h>
#include <SoftwareMetal/SoftwareMetal.h>
#include <pthread.h>
#include <stdlib.h>

#include "SMTLConfig.h"

/* Events left until each fault strikes; 0 is off. */
static uint64_t allocation_countdown;
static uint64_t compile_countdown;
static uint64_t command_buffer_countdown;
static uint64_t command_buffer_code;
static uint64_t device_countdown;
static bool device_lost;

static pthread_once_t environment_once = PTHREAD_ONCE_INIT;

/* Of the form n or n:code; anything else arms nothing. */
static void load_command_buffer_fault(const char *text) {
    uint64_t nth = 0, code = MTLCommandBufferErrorInternal;
    const char *rest = text == NULL ? NULL : smtl_read_number(text, &nth);
    if (rest != NULL && *rest == ':') {
        rest = smtl_read_number(rest + 1, &code);
    }
    if (rest != NULL && *rest == '\0' && code != 0) {
        command_buffer_countdown = nth;
        command_buffer_code = code;
    }
}

static void load_environment(void) {
    allocation_countdown = smtl_environment_number("SOFTWARE_METAL_FAIL_ALLOCATION", 0);
    compile_countdown = smtl_environment_number("SOFTWARE_METAL_FAIL_COMPILE", 0);
    device_countdown = smtl_environment_number("SOFTWARE_METAL_LOSE_DEVICE", 0);
    load_command_buffer_fault(getenv("SOFTWARE_METAL_FAIL_COMMAND_BUFFER"));
}

/* Counts one event; true exactly once, for the event that brings the countdown to zero. */
static bool strikes(uint64_t *countdown) {
    uint64_t left = __atomic_load_n(countdown, __ATOMIC_RELAXED);
    while (left != 0) {
        if (__atomic_compare_exchange_n(countdown, &left, left - 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            return left == 1;
        }
    }
    return false;
}

static void arm(uint64_t *countdown, uint64_t nth) {
    pthread_once(&environment_once, load_environment);
    __atomic_store_n(countdown, nth, __ATOMIC_RELEASE);
}

bool smtl_fault_strikes_allocation(void) {
    pthread_once(&environment_once, load_environment);
    return __atomic_load_n(&device_lost, __ATOMIC_ACQUIRE) || strikes(&allocation_countdown);
}

bool smtl_fault_strikes_compile(void) {
    pthread_once(&environment_once, load_environment);
    return strikes(&compile_countdown);
}

uint64_t smtl_fault_strikes_command_buffer(void) {
    pthread_once(&environment_once, load_environment);
    if (strikes(&device_countdown)) {
        __atomic_store_n(&device_lost, true, __ATOMIC_RELEASE);
    }
    if (__atomic_load_n(&device_lost, __ATOMIC_ACQUIRE)) {
        return MTLCommandBufferErrorDeviceRemoved;
    }
    return strikes(&command_buffer_countdown) ? __atomic_load_n(&command_buffer_code, __ATOMIC_RELAXED) : 0;
}

void smtl_fault_fail_allocation(uint64_t nth) { arm(&allocation_countdown, nth); }

void smtl_fault_fail_compile(uint64_t nth) { arm(&compile_countdown, nth); }

void smtl_fault_fail_command_buffer(uint64_t nth, uint64_t code) {
    pthread_once(&environment_once, load_environment);
    __atomic_store_n(&command_buffer_code, code, __ATOMIC_RELAXED);
    arm(&command_buffer_countdown, nth);
}

void smtl_fault_lose_device(uint64_t nth) { arm(&device_countdown, nth); }

void smtl_fault_reset(void) {
    arm(&allocation_countdown, 0);
    arm(&compile_countdown, 0);
    arm(&command_buffer_countdown, 0);
    arm(&device_countdown, 0);
    __atomic_store_n(&device_lost, false, __ATOMIC_RELEASE);
}
