/* Devices, buffers, libraries, queues, command buffers and events. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *any_text(void) {
    static const char *const texts[] = {"x", "", "\xc3\xa9\xf0\x9f\xa6\x80", "first", "shared"};
    return texts[below(5)];
}

/* A label, or what cannot be one. */
static const char *any_label(verdict *v) {
    bool is_text = !one_in(8);
    refuse_if(v, !is_text, MTB_INVALID_ARGUMENT);
    return is_text ? one_in(4) ? NULL : any_text() : "\xff\xfe";
}

static void ask_devices(void) {
    int number;
    device_model *device = pick_device(&number);
    mtb_device_info info;
    mtb_device_get_info(HANDLE(device), &info);
    mtb_device_supports_family(HANDLE(device), (int64_t)any_size());
    mtb_device_current_allocated_size(HANDLE(device));
    mtb_device_position position;
    mtb_device_get_position(HANDLE(device), &position);
    if (mtb_device_peer_group_id(HANDLE(device)) != position.peer_group_id) abort();
    mtb_device_supports_residency_sets(HANDLE(device));
    if (!device && info.name) abort();
    verdict v = {0};
    size_t index = any_size();
    refuse_if(&v, index >= mtb_device_count(), MTB_NO_DEVICE);
    mtb_device_release(MAKE(&v, mtb_device_create_at, index));
    mtb_device_release(mtb_device_retain(HANDLE(device)));
    mtb_device_release(MAKE((&(verdict){0}), mtb_device_create_default));
}

static void ask_numbers(void) {
    uint32_t number = any_enumerator(20);
    if (!mtb_handle_kind_name((mtb_handle_kind)number) || !mtb_status_name((mtb_status)number) ||
        !mtb_transfer_kind_name((mtb_transfer_kind)number) || mtb_abi_version() != MTB_ABI_VERSION ||
        mtb_made_handles((mtb_handle_kind)number) < mtb_live_handles((mtb_handle_kind)number) ||
        mtb_process_is_forked())
        abort();
    mtb_string_free(NULL);
    mtb_error_release(NULL);
    mtb_error_status(NULL), mtb_error_code(NULL), mtb_error_domain(NULL);
    mtb_sanitizer_checks(), mtb_report_count(), mtb_reports_clear();
    mtb_report_free(mtb_report_copy(any_size()));
    mtb_string_free(mtb_profile_copy());
}

static verdict new_buffer_verdict(const device_model *device, size_t length, uint32_t mode) {
    verdict v = {0};
    refuse_if(&v, !device || mode > MTB_STORAGE_PRIVATE || length == 0, MTB_INVALID_ARGUMENT);
    refuse_if(&v, device && length > device->info.max_buffer_length, MTB_OUT_OF_RANGE);
    /* A machine may have less memory than the device allows for a buffer. */
    if (length > 1 << 20) possibly(&v, MTB_OUT_OF_MEMORY);
    return v;
}

void add_buffer(mtb_buffer *handle, int device, size_t length, uint32_t mode) {
    if (handle) ADD(all.buffers, (buffer_model){handle, device, length, (mtb_storage_mode)mode});
}

static void make_buffer(void) {
    int number;
    device_model *device = pick_device(&number);
    size_t length = any_size();
    uint32_t mode = any_enumerator(3);
    if (IS_FULL(all.buffers) || (length > 1 << 20 && length <= all.devices[number].info.max_buffer_length)) return;
    verdict v = new_buffer_verdict(device, length, mode);
    add_buffer(MAKE(&v, mtb_buffer_create, HANDLE(device), length, (mtb_storage_mode)mode), number, length, mode);
}

static void make_buffer_with_bytes(void) {
    int number;
    device_model *device = pick_device(&number);
    size_t length = below(1024);
    uint32_t mode = any_enumerator(3);
    const void *bytes = one_in(8) ? NULL : all.host;
    if (IS_FULL(all.buffers)) return;
    verdict v = new_buffer_verdict(device, length, mode);
    refuse_if(&v, !bytes || mode == MTB_STORAGE_PRIVATE, MTB_INVALID_ARGUMENT);
    add_buffer(MAKE(&v, mtb_buffer_create_with_bytes, HANDLE(device), bytes, length, (mtb_storage_mode)mode), number,
               length, mode);
}

static void free_pages(void *bytes, size_t length, void *context) {
    (void)length;
    free(bytes);
    destroy_context(context);
}

static void make_buffer_without_copy(void) {
    int number;
    device_model *device = pick_device(&number);
    size_t page = mtb_page_size(), length = one_in(4) ? any_size() : page * below(3), odd = one_in(8) ? 4 : 0;
    uint32_t mode = any_enumerator(3);
    if (IS_FULL(all.buffers)) return;
    verdict v = new_buffer_verdict(device, length, mode);
    char *bytes = one_in(16) ? NULL : aligned_alloc(page, 2 * page);
    refuse_if(&v, !bytes || mode == MTB_STORAGE_PRIVATE, MTB_INVALID_ARGUMENT);
    refuse_if(&v, length % page != 0 || odd, MTB_MISALIGNED);
    void *context = new_context();
    mtb_buffer *buffer = NULL;
    /* A call that is not refused uses the memory, so the memory must be as long as it says. */
    if (!is_valid(&v) || length <= 2 * page)
        buffer = MAKE(&v, mtb_buffer_create_no_copy, HANDLE(device), bytes ? bytes + odd : NULL, length,
                      (mtb_storage_mode)mode, free_pages, context);
    /* If the call fails, the caller still owns the memory and the context. */
    if (!buffer) free_pages(bytes, length, context);
    add_buffer(buffer, number, length, mode);
}

static void use_buffer(void) {
    buffer_model *buffer = PICK(all.buffers);
    mtb_buffer *handle = HANDLE(buffer);
    size_t offset = any_size(), length = any_size();
    verdict v = {0};
    refuse_if(&v, !buffer || buffer->mode == MTB_STORAGE_PRIVATE || length == 0, MTB_INVALID_ARGUMENT);
    refuse_if(&v, buffer && length && (offset > buffer->length || length > buffer->length - offset), MTB_OUT_OF_RANGE);
    CALL(&v, mtb_buffer_did_modify_range, handle, offset, length);
    v = (verdict){0};
    refuse_if(&v, !buffer, MTB_INVALID_ARGUMENT);
    const char *label = any_label(&v);
    CALL(&v, mtb_buffer_set_label, handle, label);
    mtb_string_free(mtb_buffer_copy_label(handle));
    mtb_buffer_gpu_address(handle), mtb_buffer_device_id(handle);
    bool is_seen = mtb_buffer_contents(handle) != NULL;
    if (mtb_buffer_length(handle) != (buffer ? buffer->length : 0) ||
        (buffer &&
         (mtb_buffer_storage_mode(handle) != buffer->mode || is_seen != (buffer->mode != MTB_STORAGE_PRIVATE))))
        abort();
    mtb_buffer_release(mtb_buffer_retain(handle));
}

static void release_buffer(void) {
    buffer_model *buffer = PICK(all.buffers);
    mtb_buffer_release(HANDLE(buffer));
    if (buffer) REMOVE(all.buffers, buffer);
}

static void use_library(void) {
    int number;
    device_model *device = pick_device(&number);
    mtb_library *library = device ? device->library : NULL;
    mtb_library_release(mtb_library_retain(library));
    mtb_library_warnings(library);
    mtb_library_function_name(library, any_size());
    if (mtb_library_function_count(library) != (device ? 4 : 0)) abort();
    const char *name = one_in(8) ? NULL : any_text();
    verdict v = {0};
    refuse_if(&v, !library || !name, MTB_INVALID_ARGUMENT);
    refuse_if(&v, name && strcmp(name, "first") != 0 && strcmp(name, "shared") != 0, MTB_NOT_FOUND);
    mtb_function *function = MAKE(&v, mtb_function_create, library, name, NULL);
    mtb_function_name(function);
    mtb_function_release(mtb_function_retain(function));
    v = (verdict){0};
    refuse_if(&v, !function, MTB_INVALID_ARGUMENT);
    mtb_pipeline_release(MAKE(&v, mtb_pipeline_create, function));
    mtb_function_release(function);
    mtb_pipeline *pipeline = device ? device->pipelines[below(PIPELINES)] : NULL;
    mtb_argument argument;
    if (mtb_pipeline_get_argument(pipeline, any_size(), &argument) && !pipeline) abort();
    mtb_pipeline_thread_execution_width(pipeline), mtb_pipeline_max_total_threads_per_threadgroup(pipeline);
    mtb_pipeline_static_threadgroup_memory_length(pipeline), mtb_pipeline_function_name(pipeline);
    mtb_pipeline_argument_count(pipeline);
    mtb_pipeline_release(mtb_pipeline_retain(pipeline));
}

static void make_bad_library(void) {
    int number;
    device_model *device = pick_device(&number);
    verdict v = {0};
    refuse_if(&v, true, MTB_INVALID_ARGUMENT);
    refuse_if(&v, device, MTB_COMPILE_FAILED);
    refuse_if(&v, device, MTB_NOT_FOUND);
    refuse_if(&v, device, MTB_UNSUPPORTED);
    mtb_compile_options options = {.language_version = (uint32_t)any_size(),
                                   .math_mode = (mtb_math_mode)(4 + below(256))};
    MAKE(&v, mtb_library_create_from_source, HANDLE(device), "kernel", 6, &options);
    MAKE(&v, mtb_library_create_from_source, HANDLE(device), NULL, any_size(), NULL);
    MAKE(&v, mtb_library_create_from_source, HANDLE(device), "\xff", 1, NULL);
    MAKE(&v, mtb_library_create_from_bytes, HANDLE(device), one_in(4) ? NULL : all.host, below(64));
    MAKE(&v, mtb_library_create_from_file, HANDLE(device), one_in(4) ? NULL : "/nowhere");
}

static void set_constants(void) {
    mtb_constant_values *values = one_in(8) ? NULL : MAKE((&(verdict){0}), mtb_constant_values_create);
    uint64_t value[4] = {any_size()};
    size_t index = any_size();
    uint32_t type = below(128);
    const void *given = one_in(8) ? NULL : value;
    verdict v = {0};
    refuse_if(&v, !values || !given, MTB_INVALID_ARGUMENT);
    bool is_type = (type >= 3 && type <= 6) || (type >= 16 && type <= 19) || (type >= 29 && type <= 56) || type == 81 ||
                   type == 85 || type == 121;
    refuse_if(&v, !is_type, MTB_INVALID_ARGUMENT);
    verdict at = v;
    refuse_if(&at, index >= UINT16_MAX, MTB_OUT_OF_RANGE);
    CALL(&at, mtb_constant_values_set_at, values, index, (mtb_data_type)type, given);
    const char *name = one_in(8) ? NULL : "x";
    refuse_if(&v, !name, MTB_INVALID_ARGUMENT);
    CALL(&v, mtb_constant_values_set_named, values, name, (mtb_data_type)type, given);
    mtb_constant_values_release(mtb_constant_values_retain(values));
    mtb_constant_values_release(values);
}

void make_queue(void) {
    int number;
    device_model *device = pick_device(&number);
    size_t count = one_in(4) ? any_size() : below(4);
    if (IS_FULL(all.queues)) return;
    verdict v = {0};
    refuse_if(&v, !device, MTB_INVALID_ARGUMENT);
    refuse_if(&v, count > 65536, MTB_OUT_OF_RANGE);
    mtb_command_queue *queue = MAKE(&v, mtb_command_queue_create, HANDLE(device), count);
    if (queue) ADD(all.queues, (queue_model){queue, number, one_in(2)});
}

static void use_queue(void) {
    queue_model *queue = PICK(all.queues);
    verdict v = {0};
    refuse_if(&v, !queue, MTB_INVALID_ARGUMENT);
    const char *label = any_label(&v);
    CALL(&v, mtb_command_queue_set_label, HANDLE(queue), label);
    mtb_string_free(mtb_command_queue_copy_label(HANDLE(queue)));
    mtb_command_queue_release(mtb_command_queue_retain(HANDLE(queue)));
    if (mtb_command_queue_is_in_callback(HANDLE(queue))) abort();
}

static void release_queue(void) {
    queue_model *queue = PICK(all.queues);
    mtb_command_queue_release(HANDLE(queue));
    if (queue) REMOVE(all.queues, queue);
}

void make_commands(void) {
    queue_model *queue = PICK(all.queues);
    uint32_t references = one_in(16) ? 2 + below(256) : MTB_REFERENCES_RETAINED;
    if (IS_FULL(all.commands)) return;
    verdict v = {0};
    refuse_if(&v, !queue || references > MTB_REFERENCES_UNRETAINED, MTB_INVALID_ARGUMENT);
    /* Committed work may or may not have completed. */
    possibly(&v, MTB_TIMEOUT);
    possibly(&v, MTB_DEADLOCK);
    mtb_command_buffer *handle = MAKE(&v, mtb_command_buffer_create, HANDLE(queue), (mtb_references)references, 0);
    if (!handle) return;
    command_model *commands = calloc(1, sizeof *commands);
    *commands = (command_model){.handle = handle, .device = queue->device, .is_calm = queue->is_calm, .references = 1};
    ADD(all.commands, commands);
}

void drop_commands(command_model *commands) {
    if (--commands->references == 0) free(commands);
}

static command_model *pick_commands(void) {
    command_model **picked = PICK(all.commands);
    return picked ? *picked : NULL;
}

static void use_commands(void) {
    command_model *commands = pick_commands();
    mtb_command_buffer *handle = HANDLE(commands);
    verdict given = {0};
    refuse_if(&given, !commands, MTB_INVALID_ARGUMENT);
    verdict v = given;
    const char *label = any_label(&v);
    CALL(&v, mtb_command_buffer_set_label, handle, label);
    mtb_string_free(mtb_command_buffer_copy_label(handle));
    mtb_command_buffer_release(mtb_command_buffer_retain(handle));
    mtb_error_release(mtb_command_buffer_copy_error(handle));
    mtb_command_buffer_get_times(handle);
    mtb_command_buffer_status status = mtb_command_buffer_get_status(handle);
    if (commands && commands->is_committed != (status >= MTB_COMMAND_BUFFER_COMMITTED)) abort();
    v = given;
    bool has_callback = !one_in(8);
    refuse_if(&v, !has_callback, MTB_INVALID_ARGUMENT);
    refuse_if(&v, commands && commands->is_committed, MTB_INVALID_STATE);
    CALL(&v, mtb_command_buffer_add_completed_callback, handle, has_callback ? note_completion : NULL, new_context(),
         destroy_context);
}

static void enqueue(void) {
    command_model *commands = pick_commands();
    if (commands && commands->is_calm) return;
    verdict v = {0};
    refuse_if(&v, !commands, MTB_INVALID_ARGUMENT);
    refuse_if(&v, commands && (commands->is_committed || commands->is_enqueued), MTB_INVALID_STATE);
    if (CALL(&v, mtb_command_buffer_enqueue, HANDLE(commands))) commands->is_enqueued = true;
}

static void commit_commands(void) {
    command_model *commands = pick_commands();
    verdict v = {0};
    refuse_if(&v, !commands, MTB_INVALID_ARGUMENT);
    refuse_if(&v, commands && (commands->is_committed || commands->is_encoding), MTB_INVALID_STATE);
    if (CALL(&v, mtb_command_buffer_commit, HANDLE(commands))) commands->is_committed = true;
}

static void wait_for_commands(void) {
    command_model *commands = pick_commands();
    verdict v = {0};
    refuse_if(&v, !commands, MTB_INVALID_ARGUMENT);
    refuse_if(&v, commands && !commands->is_committed, MTB_INVALID_STATE);
    possibly(&v, MTB_TIMEOUT);
    if (commands && !commands->is_calm) possibly(&v, MTB_DEADLOCK);
    CALL(&v, mtb_command_buffer_wait_timeout, HANDLE(commands), one_in(2) ? 0 : 1000000);
    /* The work of a calm queue ends. */
    if (!is_valid(&v) || commands->is_calm) {
        v.possible = 0;
        CALL(&v, mtb_command_buffer_wait, HANDLE(commands));
    }
}

static void release_commands(void) {
    command_model **picked = PICK(all.commands);
    mtb_command_buffer_release(picked ? (*picked)->handle : NULL);
    if (!picked) return;
    /* The command buffer can no longer be committed, so the bridge has ended its encoders. */
    for (int i = 0; i < all.encoders.count; i++)
        if (all.encoders.items[i]->commands == *picked) all.encoders.items[i]->has_ended = true;
    drop_commands(*picked);
    REMOVE(all.commands, picked);
}

static void make_event(void) {
    int number;
    device_model *device = pick_device(&number);
    if (IS_FULL(all.events)) return;
    verdict v = {0};
    refuse_if(&v, !device, MTB_INVALID_ARGUMENT);
    mtb_event *event = MAKE(&v, mtb_event_create, HANDLE(device));
    if (event) ADD(all.events, (event_model){event, false, 0});
}

static void use_event(void) {
    event_model *event = PICK(all.events);
    mtb_event *handle = HANDLE(event);
    uint64_t value = any_size();
    verdict given = {0};
    refuse_if(&given, !event, MTB_INVALID_ARGUMENT);
    verdict v = given;
    if (event && event->is_signalled_by_gpu) possibly(&v, MTB_OUT_OF_RANGE);
    refuse_if(&v, event && value < event->value, MTB_OUT_OF_RANGE);
    if (CALL(&v, mtb_event_signal, handle, value)) event->value = value;
    if (mtb_event_signaled_value(handle) < (event ? event->value : 0)) abort();
    v = given;
    const char *label = any_label(&v);
    CALL(&v, mtb_event_set_label, handle, label);
    mtb_string_free(mtb_event_copy_label(handle));
    mtb_event_release(mtb_event_retain(handle));
}

static void wait_for_event(void) {
    event_model *event = PICK(all.events);
    uint64_t value = any_size();
    verdict v = {0};
    refuse_if(&v, !event, MTB_INVALID_ARGUMENT);
    refuse_if(&v, event && value > event->value && !event->is_signalled_by_gpu, MTB_TIMEOUT);
    if (event && event->is_signalled_by_gpu && value > event->value) possibly(&v, MTB_TIMEOUT);
    CALL(&v, mtb_event_wait, HANDLE(event), value, one_in(2) ? 0 : 1000);
    v = (verdict){0};
    bool has_callback = !one_in(8);
    refuse_if(&v, !event || !has_callback, MTB_INVALID_ARGUMENT);
    CALL(&v, mtb_event_notify, HANDLE(event), value, has_callback ? note_event : NULL, new_context(), destroy_context);
}

static void encode_event(void) {
    command_model *commands = pick_commands();
    event_model *event = PICK(all.events);
    uint64_t value = any_size();
    bool signals = one_in(2);
    if (commands && commands->is_calm && !signals) return;
    verdict v = {0};
    refuse_if(&v, !commands || !event, MTB_INVALID_ARGUMENT);
    refuse_if(&v, commands && (commands->is_committed || commands->is_encoding), MTB_INVALID_STATE);
    if (!signals)
        CALL(&v, mtb_command_buffer_encode_wait, HANDLE(commands), HANDLE(event), value);
    else if (CALL(&v, mtb_command_buffer_encode_signal, HANDLE(commands), HANDLE(event), value))
        event->is_signalled_by_gpu = true;
}

/* An event stays for as long as something may wait for it: until the end. */
const action object_actions[] = {
    ask_devices,      ask_numbers,    make_buffer,     make_buffer_with_bytes, make_buffer_without_copy,
    use_buffer,       release_buffer, use_library,     make_bad_library,       set_constants,
    make_queue,       use_queue,      release_queue,   make_commands,          make_commands,
    use_commands,     enqueue,        commit_commands, commit_commands,        wait_for_commands,
    release_commands, make_event,     use_event,       wait_for_event,         encode_event,
};
const uint32_t object_action_count = sizeof object_actions / sizeof *object_actions;
