#include "program.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace fuzz {
namespace {

const std::string start = R"(#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(off)
// Values as the host compares them: every NaN is the same.
template <class T> static ulong raw(T x) { return ulong(x); }
static ulong raw(half x) { return isnan(x) ? 0x7e00ul : ulong(as_type<ushort>(x)); }
static ulong raw(bfloat x) { return isnan(x) ? 0x7fc0ul : ulong(as_type<ushort>(x)); }
static ulong raw(float x) { return isnan(x) ? 0x7fc00000ul : ulong(as_type<uint>(x)); }
)";

Number raw(Kind kind, Number number) {
    if (!is_float(kind)) return number;
    Number bits = 0;
    store(kind, number, &bits);
    return bits;
}

Number any_number(Kind kind, std::mt19937_64 &random) {
    // A few numbers have many bits and many have few, so that there are numbers of every size, and of a type's ends.
    std::uint64_t bits = random();
    if (bits % 8 < 5) bits = bits >> 8 >> (bits >> 3) % 56;
    Number number = is_float(kind) ? rounded(kind, double(std::int64_t(bits << 40) >> 44) / 16)
                                   : wrap(kind, Wide(bits % 3 == 0 ? ~bits : bits));
    if (is_float(kind) && bits % 16 == 15) number = load(kind, &bits);
    // Processors flush bfloats that are too small for a normal number, where they have instructions for them.
    if (kind == Kind::bf16 && std::abs(real(number)) < 0x1p-40) number = std::bit_cast<Number>(0.0);
    return number;
}

}  // namespace

Program::Program(std::uint64_t seed, std::set<std::uint64_t> off)
    : off_(std::move(off)), random_(seed), id_(seed * 2654435761 + 1) {
    blocking_ = chance(2);
    text_ = start;
    for (unsigned i = 0; i < 3; ++i) palette_.push_back({any_kind(), 1 + below(4)});
    make_constants();
    make_structures();
    const std::size_t constants = scope_.size();
    for (unsigned n = 2 + below(4); n > 0; --n) {
        make_function();
        scope_.resize(constants);
    }
    make_buffers();
    make_kernel();
}

void Program::make_constants() {
    for (unsigned i = 0; i < 3; ++i) {
        const Type type{any_kind(), 1 + below(2)};
        Variable made{type, fresh("given"), allocate(1, true)};
        made.shared = made.steady = true, made.writable = false, made.where = Variable::constant;
        Value value{};
        for (unsigned k = 0; k < type.n; ++k) value[k] = literal({type.kind, 1}).at(0)[0];
        constants_.push_back({type, i * 3, value});
        initial_.emplace_back(made.base, value);
        text_ +=
            "constant " + spell(type) + " " + made.name + " [[function_constant(" + std::to_string(i * 3) + ")]];\n";
        scope_.push_back(made);
    }
    // Constants that are made of literals.
    std::vector<Variable> all = std::exchange(scope_, {});
    plain_ = true;
    for (unsigned i = 0; i < 4; ++i) {
        const Type type = any_type();
        Variable made{type, fresh("fixed"), 0};
        made.count = chance(2) ? 4 : 0;
        made.base = allocate(std::max(made.count, 1u), true);
        made.shared = made.steady = true, made.writable = false, made.where = Variable::constant;
        std::string words[] = {"constant", spell(type)}, values;
        if (chance(3)) std::swap(words[0], words[1]);
        for (unsigned k = 0; k < std::max(made.count, 1u); ++k) {
            const Expression value = expression(type, 2);
            initial_.emplace_back(made.base + k, value.at(0));
            values += (k ? ", " : "") + value.text;
        }
        text_ += words[0] + " " + words[1] + " " + made.name +
                 (made.count ? "[] = {" + values + "};\n" : " = " + values + ";\n");
        all.push_back(made);
    }
    plain_ = false;
    scope_ = std::move(all);
}

void Program::make_function() {
    Function made;
    made.name = fresh("f");
    made.result = any_type();
    made.result_base = allocate(1, false);
    made.changes = chance(3);
    const bool is_template = chance(3);
    std::string parameters;
    const Type generic = any_type();
    for (unsigned i = 0, n = 1 + below(3); i < n; ++i) {
        Variable parameter{chance(2) ? generic : any_type(), fresh("p"), 0};
        const std::string passing = made.changes && (i == 0 || chance(2)) ? pick({"&", "*"}) : "";
        const bool in_device = passing == "*" && chance(3);
        if (in_device) parameter.where = Variable::device;
        if (passing == "*" && (in_device || chance(2))) parameter.count = in_device ? 4 : 2;
        const std::string space = in_device ? "device" : "thread";
        parameter.base = allocate(std::max(parameter.count, 1u), false);
        const std::string type = is_template && parameter.type == generic ? "T" : spell(parameter.type);
        parameters += (i ? ", " : "") +
                      (passing.empty() ? type + " "
                       : chance(2)     ? space + " " + type + " " + passing
                                       : type + " " + space + " " + passing) +
                      parameter.name;
        scope_.push_back(parameter);
        made.parameters.push_back(parameter);
        made.passing.push_back(passing);
        if (passing == "*" && parameter.count == 0) scope_.back().name = "(*" + parameter.name + ")";
    }
    const bool deduced = parameters.starts_with("T ") || parameters.find(", T ") != std::string::npos ||
                         parameters.find("e T ") != std::string::npos || parameters.find("d T ") != std::string::npos ||
                         parameters.find("T thread ") != std::string::npos ||
                         parameters.find("T device ") != std::string::npos;
    function_ = &made;
    generic_ = is_template;
    made.body = block(1, 5, id_ * 17 + functions_.size(), true);
    const Expression value = expression(made.result, 2);
    const std::size_t base = made.result_base;
    made.body.push_back({"return " + value.text + ";\n", [=, this](Mask mask) {
                             each(mask, [&](unsigned thread) { memory_[base + thread] = value.at(thread); });
                             return Mask(0);
                         }});
    function_ = nullptr;
    generic_ = false;
    text_ += (deduced ? "template <typename T> " : "") +
             pick<std::string>({"static ", "inline ", "", "static __attribute__((noinline)) "}) + spell(made.result) +
             " " + made.name + "(" + parameters + ") {\n" + text_of(made.body) + "}\n";
    functions_.push_back(std::move(made));
}

void Program::make_buffers() {
    const auto add = [&](const std::string &stem, Type type, unsigned count, const Variable &like) {
        Buffer made{fresh(stem), spell(type), "", count, type.size(), like.shared};
        Variable variable = like;
        variable.type = type, variable.name = made.name, variable.count = count;
        variable.base = allocate(std::max(count, 1u), like.shared);
        made.parts.push_back({variable, 0});
        buffers_.push_back(std::move(made));
    };
    const auto add_structures = [&](const std::string &stem, unsigned count, const Variable &like) {
        const Structure &structure = structures_[below(unsigned(structures_.size()))];
        Buffer made{fresh(stem), structure.name, "", count, structure.size, like.shared};
        const std::vector<Variable> members = instance(structure, made.name, ".", count, like);
        for (std::size_t i = 0; i < members.size(); ++i)
            made.parts.push_back({members[i], structure.members[i].offset});
        buffers_.push_back(std::move(made));
    };
    // Declares every argument but the first.
    const auto declare = [&](const std::string &text) {
        buffers_.back().declaration = text + " [[buffer(" + std::to_string(buffers_.size() - 1) + ")]]";
        for (const Buffer::Part &part : buffers_.back().parts) scope_.push_back(part.variable);
    };
    // The first holds the results.
    buffers_.push_back({"out", "ulong", "device ulong *out [[buffer(0)]]", 0, 8, false});
    buffers_[0].parts.push_back({{{Kind::u64, 1}, "out", 0, 0, false, false, Variable::device}, 0});
    for (unsigned n = 2 + below(3); n > 0; --n) {
        const std::string space = pick({"device const ", "constant ", "const device "});
        Variable like{{}, "", 0, 0, false, true, space == "constant " ? Variable::constant : Variable::device};
        like.steady = true;
        const unsigned count = chance(4) ? 0 : 16;
        chance(3) ? add_structures("in", count, like) : add("in", any_type(), count, like);
        declare(space + buffers_.back().type + (count ? " *" : " &") + buffers_.back().name);
    }
    for (unsigned n = 1 + below(2); n > 0; --n) {
        const Variable like{{}, "", 0, 0, true, false, Variable::device};
        chance(3) ? add_structures("mine", 4, like) : add("mine", any_type(), 4, like);
        declare("device " + buffers_.back().type + " *all_" + buffers_.back().name);
    }
    const Kind kind = pick({Kind::i32, Kind::u32});
    add("counters", {kind, 1}, 8, {{}, "", 0, 0, false, true, Variable::device});
    counters_.push_back(buffers_.back().parts[0].variable);
    declare(std::string("device atomic_") + name_of(kind) + " *" + buffers_.back().name);
    scope_.pop_back();  // for atomic functions alone
}

void Program::make_kernel() {
    std::string parameters;
    for (const Buffer &buffer : buffers_) parameters += buffer.declaration + ",\n    ";
    text_ +=
        pick<std::string>({"kernel void run(", "[[kernel]] void run("}) + parameters +
        "uint gid [[thread_position_in_grid]], uint tid [[thread_position_in_threadgroup]], ushort lane [[thread_index_in_simdgroup]]) {\n";
    for (const Buffer &buffer : buffers_)
        if (buffer.declaration.find(" *all_") != std::string::npos)
            text_ += "device " + buffer.type + " *" + buffer.name + " = all_" + buffer.name + " + gid * 4;\n";
    for (const char *name : {"gid", "tid", "lane"}) {
        Variable made{{name[0] == 'l' ? Kind::u16 : Kind::u32, 1}, name, allocate(1, false)};
        made.writable = false;
        scope_.push_back(made);
    }
    uniform_ = true;
    kernel_ = block(0, 16, id_ * 19, true);
    text_ += text_of(kernel_);
    make_results();
    text_ += "}\n";
}

void Program::make_results() {
    for (const Variable &variable : scope_) {
        if (variable.where != Variable::own) continue;
        for (unsigned index = 0; index < std::max(variable.count, 1u); ++index)
            for (unsigned component = 0; component < variable.type.n; ++component)
                results_.push_back({variable, index, component});
    }
    buffers_[0].count = buffers_[0].parts[0].variable.count = unsigned(results_.size());
    text_ += "out += gid * " + std::to_string(results_.size()) + ";\n";
    for (std::size_t i = 0; i < results_.size(); ++i) {
        const auto &[variable, index, component] = results_[i];
        text_ += "out[" + std::to_string(i) + "] = raw(" + variable.text(std::to_string(index)) +
                 (variable.type.n > 1 ? std::string(".") + "xyzw"[component] : "") + ");\n";
    }
}

std::vector<std::vector<unsigned char>> Program::given() const {
    std::vector<std::vector<unsigned char>> all;
    for (const Buffer &buffer : buffers_) {
        std::vector<unsigned char> bytes(buffer.elements() * buffer.stride);
        std::mt19937_64 random(id_ + all.size());
        for (std::size_t i = 0; i < buffer.elements() && !all.empty(); ++i) {
            for (const Buffer::Part &part : buffer.parts) {
                const Kind kind = part.variable.type.kind;
                for (unsigned k = 0; k < part.variable.type.n; ++k)
                    store(kind, any_number(kind, random),
                          bytes.data() + i * buffer.stride + part.offset + k * size_of(kind));
            }
        }
        all.push_back(std::move(bytes));
    }
    return all;
}

std::vector<std::vector<unsigned char>> Program::expected() {
    std::vector<std::vector<unsigned char>> all = given();
    memory_.assign(memory_size_, Value{});
    for (const auto &[at, value] : initial_) memory_[at] = value;
    // What an element of a buffer is for a thread.
    const auto every = [&](unsigned group, auto &&visit) {
        for (std::size_t b = 1; b < buffers_.size(); ++b) {
            const Buffer &buffer = buffers_[b];
            const unsigned count = std::max(buffer.count, 1u);
            for (unsigned thread = 0; thread < (buffer.shared ? 1 : threads); ++thread) {
                for (unsigned index = 0; index < count; ++index) {
                    const std::size_t element = buffer.shared ? index : (group * threads + thread) * count + index;
                    for (const auto &[variable, offset] : buffer.parts)
                        for (unsigned k = 0; k < variable.type.n; ++k)
                            visit(variable.type.kind, memory_[variable.at(thread, index)][k],
                                  all[b].data() + element * buffer.stride + offset + k * size_of(variable.type.kind));
                }
            }
        }
    };
    for (unsigned group = 0; group < groups; ++group) {
        every(group, [](Kind kind, Number &number, const unsigned char *at) { number = load(kind, at); });
        for (const Variable &variable : scope_) {
            for (unsigned thread = 0; thread < threads; ++thread)
                if (variable.name == "gid" || variable.name == "tid" || variable.name == "lane")
                    memory_[variable.at(thread)][0] = variable.name == "gid"   ? group * threads + thread
                                                      : variable.name == "tid" ? thread
                                                                               : thread % lanes;
        }
        run(kernel_, everyone);
        for (unsigned thread = 0; thread < threads; ++thread) {
            for (std::size_t i = 0; i < results_.size(); ++i) {
                const auto &[variable, index, component] = results_[i];
                const Number number = raw(variable.type.kind, memory_[variable.at(thread, index)][component]);
                std::memcpy(all[0].data() + ((group * threads + thread) * results_.size() + i) * 8, &number, 8);
            }
        }
        every(group, [](Kind kind, Number number, unsigned char *at) { store(kind, number, at); });
    }
    return all;
}

std::string Program::difference(const std::vector<std::vector<unsigned char>> &found) {
    const auto wanted = expected();
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
        const Buffer &buffer = buffers_[b];
        for (std::size_t element = 0; element < buffer.elements(); ++element) {
            // What lies between the numbers is undefined.
            for (const auto &[variable, offset] : buffer.parts) {
                const Kind kind = variable.type.kind;
                for (unsigned k = 0; k < variable.type.n; ++k) {
                    const std::size_t at = element * buffer.stride + offset + k * size_of(kind);
                    const Number is = load(kind, found[b].data() + at), should = load(kind, wanted[b].data() + at);
                    if (is == should || (is_float(kind) && std::isnan(real(is)) && std::isnan(real(should)))) continue;
                    std::string where = buffer.name + "[" + std::to_string(element) + "]" +
                                        (buffer.parts.size() > 1 ? " at " + std::to_string(offset) : "");
                    if (b == 0) {
                        const std::size_t count = results_.size();
                        const auto &[result, index, component] = results_[element % count];
                        where = result.text(std::to_string(index)) +
                                (result.type.n > 1 ? std::string(".") + "xyzw"[component] : "") + " (" +
                                result.type.name() + ") of thread " + std::to_string(element / count);
                    }
                    char values[80];
                    std::snprintf(values, sizeof values, " is %#lx, not %#lx", static_cast<unsigned long>(is),
                                  static_cast<unsigned long>(should));
                    return where + values;
                }
            }
        }
    }
    return {};
}

}  // namespace fuzz
