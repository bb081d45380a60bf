// MLX's kernels, executed and compared with references in double precision.
#ifndef FOREIGN_MLX_AGREE_H
#define FOREIGN_MLX_AGREE_H

#include "gpu.h"

struct Agreement {
    std::size_t kernels = 0, agree = 0;
};

// `headers`: where mlx/ lies. `only`: a part of a case's name.
Agreement run_kernels(MTL::Device *device, const std::string &headers, const std::string &only);

#endif
