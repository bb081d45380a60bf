// Operations on elements, reductions, scans and sorts; and all cases in turn.
#include <complex>
#include <numeric>

#include "cases.h"

void add_elementwise(Cases &cases) {
    const std::uint32_t count = 1003;
    const std::vector<std::pair<std::string, double (*)(double)>> functions = {
        {"Exp", std::exp},       {"Sin", std::sin},
        {"Erf", std::erf},       {"Tanh", std::tanh},
        {"Expm1", std::expm1},   {"ArcTan", std::atan},
        {"Cosh", std::cosh},     {"Floor", std::floor},
        {"ArcSinh", std::asinh}, {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }}};
    for (const auto &[name, function] : functions) {
        cases.run({"utils.h", "unary_ops.h", "unary.h"}, "unary_v<float, float, " + name + ">", {},
                  [&, function = function](Launch launch) {
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
        cases.run({"utils.h", "binary_ops.h", "binary.h"}, "binary_vv<float, float, " + name + ">", {},
                  [&, function = function](Launch launch) {
                      const std::vector<float> a = values(count), b = values(count, 0.5f, 3, 2);
                      launch.buffer(0, a).buffer(1, b).output<float>(2, count).value(3, count).threads(
                          {(count + 1) / 2}, {256});
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
        launch.buffer(0, a)
            .buffer(1, b)
            .output<float>(2, rows * columns)
            .buffer(3, a_strides)
            .buffer(4, b_strides)
            .threads({columns, rows}, {8, 8});
        Compared compared{wide(launch.result<float>(2)), {}};
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) compared.expected.push_back(double(a[i + j * rows]) * b[j]);
        return compared;
    });
    cases.run({"utils.h", "arange.h"}, "arange<int32_t>", {}, [&](Launch launch) {
        launch.value(0, std::int32_t(5))
            .value(1, std::int32_t(-3))
            .output<std::int32_t>(2, count)
            .threads({count}, {256});
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
    cases.run({"utils.h", "atomic.h", "reduction/ops.h", "reduce_utils.h", "reduce.h"},
              "row_reduce_simple<float, float, Sum<float>>", {}, [&](Launch launch) {
                  launch.buffer(0, in)
                      .output<float>(1, rows)
                      .value(2, std::uint64_t(columns))
                      .value(3, std::int64_t(rows))
                      .groups({1, (rows + 3) / 4}, {256});
                  Compared compared{wide(launch.result<float>(1)), {}, 1e-5, 1e-4};
                  each_row([&](const float *row,
                               Compared &all) { all.expected.push_back(std::accumulate(row, row + columns, 0.0)); },
                           compared);
                  return compared;
              });
    cases.run({"utils.h", "atomic.h", "reduction/ops.h", "reduce_utils.h", "reduce.h"},
              "all_reduce<float, float, Max<float>>", {}, [&](Launch launch) {
                  launch.buffer(0, in)
                      .output<float>(1, 1)
                      .value(2, std::uint64_t(in.size()))
                      .value(3, std::uint64_t(in.size()))
                      .groups({1}, {1024});
                  return Compared{
                      wide(launch.result<float>(1)), {double(*std::max_element(in.begin(), in.end()))}, 0, 0};
              });
    for (const std::string kernel : {"softmax_single_row<float>", "softmax_looped<float>"}) {
        cases.run({"utils.h", "softmax.h"}, kernel, {}, [&](Launch launch) {
            launch.buffer(0, in).output<float>(1, in.size()).value(2, std::int32_t(columns)).groups({rows}, {256});
            Compared compared{wide(launch.result<float>(1)), {}, 1e-5, 1e-7};
            each_row(
                [&](const float *row, Compared &all) {
                    double sum = 0;
                    for (std::size_t j = 0; j < columns; ++j) sum += std::exp(double(row[j]));
                    for (std::size_t j = 0; j < columns; ++j) all.expected.push_back(std::exp(double(row[j])) / sum);
                },
                compared);
            return compared;
        });
    }
    cases.run({"utils.h", "logsumexp.h"}, "logsumexp<float>", {}, [&](Launch launch) {
        launch.buffer(0, in).output<float>(1, rows).value(2, std::int32_t(columns)).groups({rows}, {256});
        Compared compared{wide(launch.result<float>(1)), {}};
        each_row(
            [&](const float *row, Compared &all) {
                double sum = 0;
                for (std::size_t j = 0; j < columns; ++j) sum += std::exp(double(row[j]));
                all.expected.push_back(std::log(sum));
            },
            compared);
        return compared;
    });
    for (const bool reverse : {false, true}) {
        cases.run({"utils.h", "binary_ops.h", "scan.h"},
                  std::string("contiguous_scan<float, float, CumSum<float>, 4, true, ") +
                      (reverse ? "true>" : "false>"),
                  {}, [&](Launch launch) {
                      launch.buffer(0, in)
                          .output<float>(1, in.size())
                          .value(2, std::uint64_t(columns))
                          .groups({1, rows}, {256});
                      Compared compared{wide(launch.result<float>(1)), {}, 1e-5, 2e-4};
                      each_row(
                          [&](const float *row, Compared &all) {
                              std::vector<double> sums(columns);
                              double sum = 0;
                              for (std::size_t j = 0; j < columns; ++j)
                                  sums[reverse ? columns - 1 - j : j] = sum += row[reverse ? columns - 1 - j : j];
                              all.expected.insert(all.expected.end(), sums.begin(), sums.end());
                          },
                          compared);
                      return compared;
                  });
    }
    for (const bool order : {false, true}) {
        const std::size_t length = 451;
        cases.run({"utils.h", "sort.h"},
                  order ? "block_sort<float, uint, true, 128, 4>" : "block_sort<float, float, false, 128, 4>", {},
                  [&](Launch launch) {
                      const std::int32_t step = 1, stride = columns;
                      launch.buffer(0, in)
                          .value(2, std::int32_t(length))
                          .value(3, step)
                          .value(4, step)
                          .value(5, stride)
                          .value(6, std::int32_t(length));
                      Compared compared{{}, {}, 0, 0};
                      if (order) {
                          launch.output<std::uint32_t>(1, rows * length).groups({1, rows}, {128});
                          compared.found = wide(launch.result<std::uint32_t>(1));
                      } else {
                          launch.output<float>(1, rows * length).groups({1, rows}, {128});
                          compared.found = wide(launch.result<float>(1));
                      }
                      each_row(
                          [&](const float *row, Compared &all) {
                              std::vector<std::size_t> indices(length);
                              std::iota(indices.begin(), indices.end(), 0);
                              std::sort(indices.begin(), indices.end(),
                                        [&](std::size_t a, std::size_t b) { return row[a] < row[b]; });
                              for (std::size_t index : indices)
                                  all.expected.push_back(order ? double(index) : row[index]);
                          },
                          compared);
                      return compared;
                  });
    }
}

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
