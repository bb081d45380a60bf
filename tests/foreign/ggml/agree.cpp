// Runs every case on ggml's Metal backend and on its CPU backend and compares: prints what disagrees, then the counts.
// An argument selects the cases whose names contain it.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "ggml-alloc.h"
#include "ggml-cpu.h"
#include "ggml-metal.h"
#include "harness.h"

namespace {

struct Outcome {
    bool supported = true;
    bool computed = false;
    std::vector<float> values;
};

// What goes into an input depends on its number, its shape and nothing else.
void fill(const Input &input, unsigned seed) {
    ggml_tensor *tensor = input.tensor;
    std::mt19937 random(seed);
    const auto count = std::size_t(ggml_nelements(tensor));
    if (input.fill == Fill::rows) {
        std::vector<std::int64_t> order(static_cast<std::size_t>(input.rows));
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        std::vector<std::int32_t> narrow(count);
        std::vector<std::int64_t> wide(count);
        for (std::size_t i = 0; i < count; ++i) narrow[i] = std::int32_t(wide[i] = order[i % order.size()]);
        const void *indices = tensor->type == GGML_TYPE_I64 ? static_cast<const void *>(wide.data()) : narrow.data();
        ggml_backend_tensor_set(tensor, indices, 0, ggml_nbytes(tensor));
        return;
    }
    std::uniform_real_distribution<float> distribution(input.fill == Fill::positive ? 0.1f : -1.0f, 1.0f);
    std::vector<float> values(count);
    if (input.fill != Fill::zeros)
        for (float &value : values) value = distribution(random);
    if (tensor->type == GGML_TYPE_F32) {
        ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
        return;
    }
    std::vector<std::uint8_t> encoded(ggml_nbytes(tensor));
    const std::vector<float> importance(std::size_t(tensor->ne[0]), 1.0f);
    ggml_quantize_chunk(tensor->type, values.data(), encoded.data(), 0, ggml_nrows(tensor), tensor->ne[0],
                        importance.data());
    ggml_backend_tensor_set(tensor, encoded.data(), 0, encoded.size());
}

std::vector<float> values_of(const ggml_tensor *tensor) {
    const auto count = std::size_t(ggml_nelements(tensor));
    std::vector<std::uint8_t> bytes(ggml_nbytes(tensor));
    ggml_backend_tensor_get(tensor, bytes.data(), 0, bytes.size());
    std::vector<float> values(count);
    if (tensor->type == GGML_TYPE_F32) {
        std::memcpy(values.data(), bytes.data(), bytes.size());
    } else if (tensor->type == GGML_TYPE_I32) {
        for (std::size_t i = 0; i < count; ++i) {
            std::int32_t value;
            std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
            values[i] = float(value);
        }
    } else {
        ggml_get_type_traits(tensor->type)->to_float(bytes.data(), values.data(), std::int64_t(count));
    }
    return values;
}

Outcome run(ggml_backend_t backend, const Case &test) {
    Outcome outcome;
    ggml_context *context = ggml_init({ggml_tensor_overhead() * 64 + ggml_graph_overhead(), nullptr, true});
    Graph graph{context, {}};
    ggml_tensor *result = test.build(graph);
    ggml_cgraph *nodes = ggml_new_graph(context);
    ggml_build_forward_expand(nodes, result);
    for (int i = 0; i < ggml_graph_n_nodes(nodes); ++i)
        outcome.supported = outcome.supported && ggml_backend_supports_op(backend, ggml_graph_node(nodes, i));
    if (outcome.supported) {
        ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(context, backend);
        for (std::size_t i = 0; buffer && i < graph.inputs.size(); ++i) fill(graph.inputs[i], unsigned(i) + 1);
        outcome.computed = buffer && ggml_backend_graph_compute(backend, nodes) == GGML_STATUS_SUCCESS;
        if (outcome.computed) outcome.values = values_of(result);
        ggml_backend_buffer_free(buffer);
    }
    ggml_free(context);
    return outcome;
}

// Of `got`, against `wanted`. Infinities have to be the same ones.
double normalised_error(const std::vector<float> &got, const std::vector<float> &wanted) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (got[i] == wanted[i] && std::isinf(got[i])) continue;
        difference += (double(got[i]) - wanted[i]) * (double(got[i]) - wanted[i]);
        size += double(wanted[i]) * wanted[i];
    }
    return difference == 0 ? 0 : difference / size;
}

}  // namespace

int main(int count, char **arguments) {
    ggml_log_set(
        [](ggml_log_level level, const char *text, void *) {
            if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
        },
        nullptr);
    ggml_backend_t metal = ggml_backend_metal_init();
    ggml_backend_t cpu = ggml_backend_cpu_init();
    if (!metal || !cpu) {
        std::fprintf(stderr, "ggml has no Metal backend here\n");
        return 1;
    }
    std::map<std::string, int> operations;
    unsigned agreed = 0, disagreed = 0, unsupported = 0;
    for (const Case &test : all_cases()) {
        if (count > 1 && test.name.find(arguments[1]) == std::string::npos) continue;
        const Outcome got = run(metal, test);
        if (!got.supported) {
            ++unsupported;
            continue;
        }
        const Outcome wanted = run(cpu, test);
        const double error = got.computed && wanted.computed ? normalised_error(got.values, wanted.values) : NAN;
        if (error <= test.tolerance) {
            ++agreed;
            ++operations[test.name.substr(0, test.name.find(' '))];
        } else {
            ++disagreed;
            std::printf("%s: error %g, allowed %g\n", test.name.c_str(), error, test.tolerance);
        }
    }
    ggml_backend_free(metal);
    ggml_backend_free(cpu);
    std::printf(
        "%zu operations of ggml: %u cases agree with its CPU backend, %u do not, %u are not supported by its Metal backend\n",
        operations.size(), agreed, disagreed, unsupported);
    return disagreed == 0 && agreed > 0 ? 0 : 1;
}
