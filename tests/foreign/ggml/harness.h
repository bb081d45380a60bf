// One operation of ggml, built twice from the same data: for its Metal backend and for its CPU backend.
#ifndef FOREIGN_GGML_HARNESS_H
#define FOREIGN_GGML_HARNESS_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "ggml.h"

enum class Fill {
    values,
    positive,
    zeros,
    rows
};

struct Input {
    ggml_tensor *tensor;
    Fill fill;
    std::int64_t rows;  // Fill::rows: indices below this, no two alike while there are enough
};

// Declares the inputs of a case while it builds its graph.
struct Graph {
    ggml_context *context;
    std::vector<Input> inputs;

    ggml_tensor *input(ggml_type type, std::vector<std::int64_t> shape, Fill fill = Fill::values,
                       std::int64_t rows = 0) {
        ggml_tensor *tensor = ggml_new_tensor(context, type, int(shape.size()), shape.data());
        inputs.push_back({tensor, fill, rows});
        return tensor;
    }
    ggml_tensor *f32(std::vector<std::int64_t> shape, Fill fill = Fill::values) {
        return input(GGML_TYPE_F32, shape, fill);
    }
};

struct Case {
    std::string name;
    std::function<ggml_tensor *(Graph &)> build;
    double tolerance = 1e-6;  // of the normalised mean squared error
};

std::vector<Case> all_cases();

#endif
