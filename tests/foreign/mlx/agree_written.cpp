// Kernels that are nobody's template: what MLX writes itself when it fuses operations, and what a user gives as text.
#include "cases.h"

void add_written(Cases &cases) {
    const std::size_t rows = 6, columns = 50;
    const std::vector<float> a = values(rows * columns), b = values(columns, 0.5f, 2, 2);
    cases.run(
        {"utils.h", "unary_ops.h", "binary_ops.h", "ternary_ops.h"}, "ExpMultiplyAddSelect_strided_2", {},
        [&](Launch launch) {
            const std::vector<std::int64_t> strides = {1, rows, 0, 1}, out_strides = {columns, 1};
            const std::vector<std::int32_t> shape = {rows, columns};
            launch.buffer(0, a)
                .buffer(1, b)
                .buffer(2, strides)
                .output<float>(3, rows * columns)
                .buffer(4, out_strides)
                .buffer(5, shape)
                .threads({columns, rows, 1}, {16, 4, 1});
            Compared compared{wide(launch.result<float>(3)), {}, 4e-6, 4e-6};
            for (std::size_t i = 0; i < rows; ++i) {
                for (std::size_t j = 0; j < columns; ++j) {
                    const double x = a[i + j * rows];
                    compared.expected.push_back(x > 0.25 ? std::exp(x) * b[j] + 0.5 : b[j]);
                }
            }
            return compared;
        },
        R"(
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
    cases.run(
        {"utils.h"}, "custom_kernel_copied", {},
        [&](Launch launch) {
            const std::vector<std::int32_t> shape = {columns, rows};
            const std::vector<std::int64_t> strides = {1, columns};
            launch.buffer(0, a)
                .buffer(1, shape)
                .buffer(2, strides)
                .value(3, std::int32_t(2))
                .output<float>(4, rows * columns)
                .threads({rows * columns}, {64});
            Compared compared{wide(launch.result<float>(4)), {}};
            for (std::size_t i = 0; i < rows * columns; ++i)
                compared.expected.push_back(3 * a[i / rows + i % rows * columns]);
            return compared;
        },
        R"(
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
