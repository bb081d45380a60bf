// Random programs over lvalues in address spaces, against a model that computes while it writes them: references,
// pointers, conditionals, members, templates, and overloads that say which space they were called for.
//
// `space_programs_test N` runs N programs.
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

enum space {
    in_device,
    in_threadgroup,
    in_thread,
    in_constant,
    space_count,
    in_none
};
const std::vector<std::string> names = {"device", "threadgroup", "thread", "constant"};

// The first word of an object of `struct S { uint a, b[2]; }`, of `struct T { S s, q[2]; }`, or a uint.
enum type {
    a_uint,
    an_s,
    a_t
};
const std::vector<std::string> types = {"uint", "S", "T"};
constexpr size_t words_of_s = 3, words_of_t = 9;

// What a program says and what that is.
struct value {
    std::string text;
    uint32_t is;
};
struct lvalue {
    std::string text;
    space lies;
    type has;
    uint32_t *at;
};

uint32_t sum_of(const uint32_t *s) { return s[0] * 31 + s[1] * 37 + s[2]; }
uint32_t digits_of(const uint32_t *s) { return s[0] + s[1] * 3; }

std::string declarations() {
    std::string text = head +
                       "struct S {\n    uint a, b[2];\n    uint sum() const { return a * 31 + b[0] * 37 + b[1]; }\n"
                       "    uint sum() const constant { return a * 31 + b[0] * 37 + b[1]; }\n";
    for (size_t i = 0; i < in_constant; ++i) {
        const std::string &name = names[i];
        text += "    " + name + " uint &at(uint i) " + name +
                " { return (i & 1) ? a : b[i >> 1 & 1]; }\n    void add(uint x) " + name + " { a += x; b[0] ^= x; }\n";
    }
    text += "};\nstruct T {\n    S s, q[2];\n";
    for (size_t i = 0; i < in_constant; ++i)
        text += "    " + names[i] + " S &part() " + names[i] + " { return q[s.a & 1]; }\n";
    text += "};\nuint digits(S x) { return x.a + x.b[0] * 3; }\n"
            "template <typename A, typename B> struct same { static constant constexpr uint value = 6; };\n"
            "template <typename A> struct same<A, A> { static constant constexpr uint value = 5; };\n";
    for (size_t i = 0; i < space_count; ++i) {
        const std::string &name = names[i], number = std::to_string(i);
        const std::string unchanging = i == in_constant ? "const " : "";
        for (const char *type : {"uint", "S"}) {
            text += "uint kind(" + name + " const " + type + " &) { return 1" + number + "; }\nuint kind(const " +
                    name + " " + type + " *) { return 2" + number + "; }\n";
            for (size_t j = 0; j < space_count; ++j)
                text += "uint kinds(" + name + " const " + type + " &, const " + names[j] + " " + type +
                        " &) { return 1" + number + std::to_string(j) + "; }\n";
        }
        text += "template <typename A> " + name + " " + unchanging + "A &same_lvalue(" + name + " " + unchanging +
                "A &x) { return x; }\n";
        for (const char *type : {"uint", "S", "T"}) {
            const std::string reference = name + " " + unchanging + type + " &";
            text += reference + "pick(" + reference + "x, " + reference + "y, bool c) { return c ? x : y; }\n";
        }
        if (i == in_constant) continue;
        text += "template <typename A> " + name + " A &pick_any(" + name + " A &x, " + name +
                " A &y, bool c) { return c ? x : y; }\nvoid bump(" + name + " uint &x, uint y) { x = x * 3 + y; }\n";
        for (size_t j = 0; j < in_constant; ++j)
            text += "void swap(" + name + " uint &x, " + names[j] + " uint &y) { uint z = x; x = y; y = z + 1; }\n";
    }
    return text;
}

class writer {
public:
    explicit writer(uint32_t seed) : random_(seed) {
        for (std::vector<uint32_t> &memory : memories_)
            for (size_t i = 0; i < 2 * words_of_t; ++i) memory.push_back(next_word_++);
        for (size_t i = 0; i < space_count; ++i) {
            known_[i] = {{letters_[i] + "[0]", space(i), a_t, &memories_[i][0]},
                         {letters_[i] + "[1]", space(i), a_t, &memories_[i][words_of_t]},
                         {"(*" + letters_[i] + ")", space(i), a_t, &memories_[i][0]}};
        }
    }

    std::string program();
    // What is in device memory, then in threadgroup memory, then in the thread's, at the end.
    std::vector<uint32_t> results() const {
        std::vector<uint32_t> all;
        for (size_t i = 0; i < in_constant; ++i) all.insert(all.end(), memories_[i].begin(), memories_[i].end());
        return all;
    }

private:
    uint32_t below(uint32_t n) { return random_() % n; }
    // Both are evaluated before either is taken, whatever the compiler prefers.
    template <typename T> T one_of(std::vector<T> choices) { return choices[below(uint32_t(choices.size()))]; }

    lvalue known_lvalue(type has, space lies, bool changes);
    lvalue part_of(const lvalue &whole, unsigned depth);
    lvalue lvalue_of(type has, unsigned depth, space lies, bool changes, bool spaceless);
    value condition(unsigned depth);
    value value_of(unsigned depth);
    void statement(unsigned depth, unsigned level);
    void block(unsigned depth, unsigned level, bool runs);
    void declare_reference(unsigned depth, const std::string &indent);
    void store(const lvalue &to, uint32_t value) {
        if (runs_) *to.at = value;
    }

    std::mt19937 random_;
    uint32_t next_word_ = 1, next_name_ = 0;
    bool runs_ = true;
    std::string text_;
    const std::vector<std::string> letters_ = {"d", "g", "t", "c"};
    std::vector<uint32_t> memories_[space_count];
    std::vector<lvalue> known_[space_count];
};

lvalue writer::known_lvalue(type has, space lies, bool changes) {
    if (lies == in_none) lies = space(below(changes ? in_constant : space_count));
    std::vector<lvalue> found;
    for (const lvalue &known : known_[lies])
        if (known.has == has) found.push_back(known);
    if (!found.empty()) return one_of(found);
    return part_of(known_lvalue(type(has + 1), lies, changes), 0);
}

// A member of an S or a T.
lvalue writer::part_of(const lvalue &whole, unsigned depth) {
    const bool of_t = whole.has == a_t;
    const type has = of_t ? an_s : a_uint;
    const size_t words = of_t ? words_of_s : 1;
    const std::string dot = below(4) == 0 ? "(&" + whole.text + ")->" : whole.text + ".";
    if (below(3) == 0) return {dot + (of_t ? "s" : "a"), whole.lies, has, whole.at};
    const value index = depth > 0 ? value_of(depth - 1) : value{"1", 1};
    return {dot + (of_t ? "q" : "b") + "[(" + index.text + ") & 1]", whole.lies, has,
            whole.at + words * (1 + (index.is & 1))};
}

// `spaceless`: what a member returns will do, whose type names no space.
lvalue writer::lvalue_of(type has, unsigned depth, space lies, bool changes, bool spaceless) {
    if (depth == 0) return known_lvalue(has, lies, changes);
    const auto another = [&](space where) { return lvalue_of(has, depth - 1, where, changes, false); };
    switch (below(9)) {
    case 0:
    case 1: {
        const lvalue a = another(lies), b = another(a.lies);
        const value c = condition(depth - 1);
        return {"(" + c.text + " ? " + a.text + " : " + b.text + ")", a.lies, has, c.is ? a.at : b.at};
    }
    case 2: {
        const lvalue a = another(lies);
        return {one_of<std::string>({"(*(&" + a.text + "))", "(" + a.text + ")", "same_lvalue(" + a.text + ")"}),
                a.lies, has, a.at};
    }
    case 3: {
        const lvalue a = another(lies), b = another(a.lies);
        const value c = condition(depth - 1);
        const bool any = a.lies != in_constant && below(2) == 0;
        return {(any ? "pick_any(" : "pick(") + a.text + ", " + b.text + ", " + c.text + ")", a.lies, has,
                c.is ? a.at : b.at};
    }
    case 4:
        if (spaceless && has == a_uint) {
            const lvalue s = lvalue_of(an_s, depth - 1, space(below(in_constant)), true, true);
            const value i = value_of(depth - 1);
            return {s.text + ".at(" + i.text + ")", in_none, has, (i.is & 1) ? s.at : s.at + 1 + (i.is >> 1 & 1)};
        }
        if (spaceless && has == an_s) {
            const lvalue t = lvalue_of(a_t, depth - 1, space(below(in_constant)), true, true);
            return {t.text + ".part()", in_none, has, t.at + words_of_s * (1 + (*t.at & 1))};
        }
        [[fallthrough]];
    default:
        if (has == a_t) return known_lvalue(has, lies, changes);
        return part_of(lvalue_of(type(has + 1), depth - 1, lies, changes, spaceless), depth - 1);
    }
}

value writer::condition(unsigned depth) {
    const value a = value_of(depth), b = value_of(depth);
    const uint32_t x = a.is & 7, y = b.is & 7;
    const std::string left = "((" + a.text + ") & 7) ", right = " ((" + b.text + ") & 7)";
    switch (below(3)) {
    case 0: return {left + "<" + right, x < y};
    case 1: return {left + ">=" + right, x >= y};
    default: return {left + "==" + right, x == y};
    }
}

value writer::value_of(unsigned depth) {
    if (depth == 0) {
        const uint32_t number = below(9);
        return {std::to_string(number), number};
    }
    const auto any_lvalue = [&](type has) { return lvalue_of(has, depth - 1, in_none, false, false); };
    switch (below(10)) {
    case 0:
    case 1: {
        const value a = value_of(depth - 1), b = value_of(depth - 1);
        if (below(2) == 0) return {"(" + a.text + " * " + b.text + ")", a.is * b.is};
        return {"(" + a.text + " - " + b.text + ")", a.is - b.is};
    }
    case 2: {
        const value a = value_of(depth - 1), b = value_of(depth - 1), c = condition(depth - 1);
        return {"(" + c.text + " ? " + a.text + " : " + b.text + ")", c.is ? a.is : b.is};
    }
    case 3: {
        const lvalue p = any_lvalue(type(below(2)));
        if (below(2) == 0) return {"kind(" + p.text + ")", uint32_t(10 + p.lies)};
        return {"kind(&" + p.text + ")", uint32_t(20 + p.lies)};
    }
    case 4: {
        const type has = type(below(2));
        const lvalue p = any_lvalue(has), q = any_lvalue(has);
        return {"kinds(" + p.text + ", " + q.text + ")", uint32_t(100 + 10 * p.lies + q.lies)};
    }
    case 5: {
        const lvalue p = any_lvalue(a_uint), q = any_lvalue(a_uint);
        return {"same<decltype(&" + p.text + "), decltype(&" + q.text + ")>::value", p.lies == q.lies ? 5u : 6u};
    }
    case 6: {
        const lvalue p = lvalue_of(an_s, depth - 1, in_none, false, true);
        if (below(2) == 0) return {p.text + ".sum()", sum_of(p.at)};
        return {"digits(" + p.text + ")", digits_of(p.at)};
    }
    default: {
        const lvalue p = lvalue_of(a_uint, depth - 1, in_none, false, true);
        return {p.text, *p.at};
    }
    }
}

void writer::declare_reference(unsigned depth, const std::string &indent) {
    const type has = type(below(3));
    const lvalue p = lvalue_of(has, depth, in_none, true, false);
    const std::string name = "r" + std::to_string(next_name_++), &space = names[p.lies], &word = types[has];
    if (below(2) == 0) {
        text_ +=
            indent +
            one_of<std::string>({space + " " + word + " &", "auto &", word + " " + space + " &", space + " auto &"}) +
            name + " = " + p.text + ";\n";
        known_[p.lies].push_back({name, p.lies, has, p.at});
    } else {
        text_ += indent + one_of<std::string>({space + " " + word + " *", "auto ", word + " " + space + " *const "}) +
                 name + " = &" + p.text + ";\n";
        known_[p.lies].push_back({one_of<std::string>({"(*" + name + ")", name + "[0]"}), p.lies, has, p.at});
    }
}

void writer::block(unsigned depth, unsigned level, bool runs) {
    std::vector<lvalue> known[space_count];
    for (size_t i = 0; i < space_count; ++i) known[i] = known_[i];
    const bool ran = runs_;
    runs_ = runs_ && runs;
    for (uint32_t i = 1 + below(3); i > 0; --i) statement(depth, level);
    runs_ = ran;
    for (size_t i = 0; i < space_count; ++i) known_[i] = known[i];
}

void writer::statement(unsigned depth, unsigned level) {
    const std::string indent(4 * level, ' ');
    const auto target = [&](type has) { return lvalue_of(has, depth, in_none, true, true); };
    switch (below(level < 3 ? 9 : 7)) {
    case 0:
    case 1: {
        const lvalue to = target(a_uint);
        const value v = value_of(depth);
        const uint32_t old = *to.at;
        const uint32_t kind = below(3);
        text_ += indent + to.text + (kind == 0 ? " = " : kind == 1 ? " += " : " ^= ") + v.text + ";\n";
        store(to, kind == 0 ? v.is : kind == 1 ? old + v.is : old ^ v.is);
        break;
    }
    case 2: {
        const lvalue to = target(an_s), from = lvalue_of(an_s, depth, in_none, false, true);
        text_ += indent + to.text + " = " + from.text + ";\n";
        const std::vector<uint32_t> copied(from.at, from.at + words_of_s);
        for (size_t i = 0; i < words_of_s; ++i) store({"", to.lies, a_uint, to.at + i}, copied[i]);
        break;
    }
    case 3: declare_reference(depth, indent); break;
    case 4: {
        const lvalue to = lvalue_of(a_uint, depth, in_none, true, false);
        const value v = value_of(depth);
        text_ += indent + "bump(" + to.text + ", " + v.text + ");\n";
        store(to, *to.at * 3 + v.is);
        break;
    }
    case 5: {
        const lvalue to = target(an_s);
        const value v = value_of(depth);
        text_ += indent + to.text + ".add(" + v.text + ");\n";
        store({"", to.lies, a_uint, to.at}, to.at[0] + v.is);
        store({"", to.lies, a_uint, to.at + 1}, to.at[1] ^ v.is);
        break;
    }
    case 6: {
        const lvalue x = lvalue_of(a_uint, depth, in_none, true, false),
                     y = lvalue_of(a_uint, depth, in_none, true, false);
        text_ += indent + "swap(" + x.text + ", " + y.text + ");\n";
        const uint32_t z = *x.at;
        store(x, *y.at);
        store(y, z + 1);
        break;
    }
    default: {
        const value c = condition(depth);
        text_ += indent + "if (" + c.text + ") {\n";
        block(depth, level + 1, c.is);
        text_ += indent + "} else {\n";
        block(depth, level + 1, !c.is);
        text_ += indent + "}\n";
    }
    }
}

// The thread's memory is copied out, since nothing else shows it.
std::string writer::program() {
    text_ = declarations() + "kernel void k(device T *d [[buffer(0)]], constant T *c [[buffer(1)]], "
                             "device T *shown [[buffer(2)]]) {\n    threadgroup T g[2];\n    T t[2];\n"
                             "    for (uint i = 0; i < 2; ++i) { g[i] = shown[i]; t[i] = shown[2 + i]; }\n";
    for (int i = 0; i < 24; ++i) statement(1 + below(3), 1);
    return text_ + "    for (uint i = 0; i < 2; ++i) { shown[i] = g[i]; shown[2 + i] = t[i]; }\n}\n";
}

// The bits of words as the floats that kernels are run with.
std::vector<float> floats(const std::vector<uint32_t> &words) {
    std::vector<float> result(words.size());
    std::memcpy(result.data(), words.data(), words.size() * sizeof(float));
    return result;
}

void run_program(uint32_t seed) {
    writer written(seed);
    const size_t half = 2 * words_of_t;
    std::vector<uint32_t> words;
    for (uint32_t i = 1; i <= space_count * half; ++i) words.push_back(i);
    std::vector<float> device = floats({words.begin(), words.begin() + half}),
                       others = floats({words.begin() + half, words.begin() + 3 * half}),
                       constants = floats({words.begin() + 3 * half, words.end()});
    const std::string source = written.program();
    const compiled library(source);
    bool passed = CHECK(library.library != nullptr);
    const std::string error =
        passed ? run(library.specialize("k", {}), {&device, &constants, &others}, 1) : library.log;
    device.insert(device.end(), others.begin(), others.end());
    const std::vector<float> wanted = floats(written.results());
    passed =
        CHECK(error.empty() && std::memcmp(device.data(), wanted.data(), wanted.size() * sizeof(float)) == 0) && passed;
    if (!passed) std::fprintf(stderr, "seed %u: %s\nin: %s\n", seed, error.c_str(), source.c_str());
}

}  // namespace

int main(int count, char **arguments) {
    const uint32_t programs = count > 1 ? uint32_t(std::strtoul(arguments[1], nullptr, 10)) : 6;
    for (uint32_t seed = 1; seed <= programs; ++seed) run_program(seed);
    return check::report("msl/spaces/space_programs_test");
}
