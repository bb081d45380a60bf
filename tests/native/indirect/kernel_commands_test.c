#include "indirect_support.h"

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "struct Plan { command_buffer commands; compute_pipeline_state add; device float *values; };\n"
    "kernel void add(device float *values [[buffer(0)]], uint i [[thread_position_in_grid]]) { values[i] += 1; }\n"
    "kernel void encode(device const Plan &plan [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
    "    compute_command command(plan.commands, i);\n"
    "    command.set_compute_pipeline_state(plan.add);\n"
    "    command.set_kernel_buffer(plan.values + 16 * i, 0);\n"
    "    command.concurrent_dispatch_threads(uint3(16, 1, 1), uint3(16, 1, 1));\n"
    "}\n";

static mtb_pipeline *make_kernel(mtb_library *library, const char *name, bool is_indirect) {
    mtb_function *function;
    mtb_pipeline *pipeline;
    MAKE(function, mtb_function_create(library, name, NULL, &error));
    MAKE(pipeline, is_indirect ? mtb_pipeline_create_for_indirect_commands(function, &error)
                               : mtb_pipeline_create(function, &error));
    mtb_function_release(function);
    return pipeline;
}

static void kernels_encode_commands(void) {
    enum {
        COMMANDS = 4
    };
    const mtb_size threads = {COMMANDS, 1, 1}, one = {1, 1, 1};
    mtb_library *library;
    MAKE(library, mtb_library_create_from_source(shared.device, source, sizeof source - 1, NULL, &error));
    mtb_pipeline *encode = make_kernel(library, "encode", false), *add = make_kernel(library, "add", true);
    mtb_indirect_command_buffer *commands = make_commands(usual, COMMANDS);
    mtb_buffer *values = make_floats(0, 1), *plan = make_buffer(3 * sizeof(uint64_t));
    uint64_t *fields = mtb_buffer_contents(plan);
    fields[0] = mtb_indirect_command_buffer_gpu_resource_id(commands);
    fields[1] = mtb_pipeline_gpu_resource_id(add);
    fields[2] = mtb_buffer_gpu_address(values);
    CHECK(fields[0] != 0 && fields[1] != 0 && fields[0] != fields[1]);
    CHECK(mtb_indirect_command_buffer_gpu_resource_id(NULL) == 0 && mtb_pipeline_gpu_resource_id(NULL) == 0);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_compute_encoder *encoder;
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
    CHECK_FAILS(mtb_compute_encoder_use_commands(encoder, NULL, &error), MTB_INVALID_ARGUMENT, "`commands`");
    CHECK_FAILS(mtb_compute_encoder_use_commands(NULL, commands, &error), MTB_INVALID_ARGUMENT, "`encoder`");
    CHECK_OK(mtb_compute_encoder_use_commands(encoder, commands, &error));
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, encode, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, plan, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, threads, one, &error));
    CHECK_OK(mtb_compute_encoder_end(encoder, &error));
    CHECK_FAILS(mtb_compute_encoder_use_commands(encoder, commands, &error), MTB_INVALID_STATE, "ended");
    mtb_compute_encoder_release(encoder);
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
    CHECK_OK(mtb_compute_encoder_use_buffer(encoder, values, MTB_USAGE_READ_WRITE, &error));
    CHECK_OK(mtb_compute_encoder_execute_commands(encoder, commands, 1, COMMANDS - 1, &error));
    CHECK_OK(mtb_compute_encoder_end(encoder, &error));
    mtb_compute_encoder_release(encoder);
    /* The command buffer keeps the commands. */
    mtb_indirect_command_buffer_release(commands);
    run(command_buffer);
    for (int i = 0; i < COUNT; i++) CHECK(floats(values)[i] == (float)(i < 16 ? i : i + 1));
    mtb_buffer_release(values);
    mtb_buffer_release(plan);
    mtb_pipeline_release(encode);
    mtb_pipeline_release(add);
    mtb_library_release(library);
}

const test indirect_kernel_tests[] = {
    {"kernels encode indirect commands", kernels_encode_commands},
    {NULL, NULL},
};
