/* Commands that kernels encode. */
#ifndef SMTL_KERNEL_COMMANDS_H
#define SMTL_KERNEL_COMMANDS_H

#include "engine/engine.h"
#import "framework/library/SMTLComputePipeline.h"

/* The `encode_command` of launches. */
bool SMTLEncodeKernelCommand(const smtl_launch *launch, smtl_command_request *request, char **problem);

/* Retained; nil if the pipeline that had this handle has ended. */
SMTLComputePipeline *SMTLRetainPipelineOfHandle(uint64_t handle);

#endif
