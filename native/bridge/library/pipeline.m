/* Compute pipelines, and what they say about their kernel. */
#import "library/pipeline.h"

#import "core/checks.h"
#import "core/guard.h"
#import "core/text.h"
#import "library/library.h"

#include <stdlib.h>
#include <string.h>

__attribute__((availability(macos, introduced = 13.0))) static mtb_argument describe_binding(id<MTLBinding> binding) {
    mtb_argument argument = {
        .kind = MTB_ARGUMENT_OTHER,
        .access = (mtb_access)[binding access],
        .index = (uint32_t)[binding index],
        .is_used = [binding isUsed] && [binding isArgument],
    };
    if ([binding type] == MTLBindingTypeBuffer) {
        argument.kind = MTB_ARGUMENT_BUFFER;
        argument.data_size = [(id<MTLBufferBinding>)binding bufferDataSize];
        argument.alignment = [(id<MTLBufferBinding>)binding bufferAlignment];
    } else if ([binding type] == MTLBindingTypeThreadgroupMemory) {
        argument.kind = MTB_ARGUMENT_THREADGROUP_MEMORY;
        argument.data_size = [(id<MTLThreadgroupBinding>)binding threadgroupMemoryDataSize];
        argument.alignment = [(id<MTLThreadgroupBinding>)binding threadgroupMemoryAlignment];
    }
    return argument;
}

/* The description of macOS 11 and 12. */
static mtb_argument describe_argument(MTLArgument *described) {
    mtb_argument argument = {
        .kind = MTB_ARGUMENT_OTHER,
        .access = (mtb_access)[described access],
        .index = (uint32_t)[described index],
        .is_used = [described isActive],
    };
    if ([described type] == MTLArgumentTypeBuffer) {
        argument.kind = MTB_ARGUMENT_BUFFER;
        argument.data_size = [described bufferDataSize];
        argument.alignment = [described bufferAlignment];
    } else if ([described type] == MTLArgumentTypeThreadgroupMemory) {
        argument.kind = MTB_ARGUMENT_THREADGROUP_MEMORY;
        argument.data_size = [described threadgroupMemoryDataSize];
        argument.alignment = [described threadgroupMemoryAlignment];
    }
    return argument;
}

static mtb_argument describe(id described) {
    if (@available(macOS 13.0, *)) return describe_binding(described);
    return describe_argument(described);
}

static NSArray *described_arguments(MTLComputePipelineReflection *reflection) {
    if (@available(macOS 13.0, *)) return [reflection bindings];
    return [reflection arguments];
}

static mtb_status copy_arguments(mtb_pipeline *pipeline, NSArray *described, mtb_error **error, const char *function) {
    pipeline->arguments = calloc([described count] + 1, sizeof *pipeline->arguments);
    if (!pipeline->arguments)
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for %zu arguments", (size_t)[described count]);
    for (id one in described) {
        mtb_argument *argument = &pipeline->arguments[pipeline->argument_count];
        *argument = describe(one);
        argument->name = mtbi_copy_string([one name]);
        if (!argument->name)
            return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for the name of an argument");
        pipeline->argument_count++;
    }
    return MTB_OK;
}

static mtb_status fill(mtb_pipeline *pipeline, MTLComputePipelineReflection *reflection, const char *name,
                       mtb_error **error, const char *function) {
    pipeline->execution_width = [pipeline->metal threadExecutionWidth];
    pipeline->max_threads = [pipeline->metal maxTotalThreadsPerThreadgroup];
    pipeline->static_threadgroup_memory = [pipeline->metal staticThreadgroupMemoryLength];
    pipeline->name = strdup(name);
    if (!pipeline->name) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for the kernel's name");
    return copy_arguments(pipeline, described_arguments(reflection), error, function);
}

static void destroy(mtbi_handle *handle) {
    mtb_pipeline *pipeline = (mtb_pipeline *)handle;
    MTBI_ENTER
    [pipeline->metal release];
    for (size_t i = 0; i < pipeline->argument_count; i++) free((char *)pipeline->arguments[i].name);
    free(pipeline->arguments);
    free(pipeline->name);
    mtb_device_release(pipeline->device);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

mtb_pipeline *mtb_pipeline_create(mtb_function *function, mtb_error **error) {
    mtb_pipeline *pipeline = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(function)) return NULL;
    if ([function->metal functionType] != MTLFunctionTypeKernel) {
        FAIL(error, MTB_INVALID_ARGUMENT, "`%s` is not a kernel", function->name);
        return NULL;
    }
    pipeline = mtbi_handle_create(MTB_HANDLE_PIPELINE, sizeof *pipeline, destroy, error, __func__);
    if (!pipeline) return NULL;
    pipeline->device = mtb_device_retain(function->library->device);
    NSError *problem = nil;
    MTLComputePipelineReflection *reflection = nil;
    pipeline->metal = [pipeline->device->metal newComputePipelineStateWithFunction:function->metal
                                                                           options:MTLPipelineOptionArgumentInfo
                                                                        reflection:&reflection
                                                                             error:&problem];
    mtb_status status = pipeline->metal
                            ? fill(pipeline, reflection, function->name, error, __func__)
                            : mtbi_fail_with_nserror(error, __func__, MTB_COMPILE_FAILED, problem,
                                                     "Metal could not make the pipeline, and does not say why");
    if (status == MTB_OK) return pipeline;
    mtb_pipeline_release(pipeline);
    return NULL;
    MTBI_LEAVE((mtb_pipeline_release(pipeline), mtbi_fail_with_exception(error, __func__, exception), NULL))
}
