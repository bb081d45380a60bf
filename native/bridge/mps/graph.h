/* Kernels that are graphs of one operation. */
#ifndef MTBI_GRAPH_H
#define MTBI_GRAPH_H

#include "mps/kernel.h"

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

/* A kernel with an empty graph, if the device and the system can run graphs. */
mtb_mps_kernel *mtbi_mps_graph_begin(mtb_device *device, mtb_error **error, const char *function);
/* Adds an input, and returns the tensor that stands for it in the graph, in the shape of `seen`: `rank` sizes, the
 * slowest dimension first. The operand itself has `shape`, or that of `seen` if `shape` is NULL. */
MPSGraphTensor *mtbi_mps_graph_input(mtb_mps_kernel *kernel, const char *name, mtb_data_type data_type,
                                     const size_t *seen, size_t rank);
/* The same for an operand of one dimension, which the graph sees as the channels of a picture. */
MPSGraphTensor *mtbi_mps_graph_channels(mtb_mps_kernel *kernel, const char *name, mtb_data_type data_type,
                                        mtb_mps_layout layout, size_t channels);
/* The last step: `tensor` is the result, in this shape. If it is nil, releases the kernel and returns NULL. */
mtb_mps_kernel *mtbi_mps_graph_finish(mtb_mps_kernel *kernel, MPSGraphTensor *tensor, mtb_data_type data_type,
                                      const size_t *shape, size_t rank, mtb_error **error, const char *function);
static inline MPSGraph *mtbi_mps_graph(const mtb_mps_kernel *kernel) { return (MPSGraph *)kernel->metal; }

/* Sizes in the order of a layout. */
void mtbi_mps_order(mtb_mps_layout layout, size_t batch, size_t channels, size_t height, size_t width,
                    size_t shape[MTB_MPS_MAX_RANK]);
/* A layout and a type that graphs have. */
mtb_status mtbi_mps_check_picture(mtb_data_type data_type, mtb_mps_layout layout, mtb_error **error,
                                  const char *function);
mtb_status mtbi_mps_check_type(mtb_data_type data_type, mtb_error **error, const char *function);

#endif
