// A story told twice by llama.cpp: all layers in its Metal backend, and in its CPU backend. The most likely token is
// taken each time, so that both go the same way until they differ.
//
// Usage: decode MODEL [TOKENS]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ggml-backend.h"
#include "llama.h"

namespace {

constexpr std::string_view prompt = "Once upon a time";
// A part of the largest logit: the CPU backend rounds activations to 8 bits before it multiplies them with weights of 8
// bits.
constexpr double tolerance = 0.02;

struct Story {
    std::vector<llama_token> tokens;
    std::vector<std::vector<float>> logits;
    std::string text;
};

Story tell(const char *path, bool metal, std::size_t length) {
    ggml_backend_dev_t none = nullptr;
    llama_model_params model_parameters = llama_model_default_params();
    model_parameters.n_gpu_layers = metal ? 999 : 0;
    if (!metal) model_parameters.devices = &none;
    const std::unique_ptr<llama_model, decltype(&llama_model_free)> model(
        llama_model_load_from_file(path, model_parameters), llama_model_free);
    if (!model) throw std::runtime_error(std::string("no model ") + path);
    llama_context_params parameters = llama_context_default_params();
    parameters.n_ctx = 256;
    // More threads than processors would spin in each other's way.
    parameters.n_threads = parameters.n_threads_batch = int(std::max(1u, std::thread::hardware_concurrency()));
    parameters.offload_kqv = parameters.op_offload = metal;
    const std::unique_ptr<llama_context, decltype(&llama_free)> context(llama_init_from_model(model.get(), parameters),
                                                                        llama_free);
    if (!context) throw std::runtime_error("no context");

    const llama_vocab *words = llama_model_get_vocab(model.get());
    std::vector<llama_token> tokens(prompt.size() + 2);
    tokens.resize(std::size_t(
        llama_tokenize(words, prompt.data(), int(prompt.size()), tokens.data(), int(tokens.size()), true, true)));
    Story story;
    llama_batch batch = llama_batch_get_one(tokens.data(), int(tokens.size()));
    for (llama_token next = 0; story.tokens.size() < length && !llama_vocab_is_eog(words, next);
         batch = llama_batch_get_one(&next, 1)) {
        if (llama_decode(context.get(), batch) != 0) throw std::runtime_error("decoding failed");
        const float *logits = llama_get_logits_ith(context.get(), -1);
        story.logits.emplace_back(logits, logits + llama_vocab_n_tokens(words));
        next = llama_token(std::max_element(story.logits.back().begin(), story.logits.back().end()) -
                           story.logits.back().begin());
        story.tokens.push_back(next);
        char piece[64];
        story.text.append(piece,
                          std::size_t(std::max(0, llama_token_to_piece(words, next, piece, sizeof piece, 0, false))));
    }
    return story;
}

}  // namespace

int main(int count, char **arguments) try {
    if (count < 2) {
        std::fprintf(stderr, "usage: %s MODEL [TOKENS]\n", arguments[0]);
        return 2;
    }
    llama_log_set(
        [](ggml_log_level level, const char *text, void *) {
            if (level >= GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
        },
        nullptr);
    ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
    if (device == nullptr) throw std::runtime_error("ggml has no GPU backend");
    const std::size_t length = count > 2 ? std::stoul(arguments[2]) : 60;
    const Story metal = tell(arguments[1], true, length), cpu = tell(arguments[1], false, length);
    std::printf("%s:%s\n", ggml_backend_dev_name(device), metal.text.c_str());

    std::size_t same = 0;
    double largest = 0, difference = 0;
    while (same < std::min(metal.tokens.size(), cpu.tokens.size()) && metal.tokens[same] == cpu.tokens[same]) {
        for (std::size_t i = 0; i < cpu.logits[same].size(); ++i) {
            largest = std::max(largest, double(std::abs(cpu.logits[same][i])));
            difference = std::max(difference, double(std::abs(cpu.logits[same][i] - metal.logits[same][i])));
        }
        ++same;
    }
    std::printf("%zu of %zu tokens are the same, logits up to %.1f differ by %.3f\n", same, cpu.tokens.size(), largest,
                difference);
    return same == cpu.tokens.size() && same == metal.tokens.size() && difference <= tolerance * largest ? 0 : 1;
} catch (const std::exception &problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
