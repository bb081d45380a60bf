#include "harness.h"

#include "core/handles.h"

static void default_device_describes_itself(void) {
    mtb_device_info info;
    mtb_device_get_info(shared.device, &info);
    CHECK(strlen(info.name) > 0);
    CHECK(info.registry_id != 0);
    CHECK(info.max_buffer_length >= 1 << 20);
    CHECK(info.recommended_max_working_set_size > 0);
    CHECK(info.max_threadgroup_memory_length >= 16384);
    CHECK(info.max_threads_per_threadgroup.width >= 512);
    CHECK(info.max_threads_per_threadgroup.depth >= 64);
    CHECK(mtb_device_supports_family(shared.device, MTB_FAMILY_COMMON1));
    CHECK(!mtb_device_supports_family(shared.device, 999));
}

static void devices_are_found_by_index(void) {
    size_t count = mtb_device_count();
    CHECK(count >= 1);
    for (size_t i = 0; i < count; i++) {
        mtb_device *device;
        MAKE(device, mtb_device_create_at(i, &error));
        mtb_device_release(device);
    }
    CHECK_FAILS(mtb_device_create_at(count, &error), MTB_NO_DEVICE, "there is no device");
    CHECK_FAILS(mtb_device_create_at(SIZE_MAX, &error), MTB_NO_DEVICE, "there is no device");
}

static void devices_say_where_they_are(void) {
    for (size_t i = 0; i < mtb_device_count(); i++) {
        mtb_device *device;
        MAKE(device, mtb_device_create_at(i, &error));
        mtb_device_info info;
        mtb_device_position position;
        mtb_device_get_info(device, &info);
        memset(&position, 0xff, sizeof position);
        mtb_device_get_position(device, &position);
        CHECK(position.peer_group_id == mtb_device_peer_group_id(device));
        CHECK(position.peer_group_id != 0 ? position.peer_index < position.peer_count
                                          : position.peer_index == 0 && position.peer_count == 0);
        CHECK(position.location <= MTB_LOCATION_UNSPECIFIED);
        if (info.has_unified_memory)
            CHECK(position.location == MTB_LOCATION_BUILT_IN && position.max_transfer_rate == 0);
        mtb_device_release(device);
    }
}

static void two_handles_of_a_device_are_one_device(void) {
    mtb_device *other;
    mtb_buffer *from, *to;
    mtb_blit_encoder *blit;
    MAKE(other, mtb_device_create_default(&error));
    CHECK(other != shared.device);
    MAKE(from, mtb_buffer_create(other, 16, MTB_STORAGE_SHARED, &error));
    to = make_buffer(16);
    CHECK(mtb_buffer_device_id(from) == mtb_buffer_device_id(to));
    memcpy(mtb_buffer_contents(from), "another device's", 16);
    mtb_command_buffer *command_buffer = make_command_buffer();
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_OK(mtb_blit_encoder_copy(blit, from, 0, to, 0, 16, &error));
    mtb_blit_encoder_release(blit);
    run(command_buffer);
    CHECK(memcmp(mtb_buffer_contents(to), "another device's", 16) == 0);
    mtb_buffer_release(from);
    mtb_buffer_release(to);
    mtb_device_release(other);
}

static void allocated_size_follows_buffers(void) {
    uint64_t before = mtb_device_current_allocated_size(shared.device);
    mtb_buffer *buffer = make_buffer(1 << 20);
    CHECK(mtb_device_current_allocated_size(shared.device) >= before + (1 << 20));
    mtb_buffer_release(buffer);
    CHECK(mtb_device_current_allocated_size(shared.device) == before);
}

static void null_handles_have_harmless_getters(void) {
    mtb_device_info info;
    mtb_device_get_info(NULL, &info);
    CHECK(info.name == NULL && info.registry_id == 0);
    mtb_device_get_info(shared.device, NULL);
    CHECK(!mtb_device_supports_family(NULL, MTB_FAMILY_COMMON1));
    CHECK(mtb_device_current_allocated_size(NULL) == 0);
    CHECK(mtb_device_peer_group_id(NULL) == 0);
    mtb_device_position position;
    memset(&position, 0xff, sizeof position);
    mtb_device_get_position(NULL, &position);
    CHECK(position.peer_group_id == 0 && position.peer_index == 0 && position.peer_count == 0);
    CHECK(position.location == MTB_LOCATION_BUILT_IN && position.location_number == 0);
    CHECK(position.max_transfer_rate == 0);
    mtb_device_get_position(shared.device, NULL);
    CHECK(mtb_buffer_length(NULL) == 0 && mtb_buffer_contents(NULL) == NULL && mtb_buffer_copy_label(NULL) == NULL);
    CHECK(mtb_buffer_gpu_address(NULL) == 0 && mtb_buffer_device_id(NULL) == 0);
    CHECK(mtb_library_function_count(NULL) == 0 && mtb_library_function_name(NULL, 0) == NULL);
    CHECK(mtb_library_warnings(NULL) == NULL && mtb_function_name(NULL) == NULL);
    CHECK(mtb_pipeline_argument_count(NULL) == 0 && mtb_pipeline_max_total_threads_per_threadgroup(NULL) == 0);
    CHECK(mtb_command_queue_copy_label(NULL) == NULL && mtb_command_buffer_copy_label(NULL) == NULL);
    CHECK(mtb_command_buffer_get_status(NULL) == MTB_COMMAND_BUFFER_NOT_ENQUEUED);
    CHECK(mtb_command_buffer_copy_error(NULL) == NULL && mtb_command_buffer_get_times(NULL).gpu_end == 0);
    CHECK(mtb_event_signaled_value(NULL) == 0 && mtb_event_copy_label(NULL) == NULL);
    CHECK(mtb_error_status(NULL) == MTB_OK && mtb_error_message(NULL) == NULL && mtb_error_code(NULL) == 0);
    CHECK(mtb_device_retain(NULL) == NULL);
    mtb_error_release(NULL);
    mtb_device_release(NULL);
    mtb_buffer_release(NULL);
    mtb_command_queue_release(NULL);
    mtb_command_buffer_release(NULL);
    mtb_compute_encoder_release(NULL);
    mtb_blit_encoder_release(NULL);
    mtb_library_release(NULL);
    mtb_function_release(NULL);
    mtb_constant_values_release(NULL);
    mtb_pipeline_release(NULL);
    mtb_event_release(NULL);
    mtb_string_free(NULL);
}

/* The count is set as if `retain` had been called that often. If the count wrapped, the next release would free the
 * handle. */
static void references_never_wrap(void) {
    mtb_buffer *buffer = make_buffer(4);
    atomic_size_t *references = &((mtbi_handle *)buffer)->references;
    uint64_t live = mtb_live_handles(MTB_HANDLE_BUFFER);
    atomic_store(references, SIZE_MAX);
    mtb_buffer_retain(buffer);
    mtb_buffer_retain(buffer);
    mtb_buffer_release(buffer);
    CHECK(mtb_live_handles(MTB_HANDLE_BUFFER) == live);
    if (mtb_live_handles(MTB_HANDLE_BUFFER) < live) return;
    for (int i = 0; i < 10; i++) mtb_buffer_release(buffer);
    CHECK(mtb_live_handles(MTB_HANDLE_BUFFER) == live && mtb_buffer_length(buffer) == 4);
    atomic_store(references, 1);
    mtb_buffer_release(buffer);
}

static void counts_follow_handles(void) {
    uint64_t live = mtb_live_handles(MTB_HANDLE_BUFFER), made = mtb_made_handles(MTB_HANDLE_BUFFER);
    mtb_buffer *buffer = make_buffer(4);
    CHECK(mtb_live_handles(MTB_HANDLE_BUFFER) == live + 1);
    mtb_buffer_retain(buffer);
    CHECK(mtb_live_handles(MTB_HANDLE_BUFFER) == live + 1);
    mtb_buffer_release(buffer);
    CHECK(mtb_live_handles(MTB_HANDLE_BUFFER) == live + 1);
    mtb_buffer_release(buffer);
    CHECK(mtb_live_handles(MTB_HANDLE_BUFFER) == live);
    CHECK(mtb_made_handles(MTB_HANDLE_BUFFER) == made + 1);
    CHECK(mtb_live_handles((mtb_handle_kind)MTB_HANDLE_KIND_COUNT) == 0);
    CHECK(strcmp(mtb_handle_kind_name(MTB_HANDLE_EVENT), "event") == 0);
    CHECK(strcmp(mtb_handle_kind_name((mtb_handle_kind)99), "unknown") == 0);
}

static void every_status_has_a_name(void) {
    for (unsigned status = MTB_OK; status <= MTB_DEADLOCK; status++)
        CHECK(strcmp(mtb_status_name((mtb_status)status), "unknown status") != 0);
    CHECK(strcmp(mtb_status_name((mtb_status)(MTB_DEADLOCK + 1)), "unknown status") == 0);
    CHECK(mtb_abi_version() == MTB_ABI_VERSION);
}

static void errors_say_what_and_where(void) {
    mtb_error *error = NULL;
    CHECK(mtb_buffer_create(shared.device, 0, MTB_STORAGE_SHARED, &error) == NULL);
    CHECK(strcmp(mtb_error_function(error), "mtb_buffer_create") == 0);
    CHECK(strcmp(mtb_error_domain(error), "metal_bridge") == 0);
    CHECK(strcmp(mtb_error_message(error), "a buffer needs at least 1 byte") == 0);
    CHECK(mtb_error_code(error) == 0);
    mtb_error_release(error);
    /* A caller that wants no error still has the result. */
    CHECK(mtb_buffer_create(shared.device, 0, MTB_STORAGE_SHARED, NULL) == NULL);
    /* An error left over from an earlier call is overwritten by success. */
    error = (mtb_error *)(uintptr_t)1;
    mtb_buffer *buffer = mtb_buffer_create(shared.device, 1, MTB_STORAGE_SHARED, &error);
    CHECK(error == NULL);
    mtb_buffer_release(buffer);
}

const test device_tests[] = {
    {"default device describes itself", default_device_describes_itself},
    {"devices are found by index", devices_are_found_by_index},
    {"devices say where they are", devices_say_where_they_are},
    {"two handles of a device are one device", two_handles_of_a_device_are_one_device},
    {"allocated size follows buffers", allocated_size_follows_buffers},
    {"null handles have harmless getters", null_handles_have_harmless_getters},
    {"device: references never wrap", references_never_wrap},
    {"counts follow handles", counts_follow_handles},
    {"every status has a name", every_status_has_a_name},
    {"errors say what and where", errors_say_what_and_where},
    {NULL, NULL},
};
