#import "SMTLShaders.h"

BOOL MPSSupportsMTLDevice(id<MTLDevice> device) { return device != nil; }

SMTLCommandBuffer *SMTLCheckCommandBuffer(const char *where, id<MTLCommandBuffer> commandBuffer, id<MTLDevice> device) {
    SMTL_REQUIRE(commandBuffer != nil, where, @"commandBuffer must not be nil");
    id<MTLCommandBuffer> root = commandBuffer;
    if ([(id)commandBuffer isKindOfClass:[MPSCommandBuffer class]])
        root = [(MPSCommandBuffer *)commandBuffer rootCommandBuffer];
    SMTL_REQUIRE([root device] == device, where, @"the command buffer belongs to device \"%@\", not to \"%@\"",
                 [[root device] name], [device name]);
    return (SMTLCommandBuffer *)root;
}

NSString *SMTLNameOfType(MPSDataType type) {
    switch (type) {
    case MPSDataTypeFloat32: return @"Float32";
    case MPSDataTypeFloat16: return @"Float16";
    case MPSDataTypeBFloat16: return @"BFloat16";
    case MPSDataTypeInt8: return @"Int8";
    case MPSDataTypeInt16: return @"Int16";
    case MPSDataTypeInt32: return @"Int32";
    case MPSDataTypeUInt8: return @"UInt8";
    case MPSDataTypeUInt16: return @"UInt16";
    case MPSDataTypeUInt32: return @"UInt32";
    default: return [NSString stringWithFormat:@"data type 0x%x", (unsigned)type];
    }
}

NSUInteger SMTLTensorExtent(const smtl_tensor *tensor) {
    NSUInteger last = smtl_type_size(tensor->type);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->lengths[i] == 0) return 0;
        last += (tensor->lengths[i] - 1) * tensor->strides[i];
    }
    return last;
}

SMTLHostAccess SMTLAccessRegion(const char *where, SMTLRegion *region, SMTLDevice *device, BOOL writes) {
    SMTLBuffer *buffer = SMTLCheckBuffer(where, region->buffer, device);
    region->tensor.bytes = buffer->_device_bytes + region->offset;
    return (SMTLHostAccess){buffer, region->offset, SMTLTensorExtent(&region->tensor), writes};
}

void SMTLEncodeHostCommand(SMTLCommandBuffer *commandBuffer, const char *where, smtl_host_function run,
                           const void *argument, size_t size, const SMTLHostAccess *accesses, NSUInteger count) {
    SMTLCommandEncoder *encoder = (SMTLCommandEncoder *)[commandBuffer blitCommandEncoder];
    @try {
        SMTLRecordHostCommand(encoder, where, run, argument, size, accesses, count);
    } @finally {
        [encoder endEncoding];
    }
}

void SMTLSynchronize(const char *where, id<MTLBuffer> buffer, id<MTLCommandBuffer> commandBuffer,
                     id<MTLDevice> device) {
    SMTLCommandBuffer *own = SMTLCheckCommandBuffer(where, commandBuffer, device);
    if ([buffer storageMode] == MTLStorageModeManaged) {
        id<MTLBlitCommandEncoder> encoder = [own blitCommandEncoder];
        [encoder synchronizeResource:buffer];
        [encoder endEncoding];
    }
}
