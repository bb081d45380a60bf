// Products of matrices and vectors, attention, Fourier transforms.
#include <complex>

#include "cases.h"

void add_products(Cases &cases) {
    struct Parameters {
        std::int32_t M, N, K, lda, ldb, ldd, tiles_n, tiles_m;
        std::int64_t batch_stride_a, batch_stride_b, batch_stride_d;
        std::int32_t swizzle_log, gemm_k_iterations_aligned, batch_ndim;
    };
    const std::size_t M = 70, N = 45, K = 53;
    for (const bool transposed : {false, true}) {
        const std::string instance =
            std::string("gemm<float, 32, 32, 16, 2, 2, false, ") + (transposed ? "true>" : "false>");
        cases.run({"utils.h", "steel/gemm/gemm.h", "steel/gemm/kernels/steel_gemm_fused.h"}, instance, {},
                  [&](Launch launch) {
                      const std::vector<float> a = values(M * K), b = values(K * N, -2, 2, 2);
                      const std::int32_t m = M, n = N, k = K;
                      const Parameters parameters{
                          m, n, k, k, transposed ? k : n, n, (n + 31) / 32, (m + 31) / 32, 0, 0, 0, 0, k / 16, 1};
                      launch.buffer(0, a).buffer(1, b).output<float>(3, M * N).value(4, parameters);
                      launch.groups({(N + 31) / 32, (M + 31) / 32, 1}, {32, 2, 2});
                      Compared compared{wide(launch.result<float>(3)), {}, 1e-5, 1e-4};
                      for (std::size_t i = 0; i < M; ++i) {
                          for (std::size_t j = 0; j < N; ++j) {
                              double sum = 0;
                              for (std::size_t l = 0; l < K; ++l)
                                  sum += double(a[i * K + l]) * (transposed ? b[j * K + l] : b[l * N + j]);
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
        launch.value(4, std::int32_t(columns))
            .value(5, std::int32_t(rows))
            .value(6, std::int32_t(columns))
            .value(7, 1.0f)
            .value(8, 0.0f);
        launch.value(9, std::int32_t(1))
            .buffer(10, std::vector<std::int32_t>{1})
            .buffer(11, strides)
            .buffer(12, strides)
            .buffer(13, strides)
            .value(14, std::int32_t(1));
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
    cases.run(
        {"utils.h", "steel/gemm/gemm.h", "quantized_utils.h", "quantized.h"}, "affine_qmv_fast<float, 64, 4, false>",
        {}, [](Launch launch) {
            const std::size_t rows = 24, columns = 1024, group = 64;
            std::vector<std::uint8_t> weights(rows * columns / 2);
            for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::uint8_t(i * 37 + i / 91);
            const std::vector<float> scales = values(rows * columns / group, 0.01f, 0.1f),
                                     biases = values(rows * columns / group, -1, 0, 3), x = values(columns, -1, 1, 2);
            const std::vector<std::int32_t> shape = {1};
            const std::vector<std::int64_t> strides = {0};
            launch.buffer(0, weights).buffer(1, scales).buffer(2, biases).buffer(3, x).output<float>(4, rows);
            launch.value(5, std::int32_t(columns))
                .value(6, std::int32_t(rows))
                .value(7, std::int32_t(0))
                .buffer(8, shape)
                .buffer(9, strides)
                .value(10, std::int32_t(0));
            launch.buffer(11, shape)
                .buffer(12, strides)
                .buffer(13, strides)
                .buffer(14, strides)
                .groups({1, rows / 8}, {32, 2});
            Compared compared{wide(launch.result<float>(4)), {}, 1e-5, 1e-4};
            for (std::size_t i = 0; i < rows; ++i) {
                double sum = 0;
                for (std::size_t j = 0; j < columns; ++j) {
                    const std::size_t at = i * columns + j;
                    sum += ((weights[at / 2] >> (at % 2 * 4) & 15) * double(scales[at / group]) + biases[at / group]) *
                           x[j];
                }
                compared.expected.push_back(sum);
            }
            return compared;
        });
    cases.run({"utils.h", "steel/gemm/gemm.h", "quantized_utils.h", "quantized.h"}, "affine_quantize<float, 64, 8>", {},
              [](Launch launch) {
                  const std::size_t count = 512, group = 64;
                  const std::vector<float> weights = values(count);
                  launch.buffer(0, weights)
                      .output<std::uint8_t>(1, count)
                      .output<float>(2, count / group)
                      .output<float>(3, count / group)
                      .threads({count / 2}, {64});
                  const auto packed = launch.result<std::uint8_t>(1);
                  const auto scales = launch.result<float>(2), biases = launch.result<float>(3);
                  Compared compared{{},
                                    wide(weights),
                                    0,
                                    4.0 / 255 * 1.01};  // a step of the widest group, at the end away from its bias
                  for (std::size_t i = 0; i < count; ++i)
                      compared.found.push_back(packed[i] * double(scales[i / group]) + biases[i / group]);
                  return compared;
              });
}

namespace {

// What attention is for one query row over `length` keys.
void attend(const float *query, const float *keys, const float *values, std::size_t length, std::size_t width,
            double scale, Values &out) {
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

}  // namespace

void add_attention(Cases &cases) {
    const std::size_t heads = 4, shared = 2, length = 83, width = 64;
    const float scale = 0.125f;
    const std::vector<float> keys = values(heads / shared * length * width, -1, 1, 2),
                             contents = values(heads / shared * length * width, -1, 1, 3);
    cases.run({"utils.h", "sdpa_vector.h"}, "sdpa_vector<float, 64>", {}, [&](Launch launch) {
        const std::vector<float> queries = values(heads * width, -1, 1);
        const std::uint64_t head_stride = length * width, row_stride = width;
        launch.buffer(0, queries)
            .buffer(1, keys)
            .buffer(2, contents)
            .output<float>(3, heads * width)
            .value(4, std::int32_t(shared))
            .value(5, std::int32_t(length));
        launch.value(6, head_stride)
            .value(7, row_stride)
            .value(8, head_stride)
            .value(9, row_stride)
            .value(10, scale)
            .groups({heads, 1}, {1024});
        Compared compared{wide(launch.result<float>(3)), {}, 1e-5, 1e-5};
        for (std::size_t h = 0; h < heads; ++h) {
            attend(&queries[h * width], &keys[h / shared * length * width], &contents[h / shared * length * width],
                   length, width, scale, compared.expected);
        }
        return compared;
    });
    struct Parameters {
        std::int32_t B, H, D, qL, kL, gqa_factor;
        float scale;
        std::int32_t NQ, NK, NQ_aligned, NK_aligned, qL_rem, kL_rem, qL_off;
        std::int64_t Q_strides[3], K_strides[3], V_strides[3], O_strides[3];
    };
    cases.run({"utils.h", "steel/attn/attn.h", "steel/attn/kernels/steel_attention.h"},
              "attention<float, 32, 32, 64, 64, 4, 1>", {}, [&](Launch launch) {
                  const std::size_t rows = 41;
                  const std::vector<float> queries = values(heads * rows * width, -1, 1);
                  const std::int64_t q = rows * width, k = length * width, w = width, all = heads;
                  const Parameters parameters{1,
                                              heads,
                                              width,
                                              rows,
                                              length,
                                              shared,
                                              scale,
                                              (rows + 31) / 32,
                                              (length + 31) / 32,
                                              rows / 32,
                                              length / 32,
                                              rows % 32,
                                              length % 32,
                                              length - rows,
                                              {all * q, q, w},
                                              {all / 2 * k, k, w},
                                              {all / 2 * k, k, w},
                                              {all * q, q, w}};
                  launch.buffer(0, queries)
                      .buffer(1, keys)
                      .buffer(2, contents)
                      .output<float>(3, queries.size())
                      .value(4, parameters);
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
        launch.buffer(0, in)
            .output<float>(1, in.size())
            .value(2, std::int32_t(length))
            .value(3, std::int32_t(batch))
            .threads({batch, 1, length / 4}, {1, 1, length / 4});
        Compared compared{wide(launch.result<float>(1)), {}, 1e-5, 1e-3};
        for (std::size_t of = 0; of < batch * length; of += length) {
            for (std::size_t k = 0; k < length; ++k) {
                std::complex<double> sum = 0;
                for (std::size_t i = 0; i < length; ++i) {
                    sum += std::complex<double>(in[2 * (of + i)], in[2 * (of + i) + 1]) *
                           std::polar(1.0, -2 * M_PI * double(i * k % length) / double(length));
                }
                compared.expected.insert(compared.expected.end(), {sum.real(), sum.imag()});
            }
        }
        return compared;
    });
}
