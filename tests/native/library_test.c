#include "harness.h"

#include <stdlib.h>

static mtb_library *compile(const char *source, const mtb_compile_options *options) {
    mtb_library *library;
    MAKE(library, mtb_library_create_from_source(shared.device, source, strlen(source), options, &error));
    return library;
}

static void functions_are_listed(void) {
    size_t count = mtb_library_function_count(shared.library);
    bool has_add = false;
    CHECK(count == 5);
    for (size_t i = 0; i < count; i++) has_add |= strcmp(mtb_library_function_name(shared.library, i), "add") == 0;
    CHECK(has_add);
    CHECK(mtb_library_function_name(shared.library, count) == NULL);
}

/* The one int that kernel `f` of the library writes. */
static int result_of(mtb_library *library, const mtb_constant_values *values) {
    mtb_function *function;
    mtb_pipeline *pipeline;
    mtb_compute_encoder *encoder;
    mtb_buffer *buffer = make_buffer(4);
    MAKE(function, mtb_function_create(library, "f", values, &error));
    CHECK(strcmp(mtb_function_name(function), "f") == 0);
    MAKE(pipeline, mtb_pipeline_create(function, &error));
    mtb_command_buffer *command_buffer = make_command_buffer();
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, pipeline, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, buffer, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, (mtb_size){1, 1, 1}, (mtb_size){1, 1, 1}, &error));
    mtb_compute_encoder_release(encoder);
    run(command_buffer);
    int result;
    memcpy(&result, mtb_buffer_contents(buffer), sizeof result);
    mtb_buffer_release(buffer);
    mtb_pipeline_release(pipeline);
    mtb_function_release(function);
    return result;
}

static void options_reach_the_compiler(void) {
    static const char source[] = "#include <metal_stdlib>\nkernel void f(device int *out [[buffer(0)]])\n"
                                 "{ *out = VALUE + 1000 * FLAG + 1000000 * (__METAL_VERSION__ >= 300); }\n";
    mtb_macro macros[] = {{"VALUE", "(40 + 2)"}, {"FLAG", NULL}};
    mtb_compile_options options = {
        .macros = macros, .macro_count = 2, .language_version = 3 << 16, .math_mode = MTB_MATH_SAFE};
    mtb_library *library = compile(source, &options);
    CHECK(result_of(library, NULL) == 1001042);
    mtb_library_release(library);
    options.language_version = (2 << 16) + 4;
    options.math_mode = MTB_MATH_RELAXED;
    library = compile(source, &options);
    CHECK(result_of(library, NULL) == 1042);
    mtb_library_release(library);
}

static void options_are_checked(void) {
    static const char source[] = "kernel void f() {}";
    mtb_macro macro = {"1X", "1"};
    mtb_compile_options options = {.macros = &macro, .macro_count = 1};
#define COMPILE mtb_library_create_from_source(shared.device, source, strlen(source), &options, &error)
    CHECK_FAILS(COMPILE, MTB_INVALID_ARGUMENT, "identifier");
    macro.name = NULL;
    CHECK_FAILS(COMPILE, MTB_INVALID_ARGUMENT, "identifier");
    macro.name = "X";
    macro.value = "\xff";
    CHECK_FAILS(COMPILE, MTB_INVALID_ARGUMENT, "UTF-8");
    options.macros = NULL;
    CHECK_FAILS(COMPILE, MTB_INVALID_ARGUMENT, "macros");
    options.macro_count = 0;
    options.language_version = (3 << 16) + 9;
    CHECK_FAILS(COMPILE, MTB_INVALID_ARGUMENT, "3.9 is not a version");
    options.language_version = 77 << 16;
    CHECK_FAILS(COMPILE, MTB_INVALID_ARGUMENT, "77.0 is not a version");
    options.language_version = 0;
    options.math_mode = (mtb_math_mode)9;
    CHECK_FAILS(COMPILE, MTB_INVALID_ARGUMENT, "math mode 9");
    CHECK_FAILS(mtb_library_create_from_source(NULL, source, 1, NULL, &error), MTB_INVALID_ARGUMENT, "`device`");
    CHECK_FAILS(mtb_library_create_from_source(shared.device, NULL, 1, NULL, &error), MTB_INVALID_ARGUMENT, "`source`");
    CHECK_FAILS(mtb_library_create_from_source(shared.device, "\xff", 1, NULL, &error), MTB_INVALID_ARGUMENT, "UTF-8");
#undef COMPILE
}

static void a_compiler_error_has_the_line(void) {
    static const char source[] = "#include <metal_stdlib>\n\nkernel void f(device int *out [[buffer(0)]])\n"
                                 "{\n    *out = undeclared_name;\n}\n";
    CHECK_FAILS(mtb_library_create_from_source(shared.device, source, strlen(source), NULL, &error), MTB_COMPILE_FAILED,
                "undeclared_name");
    CHECK_FAILS(mtb_library_create_from_source(shared.device, source, strlen(source), NULL, &error), MTB_COMPILE_FAILED,
                ":5:");
}

static void a_warning_is_not_an_error(void) {
    static const char source[] = "#include <metal_stdlib>\n#warning take care\n"
                                 "kernel void f(device int *out [[buffer(0)]]) { *out = 7; }\n";
    mtb_library *library = compile(source, NULL);
    /* Metal may keep its warnings to itself. */
    const char *warnings = mtb_library_warnings(library);
    CHECK(!warnings || strstr(warnings, "take care"));
    CHECK(result_of(library, NULL) == 7);
    mtb_library_release(library);
    CHECK(mtb_library_warnings(shared.library) == NULL);
}

static const char constants_source[] =
    "#include <metal_stdlib>\n"
    "constant int number [[function_constant(0)]];\n"
    "constant bool flag [[function_constant(1)]];\n"
    "constant short small [[function_constant(2)]];\n"
    "constant float2 pair [[function_constant(3)]];\n"
    "kernel void f(device int *out [[buffer(0)]]) { *out = number + small + int(pair.y) + (flag ? 1000 : 0); }\n";

static void constants_specialise_functions(void) {
    mtb_library *library = compile(constants_source, NULL);
    mtb_constant_values *values;
    MAKE(values, mtb_constant_values_create(&error));
    int number = 3;
    bool flag = true;
    int16_t small = -1;
    /* Not aligned as Metal's type is. */
    char bytes[12];
    memcpy(bytes + 1, (float[]){0.0f, 20.0f}, 8);
    CHECK_OK(mtb_constant_values_set_at(values, 0, MTB_TYPE_INT, &number, &error));
    CHECK_OK(mtb_constant_values_set_named(values, "flag", MTB_TYPE_BOOL, &flag, &error));
    CHECK_OK(mtb_constant_values_set_at(values, 2, MTB_TYPE_SHORT, &small, &error));
    CHECK_OK(mtb_constant_values_set_at(values, 3, MTB_TYPE_FLOAT2, bytes + 1, &error));
    CHECK(result_of(library, values) == 1022);
    number = 4;
    CHECK_OK(mtb_constant_values_set_at(values, 0, MTB_TYPE_INT, &number, &error));
    CHECK(result_of(library, values) == 1023);
    CHECK_FAILS(mtb_constant_values_set_at(NULL, 0, MTB_TYPE_INT, &number, &error), MTB_INVALID_ARGUMENT, "`values`");
    CHECK_FAILS(mtb_constant_values_set_at(values, 0, MTB_TYPE_INT, NULL, &error), MTB_INVALID_ARGUMENT, "`value`");
    CHECK_FAILS(mtb_constant_values_set_at(values, 0, (mtb_data_type)7, &number, &error), MTB_INVALID_ARGUMENT,
                "type 7");
    CHECK_FAILS(mtb_constant_values_set_at(values, 1 << 20, MTB_TYPE_INT, &number, &error), MTB_OUT_OF_RANGE,
                "constant");
    CHECK_FAILS(mtb_constant_values_set_at(values, 65535, MTB_TYPE_INT, &number, &error), MTB_OUT_OF_RANGE,
                "constant index 65535 is too large: the last is 65534");
    CHECK_OK(mtb_constant_values_set_at(values, 65534, MTB_TYPE_INT, &number, &error));
    CHECK_FAILS(mtb_constant_values_set_named(values, NULL, MTB_TYPE_INT, &number, &error), MTB_INVALID_ARGUMENT,
                "name");
    mtb_constant_values_release(values);
    mtb_library_release(library);
}

static void a_missing_constant_is_an_error(void) {
    mtb_library *library = compile(constants_source, NULL);
    mtb_constant_values *values;
    mtb_function *function;
    mtb_error *error = NULL;
    mtb_pipeline *pipeline = NULL;
    MAKE(values, mtb_constant_values_create(&error));
    /* Metal may refuse the function or the pipeline. */
    function = mtb_function_create(library, "f", values, &error);
    if (function) pipeline = mtb_pipeline_create(function, &error);
    CHECK(pipeline == NULL && mtb_error_status(error) == MTB_COMPILE_FAILED);
    mtb_error_release(error);
    mtb_pipeline_release(pipeline);
    mtb_function_release(function);
    mtb_constant_values_release(values);
    mtb_library_release(library);
}

static void functions_are_checked(void) {
    CHECK_FAILS(mtb_function_create(shared.library, "subtract", NULL, &error), MTB_NOT_FOUND, "`subtract`");
    CHECK_FAILS(mtb_function_create(shared.library, NULL, NULL, &error), MTB_INVALID_ARGUMENT, "name");
    CHECK_FAILS(mtb_function_create(NULL, "add", NULL, &error), MTB_INVALID_ARGUMENT, "`library`");
    CHECK_FAILS(mtb_pipeline_create(NULL, &error), MTB_INVALID_ARGUMENT, "`function`");
}

static const mtb_argument *find_argument(const mtb_pipeline *pipeline, const char *name, mtb_argument *found) {
    for (size_t i = 0; mtb_pipeline_get_argument(pipeline, i, found); i++)
        if (strcmp(found->name, name) == 0) return found;
    return NULL;
}

static void pipelines_describe_their_kernel(void) {
    mtb_argument argument;
    mtb_pipeline *pipeline = make_pipeline("line");
    CHECK(mtb_pipeline_thread_execution_width(pipeline) >= 4);
    CHECK(mtb_pipeline_max_total_threads_per_threadgroup(pipeline) >= 256);
    CHECK(mtb_pipeline_static_threadgroup_memory_length(pipeline) == 0);
    CHECK(strcmp(mtb_pipeline_function_name(pipeline), "line") == 0);
    CHECK(mtb_pipeline_argument_count(pipeline) == 2);
    CHECK(find_argument(pipeline, "values", &argument) && argument.kind == MTB_ARGUMENT_BUFFER && argument.index == 0 &&
          argument.access == MTB_ACCESS_READ_WRITE && argument.is_used && argument.data_size == 4);
    CHECK(find_argument(pipeline, "l", &argument) && argument.index == 1 && argument.access == MTB_ACCESS_READ_ONLY &&
          argument.data_size == 8);
    CHECK(!mtb_pipeline_get_argument(pipeline, 2, &argument));
    mtb_pipeline_release(pipeline);
    pipeline = make_pipeline("reverse");
    CHECK(find_argument(pipeline, "scratch", &argument) && argument.kind == MTB_ARGUMENT_THREADGROUP_MEMORY &&
          argument.index == 0);
    mtb_pipeline_release(pipeline);
    pipeline = make_pipeline("group_sums");
    CHECK(mtb_pipeline_static_threadgroup_memory_length(pipeline) >= 256);
    mtb_pipeline_release(pipeline);
}

static void files_that_are_not_libraries(void) {
    char path[] = "/tmp/metal-bridge-test-XXXXXX";
    int descriptor = mkstemp(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    CHECK(file != NULL);
    if (!file) return;
    fputs("no metallib", file);
    fclose(file);
    CHECK(mtb_library_create_from_file(shared.device, path, NULL) == NULL);
    remove(path);
    CHECK_FAILS(mtb_library_create_from_file(shared.device, path, &error), MTB_NOT_FOUND, path);
    CHECK_FAILS(mtb_library_create_from_file(shared.device, NULL, &error), MTB_INVALID_ARGUMENT, "path");
    CHECK(mtb_library_create_from_bytes(shared.device, "no metallib", 11, NULL) == NULL);
    CHECK_FAILS(mtb_library_create_from_bytes(shared.device, NULL, 11, &error), MTB_INVALID_ARGUMENT, "`bytes`");
}

const test library_tests[] = {
    {"library: functions are listed", functions_are_listed},
    {"library: options reach the compiler", options_reach_the_compiler},
    {"library: options are checked", options_are_checked},
    {"library: a compiler error has the line", a_compiler_error_has_the_line},
    {"library: a warning is not an error", a_warning_is_not_an_error},
    {"library: constants specialise functions", constants_specialise_functions},
    {"library: a missing constant is an error", a_missing_constant_is_an_error},
    {"library: functions are checked", functions_are_checked},
    {"library: pipelines describe their kernel", pipelines_describe_their_kernel},
    {"library: files that are not libraries", files_that_are_not_libraries},
    {NULL, NULL},
};
