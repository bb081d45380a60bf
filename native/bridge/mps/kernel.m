/* Kernels: their life, and what all encodes have in common. */
#import "mps/kernel.h"

#import "core/checks.h"
#import "core/guard.h"

static bool is_supported(const mtb_device *device) {
    return NSClassFromString(@"MPSKernel") && MPSSupportsMTLDevice(device->metal);
}

bool mtb_mps_supports_device(const mtb_device *device) {
    MTBI_ENTER
    return device && is_supported(device);
    MTBI_LEAVE(false)
}

static void destroy(mtbi_handle *handle) {
    mtb_mps_kernel *kernel = (mtb_mps_kernel *)handle;
    MTBI_ENTER
    [kernel->tensors release];
    [kernel->metal release];
    mtb_device_release(kernel->device);
    pthread_mutex_destroy(&kernel->mutex);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

mtb_mps_kernel *mtbi_mps_kernel_begin(mtb_device *device, NSString *class_name, mtb_error **error,
                                      const char *function) {
    if (mtbi_check_given(device, "device", error, function)) return NULL;
    if (!is_supported(device)) {
        mtbi_fail(error, function, MTB_UNSUPPORTED, "Metal Performance Shaders do not support the device `%s`",
                  device->info.name);
        return NULL;
    }
    if (!NSClassFromString(class_name)) {
        mtbi_fail(error, function, MTB_UNSUPPORTED, "this system does not have the class %s", [class_name UTF8String]);
        return NULL;
    }
    mtb_mps_kernel *kernel = mtbi_handle_create(MTB_HANDLE_MPS_KERNEL, sizeof *kernel, destroy, error, function);
    if (!kernel) return NULL;
    pthread_mutex_init(&kernel->mutex, NULL);
    kernel->device = mtb_device_retain(device);
    return kernel;
}

mtb_mps_kernel *mtbi_mps_kernel_finish(mtb_mps_kernel *kernel, id<NSObject> metal, mtb_error **error,
                                       const char *function) {
    kernel->metal = metal;
    if (metal) return kernel;
    mtb_mps_kernel_release(kernel);
    mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "Metal could not make the kernel");
    return NULL;
}

void mtbi_mps_kernel_add_matrix(mtb_mps_kernel *kernel, const char *name, bool is_result, size_t rows, size_t columns) {
    kernel->operands[kernel->count++] = (mtbi_mps_operand){
        .name = name, .form = MTBI_MPS_MATRIX, .is_result = is_result, .rank = 3, .shape = {0, rows, columns}};
}

void mtbi_mps_kernel_add_vector(mtb_mps_kernel *kernel, const char *name, bool is_result, size_t length) {
    kernel->operands[kernel->count++] = (mtbi_mps_operand){
        .name = name, .form = MTBI_MPS_VECTOR, .is_result = is_result, .rank = 2, .shape = {1, length}};
}

/* One thread at a time encodes a kernel. */
static bool encode(mtb_mps_kernel *kernel, mtb_command_buffer *command_buffer, const mtb_mps_array *arrays) {
    pthread_mutex_lock(&kernel->mutex);
    @try {
        return kernel->encode(kernel, command_buffer->metal, arrays);
    } @finally {
        pthread_mutex_unlock(&kernel->mutex);
    }
}

/* If Metal raises an exception, an encoder of Metal's own may be open, and part of the work may be encoded. */
mtb_status mtb_mps_kernel_encode(mtb_mps_kernel *kernel, mtb_command_buffer *command_buffer,
                                 const mtb_mps_array *operands, size_t count, mtb_error **error) {
    mtb_mps_array arrays[MTBI_MPS_MAX_OPERANDS];
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(kernel));
    REQUIRE(GIVEN(command_buffer));
    REQUIRE(GIVEN(operands));
    REQUIRE(mtbi_command_buffer_check_open(command_buffer, error, __func__));
    REQUIRE(mtbi_check_device(command_buffer->queue->device, kernel->device, "kernel", error, __func__));
    if (count != kernel->count)
        return FAIL(error, MTB_INVALID_ARGUMENT, "the kernel takes %zu operands, and got %zu", kernel->count, count);
    REQUIRE(mtbi_mps_check_operands(kernel->device, kernel->operands, count, operands, arrays, error, __func__));
    if (kernel->check) REQUIRE(kernel->check(kernel, arrays, error, __func__));
    for (size_t i = 0; i < count; i++)
        REQUIRE(mtbi_command_buffer_keep(command_buffer, arrays[i].buffer, error, __func__));
    if (encode(kernel, command_buffer, arrays)) return MTB_OK;
    return FAIL(error, MTB_OUT_OF_MEMORY, "Metal could not make an object for an operand");
    MTBI_LEAVE((command_buffer->is_spoiled = true, mtbi_fail_with_exception(error, __func__, exception)))
}
