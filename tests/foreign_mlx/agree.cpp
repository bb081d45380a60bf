#include "agree.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <numeric>
#include <stdexcept>

namespace {

using Values = std::vector<double>;

// A launch's result beside what it should be, and how far an element may be off: so much of its size, and of 1.
struct Compared {
    Values found, expected;
    double relative = 2e-6, absolute = 2e-6;
};

std::vector<float> values(std::size_t count, float low = -2, float high = 2, unsigned seed = 1) {
    std::vector<float> all(count);
    unsigned state = seed * 2654435761u + 12345;
    for (float &value : all) {
        state = state * 1664525u + 1013904223u;
        value = low + (high - low) * float(state >> 8) / float(1 << 24);
    }
    return all;
}
template <typename T>
Values wide(const std::vector<T> &from) {
    return Values(from.begin(), from.end());
}

class Cases {
public:
    Cases(MTL::Device *device, std::string headers, std::string only)
        : device_(device), headers_(std::move(headers)), only_(std::move(only)) {}

    // `instance`: a kernel template with arguments, or the name of a kernel in `text`.
    void run(const std::vector<std::string> &headers, const std::string &instance, const Constants &constants,
             const std::function<Compared(Launch)> &compare, const std::string &text = "") {
        if (instance.find(only_) == std::string::npos) return;
        ++agreement.kernels;
        try {
            Source source(headers_);
            for (const std::string &header : headers) source.include(header);
            if (text.empty()) {
                source.add("template [[host_name(\"case\")]] [[kernel]] decltype(" + instance + ") " + instance + ";");
            } else {
                source.add(text);
            }
            const Library library(device_, source.text());
            const std::string name = text.empty() ? "case" : instance;
            judge(instance, compare(Launch(device_, library.pipeline(name, constants))));
        } catch (const std::exception &problem) {
            std::printf("%s: %.1500s\n", instance.c_str(), problem.what());
        }
    }

    Agreement agreement;

private:
    void judge(const std::string &name, const Compared &compared) {
        bool any = false;
        for (std::size_t i = 0; i < compared.expected.size(); ++i) {
            const double expected = compared.expected[i];
            const double found = i < compared.found.size() ? compared.found[i] : NAN;
            const double allowed = compared.relative * std::abs(expected) + compared.absolute;
            any = any || std::abs(expected) > 10 * allowed;  // zeros would not pass
            if (std::abs(found - expected) <= allowed || found == expected) continue;
            std::printf("%s: element %zu is %.9g, not %.9g\n", name.c_str(), i, found, expected);
            return;
        }
        if (any) {
            ++agreement.agree;
        } else {
            std::printf("%s: nothing was compared\n", name.c_str());
        }
    }

    MTL::Device *device_;
    std::string headers_, only_;
};

void add_elementwise(Cases &cases) {
    const std::uint32_t count = 1003;
    const std::vector<std::pair<std::string, double (*)(double)>> functions = {
        {"Exp", std::exp},     {"Sin", std::sin},   {"Erf", std::erf},     {"Tanh", std::tanh},   {"Expm1", std::expm1},
        {"ArcTan", std::atan}, {"Cosh", std::cosh}, {"Floor", std::floor}, {"ArcSinh", std::asinh},
        {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }}};
    for (const auto &[name, function] : functions) {
        cases.run({"utils.h", "unary_ops.h", "unary.h"}, "unary_v<float, float, " + name + ">", {}, [&, function = function](Launch launch) {
            const std::vector<float> in = values(count);
            launch.buffer(0, in).output<float>(1, count).value(2, count).threads({(count + 1) / 2}, {256});
            // MLX's expm1f subtracts a multiple of a log(2) that is 1.4e-6 too small.
            Compared compared{wide(launch.result<float>(1)), {}, 1e-5, 2e-6};
            for (float x : in) compared.expected.push_back(function(x));
            return compared;
        });
    }
    cases.run({"utils.h", "unary_ops.h", "unary.h"}, "unary_v<complex64_t, complex64_t, Exp>", {}, [&](Launch launch) {
        const std::vector<float> in = values(2 * count);
        launch.buffer(0, in).output<float>(1, 2 * count).value(2, count).threads({count}, {256});
        Compared compared{wide(launch.result<float>(1)), {}, 1e-5, 1e-5};
        for (std::size_t i = 0; i < count; ++i) {
            const std::complex<double> z = std::exp(std::complex<double>(in[2 * i], in[2 * i + 1]));
            compared.expected.insert(compared.expected.end(), {z.real(), z.imag()});
        }
        return compared;
    });
    const std::vector<std::pair<std::string, double (*)(double, double)>> operators = {
        {"Add", [](double a, double b) { return a + b; }},
        {"Remainder", [](double a, double b) { return a - b * std::floor(a / b); }},
        {"LogAddExp", [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); }},
        {"ArcTan2", [](double a, double b) { return std::atan2(a, b); }}};
    for (const auto &[name, function] : operators) {
        cases.run({"utils.h", "binary_ops.h", "binary.h"}, "binary_vv<float, float, " + name + ">", {}, [&, function = function](Launch launch) {
            const std::vector<float> a = values(count), b = values(count, 0.5f, 3, 2);
            launch.buffer(0, a).buffer(1, b).output<float>(2, count).value(3, count).threads({(count + 1) / 2}, {256});
            Compared compared{wide(launch.result<float>(2)), {}, 1e-5, 1e-5};
            for (std::size_t i = 0; i < count; ++i) compared.expected.push_back(function(a[i], b[i]));
            return compared;
        });
    }
    // One operand transposed, the other a row that is repeated.
    cases.run({"utils.h", "binary_ops.h", "binary.h"}, "binary_g_nd2<float, float, Multiply>", {}, [](Launch launch) {
        const std::size_t rows = 13, columns = 17;
        const std::vector<float> a = values(rows * columns), b = values(columns, -2, 2, 2);
        const std::vector<std::int64_t> a_strides = {1, rows}, b_strides = {0, 1};
        launch.buffer(0, a).buffer(1, b).output<float>(2, rows * columns).buffer(3, a_strides).buffer(4, b_strides).threads({columns, rows}, {8, 8});
        Compared compared{wide(launch.result<float>(2)), {}};
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < columns; ++j) compared.expected.push_back(double(a[i + j * rows]) * b[j]);
        }
        return compared;
    });
    cases.run({"utils.h", "arange.h"}, "arange<int32_t>", {}, [&](Launch launch) {
        launch.value(0, std::int32_t(5)).value(1, std::int32_t(-3)).output<std::int32_t>(2, count).threads({count}, {256});
        Compared compared{wide(launch.result<std::int32_t>(2)), {}, 0, 0};
        for (std::size_t i = 0; i < count; ++i) compared.expected.push_back(5 - 3 * double(i));
        return compared;
    });
}

void add_reductions(Cases &cases) {
    const std::size_t rows = 7, columns = 1001;
    const std::vector<float> in = values(rows * columns);
    const auto each_row = [&](const std::function<void(const float *, Compared &)> &reduce, Compared &compared) {
        for (std::size_t i = 0; i < rows; ++i) reduce(&in[i * columns], compared);
    };
    cases.run({"utils.h", "atomic.h", "reduction/ops.h", "reduce_utils.h", "reduce.h"}, "row_reduce_simple<float, float, Sum<float>>", {}, [&](Launch launch) {
        launch.buffer(0, in).output<float>(1, rows).value(2, std::uint64_t(columns)).value(3, std::int64_t(rows)).groups({1, (rows + 3) / 4}, {256});
        Compared compared{wide(launch.result<float>(1)), {}, 1e-5, 1e-4};
        each_row([&](const float *row, Compared &all) { all.expected.push_back(std::accumulate(row, row + columns, 0.0)); }, compared);
        return compared;
    });
    cases.run({"utils.h", "atomic.h", "reduction/ops.h", "reduce_utils.h", "reduce.h"}, "all_reduce<float, float, Max<float>>", {}, [&](Launch launch) {
        launch.buffer(0, in).output<float>(1, 1).value(2, std::uint64_t(in.size())).value(3, std::uint64_t(in.size())).groups({1}, {1024});
        return Compared{wide(launch.result<float>(1)), {double(*std::max_element(in.begin(), in.end()))}, 0, 0};
    });
    for (const std::string kernel : {"softmax_single_row<float>", "softmax_looped<float>"}) {
        cases.run({"utils.h", "softmax.h"}, kernel, {}, [&](Launch launch) {
            launch.buffer(0, in).output<float>(1, in.size()).value(2, std::int32_t(columns)).groups({rows}, {256});
            Compared compared{wide(launch.result<float>(1)), {}, 1e-5, 1e-7};
            each_row([&](const float *row, Compared &all) {
                double sum = 0;
                for (std::size_t j = 0; j < columns; ++j) sum += std::exp(double(row[j]));
                for (std::size_t j = 0; j < columns; ++j) all.expected.push_back(std::exp(double(row[j])) / sum);
            }, compared);
            return compared;
        });
    }
    cases.run({"utils.h", "logsumexp.h"}, "logsumexp<float>", {}, [&](Launch launch) {
        launch.buffer(0, in).output<float>(1, rows).value(2, std::int32_t(columns)).groups({rows}, {256});
        Compared compared{wide(launch.result<float>(1)), {}};
        each_row([&](const float *row, Compared &all) {
            double sum = 0;
            for (std::size_t j = 0; j < columns; ++j) sum += std::exp(double(row[j]));
            all.expected.push_back(std::log(sum));
        }, compared);
        return compared;
    });
    for (const bool reverse : {false, true}) {
        cases.run({"utils.h", "binary_ops.h", "scan.h"}, std::string("contiguous_scan<float, float, CumSum<float>, 4, true, ") + (reverse ? "true>" : "false>"), {},
                  [&](Launch launch) {
            launch.buffer(0, in).output<float>(1, in.size()).value(2, std::uint64_t(columns)).groups({1, rows}, {256});
            Compared compared{wide(launch.result<float>(1)), {}, 1e-5, 2e-4};
            each_row([&](const float *row, Compared &all) {
                std::vector<double> sums(columns);
                double sum = 0;
                for (std::size_t j = 0; j < columns; ++j) sums[reverse ? columns - 1 - j : j] = sum += row[reverse ? columns - 1 - j : j];
                all.expected.insert(all.expected.end(), sums.begin(), sums.end());
            }, compared);
            return compared;
        });
    }
    for (const bool order : {false, true}) {
        const std::size_t length = 451;
        cases.run({"utils.h", "sort.h"}, order ? "block_sort<float, uint, true, 128, 4>" : "block_sort<float, float, false, 128, 4>", {}, [&](Launch launch) {
            const std::int32_t step = 1, stride = columns;
            launch.buffer(0, in).value(2, std::int32_t(length)).value(3, step).value(4, step).value(5, stride).value(6, std::int32_t(length));
            Compared compared{{}, {}, 0, 0};
            if (order) {
                launch.output<std::uint32_t>(1, rows * length).groups({1, rows}, {128});
                compared.found = wide(launch.result<std::uint32_t>(1));
            } else {
                launch.output<float>(1, rows * length).groups({1, rows}, {128});
                compared.found = wide(launch.result<float>(1));
            }
            each_row([&](const float *row, Compared &all) {
                std::vector<std::size_t> places(length);
                std::iota(places.begin(), places.end(), 0);
                std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return row[a] < row[b]; });
                for (std::size_t place : places) all.expected.push_back(order ? double(place) : row[place]);
            }, compared);
            return compared;
        });
    }
}

void add_products(Cases &cases) {
    struct Parameters {
        std::int32_t M, N, K, lda, ldb, ldd, tiles_n, tiles_m;
        std::int64_t batch_stride_a, batch_stride_b, batch_stride_d;
        std::int32_t swizzle_log, gemm_k_iterations_aligned, batch_ndim;
    };
    const std::size_t M = 70, N = 45, K = 53;
    for (const bool transposed : {false, true}) {
        const std::string instance = std::string("gemm<float, 32, 32, 16, 2, 2, false, ") + (transposed ? "true>" : "false>");
        cases.run({"utils.h", "steel/gemm/gemm.h", "steel/gemm/kernels/steel_gemm_fused.h"}, instance, {}, [&](Launch launch) {
            const std::vector<float> a = values(M * K), b = values(K * N, -2, 2, 2);
            const std::int32_t m = M, n = N, k = K;
            const Parameters parameters{m, n, k, k, transposed ? k : n, n, (n + 31) / 32, (m + 31) / 32, 0, 0, 0, 0, k / 16, 1};
            launch.buffer(0, a).buffer(1, b).output<float>(3, M * N).value(4, parameters);
            launch.groups({(N + 31) / 32, (M + 31) / 32, 1}, {32, 2, 2});
            Compared compared{wide(launch.result<float>(3)), {}, 1e-5, 1e-4};
            for (std::size_t i = 0; i < M; ++i) {
                for (std::size_t j = 0; j < N; ++j) {
                    double sum = 0;
                    for (std::size_t l = 0; l < K; ++l) sum += double(a[i * K + l]) * (transposed ? b[j * K + l] : b[l * N + j]);
                    compared.expected.push_back(sum);
                }
            }
            return compared;
        });
    }
    cases.run({"utils.h", "gemv.h"}, "gemv<float, 4, 1, 1, 32, 4, 4, false, false>", {}, [](Launch launch) {
        const std::size_t rows = 77, columns = 301;
        const std::vector<float> matrix = values(rows * columns), vector = values(columns, -2, 2, 2);
        const std::vector<std::int64_t> strides = {0};
        launch.buffer(0, matrix).buffer(1, vector).buffer(2, vector).output<float>(3, rows);
        launch.value(4, std::int32_t(columns)).value(5, std::int32_t(rows)).value(6, std::int32_t(columns)).value(7, 1.0f).value(8, 0.0f);
        launch.value(9, std::int32_t(1)).buffer(10, std::vector<std::int32_t>{1}).buffer(11, strides).buffer(12, strides).buffer(13, strides).value(14, std::int32_t(1));
        launch.groups({(rows + 15) / 16}, {32, 1, 4});
        Compared compared{wide(launch.result<float>(3)), {}, 1e-5, 1e-4};
        for (std::size_t i = 0; i < rows; ++i) {
            double sum = 0;
            for (std::size_t j = 0; j < columns; ++j) sum += double(matrix[i * columns + j]) * vector[j];
            compared.expected.push_back(sum);
        }
        return compared;
    });
    // Weights of 4 bits, two to a byte, with a scale and a bias for each 64.
    cases.run({"utils.h", "steel/gemm/gemm.h", "quantized_utils.h", "quantized.h"}, "affine_qmv_fast<float, 64, 4, false>", {}, [](Launch launch) {
        const std::size_t rows = 24, columns = 1024, group = 64;
        std::vector<std::uint8_t> weights(rows * columns / 2);
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::uint8_t(i * 37 + i / 91);
        const std::vector<float> scales = values(rows * columns / group, 0.01f, 0.1f), biases = values(rows * columns / group, -1, 0, 3), x = values(columns, -1, 1, 2);
        const std::vector<std::int32_t> shape = {1};
        const std::vector<std::int64_t> strides = {0};
        launch.buffer(0, weights).buffer(1, scales).buffer(2, biases).buffer(3, x).output<float>(4, rows);
        launch.value(5, std::int32_t(columns)).value(6, std::int32_t(rows)).value(7, std::int32_t(0)).buffer(8, shape).buffer(9, strides).value(10, std::int32_t(0));
        launch.buffer(11, shape).buffer(12, strides).buffer(13, strides).buffer(14, strides).groups({1, rows / 8}, {32, 2});
        Compared compared{wide(launch.result<float>(4)), {}, 1e-5, 1e-4};
        for (std::size_t i = 0; i < rows; ++i) {
            double sum = 0;
            for (std::size_t j = 0; j < columns; ++j) {
                const std::size_t at = i * columns + j;
                sum += ((weights[at / 2] >> (at % 2 * 4) & 15) * double(scales[at / group]) + biases[at / group]) * x[j];
            }
            compared.expected.push_back(sum);
        }
        return compared;
    });
    cases.run({"utils.h", "steel/gemm/gemm.h", "quantized_utils.h", "quantized.h"}, "affine_quantize<float, 64, 8>", {}, [](Launch launch) {
        const std::size_t count = 512, group = 64;
        const std::vector<float> weights = values(count);
        launch.buffer(0, weights).output<std::uint8_t>(1, count).output<float>(2, count / group).output<float>(3, count / group).threads({count / 2}, {64});
        const auto packed = launch.result<std::uint8_t>(1);
        const auto scales = launch.result<float>(2), biases = launch.result<float>(3);
        Compared compared{{}, wide(weights), 0, 4.0 / 255 * 1.01};  // a step of the widest group, at the end away from its bias
        for (std::size_t i = 0; i < count; ++i) compared.found.push_back(packed[i] * double(scales[i / group]) + biases[i / group]);
        return compared;
    });
}

// What attention is for one query row over `length` keys.
void attend(const float *query, const float *keys, const float *values, std::size_t length, std::size_t width, double scale, Values &out) {
    std::vector<double> weights(length);
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) {
        double score = 0;
        for (std::size_t j = 0; j < width; ++j) score += double(query[j]) * keys[i * width + j];
        sum += weights[i] = std::exp(score * scale);
    }
    for (std::size_t j = 0; j < width; ++j) {
        double value = 0;
        for (std::size_t i = 0; i < length; ++i) value += weights[i] / sum * values[i * width + j];
        out.push_back(value);
    }
}

void add_attention(Cases &cases) {
    const std::size_t heads = 4, shared = 2, length = 83, width = 64;
    const float scale = 0.125f;
    const std::vector<float> keys = values(heads / shared * length * width, -1, 1, 2), contents = values(heads / shared * length * width, -1, 1, 3);
    cases.run({"utils.h", "sdpa_vector.h"}, "sdpa_vector<float, 64>", {}, [&](Launch launch) {
        const std::vector<float> queries = values(heads * width, -1, 1);
        const std::uint64_t head_stride = length * width, row_stride = width;
        launch.buffer(0, queries).buffer(1, keys).buffer(2, contents).output<float>(3, heads * width).value(4, std::int32_t(shared)).value(5, std::int32_t(length));
        launch.value(6, head_stride).value(7, row_stride).value(8, head_stride).value(9, row_stride).value(10, scale).groups({heads, 1}, {1024});
        Compared compared{wide(launch.result<float>(3)), {}, 1e-5, 1e-5};
        for (std::size_t h = 0; h < heads; ++h) {
            attend(&queries[h * width], &keys[h / shared * length * width], &contents[h / shared * length * width], length, width, scale, compared.expected);
        }
        return compared;
    });
    struct Parameters {
        std::int32_t B, H, D, qL, kL, gqa_factor;
        float scale;
        std::int32_t NQ, NK, NQ_aligned, NK_aligned, qL_rem, kL_rem, qL_off;
        std::int64_t Q_strides[3], K_strides[3], V_strides[3], O_strides[3];
    };
    cases.run({"utils.h", "steel/attn/attn.h", "steel/attn/kernels/steel_attention.h"}, "attention<float, 32, 32, 64, 64, 4, 1>", {}, [&](Launch launch) {
        const std::size_t rows = 41;
        const std::vector<float> queries = values(heads * rows * width, -1, 1);
        const std::int64_t q = rows * width, k = length * width, w = width, all = heads;
        const Parameters parameters{1, heads, width, rows, length, shared, scale, (rows + 31) / 32, (length + 31) / 32, rows / 32, length / 32,
                                    rows % 32, length % 32, length - rows, {all * q, q, w}, {all / 2 * k, k, w}, {all / 2 * k, k, w}, {all * q, q, w}};
        launch.buffer(0, queries).buffer(1, keys).buffer(2, contents).output<float>(3, queries.size()).value(4, parameters);
        launch.groups({(rows + 31) / 32, heads, 1}, {32, 4, 1});
        Compared compared{wide(launch.result<float>(3)), {}, 1e-5, 1e-5};
        for (std::size_t i = 0; i < heads * rows; ++i) {
            const std::size_t of = i / rows / shared * length * width;
            attend(&queries[i * width], &keys[of], &contents[of], length, width, scale, compared.expected);
        }
        return compared;
    });
}

void add_fourier(Cases &cases) {
    const std::size_t length = 256, batch = 3;
    // 256 = 8 * 8 * 4: constants 6 and 10 count the steps of 8 and of 4.
    cases.run({"utils.h", "fft.h"}, "fft<256, float2, float2>", {{1, 1}, {2, 4}, {6, 2}, {10, 1}}, [&](Launch launch) {
        const std::vector<float> in = values(2 * length * batch);
        launch.buffer(0, in).output<float>(1, in.size()).value(2, std::int32_t(length)).value(3, std::int32_t(batch)).threads({batch, 1, length / 4}, {1, 1, length / 4});
        Compared compared{wide(launch.result<float>(1)), {}, 1e-5, 1e-3};
        for (std::size_t of = 0; of < batch * length; of += length) {
            for (std::size_t k = 0; k < length; ++k) {
                std::complex<double> sum = 0;
                for (std::size_t i = 0; i < length; ++i) {
                    sum += std::complex<double>(in[2 * (of + i)], in[2 * (of + i) + 1]) * std::polar(1.0, -2 * M_PI * double(i * k % length) / double(length));
                }
                compared.expected.insert(compared.expected.end(), {sum.real(), sum.imag()});
            }
        }
        return compared;
    });
}

// Kernels that are nobody's template: what MLX writes itself when it fuses operations, and what a user gives as text.
void add_written(Cases &cases) {
    const std::size_t rows = 6, columns = 50;
    const std::vector<float> a = values(rows * columns), b = values(columns, 0.5f, 2, 2);
    cases.run({"utils.h", "unary_ops.h", "binary_ops.h", "ternary_ops.h"}, "ExpMultiplyAddSelect_strided_2", {}, [&](Launch launch) {
        const std::vector<std::int64_t> strides = {1, rows, 0, 1}, out_strides = {columns, 1};
        const std::vector<std::int32_t> shape = {rows, columns};
        launch.buffer(0, a).buffer(1, b).buffer(2, strides).output<float>(3, rows * columns).buffer(4, out_strides).buffer(5, shape).threads({columns, rows, 1}, {16, 4, 1});
        Compared compared{wide(launch.result<float>(3)), {}, 4e-6, 4e-6};
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < columns; ++j) {
                const double x = a[i + j * rows];
                compared.expected.push_back(x > 0.25 ? std::exp(x) * b[j] + 0.5 : b[j]);
            }
        }
        return compared;
    }, R"(
[[host_name("ExpMultiplyAddSelect_strided_2")]]
[[kernel]] void ExpMultiplyAddSelect_strided_2(
    device const float* A [[buffer(0)]],
    device const float* B [[buffer(1)]],
    constant const int64_t* in_strides [[buffer(2)]],
    device float* H [[buffer(3)]],
    constant const int64_t* output_strides [[buffer(4)]],
    constant const int* output_shape [[buffer(5)]],
    uint3 pos [[thread_position_in_grid]],
    uint3 grid [[threads_per_grid]]) {
  uint index = pos.x + grid.x * (pos.y + grid.y * pos.z);
  uint index_0 = pos.y;
  uint index_1 = pos.x;
  auto tmp_C = static_cast<float>(0.25);
  auto tmp_D = static_cast<float>(5e-01);
  size_t index_A = index_0 * in_strides[0] + index_1 * in_strides[1];
  size_t index_B = index_0 * in_strides[2] + index_1 * in_strides[3];
  float tmp_A = A[index_A];
  float tmp_B = B[index_B];
  float tmp_E = Exp()(tmp_A);
  float tmp_F = Multiply()(tmp_E, tmp_B);
  float tmp_G = Add()(tmp_F, tmp_D);
  bool tmp_I = Greater()(tmp_A, tmp_C);
  float tmp_H = Select()(tmp_I, tmp_G, tmp_B);
  H[index] = tmp_H;
}
)");
    cases.run({"utils.h"}, "custom_kernel_copied", {}, [&](Launch launch) {
        const std::vector<std::int32_t> shape = {columns, rows};
        const std::vector<std::int64_t> strides = {1, columns};
        launch.buffer(0, a).buffer(1, shape).buffer(2, strides).value(3, std::int32_t(2)).output<float>(4, rows * columns).threads({rows * columns}, {64});
        Compared compared{wide(launch.result<float>(4)), {}};
        for (std::size_t i = 0; i < rows * columns; ++i) compared.expected.push_back(3 * a[i / rows + i % rows * columns]);
        return compared;
    }, R"(
template <typename T, int N, bool flag>
[[kernel]] void custom_kernel_copied(
    const device float* inp [[buffer(0)]],
    const constant int* inp_shape [[buffer(1)]],
    const constant int64_t* inp_strides [[buffer(2)]],
    const constant int& inp_ndim [[buffer(3)]],
    device T* out [[buffer(4)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
    uint elem = thread_position_in_grid.x;
    auto loc = elem_to_loc(elem, inp_shape, inp_strides, inp_ndim);
    T tmp = inp[loc];
    out[elem] = flag ? tmp * N : tmp;
}
template [[host_name("custom_kernel_copied")]] [[kernel]] decltype(custom_kernel_copied<float, 3, true>) custom_kernel_copied<float, 3, true>;
)");
}

}  // namespace

Agreement run_kernels(MTL::Device *device, const std::string &headers, const std::string &only) {
    Cases cases(device, headers, only);
    add_elementwise(cases);
    add_reductions(cases);
    add_products(cases);
    add_attention(cases);
    add_fourier(cases);
    add_written(cases);
    return cases.agreement;
}
