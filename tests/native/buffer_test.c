#include "harness.h"

#include <stdlib.h>
#include <sys/mman.h>

static void storage_modes_differ(void) {
    static const struct {
        mtb_storage_mode mode;
        bool is_visible;
    } modes[] = {{MTB_STORAGE_SHARED, true}, {MTB_STORAGE_MANAGED, true}, {MTB_STORAGE_PRIVATE, false}};
    for (size_t i = 0; i < 3; i++) {
        mtb_buffer *buffer;
        MAKE(buffer, mtb_buffer_create(shared.device, 1000, modes[i].mode, &error));
        CHECK(mtb_buffer_length(buffer) == 1000);
        CHECK(mtb_buffer_storage_mode(buffer) == modes[i].mode);
        CHECK((mtb_buffer_contents(buffer) != NULL) == modes[i].is_visible);
        CHECK(mtb_buffer_gpu_address(buffer) != 0);
        mtb_buffer_release(buffer);
    }
}

static void bytes_are_copied(void) {
    char bytes[] = "from the caller";
    mtb_buffer *buffer;
    MAKE(buffer, mtb_buffer_create_with_bytes(shared.device, bytes, sizeof bytes, MTB_STORAGE_SHARED, &error));
    bytes[0] = 'F';
    CHECK(strcmp(mtb_buffer_contents(buffer), "from the caller") == 0);
    mtb_buffer_release(buffer);
}

static void new_buffers_are_checked(void) {
    mtb_device_info info;
    mtb_device_get_info(shared.device, &info);
    char byte = 0;
    CHECK_FAILS(mtb_buffer_create(NULL, 4, MTB_STORAGE_SHARED, &error), MTB_INVALID_ARGUMENT, "`device` is NULL");
    CHECK_FAILS(mtb_buffer_create(shared.device, 0, MTB_STORAGE_SHARED, &error), MTB_INVALID_ARGUMENT,
                "at least 1 byte");
    CHECK_FAILS(mtb_buffer_create(shared.device, 4, (mtb_storage_mode)3, &error), MTB_INVALID_ARGUMENT, "mode 3");
    CHECK_FAILS(mtb_buffer_create(shared.device, info.max_buffer_length + 1, MTB_STORAGE_SHARED, &error),
                MTB_OUT_OF_RANGE, "largest");
    CHECK_FAILS(mtb_buffer_create(shared.device, SIZE_MAX, MTB_STORAGE_PRIVATE, &error), MTB_OUT_OF_RANGE, "largest");
    CHECK_FAILS(mtb_buffer_create_with_bytes(shared.device, NULL, 4, MTB_STORAGE_SHARED, &error), MTB_INVALID_ARGUMENT,
                "`bytes` is NULL");
    CHECK_FAILS(mtb_buffer_create_with_bytes(shared.device, &byte, 1, MTB_STORAGE_PRIVATE, &error),
                MTB_INVALID_ARGUMENT, "private");
}

typedef struct {
    void *bytes;
    size_t length;
    int calls;
} deallocation;

static void deallocate(void *bytes, size_t length, void *context) {
    deallocation *record = context;
    record->bytes = bytes;
    record->length = length;
    record->calls++;
}

static void *map_page(void) {
    void *page = mmap(NULL, mtb_page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    CHECK(page != MAP_FAILED);
    return page;
}

static void no_copy_uses_and_returns_the_memory(void) {
    deallocation record = {0};
    void *page = map_page();
    mtb_buffer *buffer, *copy = make_buffer(mtb_page_size());
    mtb_blit_encoder *blit;
    MAKE(buffer, mtb_buffer_create_no_copy(shared.device, page, mtb_page_size(), MTB_STORAGE_SHARED, deallocate,
                                           &record, &error));
    CHECK(mtb_buffer_contents(buffer) == page);
    strcpy(page, "the caller's page");
    mtb_command_buffer *command_buffer = make_command_buffer();
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_OK(mtb_blit_encoder_copy(blit, buffer, 0, copy, 0, mtb_page_size(), &error));
    mtb_blit_encoder_release(blit);
    /* The command buffer still uses it. */
    mtb_buffer_release(buffer);
    CHECK(record.calls == 0);
    run(command_buffer);
    CHECK(record.calls == 1 && record.bytes == page && record.length == mtb_page_size());
    CHECK(strcmp(mtb_buffer_contents(copy), "the caller's page") == 0);
    mtb_buffer_release(copy);
    munmap(page, mtb_page_size());
}

static void no_copy_without_a_deallocator(void) {
    void *page = map_page();
    mtb_buffer *buffer;
    MAKE(buffer,
         mtb_buffer_create_no_copy(shared.device, page, mtb_page_size(), MTB_STORAGE_SHARED, NULL, NULL, &error));
    mtb_buffer_release(buffer);
    munmap(page, mtb_page_size());
}

static void no_copy_is_checked(void) {
    deallocation record = {0};
    char *page = map_page();
    size_t size = mtb_page_size();
    CHECK_FAILS(mtb_buffer_create_no_copy(shared.device, NULL, size, MTB_STORAGE_SHARED, deallocate, &record, &error),
                MTB_INVALID_ARGUMENT, "`bytes` is NULL");
    CHECK_FAILS(
        mtb_buffer_create_no_copy(shared.device, page + 16, size, MTB_STORAGE_SHARED, deallocate, &record, &error),
        MTB_MISALIGNED, "address");
    CHECK_FAILS(
        mtb_buffer_create_no_copy(shared.device, page, size - 16, MTB_STORAGE_SHARED, deallocate, &record, &error),
        MTB_MISALIGNED, "length");
    CHECK_FAILS(mtb_buffer_create_no_copy(shared.device, page, size, MTB_STORAGE_PRIVATE, deallocate, &record, &error),
                MTB_INVALID_ARGUMENT, "private");
    CHECK(record.calls == 0);
    munmap(page, size);
}

static void labels_come_back(void) {
    mtb_buffer *buffer = make_buffer(4);
    CHECK(mtb_buffer_copy_label(buffer) == NULL);
    CHECK_OK(mtb_buffer_set_label(buffer, "Gewichte für Q", &error));
    char *label = mtb_buffer_copy_label(buffer);
    CHECK(label && strcmp(label, "Gewichte für Q") == 0);
    mtb_string_free(label);
    CHECK_FAILS(mtb_buffer_set_label(buffer, "\xff\xfe", &error), MTB_INVALID_ARGUMENT, "not UTF-8");
    CHECK_OK(mtb_buffer_set_label(buffer, NULL, &error));
    CHECK(mtb_buffer_copy_label(buffer) == NULL);
    CHECK_FAILS(mtb_buffer_set_label(NULL, "x", &error), MTB_INVALID_ARGUMENT, "`buffer` is NULL");
    mtb_buffer_release(buffer);
}

/* What the CPU writes to a managed buffer reaches the GPU by didModifyRange. What the GPU writes comes back by
 * synchronizeResource. */
static void managed_buffers_have_two_sides(void) {
    mtb_buffer *managed, *copy = make_buffer(8);
    mtb_blit_encoder *blit;
    MAKE(managed, mtb_buffer_create(shared.device, 8, MTB_STORAGE_MANAGED, &error));
    memcpy(mtb_buffer_contents(managed), "written", 8);
    CHECK_OK(mtb_buffer_did_modify_range(managed, 0, 8, &error));
    mtb_command_buffer *command_buffer = make_command_buffer();
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_OK(mtb_blit_encoder_copy(blit, managed, 0, copy, 0, 8, &error));
    CHECK_OK(mtb_blit_encoder_fill(blit, managed, 4, 4, 'x', &error));
    CHECK_OK(mtb_blit_encoder_synchronize(blit, managed, &error));
    CHECK_OK(mtb_blit_encoder_synchronize(blit, copy, &error));
    mtb_blit_encoder_release(blit);
    run(command_buffer);
    CHECK(memcmp(mtb_buffer_contents(copy), "written", 8) == 0);
    CHECK(memcmp(mtb_buffer_contents(managed), "writxxxx", 8) == 0);
    CHECK_OK(mtb_buffer_did_modify_range(copy, 0, 8, &error));
    CHECK_FAILS(mtb_buffer_did_modify_range(managed, 5, 4, &error), MTB_OUT_OF_RANGE, "4 bytes at offset 5");
    CHECK_FAILS(mtb_buffer_did_modify_range(managed, 4, SIZE_MAX - 2, &error), MTB_OUT_OF_RANGE, "offset 4");
    CHECK_FAILS(mtb_buffer_did_modify_range(managed, 0, 0, &error), MTB_INVALID_ARGUMENT, "empty");
    mtb_buffer_release(managed);
    mtb_buffer_release(copy);
    MAKE(managed, mtb_buffer_create(shared.device, 8, MTB_STORAGE_PRIVATE, &error));
    CHECK_FAILS(mtb_buffer_did_modify_range(managed, 0, 8, &error), MTB_INVALID_ARGUMENT, "private");
    mtb_buffer_release(managed);
}

const test buffer_tests[] = {
    {"storage modes differ", storage_modes_differ},
    {"bytes are copied", bytes_are_copied},
    {"new buffers are checked", new_buffers_are_checked},
    {"no copy uses and returns the memory", no_copy_uses_and_returns_the_memory},
    {"no copy without a deallocator", no_copy_without_a_deallocator},
    {"no copy is checked", no_copy_is_checked},
    {"labels come back", labels_come_back},
    {"managed buffers have two sides", managed_buffers_have_two_sides},
    {NULL, NULL},
};
