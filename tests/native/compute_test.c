#include "harness.h"

static const mtb_size one = {1, 1, 1};

static mtb_compute_encoder *make_encoder(mtb_command_buffer *command_buffer, mtb_dispatch_type type) {
    mtb_compute_encoder *encoder;
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, type, &error));
    return encoder;
}

static mtb_buffer *make_floats(size_t count, float first, float step) {
    mtb_buffer *buffer = make_buffer(count * sizeof(float));
    float *values = mtb_buffer_contents(buffer);
    for (size_t i = 0; i < count; i++) values[i] = first + step * (float)i;
    return buffer;
}

static void vectors_are_added(void) {
    enum {
        COUNT = 1000
    };
    mtb_pipeline *pipeline = make_pipeline("add");
    mtb_buffer *a = make_floats(COUNT, 0, 1), *b = make_floats(COUNT, 5, 2), *sum = make_floats(COUNT, 0, 0);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_compute_encoder *encoder = make_encoder(command_buffer, MTB_DISPATCH_SERIAL);
    CHECK_OK(mtb_compute_encoder_set_label(encoder, "addition", &error));
    CHECK_OK(mtb_compute_encoder_push_debug_group(encoder, "one dispatch", &error));
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, pipeline, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, a, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, b, 0, 1, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, sum, 0, 2, &error));
    /* A ragged edge: 1000 is not a multiple of 64. */
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, (mtb_size){COUNT, 1, 1}, (mtb_size){64, 1, 1}, &error));
    CHECK_OK(mtb_compute_encoder_pop_debug_group(encoder, &error));
    CHECK_OK(mtb_compute_encoder_end(encoder, &error));
    run(command_buffer);
    const float *values = mtb_buffer_contents(sum);
    for (int i = 0; i < COUNT; i++) CHECK(values[i] == 5.0f + 3.0f * (float)i);
    mtb_compute_encoder_release(encoder);
    mtb_buffer_release(a);
    mtb_buffer_release(b);
    mtb_buffer_release(sum);
    mtb_pipeline_release(pipeline);
}

/* Each dispatch has what was set when it was encoded, whatever is set, moved or kept between two of them. */
static void every_dispatch_has_its_own_bindings(void) {
    enum {
        COUNT = 16
    };
    mtb_pipeline *line = make_pipeline("line"), *add = make_pipeline("add");
    mtb_buffer *a = make_floats(COUNT, 1, 0), *b = make_floats(COUNT, 1, 0), *sum = make_floats(COUNT, 0, 0);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_compute_encoder *encoder = make_encoder(command_buffer, MTB_DISPATCH_SERIAL);
    const mtb_size half = {COUNT / 2, 1, 1};
    float parameters[2] = {2, 1};
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, line, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, a, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_set_bytes(encoder, parameters, sizeof parameters, 1, &error));
    parameters[0] = 99; /* copied above */
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, half, half, &error)); /* a[0..8] = 3 */
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, half, half, &error)); /* a[0..8] = 7 */
    CHECK_OK(mtb_compute_encoder_set_buffer_offset(encoder, 32, 0, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, half, half, &error)); /* a[8..16] = 3 */
    parameters[0] = 10;
    CHECK_OK(mtb_compute_encoder_set_bytes(encoder, parameters, sizeof parameters, 1, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, b, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer_offset(encoder, 4, 0, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, half, half, &error)); /* b[1..9] = 11 */
    /* From a buffer to bytes and back at one index; the caller's references go before the dispatch. */
    CHECK_OK(mtb_compute_encoder_set_bytes(encoder, parameters, sizeof parameters, 0, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, a, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, b, 0, 1, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, sum, 0, 2, &error));
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, add, &error));
    mtb_buffer_release(a);
    mtb_buffer_release(b);
    mtb_pipeline_release(add);
    CHECK_OK(mtb_compute_encoder_dispatch_threadgroups(encoder, (mtb_size){2, 1, 1}, half, &error));
    mtb_compute_encoder_release(encoder);
    run(command_buffer);
    const float *values = mtb_buffer_contents(sum);
    CHECK(values[0] == 7 + 1 && values[1] == 7 + 11 && values[7] == 7 + 11);
    CHECK(values[8] == 3 + 11 && values[9] == 3 + 1 && values[15] == 3 + 1);
    mtb_buffer_release(sum);
    mtb_pipeline_release(line);
}

/* More dispatches, and more bytes, than the bridge hands to Metal at a time; all of them in order. */
static void long_encoders_lose_nothing(void) {
    enum {
        DISPATCHES = 1000,
        PADDED = 1024
    };
    mtb_pipeline *line = make_pipeline("line");
    mtb_buffer *values[2] = {make_floats(1, 0, 0), make_floats(1, 0, 0)};
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_compute_encoder *encoder = make_encoder(command_buffer, MTB_DISPATCH_SERIAL);
    float parameters[PADDED] = {0}, expected[2] = {0, 0};
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, line, &error));
    for (int i = 0; i < DISPATCHES; i++) {
        /* v = -v / 2 + i: depends on the order of all that went before. */
        parameters[0] = -0.5f;
        parameters[1] = (float)i;
        size_t length = i % 7 ? 2 * sizeof(float) : sizeof parameters;
        CHECK_OK(mtb_compute_encoder_set_buffer(encoder, values[i % 2], 0, 0, &error));
        CHECK_OK(mtb_compute_encoder_set_bytes(encoder, parameters, length, 1, &error));
        CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, one, one, &error));
        CHECK_OK(mtb_compute_encoder_memory_barrier(encoder, &error));
        expected[i % 2] = -0.5f * expected[i % 2] + (float)i;
    }
    mtb_compute_encoder_release(encoder);
    run(command_buffer);
    for (int i = 0; i < 2; i++) {
        CHECK(*(float *)mtb_buffer_contents(values[i]) == expected[i]);
        mtb_buffer_release(values[i]);
    }
    mtb_pipeline_release(line);
}

static void threadgroup_memory_is_given(void) {
    enum {
        COUNT = 64
    };
    mtb_pipeline *reverse = make_pipeline("reverse"), *sums = make_pipeline("group_sums");
    mtb_buffer *values = make_buffer(COUNT * 4), *totals = make_buffer(4);
    int *numbers = mtb_buffer_contents(values);
    for (int i = 0; i < COUNT; i++) numbers[i] = i;
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_compute_encoder *encoder = make_encoder(command_buffer, MTB_DISPATCH_CONCURRENT);
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, reverse, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, values, 0, 0, &error));
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(encoder, (mtb_size){COUNT, 1, 1}, (mtb_size){COUNT, 1, 1}, &error),
                MTB_MISSING_ARGUMENT, "`scratch`: no threadgroup memory is set at index 0");
    CHECK_FAILS(mtb_compute_encoder_set_threadgroup_memory(encoder, 100, 0, &error), MTB_MISALIGNED, "100");
    CHECK_FAILS(mtb_compute_encoder_set_threadgroup_memory(encoder, 1 << 20, 0, &error), MTB_OUT_OF_RANGE, "1048576");
    CHECK_FAILS(mtb_compute_encoder_set_threadgroup_memory(encoder, 16, 31, &error), MTB_OUT_OF_RANGE, "index 31");
    CHECK_OK(mtb_compute_encoder_set_threadgroup_memory(encoder, COUNT * 4, 0, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, (mtb_size){COUNT, 1, 1}, (mtb_size){COUNT, 1, 1}, &error));
    CHECK_OK(mtb_compute_encoder_memory_barrier(encoder, &error));
    CHECK_OK(mtb_compute_encoder_memory_barrier_buffers(encoder, &values, 1, &error));
    CHECK_OK(mtb_compute_encoder_use_buffer(encoder, totals, MTB_USAGE_READ_WRITE, &error));
    CHECK_OK(mtb_compute_encoder_set_threadgroup_memory(encoder, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, sums, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, totals, 0, 1, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threadgroups(encoder, one, (mtb_size){COUNT, 1, 1}, &error));
    mtb_compute_encoder_release(encoder);
    run(command_buffer);
    CHECK(numbers[0] == COUNT - 1 && numbers[COUNT - 1] == 0);
    CHECK(*(int *)mtb_buffer_contents(totals) == COUNT * (COUNT - 1) / 2);
    mtb_buffer_release(values);
    mtb_buffer_release(totals);
    mtb_pipeline_release(reverse);
    mtb_pipeline_release(sums);
}

static void setters_are_checked(void) {
    mtb_pipeline *pipeline = make_pipeline("add");
    mtb_buffer *buffer = make_buffer(16), *none = NULL;
    char bytes[MTB_MAX_INLINE_BYTES + 1] = {0};
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_compute_encoder *encoder = make_encoder(command_buffer, MTB_DISPATCH_SERIAL);
    CHECK_FAILS(mtb_compute_encoder_set_pipeline(NULL, pipeline, &error), MTB_INVALID_ARGUMENT, "`encoder`");
    CHECK_FAILS(mtb_compute_encoder_set_pipeline(encoder, NULL, &error), MTB_INVALID_ARGUMENT, "`pipeline`");
    CHECK_FAILS(mtb_compute_encoder_set_buffer(encoder, NULL, 0, 0, &error), MTB_INVALID_ARGUMENT, "`buffer`");
    CHECK_FAILS(mtb_compute_encoder_set_buffer(encoder, buffer, 16, 0, &error), MTB_OUT_OF_RANGE, "offset 16");
    CHECK_FAILS(mtb_compute_encoder_set_buffer(encoder, buffer, SIZE_MAX, 0, &error), MTB_OUT_OF_RANGE, "offset");
    CHECK_FAILS(mtb_compute_encoder_set_buffer(encoder, buffer, 0, 31, &error), MTB_OUT_OF_RANGE, "index 31");
    CHECK_FAILS(mtb_compute_encoder_set_buffer_offset(encoder, 0, 0, &error), MTB_INVALID_STATE, "index 0");
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, buffer, 0, 0, &error));
    CHECK_FAILS(mtb_compute_encoder_set_buffer_offset(encoder, 16, 0, &error), MTB_OUT_OF_RANGE, "offset 16");
    CHECK_FAILS(mtb_compute_encoder_set_bytes(encoder, NULL, 4, 1, &error), MTB_INVALID_ARGUMENT, "`bytes`");
    CHECK_FAILS(mtb_compute_encoder_set_bytes(encoder, bytes, 0, 1, &error), MTB_OUT_OF_RANGE, "0 bytes");
    CHECK_FAILS(mtb_compute_encoder_set_bytes(encoder, bytes, sizeof bytes, 1, &error), MTB_OUT_OF_RANGE, "4097 bytes");
    CHECK_FAILS(mtb_compute_encoder_set_bytes(encoder, bytes, 4, SIZE_MAX, &error), MTB_OUT_OF_RANGE, "index");
    CHECK_FAILS(mtb_compute_encoder_memory_barrier_buffers(encoder, NULL, 1, &error), MTB_INVALID_ARGUMENT,
                "`buffers`");
    CHECK_FAILS(mtb_compute_encoder_memory_barrier_buffers(encoder, &buffer, 0, &error), MTB_INVALID_ARGUMENT,
                "no buffers");
    CHECK_FAILS(mtb_compute_encoder_memory_barrier_buffers(encoder, &none, 1, &error), MTB_INVALID_ARGUMENT,
                "`buffer`");
    CHECK_FAILS(mtb_compute_encoder_use_buffer(encoder, buffer, (mtb_usage)0, &error), MTB_INVALID_ARGUMENT, "usage 0");
    CHECK_FAILS(mtb_compute_encoder_pop_debug_group(encoder, &error), MTB_INVALID_STATE, "no debug group");
    CHECK_FAILS(mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error), MTB_INVALID_STATE,
                "has not been ended");
    CHECK_FAILS(mtb_compute_encoder_create(NULL, MTB_DISPATCH_SERIAL, &error), MTB_INVALID_ARGUMENT,
                "`command_buffer`");
    CHECK_OK(mtb_compute_encoder_end(encoder, &error));
    CHECK_FAILS(mtb_compute_encoder_set_buffer(encoder, buffer, 0, 0, &error), MTB_INVALID_STATE, "ended");
    CHECK_FAILS(mtb_compute_encoder_end(encoder, &error), MTB_INVALID_STATE, "ended");
    CHECK_FAILS(mtb_compute_encoder_create(command_buffer, (mtb_dispatch_type)2, &error), MTB_INVALID_ARGUMENT,
                "dispatch type 2");
    mtb_compute_encoder_release(encoder);
    mtb_command_buffer_release(command_buffer);
    mtb_buffer_release(buffer);
    mtb_pipeline_release(pipeline);
}

static void dispatches_are_checked(void) {
    mtb_pipeline *line = make_pipeline("line");
    mtb_buffer *buffer = make_floats(8, 1, 0);
    size_t limit = mtb_pipeline_max_total_threads_per_threadgroup(line);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_compute_encoder *encoder = make_encoder(command_buffer, MTB_DISPATCH_SERIAL);
    const float parameters[2] = {2, 0};
#define DISPATCH(threads, group) \
    mtb_compute_encoder_dispatch_threads(encoder, (mtb_size)threads, (mtb_size)group, &error)
#define SIZE(w, h, d) {w, h, d}
    CHECK_FAILS(DISPATCH(SIZE(8, 1, 1), SIZE(8, 1, 1)), MTB_INVALID_STATE, "no pipeline");
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, line, &error));
    CHECK_FAILS(DISPATCH(SIZE(8, 1, 1), SIZE(8, 1, 1)), MTB_MISSING_ARGUMENT,
                "kernel `line` needs `values`: no buffer is set at index 0");
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, buffer, 0, 0, &error));
    CHECK_FAILS(DISPATCH(SIZE(8, 1, 1), SIZE(8, 1, 1)), MTB_MISSING_ARGUMENT, "`l`");
    CHECK_OK(mtb_compute_encoder_set_bytes(encoder, parameters, 4, 1, &error));
    CHECK_FAILS(DISPATCH(SIZE(8, 1, 1), SIZE(8, 1, 1)), MTB_OUT_OF_RANGE, "kernel `line` reads 8 bytes through `l`");
    CHECK_OK(mtb_compute_encoder_set_bytes(encoder, parameters, 8, 1, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer_offset(encoder, 2, 0, &error));
    CHECK_FAILS(DISPATCH(SIZE(1, 1, 1), SIZE(1, 1, 1)), MTB_MISALIGNED, "`values`");
    CHECK_OK(mtb_compute_encoder_set_buffer_offset(encoder, 0, 0, &error));
    CHECK_FAILS(DISPATCH(SIZE(SIZE_MAX, 1, 1), SIZE(8, 1, 1)), MTB_OUT_OF_RANGE, "a grid");
    CHECK_FAILS(DISPATCH(SIZE(8, 1, 1), SIZE(limit, 2, 1)), MTB_OUT_OF_RANGE, "kernel `line` can have");
    CHECK_FAILS(DISPATCH(SIZE(8, 1, 1), SIZE(SIZE_MAX, SIZE_MAX, 1)), MTB_OUT_OF_RANGE, "threadgroups of");
    CHECK_FAILS(
        mtb_compute_encoder_dispatch_threadgroups(encoder, (mtb_size){UINT32_MAX, 1, 1}, (mtb_size){2, 1, 1}, &error),
        MTB_OUT_OF_RANGE, "a grid");
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(NULL, one, one, &error), MTB_INVALID_ARGUMENT, "`encoder`");
    /* After all of that the encoder works. */
    CHECK_OK(DISPATCH(SIZE(8, 1, 1), SIZE(8, 1, 1)));
    CHECK_OK(mtb_compute_encoder_end(encoder, &error));
    CHECK_FAILS(DISPATCH(SIZE(8, 1, 1), SIZE(8, 1, 1)), MTB_INVALID_STATE, "ended");
    run(command_buffer);
    CHECK(((float *)mtb_buffer_contents(buffer))[7] == 2);
    mtb_compute_encoder_release(encoder);
    mtb_buffer_release(buffer);
    mtb_pipeline_release(line);
#undef DISPATCH
#undef SIZE
}

/* A dispatch without threads does nothing, whatever is set. */
static void no_threads_do_nothing(void) {
    mtb_pipeline *add = make_pipeline("add");
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_compute_encoder *encoder = make_encoder(command_buffer, MTB_DISPATCH_SERIAL);
    const mtb_size none[] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {0, 0, 0}}, many = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
    for (int set = 0; set < 2; set++) {
        for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
            CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, none[i], many, &error));
            CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, many, none[i], &error));
            CHECK_OK(mtb_compute_encoder_dispatch_threadgroups(encoder, none[i], many, &error));
            CHECK_OK(mtb_compute_encoder_dispatch_threadgroups(encoder, many, none[i], &error));
        }
        CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, add, &error));
    }
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(NULL, none[0], one, &error), MTB_INVALID_ARGUMENT, "`encoder`");
    CHECK_OK(mtb_compute_encoder_end(encoder, &error));
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(encoder, none[0], one, &error), MTB_INVALID_STATE, "ended");
    run(command_buffer);
    mtb_compute_encoder_release(encoder);
    mtb_pipeline_release(add);
}

/* Handles of two devices, if there are two. */
static void devices_are_not_mixed(void) {
    if (mtb_device_count() < 2) {
        printf("(one device only) ");
        return;
    }
    mtb_device *other;
    mtb_device_info here;
    mtb_device_get_info(shared.device, &here);
    MAKE(other, mtb_device_create_at(0, &error));
    mtb_device_info there;
    mtb_device_get_info(other, &there);
    if (there.registry_id == here.registry_id) {
        mtb_device_release(other);
        MAKE(other, mtb_device_create_at(1, &error));
    }
    mtb_command_queue *queue;
    mtb_command_buffer *command_buffer;
    mtb_blit_encoder *blit;
    mtb_buffer *ours = make_buffer(16), *theirs;
    mtb_pipeline *pipeline = make_pipeline("add");
    MAKE(theirs, mtb_buffer_create(other, 16, MTB_STORAGE_SHARED, &error));
    MAKE(queue, mtb_command_queue_create(other, 0, &error));
    MAKE(command_buffer, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_FAILS(mtb_blit_encoder_copy(blit, ours, 0, theirs, 0, 16, &error), MTB_WRONG_DEVICE, "source");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, theirs, 0, ours, 0, 16, &error), MTB_WRONG_DEVICE, "destination");
    CHECK_FAILS(mtb_blit_encoder_fill(blit, ours, 0, 16, 0, &error), MTB_WRONG_DEVICE, "buffer");
    CHECK_FAILS(mtb_blit_encoder_synchronize(blit, ours, &error), MTB_WRONG_DEVICE, "buffer");
    mtb_blit_encoder_release(blit);
    mtb_compute_encoder *encoder = make_encoder(command_buffer, MTB_DISPATCH_SERIAL);
    CHECK_FAILS(mtb_compute_encoder_set_pipeline(encoder, pipeline, &error), MTB_WRONG_DEVICE, "pipeline");
    CHECK_FAILS(mtb_compute_encoder_set_buffer(encoder, ours, 0, 0, &error), MTB_WRONG_DEVICE, "buffer");
    CHECK_FAILS(mtb_compute_encoder_use_buffer(encoder, ours, MTB_USAGE_READ, &error), MTB_WRONG_DEVICE, "buffer");
    CHECK_FAILS(mtb_compute_encoder_memory_barrier_buffers(encoder, &ours, 1, &error), MTB_WRONG_DEVICE, "buffer");
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, theirs, 0, 0, &error));
    mtb_compute_encoder_release(encoder);
    run(command_buffer);
    mtb_buffer_release(ours);
    mtb_buffer_release(theirs);
    mtb_pipeline_release(pipeline);
    mtb_command_queue_release(queue);
    mtb_device_release(other);
}

const test compute_tests[] = {
    {"compute: vectors are added", vectors_are_added},
    {"compute: every dispatch has its own bindings", every_dispatch_has_its_own_bindings},
    {"compute: long encoders lose nothing", long_encoders_lose_nothing},
    {"compute: threadgroup memory is given", threadgroup_memory_is_given},
    {"compute: setters are checked", setters_are_checked},
    {"compute: dispatches are checked", dispatches_are_checked},
    {"compute: no threads do nothing", no_threads_do_nothing},
    {"compute: devices are not mixed", devices_are_not_mixed},
    {NULL, NULL},
};
