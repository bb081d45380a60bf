/* What is behind mtb_mps_kernel. */
#ifndef MTBI_KERNEL_H
#define MTBI_KERNEL_H

#include "command/command_buffer.h"
#include "mps/operand.h"

struct mtb_mps_kernel {
    mtbi_handle handle;
    mtb_device *device;
    /* The MPSKernel or MPSGraph. */
    MTBI_OBJECT(NSObject) metal;
    /* For a graph, the tensors that the operands stand for. */
    MTBI_INSTANCE(NSArray) tensors;
    /* What a product of arrays multiplies. */
    mtb_mps_array_multiplication multiplication;
    /* Encodes with operands that have been checked. False if Metal could not make an object for one of them; nothing
     * has been encoded then. */
    bool (*encode)(const mtb_mps_kernel *kernel, MTBI_OBJECT(MTLCommandBuffer) command_buffer,
                   const mtb_mps_array *arrays);
    size_t count;
    mtbi_mps_operand operands[MTBI_MPS_MAX_OPERANDS];
    /* NULL, or what else the operands have to fulfil together. */
    mtb_status (*check)(const mtb_mps_kernel *kernel, const mtb_mps_array *arrays, mtb_error **error,
                        const char *function);
    /* Metal does not promise that two threads may encode one kernel. */
    pthread_mutex_t mutex;
};

#ifdef __OBJC__
/* A kernel without operands, if the device and the system have what `class_name` names. */
mtb_mps_kernel *mtbi_mps_kernel_begin(mtb_device *device, NSString *class_name, mtb_error **error,
                                      const char *function);
/* Takes over the +1 `metal`. If it is nil, releases the kernel and returns NULL. */
mtb_mps_kernel *mtbi_mps_kernel_finish(mtb_mps_kernel *kernel, id<NSObject> metal, mtb_error **error,
                                       const char *function);
#endif

/* Adds a matrix to what the kernel takes; zero for a size or type as in mtbi_mps_operand. */
void mtbi_mps_kernel_add_matrix(mtb_mps_kernel *kernel, const char *name, bool is_result, size_t rows, size_t columns);
/* Adds one vector. */
void mtbi_mps_kernel_add_vector(mtb_mps_kernel *kernel, const char *name, bool is_result, size_t length);

#ifdef __OBJC__
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

MPSDataType mtbi_mps_type(mtb_data_type data_type);
/* The array as Metal sees it; nil if Metal cannot make it. Needs macOS 15. */
MPSNDArray *mtbi_mps_nd_array(const mtb_mps_array *array);
#endif

#endif
