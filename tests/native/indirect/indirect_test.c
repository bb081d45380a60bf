#include "indirect_support.h"

static const mtb_size one = {1, 1, 1}, all_threads = {COUNT, 1, 1}, group = {16, 1, 1}, groups = {COUNT / 16, 1, 1};
/* Command `index`: values = slope * values + offset, by the kernel `line`. */
static void encode_line(mtb_indirect_command_buffer *commands, size_t index, mtb_pipeline *line, mtb_buffer *values,
                        mtb_buffer *parameters, size_t offset, bool is_after) {
    CHECK_OK(mtb_indirect_command_set_pipeline(commands, index, line, &error));
    CHECK_OK(mtb_indirect_command_set_buffer(commands, index, values, 0, 0, &error));
    CHECK_OK(mtb_indirect_command_set_buffer(commands, index, parameters, offset, 1, &error));
    if (is_after) CHECK_OK(mtb_indirect_command_set_barrier(commands, index, &error));
    CHECK_OK(mtb_indirect_command_dispatch_threads(commands, index, all_threads, group, &error));
}

static mtb_compute_encoder *begin(mtb_command_buffer **command_buffer) {
    mtb_compute_encoder *encoder;
    *command_buffer = make_command_buffer();
    MAKE(encoder, mtb_compute_encoder_create(*command_buffer, MTB_DISPATCH_SERIAL, &error));
    return encoder;
}

static void end(mtb_compute_encoder *encoder, mtb_command_buffer *command_buffer) {
    CHECK_OK(mtb_compute_encoder_end(encoder, &error));
    mtb_compute_encoder_release(encoder);
    run(command_buffer);
}

static void execute(mtb_indirect_command_buffer *commands, size_t first, size_t count) {
    mtb_command_buffer *command_buffer;
    mtb_compute_encoder *encoder = begin(&command_buffer);
    CHECK_OK(mtb_compute_encoder_execute_commands(encoder, commands, first, count, &error));
    end(encoder, command_buffer);
}

typedef struct {
    mtb_indirect_command_buffer *commands;
    mtb_pipeline *line;
    mtb_buffer *values, *parameters;
} chain;

/* Commands whose results depend on their order: each waits for the one before. Command i: v = -v / 2 + i. */
static chain make_chain(size_t count) {
    chain made = {make_commands(usual, count), make_indirect("line"), make_floats(1, 0), make_buffer(count * 8)};
    for (size_t i = 0; i < count; i++) {
        floats(made.parameters)[2 * i] = -0.5f;
        floats(made.parameters)[2 * i + 1] = (float)i;
        encode_line(made.commands, i, made.line, made.values, made.parameters, 8 * i, true);
    }
    return made;
}

static float after(float value, size_t first, size_t count) {
    for (size_t i = first; i < first + count; i++) value = -0.5f * value + (float)i;
    return value;
}

static void release_chain(chain *of) {
    mtb_indirect_command_buffer_release(of->commands);
    mtb_pipeline_release(of->line);
    mtb_buffer_release(of->values);
    mtb_buffer_release(of->parameters);
}

static void ranges_execute_in_the_order_of_barriers(void) {
    chain of = make_chain(12);
    CHECK(mtb_indirect_command_buffer_size(of.commands) == 12 && mtb_indirect_command_buffer_size(NULL) == 0);
    CHECK(mtb_device_supports_indirect_commands(shared.device) && !mtb_device_supports_indirect_commands(NULL));
    CHECK(mtb_pipeline_supports_indirect_commands(of.line) && !mtb_pipeline_supports_indirect_commands(NULL));
    execute(of.commands, 0, 12);
    float expected = after(1, 0, 12);
    CHECK(floats(of.values)[0] == expected && floats(of.values)[COUNT - 1] == expected);
    execute(of.commands, 3, 4);
    execute(of.commands, 12, 0);
    execute(of.commands, 11, 1);
    expected = after(after(expected, 3, 4), 11, 1);
    CHECK(floats(of.values)[0] == expected && floats(of.values)[COUNT - 1] == expected);
    CHECK_OK(mtb_indirect_command_clear_barrier(of.commands, 3, &error));
    CHECK_OK(mtb_indirect_command_set_barrier(of.commands, 3, &error));
    /* What it executes lives on when the caller's references are gone. */
    mtb_command_buffer *command_buffer;
    mtb_compute_encoder *encoder = begin(&command_buffer);
    CHECK_OK(mtb_compute_encoder_execute_commands(encoder, of.commands, 3, 2, &error));
    mtb_buffer *values = mtb_buffer_retain(of.values);
    release_chain(&of);
    CHECK(mtb_live_handles(MTB_HANDLE_INDIRECT_COMMAND_BUFFER) == 1);
    end(encoder, command_buffer);
    CHECK(floats(values)[5] == after(expected, 3, 2));
    mtb_buffer_release(values);
}

static void commands_without_barriers_all_run(void) {
    enum {
        COMMANDS = 40
    };
    mtb_indirect_command_buffer *commands = make_commands(usual, COMMANDS);
    mtb_pipeline *add = make_indirect("add"), *reverse = make_indirect("reverse");
    mtb_buffer *a = make_floats(0, 1), *b = make_floats(100, 1), *sums[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++) {
        sums[i] = make_floats(0, 0);
        CHECK_OK(mtb_indirect_command_set_pipeline(commands, i, add, &error));
        CHECK_OK(mtb_indirect_command_set_buffer(commands, i, a, 0, 0, &error));
        CHECK_OK(mtb_indirect_command_set_buffer(commands, i, b, 4, 1, &error));
        CHECK_OK(mtb_indirect_command_set_buffer(commands, i, sums[i], 0, 2, &error));
        const mtb_size few = {3, 1, 1};
        CHECK_OK(mtb_indirect_command_dispatch_threadgroups(commands, i, few, group, &error));
    }
    /* A command that does nothing, and one with threadgroup memory of its own. */
    CHECK_OK(mtb_indirect_command_buffer_reset(commands, 7, 2, &error));
    mtb_buffer *turned = make_floats(0, 0);
    for (int i = 0; i < 16; i++) ((int *)mtb_buffer_contents(turned))[i] = i;
    CHECK_OK(mtb_indirect_command_set_pipeline(commands, 8, reverse, &error));
    CHECK_OK(mtb_indirect_command_set_buffer(commands, 8, turned, 0, 0, &error));
    CHECK_OK(mtb_indirect_command_set_threadgroup_memory(commands, 8, 64, 0, &error));
    CHECK_OK(mtb_indirect_command_dispatch_threadgroups(commands, 8, one, group, &error));
    execute(commands, 0, COMMANDS);
    for (size_t i = 0; i < COMMANDS; i++) {
        bool runs = i != 7 && i != 8;
        CHECK(floats(sums[i])[10] == (runs ? 121 : 0) && floats(sums[i])[47] == (runs ? 195 : 0));
        CHECK(floats(sums[i])[48] == 0);
        mtb_buffer_release(sums[i]);
    }
    CHECK(((int *)mtb_buffer_contents(turned))[0] == 15 && ((int *)mtb_buffer_contents(turned))[15] == 0);
    mtb_buffer_release(turned);
    mtb_buffer_release(a);
    mtb_buffer_release(b);
    mtb_pipeline_release(add);
    mtb_pipeline_release(reverse);
    mtb_indirect_command_buffer_release(commands);
}

static void the_gpu_chooses_ranges_and_sizes(void) {
    chain of = make_chain(8);
    mtb_buffer *range = make_buffer(32);
    mtb_buffer *written = make_buffer_of(32, MTB_STORAGE_PRIVATE);
    /* Threadgroups in each dimension, then the first command and their number: the GPU writes them by a copy. */
    const uint32_t arguments[8] = {0, 0, 0, 2, 1, 1, 3, 4};
    memcpy(mtb_buffer_contents(range), arguments, sizeof arguments);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_blit_encoder *blit;
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_OK(mtb_blit_encoder_copy(blit, range, 0, written, 0, 32, &error));
    CHECK_OK(mtb_blit_encoder_optimize_commands(blit, of.commands, 0, 8, &error));
    CHECK_OK(mtb_blit_encoder_optimize_commands(blit, of.commands, 8, 0, &error));
    mtb_blit_encoder_release(blit);
    mtb_compute_encoder *encoder;
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
    CHECK_OK(mtb_compute_encoder_execute_commands_indirect(encoder, of.commands, written, 24, &error));
    /* The first two of four threadgroups once more by the encoder itself, whose settings are still there. */
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, of.line, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, of.values, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, of.parameters, 8, 1, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threadgroups_indirect(encoder, written, 12, group, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threadgroups_indirect(encoder, written, 0, group, &error));
    end(encoder, command_buffer);
    float expected = after(1, 3, 4);
    CHECK(floats(of.values)[COUNT - 1] == expected && floats(of.values)[32] == expected);
    CHECK(floats(of.values)[0] == after(expected, 1, 1) && floats(of.values)[31] == after(expected, 1, 1));
    mtb_buffer_release(range);
    mtb_buffer_release(written);
    release_chain(&of);
}

static void an_encoder_keeps_its_settings(void) {
    chain of = make_chain(2);
    mtb_buffer *other = make_floats(10, 0);
    const float parameters[2] = {2, 1};
    mtb_command_buffer *command_buffer;
    mtb_compute_encoder *encoder = begin(&command_buffer);
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, of.line, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, other, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_set_bytes(encoder, parameters, sizeof parameters, 1, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, all_threads, group, &error));
    CHECK_OK(mtb_compute_encoder_execute_commands(encoder, of.commands, 0, 2, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, all_threads, group, &error));
    end(encoder, command_buffer);
    CHECK(floats(other)[3] == 43 && floats(of.values)[3] == after(1, 0, 2));
    mtb_buffer_release(other);
    release_chain(&of);
}

static void commands_inherit(void) {
    const mtb_indirect_descriptor inheriting = {.command_types = MTB_INDIRECT_DISPATCH_THREADGROUPS,
                                                .inherits_pipeline = true,
                                                .inherits_buffers = true,
                                                .max_buffers = 2,
                                                .max_threadgroup_memories = 1};
    mtb_indirect_command_buffer *commands = make_commands(inheriting, 2);
    mtb_pipeline *line = make_indirect("line"), *direct = make_pipeline("line"), *reverse = make_indirect("reverse");
    mtb_buffer *values = make_floats(1, 0), *parameters = make_floats(3, 0);
    const mtb_size large = {1024, 1024, 1};
    CHECK_OK(mtb_indirect_command_dispatch_threadgroups(commands, 0, groups, group, &error));
    CHECK_OK(mtb_indirect_command_dispatch_threadgroups(commands, 1, one, large, &error));
    CHECK_FAILS(mtb_indirect_command_set_pipeline(commands, 0, line, &error), MTB_INVALID_STATE, "has its dispatch");
    CHECK_OK(mtb_indirect_command_buffer_reset(commands, 0, 1, &error));
    CHECK_FAILS(mtb_indirect_command_set_pipeline(commands, 0, line, &error), MTB_INVALID_STATE, "inherits");
    CHECK_FAILS(mtb_indirect_command_set_buffer(commands, 0, values, 0, 0, &error), MTB_INVALID_STATE, "inherits");
    CHECK_OK(mtb_indirect_command_dispatch_threadgroups(commands, 0, groups, group, &error));
    mtb_command_buffer *command_buffer;
    mtb_compute_encoder *encoder = begin(&command_buffer);
    CHECK_FAILS(mtb_compute_encoder_execute_commands(encoder, commands, 0, 1, &error), MTB_INVALID_STATE,
                "no pipeline is set");
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, direct, &error));
    CHECK_FAILS(mtb_compute_encoder_execute_commands(encoder, commands, 0, 1, &error), MTB_INVALID_ARGUMENT,
                "cannot inherit the pipeline of `line`");
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, line, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, values, 0, 0, &error));
    CHECK_FAILS(mtb_compute_encoder_execute_commands(encoder, commands, 0, 1, &error), MTB_MISSING_ARGUMENT,
                "no buffer is set at index 1");
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, parameters, 0, 1, &error));
    CHECK_FAILS(mtb_compute_encoder_execute_commands(encoder, commands, 0, 2, &error), MTB_OUT_OF_RANGE, "too large");
    CHECK_OK(mtb_compute_encoder_execute_commands(encoder, commands, 0, 1, &error));
    /* Threadgroup memory is never inherited. */
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, reverse, &error));
    CHECK_OK(mtb_compute_encoder_set_threadgroup_memory(encoder, 64, 0, &error));
    CHECK_FAILS(mtb_compute_encoder_execute_commands(encoder, commands, 0, 1, &error), MTB_MISSING_ARGUMENT,
                "threadgroup memory");
    end(encoder, command_buffer);
    CHECK(floats(values)[0] == 6 && floats(values)[COUNT - 1] == 6);
    mtb_buffer_release(values);
    mtb_buffer_release(parameters);
    mtb_pipeline_release(line);
    mtb_pipeline_release(direct);
    mtb_pipeline_release(reverse);
    mtb_indirect_command_buffer_release(commands);
}

/* The bridge forgets a command that the GPU resets only when the CPU encodes it again. */
static void the_gpu_resets_commands(void) {
    chain of = make_chain(3);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_blit_encoder *blit;
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_OK(mtb_blit_encoder_reset_commands(blit, of.commands, 1, 1, &error));
    CHECK_OK(mtb_blit_encoder_reset_commands(blit, of.commands, 3, 0, &error));
    mtb_blit_encoder_release(blit);
    run(command_buffer);
    execute(of.commands, 0, 3);
    float expected = after(after(1, 0, 1), 2, 1);
    CHECK(floats(of.values)[0] == expected);
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(of.commands, 1, one, one, &error), MTB_INVALID_STATE,
                "command 1 has no pipeline");
    encode_line(of.commands, 1, of.line, of.values, of.parameters, 8, true);
    execute(of.commands, 1, 1);
    CHECK(floats(of.values)[0] == after(expected, 1, 1));
    release_chain(&of);
}

static void wrong_executions_are_refused(void) {
    chain of = make_chain(3);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_blit_encoder *blit;
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_FAILS(mtb_blit_encoder_reset_commands(NULL, of.commands, 0, 1, &error), MTB_INVALID_ARGUMENT, "`encoder`");
    CHECK_FAILS(mtb_blit_encoder_reset_commands(blit, NULL, 0, 1, &error), MTB_INVALID_ARGUMENT, "`commands`");
    CHECK_FAILS(mtb_blit_encoder_reset_commands(blit, of.commands, 0, 4, &error), MTB_OUT_OF_RANGE, "end past");
    CHECK_FAILS(mtb_blit_encoder_optimize_commands(blit, of.commands, 4, 0, &error), MTB_OUT_OF_RANGE, "end past");
    CHECK_FAILS(mtb_blit_encoder_optimize_commands(blit, NULL, 0, 1, &error), MTB_INVALID_ARGUMENT, "`commands`");
    CHECK_OK(mtb_blit_encoder_end(blit, &error));
    CHECK_FAILS(mtb_blit_encoder_reset_commands(blit, of.commands, 0, 1, &error), MTB_INVALID_STATE, "ended");
    mtb_blit_encoder_release(blit);
    mtb_compute_encoder *encoder;
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_CONCURRENT, &error));
    CHECK_FAILS(mtb_compute_encoder_execute_commands(NULL, of.commands, 0, 1, &error), MTB_INVALID_ARGUMENT,
                "`encoder`");
    CHECK_FAILS(mtb_compute_encoder_execute_commands(encoder, NULL, 0, 1, &error), MTB_INVALID_ARGUMENT, "`commands`");
    CHECK_FAILS(mtb_compute_encoder_execute_commands(encoder, of.commands, 2, 2, &error), MTB_OUT_OF_RANGE,
                "2 commands from command 2 on end past the indirect command buffer's 3");
    CHECK_FAILS(mtb_compute_encoder_execute_commands_indirect(encoder, of.commands, NULL, 0, &error),
                MTB_INVALID_ARGUMENT, "`buffer`");
    CHECK_FAILS(mtb_compute_encoder_execute_commands_indirect(encoder, of.commands, of.values, 2, &error),
                MTB_MISALIGNED, "offset");
    CHECK_FAILS(mtb_compute_encoder_execute_commands_indirect(encoder, of.commands, of.values, BYTES - 4, &error),
                MTB_OUT_OF_RANGE, "8 bytes");
    CHECK_FAILS(mtb_compute_encoder_dispatch_threadgroups_indirect(encoder, of.values, 0, group, &error),
                MTB_INVALID_STATE, "no pipeline is set");
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, of.line, &error));
    CHECK_FAILS(mtb_compute_encoder_dispatch_threadgroups_indirect(encoder, of.values, 0, group, &error),
                MTB_MISSING_ARGUMENT, "needs");
    CHECK_FAILS(mtb_compute_encoder_dispatch_threadgroups_indirect(encoder, of.values, BYTES - 8, group, &error),
                MTB_OUT_OF_RANGE, "12 bytes");
    CHECK_FAILS(mtb_compute_encoder_dispatch_threadgroups_indirect(encoder, of.values, 0, (mtb_size){0}, &error),
                MTB_INVALID_ARGUMENT, "no threads");
    end(encoder, command_buffer);
    if (mtb_device_count() > 1) {
        mtb_device *far;
        mtb_buffer *buffer;
        mtb_indirect_command_buffer *commands;
        MAKE(far, mtb_device_create_at(1, &error));
        MAKE(buffer, mtb_buffer_create(far, 64, MTB_STORAGE_SHARED, &error));
        MAKE(commands, mtb_indirect_command_buffer_create(far, &usual, 1, &error));
        CHECK_FAILS(mtb_indirect_command_set_pipeline(commands, 0, of.line, &error), MTB_WRONG_DEVICE, "pipeline");
        CHECK_FAILS(mtb_indirect_command_set_buffer(commands, 0, of.values, 0, 0, &error), MTB_WRONG_DEVICE, "buffer");
        encoder = begin(&command_buffer);
        CHECK_FAILS(mtb_compute_encoder_execute_commands(encoder, commands, 0, 1, &error), MTB_WRONG_DEVICE,
                    "indirect command buffer");
        CHECK_FAILS(mtb_compute_encoder_execute_commands_indirect(encoder, of.commands, buffer, 0, &error),
                    MTB_WRONG_DEVICE, "buffer");
        end(encoder, command_buffer);
        mtb_indirect_command_buffer_release(commands);
        mtb_buffer_release(buffer);
        mtb_device_release(far);
    }
    release_chain(&of);
}

const test indirect_tests[] = {
    {"indirect commands execute in the order of barriers", ranges_execute_in_the_order_of_barriers},
    {"indirect commands without barriers all run", commands_without_barriers_all_run},
    {"the GPU chooses ranges of indirect commands", the_gpu_chooses_ranges_and_sizes},
    {"an encoder keeps its settings beside indirect commands", an_encoder_keeps_its_settings},
    {"indirect commands inherit a pipeline and buffers", commands_inherit},
    {"the GPU resets indirect commands", the_gpu_resets_commands},
    {"wrong executions of indirect commands are refused", wrong_executions_are_refused},
    {NULL, NULL},
};
