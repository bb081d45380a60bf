/* Compute pipelines, and what they say about their kernel. */
#import "library/pipeline.h"

#import "core/checks.h"
#import "core/guard.h"
#import "core/text.h"
#import "library/dynamic_library.h"
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
    } else if ([binding type] == MTLBindingTypeVisibleFunctionTable) {
        argument.kind = MTB_ARGUMENT_VISIBLE_FUNCTION_TABLE;
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
    } else if ([described type] == MTLArgumentTypeVisibleFunctionTable) {
        argument.kind = MTB_ARGUMENT_VISIBLE_FUNCTION_TABLE;
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

/* What macOS 27 adds to descriptors and to pipelines, for SDKs that do not declare it. */
@protocol MTBIForwardProgress
@property (nonatomic) NSInteger forwardProgressUsage;
@end

static mtb_status set_forward_progress_usage(MTLComputePipelineDescriptor *to, mtb_forward_progress_usage usage,
                                             mtb_error **error, const char *name) {
    if (usage == MTB_FORWARD_PROGRESS_AUTOMATIC) return MTB_OK;
    if ((uint32_t)usage > MTB_FORWARD_PROGRESS_SIMD_GROUP_PARALLEL)
        return mtbi_fail(error, name, MTB_INVALID_ARGUMENT, "unknown forward progress usage %u", (unsigned)usage);
    if (![to respondsToSelector:@selector(setForwardProgressUsage:)])
        return mtbi_fail(error, name, MTB_UNSUPPORTED, "a forward progress usage can be chosen from macOS 27 on");
    [(id<MTBIForwardProgress>)to setForwardProgressUsage:usage];
    return MTB_OK;
}

static mtb_forward_progress_usage forward_progress_usage(id<MTLComputePipelineState> pipeline) {
    if (![pipeline respondsToSelector:@selector(forwardProgressUsage)]) return MTB_FORWARD_PROGRESS_AUTOMATIC;
    NSInteger usage = [(id<MTBIForwardProgress>)pipeline forwardProgressUsage];
    /* A later system's value says nothing that the caller could know. */
    bool is_known = usage == MTB_FORWARD_PROGRESS_WEAK || usage == MTB_FORWARD_PROGRESS_SIMD_GROUP_PARALLEL;
    return is_known ? (mtb_forward_progress_usage)usage : MTB_FORWARD_PROGRESS_AUTOMATIC;
}

static mtb_status fill(mtb_pipeline *pipeline, MTLComputePipelineReflection *reflection, const char *name,
                       mtb_error **error, const char *function) {
    if (@available(macOS 13.0, *)) pipeline->gpu_resource_id = [pipeline->metal gpuResourceID]._impl;
    pipeline->forward_progress_usage = forward_progress_usage(pipeline->metal);
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

/* Metal's objects of `count` functions of the device that are [[visible]], autoreleased; nil, with an error, if one is
 * not, or has a name that is among `names` already. `what` names the list. */
static NSArray<id<MTLFunction>> *visible_functions(const mtb_device *device, mtb_function *const *functions,
                                                   size_t count, NSMutableSet<NSString *> *names, const char *what,
                                                   mtb_error **error, const char *name) {
    if (count > 0 && mtbi_check_given(functions, what, error, name)) return nil;
    NSMutableArray *metal = [NSMutableArray array];
    for (size_t i = 0; i < count; i++) {
        const mtb_function *function = functions[i];
        if (mtbi_check_given(function, what, error, name) ||
            mtbi_check_device(device, function->library->device, "linked function", error, name))
            return nil;
        if ([function->metal functionType] != MTLFunctionTypeVisible) {
            mtbi_fail(error, name, MTB_INVALID_ARGUMENT, "`%s` is not a [[visible]] function: it cannot be linked",
                      function->name);
            return nil;
        }
        if ([names containsObject:[function->metal name]]) {
            mtbi_fail(error, name, MTB_INVALID_ARGUMENT, "two functions with the name `%s` are linked", function->name);
            return nil;
        }
        [names addObject:[function->metal name]];
        [metal addObject:function->metal];
    }
    return metal;
}

static mtb_status set_linked_functions(MTLComputePipelineDescriptor *to, const mtb_device *device,
                                       const mtb_pipeline_descriptor *from, mtb_error **error, const char *name) {
    if (from->linked_function_count == 0 && from->private_function_count == 0) return MTB_OK;
    REQUIRE(mtbi_check_function_pointers(device, error, name));
    NSMutableSet<NSString *> *names = [NSMutableSet set];
    NSArray<id<MTLFunction>> *linked = visible_functions(device, from->linked_functions, from->linked_function_count,
                                                         names, "descriptor->linked_functions", error, name);
    if (!linked) return mtbi_last_failure();
    NSArray<id<MTLFunction>> *private = visible_functions(device, from->private_functions, from->private_function_count,
                                                          names, "descriptor->private_functions", error, name);
    if (!private) return mtbi_last_failure();
    MTLLinkedFunctions *functions = [MTLLinkedFunctions linkedFunctions];
    [functions setFunctions:linked];
    if (@available(macOS 12.0, *))
        [functions setPrivateFunctions:private];
    else if ([private count] > 0)
        return mtbi_fail(error, name, MTB_UNSUPPORTED, "functions can be linked privately from macOS 12 on");
    [to setLinkedFunctions:functions];
    return MTB_OK;
}

static mtb_status set_preloaded_libraries(MTLComputePipelineDescriptor *to, const mtb_device *device,
                                          const mtb_pipeline_descriptor *from, mtb_error **error, const char *name) {
    if (from->preloaded_library_count == 0) return MTB_OK;
    NSArray<id<MTLDynamicLibrary>> *libraries =
        mtbi_dynamic_libraries(device, from->preloaded_libraries, from->preloaded_library_count,
                               "descriptor->preloaded_libraries", error, name);
    if (!libraries) return mtbi_last_failure();
    if (@available(macOS 12.0, *))
        [to setPreloadedLibraries:libraries];
    else
        [to setInsertLibraries:libraries];
    return MTB_OK;
}

static mtb_status check_kernel(const mtb_pipeline_descriptor *descriptor, mtb_error **error, const char *name) {
    const mtb_function *function = descriptor->function;
    REQUIRE(mtbi_check_given(function, "function", error, name));
    if ([function->metal functionType] != MTLFunctionTypeKernel)
        return mtbi_fail(error, name, MTB_INVALID_ARGUMENT, "`%s` is not a kernel", function->name);
    if (!descriptor->supports_indirect_commands) return MTB_OK;
    return mtbi_check_indirect_support(function->library->device, error, name);
}

/* nil, with an error, if the descriptor makes no sense. */
static MTLComputePipelineDescriptor *metal_descriptor(const mtb_pipeline_descriptor *from, mtb_error **error,
                                                      const char *name) {
    if (check_kernel(from, error, name)) return nil;
    MTLComputePipelineDescriptor *to = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [to setComputeFunction:from->function->metal];
    /* Metal makes pipelines that indirect commands cannot have unless it is told. */
    [to setSupportIndirectCommandBuffers:from->supports_indirect_commands];
    if (from->max_call_stack_depth > 0) [to setMaxCallStackDepth:from->max_call_stack_depth];
    const mtb_device *device = from->function->library->device;
    if (set_linked_functions(to, device, from, error, name) || set_preloaded_libraries(to, device, from, error, name) ||
        set_forward_progress_usage(to, from->forward_progress_usage, error, name))
        return nil;
    return to;
}

/* Called inside the caller's guard. `*made` is the caller's to release, also after a failure or an exception. */
static mtb_status make(mtb_pipeline **made, const mtb_pipeline_descriptor *descriptor, mtb_error **error,
                       const char *name) {
    MTLComputePipelineDescriptor *metal = metal_descriptor(descriptor, error, name);
    if (!metal) return mtbi_last_failure();
    mtb_pipeline *pipeline = mtbi_handle_create(MTB_HANDLE_PIPELINE, sizeof *pipeline, destroy, error, name);
    if (!pipeline) return MTB_OUT_OF_MEMORY;
    *made = pipeline;
    pipeline->device = mtb_device_retain(descriptor->function->library->device);
    pipeline->supports_indirect_commands = descriptor->supports_indirect_commands;
    NSError *problem = nil;
    MTLComputePipelineReflection *reflection = nil;
    pipeline->metal = [pipeline->device->metal newComputePipelineStateWithDescriptor:metal
                                                                             options:MTLPipelineOptionArgumentInfo
                                                                          reflection:&reflection
                                                                               error:&problem];
    if (pipeline->metal) return fill(pipeline, reflection, descriptor->function->name, error, name);
    return mtbi_fail_with_nserror(error, name, MTB_COMPILE_FAILED, problem,
                                  "Metal could not make the pipeline, and does not say why");
}

mtb_pipeline *mtb_pipeline_create(mtb_function *function, mtb_error **error) {
    mtb_pipeline *pipeline = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    const mtb_pipeline_descriptor descriptor = {.function = function};
    if (make(&pipeline, &descriptor, error, __func__) == MTB_OK) return pipeline;
    mtb_pipeline_release(pipeline);
    return NULL;
    MTBI_LEAVE((mtb_pipeline_release(pipeline), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_pipeline *mtb_pipeline_create_for_indirect_commands(mtb_function *function, mtb_error **error) {
    mtb_pipeline *pipeline = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    const mtb_pipeline_descriptor descriptor = {.function = function, .supports_indirect_commands = true};
    if (make(&pipeline, &descriptor, error, __func__) == MTB_OK) return pipeline;
    mtb_pipeline_release(pipeline);
    return NULL;
    MTBI_LEAVE((mtb_pipeline_release(pipeline), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_pipeline *mtb_pipeline_create_with_descriptor(const mtb_pipeline_descriptor *descriptor, mtb_error **error) {
    mtb_pipeline *pipeline = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(descriptor)) return NULL;
    if (make(&pipeline, descriptor, error, __func__) == MTB_OK) return pipeline;
    mtb_pipeline_release(pipeline);
    return NULL;
    MTBI_LEAVE((mtb_pipeline_release(pipeline), mtbi_fail_with_exception(error, __func__, exception), NULL))
}
