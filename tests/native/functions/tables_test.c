/* Linked functions, their handles and tables of them. */
#include "../harness.h"
#include "metal_bridge_functions.h"
#include "metal_bridge_indirect.h"

enum {
    COUNT = 64
};

static const mtb_size threads = {COUNT, 1, 1}, group = {32, 1, 1};

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "[[visible]] int doubled(int x) { return 2 * x; }\n"
    "[[visible]] int negative(int x) { return -x; }\n"
    "[[visible]] int named(int x);\n"
    "kernel void call(device int *values [[buffer(0)]], visible_function_table<int(int)> table [[buffer(1)]],\n"
    "                 uint i [[thread_position_in_grid]]) { values[i] = table[i % 2](values[i]); }\n"
    "kernel void call_by_name(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
    "    values[i] = named(values[i]); }\n"
    "kernel void take_memory(device int *values [[buffer(0)]], device int *more [[buffer(1)]],\n"
    "                        uint i [[thread_position_in_grid]]) { values[i] = more[i]; }\n";

/* What most tests need, made on the given device. */
typedef struct {
    mtb_library *library;
    mtb_function *doubled, *negative, *call;
    mtb_pipeline *pipeline;
} scene;

static scene make_scene(mtb_device *device) {
    scene made;
    MAKE(made.library, mtb_library_create_from_source(device, source, strlen(source), NULL, &error));
    MAKE(made.doubled, mtb_function_create(made.library, "doubled", NULL, &error));
    MAKE(made.negative, mtb_function_create(made.library, "negative", NULL, &error));
    MAKE(made.call, mtb_function_create(made.library, "call", NULL, &error));
    mtb_function *const linked[] = {made.doubled, made.negative};
    const mtb_pipeline_descriptor descriptor = {
        .function = made.call, .linked_functions = linked, .linked_function_count = 2};
    MAKE(made.pipeline, mtb_pipeline_create_with_descriptor(&descriptor, &error));
    return made;
}

static void release_scene(const scene *made) {
    mtb_pipeline_release(made->pipeline);
    mtb_function_release(made->call);
    mtb_function_release(made->negative);
    mtb_function_release(made->doubled);
    mtb_library_release(made->library);
}

/* Without the handle: the table needs only the pipeline. */
static void set(mtb_visible_function_table *table, const scene *from, mtb_function *function, size_t index) {
    mtb_function_handle *handle;
    MAKE(handle, mtb_function_handle_create(from->pipeline, function, &error));
    CHECK(strcmp(mtb_function_handle_name(handle), mtb_function_name(function)) == 0);
    CHECK_OK(mtb_visible_function_table_set_function(table, handle, index, &error));
    mtb_function_handle_release(handle);
}

/* The values 0, 1, 2, ... */
static mtb_buffer *make_values(void) {
    mtb_buffer *values = make_buffer(COUNT * sizeof(int));
    for (int i = 0; i < COUNT; i++) ((int *)mtb_buffer_contents(values))[i] = i;
    return values;
}

static mtb_compute_encoder *begin(mtb_command_buffer *command_buffer, mtb_pipeline *pipeline, mtb_buffer *values) {
    mtb_compute_encoder *encoder;
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, pipeline, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, values, 0, 0, &error));
    return encoder;
}

static void kernels_call_through_tables(void) {
    if (!mtb_device_supports_function_pointers(shared.device)) return;
    scene made = make_scene(shared.device);
    mtb_visible_function_table *table;
    MAKE(table, mtb_visible_function_table_create(made.pipeline, 2, &error));
    CHECK(mtb_visible_function_table_function_count(table) == 2);
    set(table, &made, made.doubled, 0);
    set(table, &made, made.negative, 1);
    mtb_argument argument;
    CHECK(mtb_pipeline_get_argument(made.pipeline, 1, &argument) && argument.index == 1);
    CHECK(argument.kind == MTB_ARGUMENT_VISIBLE_FUNCTION_TABLE && argument.is_used);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_buffer *values = make_values();
    mtb_compute_encoder *encoder = begin(command_buffer, made.pipeline, values);
    /* What is set at the table's index before and after it is replaced. */
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, values, 0, 1, &error));
    CHECK_OK(mtb_compute_encoder_set_visible_function_table(encoder, table, 1, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, threads, group, &error));
    CHECK_OK(mtb_compute_encoder_set_bytes(encoder, "bytes", 5, 1, &error));
    CHECK_OK(mtb_compute_encoder_set_visible_function_table(encoder, table, 1, &error));
    CHECK_OK(mtb_compute_encoder_set_visible_function_table(encoder, table, 1, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threadgroups(encoder, (mtb_size){2, 1, 1}, group, &error));
    /* The encoder and the command buffer keep what they need. */
    mtb_visible_function_table_release(table);
    release_scene(&made);
    mtb_compute_encoder_release(encoder);
    run(command_buffer);
    const int *results = mtb_buffer_contents(values);
    for (int i = 0; i < COUNT; i++) CHECK(results[i] == (i % 2 == 0 ? 4 * i : i));
    mtb_buffer_release(values);
}

static void kernels_call_private_functions_by_name(void) {
    if (!mtb_device_supports_function_pointers(shared.device)) return;
    static const char other[] = "#include <metal_stdlib>\n[[visible]] int named(int x) { return x + 7; }\n";
    mtb_library *library, *others;
    mtb_function *kernel, *named;
    mtb_pipeline *pipeline;
    MAKE(library, mtb_library_create_from_source(shared.device, source, strlen(source), NULL, &error));
    MAKE(others, mtb_library_create_from_source(shared.device, other, strlen(other), NULL, &error));
    MAKE(kernel, mtb_function_create(library, "call_by_name", NULL, &error));
    MAKE(named, mtb_function_create(others, "named", NULL, &error));
    mtb_pipeline_descriptor descriptor = {.function = kernel, .max_call_stack_depth = 2};
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_COMPILE_FAILED, "named");
    descriptor.private_functions = &named;
    descriptor.private_function_count = 1;
    MAKE(pipeline, mtb_pipeline_create_with_descriptor(&descriptor, &error));
    CHECK_FAILS(mtb_function_handle_create(pipeline, named, &error), MTB_NOT_FOUND,
                "the pipeline of `call_by_name` has no handle for this function `named`");
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_buffer *values = make_values();
    mtb_compute_encoder *encoder = begin(command_buffer, pipeline, values);
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, threads, group, &error));
    mtb_compute_encoder_release(encoder);
    run(command_buffer);
    CHECK(((const int *)mtb_buffer_contents(values))[5] == 12);
    mtb_buffer_release(values);
    mtb_pipeline_release(pipeline);
    mtb_function_release(named);
    mtb_function_release(kernel);
    mtb_library_release(others);
    mtb_library_release(library);
}

static void wrong_pipelines_and_tables_are_refused(void) {
    if (!mtb_device_supports_function_pointers(shared.device)) return;
    scene made = make_scene(shared.device), far = {0};
    mtb_function *const linked[] = {made.doubled, made.call, NULL};
    mtb_pipeline_descriptor descriptor = {.linked_functions = linked, .linked_function_count = 1};
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(NULL, &error), MTB_INVALID_ARGUMENT, "`descriptor`");
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_INVALID_ARGUMENT, "`function`");
    descriptor.function = made.doubled;
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_INVALID_ARGUMENT,
                "`doubled` is not a kernel");
    descriptor.function = made.call;
    descriptor.linked_function_count = 2;
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_INVALID_ARGUMENT,
                "`call` is not a [[visible]] function");
    descriptor.linked_functions = &linked[2];
    descriptor.linked_function_count = 1;
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_INVALID_ARGUMENT, "linked_functions");
    descriptor.linked_functions = NULL;
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_INVALID_ARGUMENT, "linked_functions");
    descriptor.linked_function_count = 0;
    descriptor.private_function_count = 1;
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_INVALID_ARGUMENT, "private_functions");

    CHECK_FAILS(mtb_function_handle_create(NULL, made.doubled, &error), MTB_INVALID_ARGUMENT, "pipeline");
    CHECK_FAILS(mtb_function_handle_create(made.pipeline, NULL, &error), MTB_INVALID_ARGUMENT, "function");
    CHECK_FAILS(mtb_function_handle_create(made.pipeline, made.call, &error), MTB_NOT_FOUND, "`call`");
    CHECK_FAILS(mtb_visible_function_table_create(NULL, 1, &error), MTB_INVALID_ARGUMENT, "pipeline");
    CHECK_FAILS(mtb_visible_function_table_create(made.pipeline, 0, &error), MTB_INVALID_ARGUMENT, "zero");
    CHECK_FAILS(mtb_visible_function_table_create(made.pipeline, SIZE_MAX, &error), MTB_OUT_OF_RANGE, "which holds");

    mtb_pipeline *alone;
    mtb_visible_function_table *table;
    mtb_function_handle *handle;
    descriptor =
        (mtb_pipeline_descriptor){.function = made.call, .linked_functions = linked, .linked_function_count = 1};
    MAKE(alone, mtb_pipeline_create_with_descriptor(&descriptor, &error));
    MAKE(table, mtb_visible_function_table_create(alone, 2, &error));
    MAKE(handle, mtb_function_handle_create(made.pipeline, made.doubled, &error));
    CHECK_FAILS(mtb_visible_function_table_set_function(NULL, handle, 0, &error), MTB_INVALID_ARGUMENT, "`table`");
    CHECK_FAILS(mtb_visible_function_table_set_function(table, NULL, 2, &error), MTB_OUT_OF_RANGE,
                "index 2 is past the last of the table, which is 1");
    CHECK_FAILS(mtb_visible_function_table_set_function(table, handle, 0, &error), MTB_INVALID_ARGUMENT,
                "the handle of `doubled` is of another pipeline than the table");
    CHECK_OK(mtb_visible_function_table_set_function(table, NULL, 0, &error));
    CHECK(mtb_function_handle_name(NULL) == NULL && mtb_visible_function_table_function_count(NULL) == 0);
    if (mtb_device_count() > 1) {
        mtb_device *other;
        MAKE(other, mtb_device_create_at(1, &error));
        far = make_scene(other);
        mtb_device_release(other);
        CHECK_FAILS(mtb_function_handle_create(made.pipeline, far.doubled, &error), MTB_WRONG_DEVICE, "function");
        descriptor.linked_functions = &far.doubled;
        CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_WRONG_DEVICE, "linked function");
        release_scene(&far);
    }
    mtb_function_handle_release(mtb_function_handle_retain(handle));
    mtb_function_handle_release(handle);
    mtb_visible_function_table_release(mtb_visible_function_table_retain(table));
    mtb_visible_function_table_release(table);
    mtb_pipeline_release(alone);
    release_scene(&made);
}

static void wrong_bindings_are_refused(void) {
    if (!mtb_device_supports_function_pointers(shared.device)) return;
    scene made = make_scene(shared.device);
    mtb_function *take_memory;
    mtb_pipeline *memory, *alone;
    mtb_visible_function_table *table;
    MAKE(take_memory, mtb_function_create(made.library, "take_memory", NULL, &error));
    MAKE(memory, mtb_pipeline_create(take_memory, &error));
    MAKE(alone, mtb_pipeline_create(made.call, &error));
    MAKE(table, mtb_visible_function_table_create(alone, 2, &error));
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_buffer *values = make_values();
    mtb_compute_encoder *encoder = begin(command_buffer, made.pipeline, values);
    CHECK_FAILS(mtb_compute_encoder_set_visible_function_table(NULL, table, 1, &error), MTB_INVALID_ARGUMENT,
                "encoder");
    CHECK_FAILS(mtb_compute_encoder_set_visible_function_table(encoder, NULL, 1, &error), MTB_INVALID_ARGUMENT,
                "`table`");
    CHECK_FAILS(mtb_compute_encoder_set_visible_function_table(encoder, table, 31, &error), MTB_OUT_OF_RANGE, "30");
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(encoder, threads, group, &error), MTB_MISSING_ARGUMENT,
                "no visible function table is set at index 1");
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, values, 0, 1, &error));
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(encoder, threads, group, &error), MTB_INVALID_ARGUMENT,
                "`table` of kernel `call` is a visible function table, and a buffer is set at its index 1");
    CHECK_OK(mtb_compute_encoder_set_visible_function_table(encoder, table, 1, &error));
    CHECK_FAILS(mtb_compute_encoder_set_buffer_offset(encoder, 4, 1, &error), MTB_INVALID_STATE, "no buffer");
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(encoder, threads, group, &error), MTB_INVALID_ARGUMENT,
                "belongs to another pipeline");
    /* What replaces a table at its index leaves nothing of it. */
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, values, 0, 1, &error));
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(encoder, threads, group, &error), MTB_INVALID_ARGUMENT,
                "a buffer is set at its index 1");
    CHECK_OK(mtb_compute_encoder_set_visible_function_table(encoder, table, 1, &error));
    CHECK_OK(mtb_compute_encoder_set_bytes(encoder, "bytes", 5, 1, &error));
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(encoder, threads, group, &error), MTB_INVALID_ARGUMENT,
                "a buffer is set at its index 1");
    CHECK_OK(mtb_compute_encoder_set_visible_function_table(encoder, table, 1, &error));
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, memory, &error));
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(encoder, threads, group, &error), MTB_INVALID_ARGUMENT,
                "`more` of kernel `take_memory` is a buffer, and a visible function table is set at its index 1");
    mtb_compute_encoder_release(encoder);
    mtb_command_buffer_release(command_buffer);
    mtb_buffer_release(values);
    mtb_visible_function_table_release(table);
    mtb_pipeline_release(alone);
    mtb_pipeline_release(memory);
    mtb_function_release(take_memory);
    release_scene(&made);
}

/* Commands that inherit the encoder's buffers inherit its tables too. */
static void indirect_commands_inherit_tables(void) {
    if (!mtb_device_supports_function_pointers(shared.device) || !mtb_device_supports_indirect_commands(shared.device))
        return;
    scene made = make_scene(shared.device);
    mtb_pipeline *pipeline;
    mtb_visible_function_table *table;
    mtb_function_handle *handle;
    mtb_indirect_command_buffer *commands;
    const mtb_pipeline_descriptor descriptor = {.function = made.call,
                                                .supports_indirect_commands = true,
                                                .linked_functions = &made.doubled,
                                                .linked_function_count = 1};
    MAKE(pipeline, mtb_pipeline_create_with_descriptor(&descriptor, &error));
    MAKE(table, mtb_visible_function_table_create(pipeline, 2, &error));
    MAKE(handle, mtb_function_handle_create(pipeline, made.doubled, &error));
    for (size_t i = 0; i < 2; i++) CHECK_OK(mtb_visible_function_table_set_function(table, handle, i, &error));
    const mtb_indirect_descriptor inheriting = {.command_types = MTB_INDIRECT_DISPATCH_THREADS,
                                                .inherits_buffers = true};
    MAKE(commands, mtb_indirect_command_buffer_create(shared.device, &inheriting, 1, &error));
    CHECK_OK(mtb_indirect_command_set_pipeline(commands, 0, pipeline, &error));
    CHECK_OK(mtb_indirect_command_dispatch_threads(commands, 0, threads, group, &error));
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_buffer *values = make_values();
    mtb_compute_encoder *encoder = begin(command_buffer, made.pipeline, values);
    CHECK_FAILS(mtb_compute_encoder_execute_commands(encoder, commands, 0, 1, &error), MTB_MISSING_ARGUMENT, "table");
    CHECK_OK(mtb_compute_encoder_set_visible_function_table(encoder, table, 1, &error));
    CHECK_OK(mtb_compute_encoder_execute_commands(encoder, commands, 0, 1, &error));
    mtb_compute_encoder_release(encoder);
    run(command_buffer);
    CHECK(((const int *)mtb_buffer_contents(values))[5] == 10);
    mtb_buffer_release(values);
    mtb_indirect_command_buffer_release(commands);
    mtb_function_handle_release(handle);
    mtb_visible_function_table_release(table);
    mtb_pipeline_release(pipeline);
    release_scene(&made);
}

static void pipelines_have_a_forward_progress_usage(void) {
    mtb_library *library;
    mtb_pipeline_descriptor descriptor = {0};
    MAKE(library, mtb_library_create_from_source(shared.device, source, strlen(source), NULL, &error));
    MAKE(descriptor.function, mtb_function_create(library, "take_memory", NULL, &error));
    const mtb_forward_progress_usage usages[] = {MTB_FORWARD_PROGRESS_AUTOMATIC, MTB_FORWARD_PROGRESS_WEAK,
                                                 MTB_FORWARD_PROGRESS_SIMD_GROUP_PARALLEL};
    for (size_t i = 0; i < 3; i++) {
        mtb_error *error = NULL;
        descriptor.forward_progress_usage = usages[i];
        mtb_pipeline *pipeline = mtb_pipeline_create_with_descriptor(&descriptor, &error);
        /* Systems before macOS 27 know no other than the first. */
        const bool is_unknown = mtb_error_status(error) == MTB_UNSUPPORTED;
        CHECK(is_unknown ? !pipeline && i > 0 : pipeline != NULL);
        if (i > 0 && pipeline) CHECK(mtb_pipeline_forward_progress_usage(pipeline) == usages[i]);
        mtb_error_release(error);
        mtb_pipeline_release(pipeline);
    }
    descriptor.forward_progress_usage = (mtb_forward_progress_usage)3;
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_INVALID_ARGUMENT,
                "unknown forward progress usage 3");
    CHECK(mtb_pipeline_forward_progress_usage(NULL) == MTB_FORWARD_PROGRESS_AUTOMATIC);
    mtb_function_release(descriptor.function);
    mtb_library_release(library);
}

const test function_table_tests[] = {
    {"function tables: kernels call through tables", kernels_call_through_tables},
    {"function tables: kernels call private functions by name", kernels_call_private_functions_by_name},
    {"function tables: wrong pipelines and tables are refused", wrong_pipelines_and_tables_are_refused},
    {"function tables: wrong bindings are refused", wrong_bindings_are_refused},
    {"function tables: indirect commands inherit tables", indirect_commands_inherit_tables},
    {"function tables: pipelines have a forward progress usage", pipelines_have_a_forward_progress_usage},
    {NULL, NULL},
};
