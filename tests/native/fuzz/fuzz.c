/* Turns libFuzzer's bytes into calls, and checks that nothing is left after each input. */
#include "fuzz.h"

#include "metal_bridge_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

world all;
_Atomic uint64_t contexts_given, contexts_destroyed;

static struct {
    const uint8_t *bytes;
    size_t left;
} input;

static uint8_t next_byte(void) {
    if (input.left == 0) return 0;
    input.left--;
    return *input.bytes++;
}

uint32_t below(uint32_t limit) {
    uint32_t value = next_byte();
    if (limit > 256) value = value << 8 | next_byte();
    return limit ? value % limit : 0;
}

bool one_in(uint32_t times) { return below(times) == times - 1; }

size_t any_size(void) {
    size_t bit = (size_t)1 << below(64), small = below(1024);
    switch (below(8)) {
    case 0: return bit;
    case 1: return bit - 1;
    case 2: return SIZE_MAX - small;
    case 3: return small;
    default: return small & ~(size_t)3;
    }
}

size_t any_offset_in_buffer(void) { return one_in(8) ? any_size() : 4 * (size_t)below(64); }

uint32_t any_enumerator(uint32_t count) { return one_in(16) ? count + below(256) : below(count); }

void refuse_if(verdict *v, bool is_wrong, mtb_status status) {
    if (is_wrong) v->refusals |= UINT32_C(1) << status;
}

void possibly(verdict *v, mtb_status status) { v->possible |= UINT32_C(1) << status; }

bool is_valid(const verdict *v) { return v->refusals == 0; }

static void print_statuses(const char *title, uint32_t bits) {
    for (uint32_t status = 0; status < 32; status++)
        if (bits >> status & 1) {
            fprintf(stderr, "%s %s", title, mtb_status_name((mtb_status)status));
            title = " or";
        }
}

void judge(const verdict *v, mtb_status status, mtb_error *error, const char *function) {
    uint32_t allowed = v->refusals ? v->refusals : v->possible | 1u << MTB_OK;
    bool is_allowed = (uint32_t)status < 32 && allowed >> status & 1;
    bool is_explained = !error || (mtb_error_status(error) == status && strlen(mtb_error_message(error)) > 0 &&
                                   strcmp(mtb_error_function(error), function) == 0);
    if (!is_allowed || !is_explained || (status == MTB_OK && error)) {
        fprintf(stderr, "%s gave %s: %s (%s)\n", function, mtb_status_name(status),
                error ? mtb_error_message(error) : "no message", error ? mtb_error_function(error) : "nowhere");
        print_statuses("the model says", allowed);
        fprintf(stderr, "\n");
        abort();
    }
    mtb_error_release(error);
}

device_model *pick_device(int *number) {
    *number = (int)below((uint32_t)all.device_count);
    return one_in(24) ? NULL : &all.devices[*number];
}

void destroy_context(void *context) {
    free(context);
    contexts_destroyed++;
}

void note_completion(const mtb_completion *completion, void *context) {
    if (++*(int *)context != 1 || completion->status < MTB_COMMAND_BUFFER_COMPLETED) abort();
}

void note_event(uint64_t value, void *context) {
    (void)value;
    if (++*(int *)context != 1) abort();
}

void *new_context(void) {
    contexts_given++;
    return calloc(1, sizeof(int));
}

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void first(device uint *a [[buffer(0)]], constant uint &b [[buffer(1)]], uint i [[thread_position_in_grid]])\n"
    "{ if (i == 0) a[0] += b; }\n"
    "kernel void shared(device uint4 *a [[buffer(2)]], threadgroup uint *t [[threadgroup(0)]],\n"
    "                   uint i [[thread_index_in_threadgroup]])\n"
    "{ if (i == 0) { t[0] = 1; a[0] = t[0]; } }\n"
    "[[visible]] uint twice(uint x) { return 2 * x; }\n"
    "kernel void third(device uint *a [[buffer(0)]], visible_function_table<uint(uint)> table [[buffer(1)]],\n"
    "                  uint i [[thread_position_in_grid]]) { if (i == 0) a[0] = table[0](a[0]); }\n";

static mtb_dynamic_library *make_dynamic_library(mtb_device *device) {
    static const char text[] = "int changed(int x) { return 2 * x; }\n";
    if (!mtb_device_supports_dynamic_libraries(device)) return NULL;
    const mtb_compile_options options = {.library_type = MTB_LIBRARY_DYNAMIC, .install_name = "/changed"};
    mtb_library *library = mtb_library_create_from_source(device, text, strlen(text), &options, NULL);
    mtb_dynamic_library *made = mtb_dynamic_library_create(library, NULL);
    mtb_library_release(library);
    if (!made) abort();
    return made;
}

static void make_device(int number) {
    device_model *device = &all.devices[number];
    static const char *const names[PIPELINES] = {"first", "shared"};
    device->handle = mtb_device_create_at((size_t)number, NULL);
    mtb_device_get_info(device->handle, &device->info);
    device->library = mtb_library_create_from_source(device->handle, source, strlen(source), NULL, NULL);
    device->dynamic = make_dynamic_library(device->handle);
    for (int i = 0; i < PIPELINES; i++) {
        mtb_function *function = mtb_function_create(device->library, names[i], NULL, NULL);
        device->pipelines[i] = mtb_pipeline_create(function, NULL);
        mtb_function_release(function);
        if (!device->pipelines[i]) abort();
    }
}

static void release_everything(void) {
    for (int i = 0; i < all.encoders.count; i++) drop_encoder(all.encoders.items[i]);
    for (int i = 0; i < all.commands.count; i++) {
        mtb_command_buffer_release(all.commands.items[i]->handle);
        drop_commands(all.commands.items[i]);
    }
    /* Those that wait for an event go on. Again and again, since one may signal a smaller value before it waits. */
    for (int i = 0; i < 600000 && mtb_live_handles(MTB_HANDLE_COMMAND_BUFFER) > 0; i++) {
        for (int j = 0; j < all.events.count; j++) mtb_event_signal(all.events.items[j].handle, UINT64_MAX, NULL);
        usleep(100);
    }
    for (int i = 0; i < all.buffers.count; i++) mtb_buffer_release(all.buffers.items[i].handle);
    for (int i = 0; i < all.queues.count; i++) mtb_command_queue_release(all.queues.items[i].handle);
    for (int i = 0; i < all.events.count; i++) mtb_event_release(all.events.items[i].handle);
    end_memory();
    all.encoders.count = all.commands.count = all.buffers.count = all.queues.count = all.events.count = 0;
}

static uint64_t live_handles(void) {
    uint64_t sum = 0;
    for (uint32_t kind = 0; kind < MTB_HANDLE_KIND_COUNT; kind++) sum += mtb_live_handles((mtb_handle_kind)kind);
    return sum;
}

/* What was committed runs to its end and is gone then. */
static void expect_nothing_left(uint64_t handles) {
    for (int i = 0; i < 60000; i++) {
        if (live_handles() == handles && contexts_given == contexts_destroyed) return;
        usleep(1000);
    }
    for (uint32_t kind = 0; kind < MTB_HANDLE_KIND_COUNT; kind++)
        if (mtb_live_handles((mtb_handle_kind)kind))
            fprintf(stderr, "%s: %llu\n", mtb_handle_kind_name((mtb_handle_kind)kind),
                    (unsigned long long)mtb_live_handles((mtb_handle_kind)kind));
    fprintf(stderr, "%llu handles are left of what were %llu before; %llu contexts were destroyed of %llu\n",
            (unsigned long long)live_handles(), (unsigned long long)handles, (unsigned long long)contexts_destroyed,
            (unsigned long long)contexts_given);
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    size_t count = mtb_device_count();
    all.device_count = count < DEVICES ? (int)count : DEVICES;
    for (int i = 0; i < all.device_count; i++) make_device(i);
    return 0;
}

/* Makes one object of every kind on the first device. */
static void populate(void) {
    for (uint32_t mode = 0; mode <= MTB_STORAGE_PRIVATE; mode++)
        add_buffer(mtb_buffer_create(all.devices[0].handle, 512, (mtb_storage_mode)mode, NULL), 0, 512, mode);
    for (int i = 0; i < 2; i++) {
        make_queue();
        make_memory();
        make_transfer();
        make_commands();
        make_encoder();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    uint64_t handles = live_handles();
    input.bytes = bytes;
    input.left = size;
    populate();
    while (input.left > 0) {
        uint32_t kind = below(10);
        if (kind < 4)
            object_actions[below(object_action_count)]();
        else if (kind < 7)
            encoder_actions[below(encoder_action_count)]();
        else if (kind < 8)
            memory_actions[below(memory_action_count)]();
        else if (kind < 9)
            mps_actions[below(mps_action_count)]();
        else if (one_in(2))
            indirect_actions[below(indirect_action_count)]();
        else
            function_actions[below(function_action_count)]();
    }
    release_everything();
    expect_nothing_left(handles);
    return 0;
}
