/* Compute pipelines, and what they say about their kernel. */
#import "library/pipeline.h"

#import "core/checks.h"
#import "core/guard.h"
#import "core/text.h"
#import "library/library.h"
#import "metal_bridge_indirect.h"

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
    if (@available(macOS 13.0, *)) pipeline->gpu_resource_id = [pipeline->metal gpuResourceID]._impl;
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

/* `newComputePipelineStateWithFunction:` makes pipelines that indirect commands cannot have. */
static id<MTLComputePipelineState> make_metal(mtb_function *function, bool for_indirect_commands,
                                              MTLComputePipelineReflection **reflection, NSError **problem) {
    id<MTLDevice> device = function->library->device->metal;
    if (!for_indirect_commands)
        return [device newComputePipelineStateWithFunction:function->metal options:MTLPipelineOptionArgumentInfo
                                                reflection:reflection
                                                     error:problem];
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:function->metal];
    [descriptor setSupportIndirectCommandBuffers:YES];
    return [device newComputePipelineStateWithDescriptor:descriptor options:MTLPipelineOptionArgumentInfo
                                              reflection:reflection
                                                   error:problem];
}

static mtb_status check_function(mtb_function *function, bool for_indirect_commands, mtb_error **error,
                                 const char *name) {
    REQUIRE(mtbi_check_given(function, "function", error, name));
    if ([function->metal functionType] != MTLFunctionTypeKernel)
        return mtbi_fail(error, name, MTB_INVALID_ARGUMENT, "`%s` is not a kernel", function->name);
    if (!for_indirect_commands) return MTB_OK;
    return mtbi_check_indirect_support(function->library->device, error, name);
}

/* Called inside the caller's guard. `*made` is the caller's to release, also after a failure or an exception. */
static mtb_status make(mtb_pipeline **made, mtb_function *function, bool for_indirect_commands, mtb_error **error,
                       const char *name) {
    REQUIRE(check_function(function, for_indirect_commands, error, name));
    mtb_pipeline *pipeline = mtbi_handle_create(MTB_HANDLE_PIPELINE, sizeof *pipeline, destroy, error, name);
    if (!pipeline) return MTB_OUT_OF_MEMORY;
    *made = pipeline;
    pipeline->device = mtb_device_retain(function->library->device);
    pipeline->supports_indirect_commands = for_indirect_commands;
    NSError *problem = nil;
    MTLComputePipelineReflection *reflection = nil;
    pipeline->metal = make_metal(function, for_indirect_commands, &reflection, &problem);
    if (pipeline->metal) return fill(pipeline, reflection, function->name, error, name);
    return mtbi_fail_with_nserror(error, name, MTB_COMPILE_FAILED, problem,
                                  "Metal could not make the pipeline, and does not say why");
}

mtb_pipeline *mtb_pipeline_create(mtb_function *function, mtb_error **error) {
    mtb_pipeline *pipeline = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (make(&pipeline, function, false, error, __func__) == MTB_OK) return pipeline;
    mtb_pipeline_release(pipeline);
    return NULL;
    MTBI_LEAVE((mtb_pipeline_release(pipeline), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_pipeline *mtb_pipeline_create_for_indirect_commands(mtb_function *function, mtb_error **error) {
    mtb_pipeline *pipeline = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (make(&pipeline, function, true, error, __func__) == MTB_OK) return pipeline;
    mtb_pipeline_release(pipeline);
    return NULL;
    MTBI_LEAVE((mtb_pipeline_release(pipeline), mtbi_fail_with_exception(error, __func__, exception), NULL))
}
