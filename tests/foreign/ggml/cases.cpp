// The cases: every kind of operation that the Metal backend offers, over the types and shapes that choose among its
// kernels.
#include <cmath>

#include "harness.h"

namespace {

// Products round their operands to 16 bits in one backend and to 8 in the other.
constexpr double product_tolerance = 5e-4;

const std::vector<ggml_type> weight_types = {
    GGML_TYPE_F32,   GGML_TYPE_F16,     GGML_TYPE_BF16,   GGML_TYPE_Q4_0,   GGML_TYPE_Q4_1,    GGML_TYPE_Q5_0,
    GGML_TYPE_Q5_1,  GGML_TYPE_Q8_0,    GGML_TYPE_Q2_K,   GGML_TYPE_Q3_K,   GGML_TYPE_Q4_K,    GGML_TYPE_Q5_K,
    GGML_TYPE_Q6_K,  GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S,  GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S,
    GGML_TYPE_IQ1_S, GGML_TYPE_IQ1_M,   GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4};

class Cases {
public:
    void add(std::string name, std::function<ggml_tensor *(Graph &)> build, double tolerance = 1e-6) {
        cases_.push_back({std::move(name), std::move(build), tolerance});
    }
    std::vector<Case> take() { return std::move(cases_); }

private:
    std::vector<Case> cases_;
};

std::string with(std::string operation, ggml_type type) { return operation + " " + ggml_type_name(type); }

void add_products(Cases &cases) {
    for (ggml_type type : weight_types) {
        for (std::int64_t columns : {1, 4, 32}) {
            cases.add(
                with("mul_mat", type) + " n=" + std::to_string(columns),
                [=](Graph &g) {
                    return ggml_mul_mat(g.context, g.input(type, {256, 64, 2}), g.f32({256, columns, 4}));
                },
                product_tolerance);
        }
        for (std::int64_t tokens : {1, 48}) {
            cases.add(
                with("mul_mat_id", type) + " n=" + std::to_string(tokens),
                [=](Graph &g) {
                    ggml_tensor *experts = g.input(type, {256, 32, 4});
                    ggml_tensor *ids = g.input(GGML_TYPE_I32, {2, tokens}, Fill::rows, 4);
                    return ggml_mul_mat_id(g.context, experts, g.f32({256, 2, tokens}), ids);
                },
                product_tolerance);
        }
        cases.add(with("get_rows", type), [=](Graph &g) {
            return ggml_get_rows(g.context, g.input(type, {256, 9}), g.input(GGML_TYPE_I32, {5}, Fill::rows, 9));
        });
        cases.add(with("cpy", type) + " to f32", [=](Graph &g) {
            return ggml_cpy(g.context, g.input(type, {256, 5, 2}),
                            ggml_new_tensor_3d(g.context, GGML_TYPE_F32, 256, 5, 2));
        });
        cases.add(
            with("cpy", type) + " from f32",
            [=](Graph &g) {
                return ggml_cpy(g.context, g.f32({256, 5, 2}), ggml_new_tensor_3d(g.context, type, 256, 5, 2));
            },
            product_tolerance);
        cases.add(
            with("set_rows", type),
            [=](Graph &g) {
                return ggml_set_rows(g.context, g.input(type, {256, 9}, Fill::zeros), g.f32({256, 4}),
                                     g.input(GGML_TYPE_I64, {4}, Fill::rows, 9));
            },
            product_tolerance);
    }
}

void add_attention(Cases &cases) {
    for (ggml_type type : {GGML_TYPE_F16, GGML_TYPE_F32, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q5_1}) {
        for (std::int64_t head : {32, 64, 96, 128, 256}) {
            for (std::int64_t queries : {1, 7, 32}) {
                for (bool masked : {false, true}) {
                    cases.add(
                        with("flash_attn_ext", type) + " head=" + std::to_string(head) +
                            " n=" + std::to_string(queries) + (masked ? " masked" : ""),
                        [=](Graph &g) {
                            ggml_tensor *mask = masked ? g.input(GGML_TYPE_F16, {128, queries}) : nullptr;
                            return ggml_flash_attn_ext(g.context, g.f32({head, queries, 4}),
                                                       g.input(type, {head, 128, 2}), g.input(type, {head, 128, 2}),
                                                       mask, 1.0f / std::sqrt(float(head)), masked ? 8.0f : 0.0f, 0.0f);
                        },
                        product_tolerance);
                }
            }
        }
    }
    for (bool masked : {false, true}) {
        for (std::int64_t length : {31, 256, 1100}) {
            cases.add("soft_max n=" + std::to_string(length) + (masked ? " masked" : ""), [=](Graph &g) {
                return ggml_soft_max_ext(g.context, g.f32({length, 7, 3}), masked ? g.f32({length, 7}) : nullptr, 0.3f,
                                         masked ? 8.0f : 0.0f);
            });
        }
    }
    for (int mode : {GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX}) {
        for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
            cases.add(
                with("rope", type) + " mode=" + std::to_string(mode),
                [=](Graph &g) {
                    ggml_tensor *positions = g.input(GGML_TYPE_I32, {6}, Fill::rows, 512);
                    return ggml_rope_ext(g.context, g.input(type, {128, 4, 6}), positions, nullptr, 96, mode, 512,
                                         10000.0f, 1.0f, 0.5f, 1.2f, 32.0f, 1.0f);
                },
                1e-5);
        }
    }
}

void add_elementwise(Cases &cases) {
    for (int op = 0; op < GGML_UNARY_OP_COUNT; ++op) {
        const auto unary = static_cast<ggml_unary_op>(op);
        if (unary == GGML_UNARY_OP_XIELU) continue;  // has parameters of its own
        for (std::int64_t width : {64, 37}) {
            cases.add(std::string("unary_") + ggml_unary_op_name(unary) + " width=" + std::to_string(width),
                      [=](Graph &g) { return ggml_unary(g.context, g.f32({width, 5, 3}), unary); });
        }
    }
    using Binary = ggml_tensor *(*)(ggml_context *, ggml_tensor *, ggml_tensor *);
    for (auto [name, op] :
         {std::pair<const char *, Binary>{"add", ggml_add}, {"sub", ggml_sub}, {"mul", ggml_mul}, {"div", ggml_div}}) {
        for (const std::vector<std::int64_t> &shape :
             {std::vector<std::int64_t>{64, 6, 4}, {64, 1, 1}, {1, 6, 4}, {32, 3, 2}}) {
            cases.add(
                std::string(name) + " by " + std::to_string(shape[0]) + "x" + std::to_string(shape[1]),
                [=, op = op](Graph &g) { return op(g.context, g.f32({64, 6, 4}), g.f32(shape, Fill::positive)); });
        }
    }
    for (int op = 0; op < GGML_GLU_OP_COUNT; ++op) {
        const auto glu = static_cast<ggml_glu_op>(op);
        if (glu == GGML_GLU_OP_SWIGLU_OAI) continue;  // has parameters of its own
        cases.add(std::string("glu_") + ggml_glu_op_name(glu),
                  [=](Graph &g) { return ggml_glu_split(g.context, g.f32({96, 5}), g.f32({96, 5}), glu); });
    }
    cases.add("scale", [](Graph &g) { return ggml_scale(g.context, g.f32({70, 5}), 0.7f); });
    cases.add("clamp", [](Graph &g) { return ggml_clamp(g.context, g.f32({70, 5}), -0.5f, 0.5f); });
    cases.add("leaky_relu", [](Graph &g) { return ggml_leaky_relu(g.context, g.f32({70, 5}), 0.1f, false); });
    cases.add("sqr", [](Graph &g) { return ggml_sqr(g.context, g.f32({70, 5})); });
    cases.add("sqrt", [](Graph &g) { return ggml_sqrt(g.context, g.f32({70, 5}, Fill::positive)); });
    cases.add("sin", [](Graph &g) { return ggml_sin(g.context, g.f32({70, 5})); });
    cases.add("cos", [](Graph &g) { return ggml_cos(g.context, g.f32({70, 5})); });
    cases.add("log", [](Graph &g) { return ggml_log(g.context, g.f32({70, 5}, Fill::positive)); });
    cases.add("acc", [](Graph &g) {
        ggml_tensor *sum = g.f32({64, 8});
        return ggml_acc(g.context, sum, g.f32({16, 4}), sum->nb[1], sum->nb[2], sum->nb[3], 32);
    });
}

void add_rows(Cases &cases) {
    for (std::int64_t width : {33, 128, 1500}) {
        const std::string of = " width=" + std::to_string(width);
        cases.add("norm" + of, [=](Graph &g) { return ggml_norm(g.context, g.f32({width, 5, 2}), 1e-5f); });
        cases.add("rms_norm" + of, [=](Graph &g) { return ggml_rms_norm(g.context, g.f32({width, 5, 2}), 1e-5f); });
        cases.add("rms_norm_mul_add" + of, [=](Graph &g) {
            ggml_tensor *normal = ggml_rms_norm(g.context, g.f32({width, 5, 2}), 1e-5f);
            return ggml_add(g.context, ggml_mul(g.context, normal, g.f32({width})), g.f32({width, 5, 2}));
        });
        cases.add("l2_norm" + of, [=](Graph &g) { return ggml_l2_norm(g.context, g.f32({width, 5, 2}), 1e-5f); });
        cases.add("sum_rows" + of, [=](Graph &g) { return ggml_sum_rows(g.context, g.f32({width, 5, 2})); });
        cases.add("mean" + of, [=](Graph &g) { return ggml_mean(g.context, g.f32({width, 5, 2})); });
        cases.add("sum" + of, [=](Graph &g) { return ggml_sum(g.context, g.f32({width, 5, 2})); }, 1e-5);
        cases.add("cumsum" + of, [=](Graph &g) { return ggml_cumsum(g.context, g.f32({width, 5, 2})); });
        cases.add("argmax" + of, [=](Graph &g) { return ggml_argmax(g.context, g.f32({width, 5})); });
        cases.add("argsort ascending" + of,
                  [=](Graph &g) { return ggml_argsort(g.context, g.f32({width, 5}), GGML_SORT_ORDER_ASC); });
        cases.add("argsort descending" + of,
                  [=](Graph &g) { return ggml_argsort(g.context, g.f32({width, 5}), GGML_SORT_ORDER_DESC); });
    }
    cases.add("group_norm", [](Graph &g) { return ggml_group_norm(g.context, g.f32({16, 16, 32}), 4, 1e-5f); });
}

void add_shapes(Cases &cases) {
    cases.add("repeat", [](Graph &g) {
        return ggml_repeat(g.context, g.f32({16, 3}), ggml_new_tensor_2d(g.context, GGML_TYPE_F32, 32, 9));
    });
    for (int axis : {0, 1, 2}) {
        cases.add("concat axis=" + std::to_string(axis),
                  [=](Graph &g) { return ggml_concat(g.context, g.f32({16, 4, 3}), g.f32({16, 4, 3}), axis); });
    }
    cases.add("cont transposed",
              [](Graph &g) { return ggml_cont(g.context, ggml_transpose(g.context, g.f32({17, 9, 2}))); });
    cases.add("pad", [](Graph &g) { return ggml_pad(g.context, g.f32({17, 9, 2}), 3, 1, 2, 0); });
    cases.add("pad_reflect_1d", [](Graph &g) { return ggml_pad_reflect_1d(g.context, g.f32({17, 9}), 3, 2); });
    cases.add("upscale nearest",
              [](Graph &g) { return ggml_upscale(g.context, g.f32({12, 10, 3}), 2, GGML_SCALE_MODE_NEAREST); });
    cases.add("upscale bilinear",
              [](Graph &g) { return ggml_upscale(g.context, g.f32({12, 10, 3}), 2, GGML_SCALE_MODE_BILINEAR); });
    cases.add("diag_mask_inf", [](Graph &g) { return ggml_diag_mask_inf(g.context, g.f32({12, 10, 3}), 2); });
    cases.add("tri", [](Graph &g) { return ggml_tri(g.context, g.f32({12, 12, 3}), GGML_TRI_TYPE_LOWER); });
    cases.add("arange", [](Graph &g) { return ggml_arange(g.context, 0, 10, 0.25f); });
    cases.add("timestep_embedding",
              [](Graph &g) { return ggml_timestep_embedding(g.context, g.f32({7}, Fill::positive), 64, 1000); });
}

void add_convolutions(Cases &cases) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        cases.add(with("im2col", type), [=](Graph &g) {
            return ggml_im2col(g.context, g.input(type, {3, 3, 4, 6}), g.f32({14, 12, 4, 2}), 1, 2, 1, 1, 1, 1, true,
                               type);
        });
        cases.add(
            with("conv_transpose_1d", type),
            [=](Graph &g) {
                return ggml_conv_transpose_1d(g.context, g.input(type, {3, 5, 4}), g.f32({9, 4}), 2, 0, 1);
            },
            1e-5);
        cases.add(
            with("conv_2d", type),
            [=](Graph &g) {
                return ggml_conv_2d(g.context, g.input(type, {3, 3, 4, 6}), g.f32({14, 12, 4, 1}), 1, 1, 1, 1, 1, 1);
            },
            product_tolerance);
    }
    for (ggml_op_pool kind : {GGML_OP_POOL_AVG, GGML_OP_POOL_MAX}) {
        cases.add("pool_2d kind=" + std::to_string(kind),
                  [=](Graph &g) { return ggml_pool_2d(g.context, g.f32({12, 10, 3}), kind, 3, 2, 2, 1, 1, 0); });
        cases.add("pool_1d kind=" + std::to_string(kind),
                  [=](Graph &g) { return ggml_pool_1d(g.context, g.f32({12, 10}), kind, 3, 2, 0); });
    }
    cases.add("ssm_conv", [](Graph &g) { return ggml_ssm_conv(g.context, g.f32({10, 64, 2}), g.f32({4, 64})); });
}

}  // namespace

std::vector<Case> all_cases() {
    Cases cases;
    add_products(cases);
    add_attention(cases);
    add_elementwise(cases);
    add_rows(cases);
    add_shapes(cases);
    add_convolutions(cases);
    return cases.take();
}
