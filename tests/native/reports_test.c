#include "harness.h"

#include <stdlib.h>

/* Launches a kernel that reads two buffers which nobody has written. */
static void add_unwritten_buffers(void) {
    enum {
        COUNT = 64
    };
    mtb_pipeline *pipeline = make_pipeline("add");
    mtb_buffer *buffers[3];
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_compute_encoder *encoder;
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, pipeline, &error));
    for (size_t i = 0; i < 3; i++) {
        MAKE(buffers[i], mtb_buffer_create(shared.device, COUNT * sizeof(float), MTB_STORAGE_SHARED, &error));
        CHECK_OK(mtb_compute_encoder_set_buffer(encoder, buffers[i], 0, i, &error));
    }
    CHECK_OK(mtb_buffer_set_label(buffers[0], "unwritten", &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, (mtb_size){COUNT, 1, 1}, (mtb_size){32, 1, 1}, &error));
    CHECK_OK(mtb_compute_encoder_end(encoder, &error));
    run(command_buffer);
    mtb_compute_encoder_release(encoder);
    for (size_t i = 0; i < 3; i++) mtb_buffer_release(buffers[i]);
    mtb_pipeline_release(pipeline);
}

static void check_report(const mtb_report *report) {
    CHECK(report->kind == MTB_REPORT_UNINITIALIZED);
    CHECK(strcmp(report->object, "unwritten") == 0 && report->argument_index == 0);
    CHECK(report->offset == 0 && report->length == 256 && report->occurrences == 128);
    CHECK(strstr(report->summary, "read of 4 bytes") && strstr(report->text, report->summary));
    const mtb_reported_access *access = &report->access;
    CHECK(strcmp(access->kernel, "add") == 0 && strcmp(access->function, "add") == 0);
    CHECK(strcmp(access->file, "program_source") == 0 && access->line == 6);
    CHECK(!access->is_write && !access->is_atomic && !access->is_whole_simdgroup && access->size == 4);
    CHECK(access->thread_position_in_grid.width == 0 && access->threadgroup_position_in_grid.depth == 0);
    CHECK(!report->has_earlier);
}

/* Runs with and without SOFTWARE_METAL_SANITIZE. */
static void what_the_sanitizer_finds_can_be_read(void) {
    /* Nobody has asked for a profile. */
    CHECK(getenv("SOFTWARE_METAL_PROFILE") != NULL || mtb_profile_copy() == NULL);
    mtb_reports_clear();
    add_unwritten_buffers();
    const bool checked = (mtb_sanitizer_checks() & MTB_SANITIZE_UNINITIALIZED) != 0;
    /* Two reads of 64 threads each, on one line, are one report. */
    CHECK(mtb_report_count() == (checked ? 1u : 0u));
    mtb_report *report = mtb_report_copy(0);
    CHECK((report != NULL) == checked);
    CHECK(mtb_report_copy(1) == NULL && mtb_report_copy(SIZE_MAX) == NULL);
    mtb_reports_clear();
    CHECK(mtb_report_count() == 0 && mtb_report_copy(0) == NULL);
    /* A copy belongs to the caller and survives clearing. */
    if (report) check_report(report);
    mtb_report_free(report);
    mtb_report_free(NULL);
}

const test report_tests[] = {
    {"reports: what the sanitizer finds can be read", what_the_sanitizer_finds_can_be_read},
    {NULL, NULL},
};
