// Whether a host can give a kernel its arguments, and function constants their values. The indices are constant
// expressions of the language, known once it is compiled.
#include <map>
#include <utility>

#include "msl/include/smtl/abi.h"
#include "reflection.h"

namespace smtl::msl {
namespace {

class Inspection {
public:
    explicit Inspection(std::string_view source) : source_(source) {}

    void look_at(const Kernel &kernel, const std::vector<ParameterFacts> &facts) {
        std::map<std::pair<ParameterKind, std::uint32_t>, const KernelParameter *> taken;
        for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
            const KernelParameter &parameter = kernel.parameters[i];
            const std::string name = "'" + parameter.name + "'";
            if (parameter.kind == ParameterKind::attribute) {
                if (facts[i].category != ParameterCategory::integers)
                    add(parameter.token, "[[" + parameter.attribute +
                                             "]] needs an integer or a vector of integers, and " + name +
                                             " is of type '" + parameter.type + "'");
                continue;
            }
            const char *kind = parameter.kind == ParameterKind::buffer ? "buffer" : "threadgroup";
            const auto attribute = [&](std::uint32_t index) {
                return "[[" + std::string(kind) + "(" + std::to_string(static_cast<std::int32_t>(index)) + ")]]";
            };
            if (facts[i].category != ParameterCategory::memory) {
                add(parameter.token, attribute(facts[i].index) + " needs a pointer or reference, and " + name +
                                         " is of type '" + parameter.type + "'");
                continue;
            }
            if (facts[i].index == UINT32_MAX) {
                add(parameter.token, "[[" + std::string(kind) + "(" + parameter.index_expression + ")]] of " + name +
                                         " needs an integer from 0 to " + std::to_string(SMTL_BUFFER_SLOTS - 1));
                continue;
            }
            if (facts[i].index >= SMTL_BUFFER_SLOTS || facts[i].length > SMTL_BUFFER_SLOTS - facts[i].index) {
                add(parameter.token, attribute(facts[i].index + facts[i].length - 1) + " of " + name +
                                         " is out of bounds: the last index is " +
                                         std::to_string(SMTL_BUFFER_SLOTS - 1));
                continue;
            }
            // Function constants decide later which of several are present.
            if (!parameter.condition.empty()) continue;
            for (std::uint32_t index = facts[i].index; index < facts[i].index + facts[i].length; ++index) {
                const auto [other, free] = taken.emplace(std::pair(parameter.kind, index), &parameter);
                if (free) continue;
                add(parameter.token,
                    attribute(index) + " of " + name + " is already taken by '" + other->second->name + "'");
                break;
            }
        }
    }

    void look_at(const Kernel &kernel, std::uint32_t thread_limit) {
        const ThreadLimit &written = kernel.thread_limit;
        if (written.expression.empty() || (thread_limit >= 1 && thread_limit <= SMTL_THREADS_PER_THREADGROUP)) return;
        const std::string number = thread_limit == UINT32_MAX ? "" : ", not " + std::to_string(thread_limit);
        add(written.token, "[[max_total_threads_per_threadgroup]] of '" + kernel.name +
                               "' needs an integer from 1 to " + std::to_string(SMTL_THREADS_PER_THREADGROUP) + number);
    }

    void look_at(const FunctionConstant &constant, const ConstantFacts &facts) {
        if (facts.data_type == 0)
            add(constant.token, "[[function_constant]] needs a scalar or a vector, and '" + constant.name +
                                    "' is of type '" + constant.type + "'");
    }

    std::vector<Problem> take() { return std::move(problems_); }

private:
    // The parameters of a template, once for all kernels that it is instantiated as.
    void add(std::size_t token, std::string message) {
        constexpr std::size_t most = 64;  // each is compared with those before
        if (problems_.size() == most) return;
        if (tokens_.empty()) tokens_ = tokenize(source_);
        for (const Problem &known : problems_)
            if (known.message == message) return;
        problems_.push_back({locate(source_, tokens_, token), std::move(message)});
    }

    std::string_view source_;
    std::vector<Token> tokens_;
    std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> find_misplaced_arguments(const Translation &translation, const Reflection &reflection) {
    Inspection inspection(translation.source);
    for (std::size_t i = 0; i < reflection.kernels.size(); ++i) {
        inspection.look_at(reflection.kernels[i], reflection.parameters[i]);
        inspection.look_at(reflection.kernels[i], reflection.thread_limits[i]);
    }
    for (std::size_t i = 0; i < reflection.constants.size(); ++i)
        inspection.look_at(translation.constants[i], reflection.constant_facts[i]);
    return inspection.take();
}

}  // namespace smtl::msl
