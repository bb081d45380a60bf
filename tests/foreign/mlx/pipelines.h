// MLX's kernel templates, instantiated and made pipelines.
#ifndef FOREIGN_MLX_PIPELINES_H
#define FOREIGN_MLX_PIPELINES_H

#include "gpu.h"

struct Counts {
    std::size_t sections = 0, libraries = 0, kernels = 0, pipelines = 0;
};

// `headers`: where mlx/ lies. `table`: kernels.txt. `only`: a part of a section's name.
Counts make_pipelines(MTL::Device *device, const std::string &headers, const std::string &table,
                      const std::string &only);

#endif
