/* Functions of a library, and the constants that specialise them. */
#import "library/library.h"

#import "core/checks.h"
#import "core/guard.h"
#import "core/text.h"

#include <stdlib.h>
#include <string.h>

static void destroy_values(mtbi_handle *handle) {
    mtb_constant_values *values = (mtb_constant_values *)handle;
    MTBI_ENTER
    [values->metal release];
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

mtb_constant_values *mtb_constant_values_create(mtb_error **error) {
    mtb_constant_values *values = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    values = mtbi_handle_create(MTB_HANDLE_CONSTANT_VALUES, sizeof *values, destroy_values, error, __func__);
    if (!values) return NULL;
    values->metal = [[MTLFunctionConstantValues alloc] init];
    if (!values->metal) {
        FAIL(error, MTB_OUT_OF_MEMORY, "Metal could not make constant values");
        mtb_constant_values_release(values);
        return NULL;
    }
    return values;
    MTBI_LEAVE((mtb_constant_values_release(values), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

/* Bytes of a value, zero for a type that no constant can have. The types that have vectors follow each other: scalar,
 * two, three (as large as four) and four components. */
static size_t type_size(mtb_data_type type) {
    static const struct {
        mtb_data_type scalar;
        size_t size;
        unsigned widths;
    } types[] = {
        {MTB_TYPE_FLOAT, 4, 4}, {MTB_TYPE_HALF, 2, 4},   {MTB_TYPE_INT, 4, 4},   {MTB_TYPE_UINT, 4, 4},
        {MTB_TYPE_SHORT, 2, 4}, {MTB_TYPE_USHORT, 2, 4}, {MTB_TYPE_CHAR, 1, 4},  {MTB_TYPE_UCHAR, 1, 4},
        {MTB_TYPE_BOOL, 1, 4},  {MTB_TYPE_LONG, 8, 1},   {MTB_TYPE_ULONG, 8, 1}, {MTB_TYPE_BFLOAT, 2, 1},
    };
    static const size_t components[] = {1, 2, 4, 4};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (type >= types[i].scalar && type < types[i].scalar + types[i].widths)
            return types[i].size * components[type - types[i].scalar];
    return 0;
}

/* The value, copied to an address with the alignment that Metal may want. */
typedef union {
    unsigned char bytes[16];
    uint64_t alignment[2];
} aligned_value;

static mtb_status copy_value(aligned_value *copy, mtb_data_type type, const void *value, mtb_error **error,
                             const char *function) {
    REQUIRE(mtbi_check_given(value, "value", error, function));
    size_t size = type_size(type);
    if (size == 0)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "a constant cannot have data type %u", (unsigned)type);
    memcpy(copy->bytes, value, size);
    return MTB_OK;
}

/* Metal raises an exception for 65535. */
static const size_t last_index = UINT16_MAX - 1;

mtb_status mtb_constant_values_set_at(mtb_constant_values *values, size_t index, mtb_data_type data_type,
                                      const void *value, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    aligned_value copy;
    REQUIRE(GIVEN(values));
    REQUIRE(copy_value(&copy, data_type, value, error, __func__));
    if (index > last_index)
        return FAIL(error, MTB_OUT_OF_RANGE, "constant index %zu is too large: the last is %zu", index, last_index);
    [values->metal setConstantValue:&copy type:(MTLDataType)data_type atIndex:index];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_constant_values_set_named(mtb_constant_values *values, const char *name, mtb_data_type data_type,
                                         const void *value, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    aligned_value copy;
    REQUIRE(GIVEN(values));
    REQUIRE(copy_value(&copy, data_type, value, error, __func__));
    NSString *string = mtbi_string(name, "the name", error, __func__);
    if (!string) return MTB_INVALID_ARGUMENT;
    [values->metal setConstantValue:&copy type:(MTLDataType)data_type withName:string];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

static bool has_function(const mtb_library *library, const char *name) {
    for (size_t i = 0; i < library->function_count; i++)
        if (strcmp(library->function_names[i], name) == 0) return true;
    return false;
}

static void destroy(mtbi_handle *handle) {
    mtb_function *function = (mtb_function *)handle;
    MTBI_ENTER
    [function->metal release];
    free(function->name);
    mtb_library_release(function->library);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

mtb_function *mtb_function_create(mtb_library *library, const char *name, const mtb_constant_values *values,
                                  mtb_error **error) {
    mtb_function *function = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(library)) return NULL;
    NSString *string = mtbi_string(name, "the name", error, __func__);
    if (!string) return NULL;
    if (!has_function(library, name)) {
        FAIL(error, MTB_NOT_FOUND, "none of the library's %zu functions is named `%s`", library->function_count, name);
        return NULL;
    }
    function = mtbi_handle_create(MTB_HANDLE_FUNCTION, sizeof *function, destroy, error, __func__);
    if (!function) return NULL;
    function->library = mtb_library_retain(library);
    function->name = strdup(name);
    NSError *problem = nil;
    function->metal = values ? [library->metal newFunctionWithName:string constantValues:values->metal error:&problem]
                             : [library->metal newFunctionWithName:string];
    if (!function->metal)
        mtbi_fail_with_nserror(error, __func__, MTB_COMPILE_FAILED, problem,
                               "Metal could not specialise the function, and does not say why");
    else if (!function->name)
        FAIL(error, MTB_OUT_OF_MEMORY, "no memory for the function's name");
    else
        return function;
    mtb_function_release(function);
    return NULL;
    MTBI_LEAVE((mtb_function_release(function), mtbi_fail_with_exception(error, __func__, exception), NULL))
}
