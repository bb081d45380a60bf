// What executed kernels have in common: their inputs, how they are launched and how results are compared.
#ifndef FOREIGN_MLX_CASES_H
#define FOREIGN_MLX_CASES_H

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "agree.h"

using Values = std::vector<double>;

// A launch's result beside what it should be, and how far an element may be off: so much of its size, and of 1.
struct Compared {
    Values found, expected;
    double relative = 2e-6, absolute = 2e-6;
};

inline std::vector<float> values(std::size_t count, float low = -2, float high = 2, unsigned seed = 1) {
    std::vector<float> all(count);
    unsigned state = seed * 2654435761u + 12345;
    for (float &value : all) {
        state = state * 1664525u + 1013904223u;
        value = low + (high - low) * float(state >> 8) / float(1 << 24);
    }
    return all;
}
template <typename T> Values wide(const std::vector<T> &from) { return Values(from.begin(), from.end()); }

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
            if (text.empty())
                source.add("template [[host_name(\"case\")]] [[kernel]] decltype(" + instance + ") " + instance + ";");
            else
                source.add(text);
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
        if (any)
            ++agreement.agree;
        else
            std::printf("%s: nothing was compared\n", name.c_str());
    }

    MTL::Device *device_;
    std::string headers_, only_;
};

void add_elementwise(Cases &cases);
void add_reductions(Cases &cases);
void add_products(Cases &cases);
void add_attention(Cases &cases);
void add_fourier(Cases &cases);
void add_written(Cases &cases);

#endif
