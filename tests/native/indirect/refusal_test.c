/* Indirect commands that are wrong in one way each. */
#include "indirect_support.h"

static const mtb_size one = {1, 1, 1}, all_threads = {COUNT, 1, 1}, group = {16, 1, 1};

static void wrong_descriptors_are_refused(void) {
    mtb_indirect_descriptor wrong = usual;
    CHECK_FAILS(mtb_indirect_command_buffer_create(NULL, &usual, 1, &error), MTB_INVALID_ARGUMENT, "`device`");
    CHECK_FAILS(mtb_indirect_command_buffer_create(shared.device, NULL, 1, &error), MTB_INVALID_ARGUMENT,
                "`descriptor`");
    CHECK_FAILS(mtb_indirect_command_buffer_create(shared.device, &usual, 0, &error), MTB_INVALID_ARGUMENT, "zero");
    CHECK_FAILS(mtb_indirect_command_buffer_create(shared.device, &usual, MTB_MAX_INDIRECT_COMMANDS + 1, &error),
                MTB_OUT_OF_RANGE, "the most are 16384");
    wrong.command_types = 0;
    CHECK_FAILS(mtb_indirect_command_buffer_create(shared.device, &wrong, 1, &error), MTB_INVALID_ARGUMENT, "types");
    wrong.command_types = MTB_INDIRECT_DISPATCH_THREADS | 1;
    CHECK_FAILS(mtb_indirect_command_buffer_create(shared.device, &wrong, 1, &error), MTB_INVALID_ARGUMENT, "0x41");
    wrong = usual;
    wrong.max_buffers = MTB_MAX_BINDINGS + 1;
    CHECK_FAILS(mtb_indirect_command_buffer_create(shared.device, &wrong, 1, &error), MTB_OUT_OF_RANGE, "32 buffers");
    wrong = usual;
    wrong.max_threadgroup_memories = SIZE_MAX;
    CHECK_FAILS(mtb_indirect_command_buffer_create(shared.device, &wrong, 1, &error), MTB_OUT_OF_RANGE, "too many");
    mtb_indirect_descriptor most = usual;
    most.max_buffers = most.max_threadgroup_memories = MTB_MAX_BINDINGS;
    mtb_indirect_command_buffer_release(make_commands(most, MTB_MAX_INDIRECT_COMMANDS));
    CHECK_FAILS(mtb_pipeline_create_for_indirect_commands(NULL, &error), MTB_INVALID_ARGUMENT, "`function`");
    mtb_indirect_command_buffer_release(mtb_indirect_command_buffer_retain(NULL));
}

static void wrong_commands_are_refused(void) {
    mtb_indirect_descriptor few = usual;
    few.command_types = MTB_INDIRECT_DISPATCH_THREADS;
    mtb_indirect_command_buffer *commands = make_commands(few, 2);
    mtb_pipeline *line = make_indirect("line"), *direct = make_pipeline("line"), *reverse = make_indirect("reverse");
    mtb_buffer *values = make_floats(1, 0);
    const mtb_size none = {1, 0, 1}, wide = {UINT32_MAX, 2, 1}, too_wide = {(size_t)UINT32_MAX + 1, 1, 1};
    const mtb_size huge = {SIZE_MAX, 1, 1}, many = {1024, 2, 1};
    CHECK_FAILS(mtb_indirect_command_set_pipeline(NULL, 0, line, &error), MTB_INVALID_ARGUMENT, "`commands`");
    CHECK_FAILS(mtb_indirect_command_set_pipeline(commands, 0, NULL, &error), MTB_INVALID_ARGUMENT, "`pipeline`");
    CHECK_FAILS(mtb_indirect_command_set_pipeline(commands, 2, line, &error), MTB_OUT_OF_RANGE,
                "command 2 is past the last, which is 1");
    CHECK_FAILS(mtb_indirect_command_set_pipeline(commands, 1, direct, &error), MTB_INVALID_ARGUMENT,
                "the pipeline of `line` is not for command 1");
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 1, all_threads, group, &error), MTB_INVALID_STATE,
                "command 1 has no pipeline");
    CHECK_OK(mtb_indirect_command_set_pipeline(commands, 0, line, &error));
    CHECK_FAILS(mtb_indirect_command_set_buffer(commands, 0, NULL, 0, 0, &error), MTB_INVALID_ARGUMENT, "`buffer`");
    CHECK_FAILS(mtb_indirect_command_set_buffer(commands, 0, values, BYTES, 0, &error), MTB_OUT_OF_RANGE, "offset");
    CHECK_FAILS(mtb_indirect_command_set_buffer(commands, 0, values, 0, 3, &error), MTB_OUT_OF_RANGE,
                "index 3 of command 0 is past the last: the descriptor has 3 buffers");
    CHECK_FAILS(mtb_indirect_command_set_threadgroup_memory(commands, 0, 16, 1, &error), MTB_OUT_OF_RANGE,
                "1 threadgroup memories");
    CHECK_FAILS(mtb_indirect_command_set_threadgroup_memory(commands, 0, 8, 0, &error), MTB_MISALIGNED, "16");
    CHECK_FAILS(mtb_indirect_command_set_threadgroup_memory(commands, 0, SIZE_MAX, 0, &error), MTB_OUT_OF_RANGE,
                "too many");
    CHECK_OK(mtb_indirect_command_set_buffer(commands, 0, values, 0, 0, &error));
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 0, all_threads, group, &error), MTB_MISSING_ARGUMENT,
                "no buffer is set at index 1");
    CHECK_OK(mtb_indirect_command_set_buffer(commands, 0, values, BYTES - 4, 1, &error));
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 0, all_threads, group, &error), MTB_OUT_OF_RANGE,
                "only 4 bytes");
    CHECK_OK(mtb_indirect_command_set_buffer(commands, 0, values, 2, 1, &error));
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 0, all_threads, group, &error), MTB_MISALIGNED,
                "offset 2");
    CHECK_OK(mtb_indirect_command_set_buffer(commands, 0, values, 0, 1, &error));
    CHECK_FAILS(mtb_indirect_command_dispatch_threadgroups(commands, 0, one, group, &error), MTB_INVALID_STATE,
                "does not name this type");
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 0, none, group, &error), MTB_INVALID_ARGUMENT,
                "no threads");
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 0, one, none, &error), MTB_INVALID_ARGUMENT,
                "no threads");
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 0, too_wide, group, &error), MTB_OUT_OF_RANGE, "grid");
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 0, one, huge, &error), MTB_OUT_OF_RANGE, "too large");
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 0, one, many, &error), MTB_OUT_OF_RANGE, "in all");
    CHECK_OK(mtb_indirect_command_dispatch_threads(commands, 0, wide, one, &error));
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 0, one, one, &error), MTB_INVALID_STATE,
                "command 0 has its dispatch");
    CHECK_FAILS(mtb_indirect_command_set_buffer(commands, 0, values, 0, 0, &error), MTB_INVALID_STATE, "reset");
    CHECK_FAILS(mtb_indirect_command_set_threadgroup_memory(commands, 0, 16, 0, &error), MTB_INVALID_STATE, "reset");
    CHECK_FAILS(mtb_indirect_command_set_barrier(commands, 2, &error), MTB_OUT_OF_RANGE, "past the last");
    CHECK_FAILS(mtb_indirect_command_clear_barrier(commands, SIZE_MAX, &error), MTB_OUT_OF_RANGE, "past the last");
    CHECK_FAILS(mtb_indirect_command_buffer_reset(commands, 1, 2, &error), MTB_OUT_OF_RANGE, "end past");
    CHECK_FAILS(mtb_indirect_command_buffer_reset(commands, SIZE_MAX, SIZE_MAX, &error), MTB_OUT_OF_RANGE, "end past");
    CHECK_FAILS(mtb_indirect_command_buffer_reset(NULL, 0, 1, &error), MTB_INVALID_ARGUMENT, "`commands`");
    CHECK_OK(mtb_indirect_command_buffer_reset(commands, 0, 2, &error));
    CHECK_OK(mtb_indirect_command_set_pipeline(commands, 0, reverse, &error));
    CHECK_OK(mtb_indirect_command_set_buffer(commands, 0, values, 0, 0, &error));
    CHECK_FAILS(mtb_indirect_command_dispatch_threads(commands, 0, one, one, &error), MTB_MISSING_ARGUMENT,
                "no threadgroup memory is set");
    mtb_buffer_release(values);
    mtb_pipeline_release(line);
    mtb_pipeline_release(direct);
    mtb_pipeline_release(reverse);
    mtb_indirect_command_buffer_release(commands);
}

const test indirect_refusal_tests[] = {
    {"wrong descriptors of indirect commands are refused", wrong_descriptors_are_refused},
    {"wrong indirect commands are refused", wrong_commands_are_refused},
    {NULL, NULL},
};
