/* Devices: finding them, and what they can do. */
#import "device/device.h"

#import "core/errors.h"
#import "core/guard.h"
#import "core/process.h"
#import "core/text.h"

#include <stdlib.h>

/* Questions beyond Metal's that a device on a CPU may answer. */
@protocol MTBILaneExecution
- (BOOL)runsLanesInTurn;
@end

static bool runs_lanes_in_turn(id<MTLDevice> metal) {
    return [metal respondsToSelector:@selector(runsLanesInTurn)] && [(id<MTBILaneExecution>)metal runsLanesInTurn];
}

/* Families do not tell: Intel's GPUs are of MTLGPUFamilyMac2, which has indirect commands on the others. */
static bool executes_indirect_commands(id<MTLDevice> metal) {
    if ([[metal name] hasPrefix:@"Intel"]) return false;
    return [metal supportsFamily:MTLGPUFamilyApple3] || [metal supportsFamily:MTLGPUFamilyMac2];
}

static void destroy(mtbi_handle *handle) {
    mtb_device *device = (mtb_device *)handle;
    MTBI_ENTER
    [device->metal release];
    free((char *)device->info.name);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

/* Takes over the +1 reference to `metal`. */
static mtb_device *make_handle(id<MTLDevice> metal, mtb_error **error, const char *function) {
    mtb_device *device = mtbi_handle_create(MTB_HANDLE_DEVICE, sizeof *device, destroy, error, function);
    if (!device) {
        [metal release];
        return NULL;
    }
    device->metal = metal;
    MTLSize threads = [metal maxThreadsPerThreadgroup];
    device->info = (mtb_device_info){
        .name = mtbi_copy_string([metal name]),
        .registry_id = [metal registryID],
        .recommended_max_working_set_size = [metal recommendedMaxWorkingSetSize],
        .max_buffer_length = [metal maxBufferLength],
        .max_threadgroup_memory_length = [metal maxThreadgroupMemoryLength],
        .max_threads_per_threadgroup = {threads.width, threads.height, threads.depth},
        .has_unified_memory = [metal hasUnifiedMemory],
        .is_low_power = [metal isLowPower],
        .is_removable = [metal isRemovable],
        .is_headless = [metal isHeadless],
        .runs_lanes_in_turn = runs_lanes_in_turn(metal),
    };
    device->has_nonuniform_threadgroups = [metal supportsFamily:MTLGPUFamilyApple4] ||
                                          [metal supportsFamily:MTLGPUFamilyMac2] ||
                                          [metal supportsFamily:MTLGPUFamilyCommon3];
    device->has_indirect_commands = executes_indirect_commands(metal);
    device->has_function_pointers = [metal supportsFunctionPointers];
    device->has_dynamic_libraries = [metal supportsDynamicLibraries];
    if (!device->info.name) {
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for the device's name");
        mtb_device_release(device);
        return NULL;
    }
    return device;
}

mtb_device *mtb_device_create_default(mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    if (mtbi_process_begin(error, __func__)) return NULL;
    id<MTLDevice> metal = MTLCreateSystemDefaultDevice();
    if (!metal) {
        /* Some processes that have devices have no default device: daemons, for instance. */
        NSArray<id<MTLDevice>> *all = [MTLCopyAllDevices() autorelease];
        if ([all count] == 0) {
            FAIL(error, MTB_NO_DEVICE, "this machine has no Metal device");
            return NULL;
        }
        metal = [[all objectAtIndex:0] retain];
    }
    return make_handle(metal, error, __func__);
    MTBI_LEAVE((mtbi_fail_with_exception(error, __func__, exception), NULL))
}

size_t mtb_device_count(void) {
    MTBI_ENTER
    return mtbi_process_begin(NULL, __func__) ? 0 : [[MTLCopyAllDevices() autorelease] count];
    MTBI_LEAVE(0)
}

mtb_device *mtb_device_create_at(size_t index, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    if (mtbi_process_begin(error, __func__)) return NULL;
    NSArray<id<MTLDevice>> *all = [MTLCopyAllDevices() autorelease];
    if (index >= [all count]) {
        FAIL(error, MTB_NO_DEVICE, "there is no device %zu: this machine has %zu", index, (size_t)[all count]);
        return NULL;
    }
    return make_handle([[all objectAtIndex:index] retain], error, __func__);
    MTBI_LEAVE((mtbi_fail_with_exception(error, __func__, exception), NULL))
}

bool mtb_device_supports_family(const mtb_device *device, int64_t family) {
    MTBI_ENTER
    return device && [device->metal supportsFamily:(MTLGPUFamily)family];
    MTBI_LEAVE(false)
}

uint64_t mtb_device_current_allocated_size(const mtb_device *device) {
    MTBI_ENTER
    return device ? [device->metal currentAllocatedSize] : 0;
    MTBI_LEAVE(0)
}

uint64_t mtb_device_peer_group_id(const mtb_device *device) {
    MTBI_ENTER
    return device ? [device->metal peerGroupID] : 0;
    MTBI_LEAVE(0)
}

static mtb_device_location location_of(id<MTLDevice> metal) {
    switch ([metal location]) {
    case MTLDeviceLocationBuiltIn: return MTB_LOCATION_BUILT_IN;
    case MTLDeviceLocationSlot: return MTB_LOCATION_SLOT;
    case MTLDeviceLocationExternal: return MTB_LOCATION_EXTERNAL;
    default: return MTB_LOCATION_UNSPECIFIED;
    }
}

void mtb_device_get_position(const mtb_device *device, mtb_device_position *position) {
    if (position) *position = (mtb_device_position){0};
    if (!device || !position) return;
    MTBI_ENTER
    id<MTLDevice> metal = device->metal;
    /* At once: an exception leaves zeros and not a part of the answers. */
    *position = (mtb_device_position){
        .peer_group_id = [metal peerGroupID],
        .peer_index = [metal peerIndex],
        .peer_count = [metal peerCount],
        .location = location_of(metal),
        .location_number = [metal locationNumber],
        .max_transfer_rate = [metal maxTransferRate],
    };
    MTBI_LEAVE()
}
