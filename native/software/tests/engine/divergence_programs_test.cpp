/* Generated programs in which lanes part in every way, with lane functions in between, against a model. The model
 * executes each statement for all lanes together, as a GPU does: under a mask, with the variables of inactive lanes
 * kept. After the first twenty programs lanes also wait for stores to shared memory, which must change nothing.
 * `divergence_programs_test N` runs N programs, up to the next multiple of twenty. */
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

constexpr uint32_t lanes = 32, variables = 3, programs_together = 20;
using mask = uint32_t;
using values = std::array<uint32_t, lanes>;

enum class kind {
    assign,
    talk,
    maybe,
    branch,
    loop,
    choose,
    leave,
    skip,
    finish
};
enum talk {
    sum,
    maximum,
    prefix,
    up,
    down,
    any_lane,
    exclusive,
    rotate,
    broadcast,
    fill,
    quad,
    quad_up,
    talk_count
};
constexpr uint32_t forms = 7, operand_count = 4; /* what shuffles take */

struct statement {
    kind what{};
    uint32_t to = 0, from = 0, k = 0, modulus = 1, limit = 0;
    std::vector<std::vector<statement>>
        parts; /* of a branch: then and else; of a loop: the body; of a choice: the cases */
    bool falls_through = false;
    uint32_t form = 0, call = 0; /* of an expression in which lanes choose */

    bool talks() const {
        if (what == kind::talk || what == kind::maybe) return true;
        for (const auto &part : parts)
            for (const statement &inner : part)
                if (inner.talks()) return true;
        return false;
    }
};
using block = std::vector<statement>;

/* The first is a parameter of its function, the others are variables. */
const char *const names[variables] = {"a", "b", "c"};

class generator {
public:
    explicit generator(uint32_t seed) : random_(seed) {}
    block make() { return make_block(0, false, 5); }

private:
    uint32_t below(uint32_t n) { return uint32_t(random_() % n); }
    statement simple(kind what) {
        statement made;
        made.what = what;
        made.to = below(variables);
        made.from = below(variables);
        made.k = below(31) + 1;
        made.modulus = below(6) + 2;
        made.limit = below(made.modulus - 1) + 1;
        return made;
    }
    statement leave_if(kind what) {
        statement made = simple(kind::branch);
        made.parts = {{simple(what)}};
        return made;
    }
    /* If `silent`, no statement of the block talks: lanes part there, and no lane function can tell. */
    block make_block(uint32_t depth, bool in_loop, uint32_t most, bool silent = false) {
        block made;
        for (uint32_t n = below(most) + 2; n > 0; --n) {
            const uint32_t choice = below(depth < 3 ? 16 : 9);
            const bool quiet = silent || (choice >= 9 && below(4) == 0);
            if (choice < (silent ? 8 : 3)) {
                made.push_back(simple(kind::assign));
            } else if (choice < 8) {
                statement talking = simple(kind::talk);
                talking.limit = below(talk_count);
                if (below(3) == 0) {
                    talking = simple(kind::maybe);
                    talking.form = below(forms);
                    talking.call = below(talk_count);
                }
                made.push_back(talking);
            } else if (choice < 9) {
                const kind ways[] = {kind::leave, kind::skip, kind::finish};
                made.push_back(leave_if(in_loop ? ways[below(3)] : kind::finish));
            } else if (choice < 13) {
                statement branch = simple(kind::branch);
                branch.parts.push_back(make_block(depth + 1, in_loop, 3, quiet));
                if (below(2)) branch.parts.push_back(make_block(depth + 1, in_loop, 3, quiet));
                made.push_back(branch);
            } else if (choice < 15) {
                statement loop = simple(kind::loop);
                loop.parts.push_back(make_block(depth + 1, true, 3, quiet));
                made.push_back(loop);
            } else {
                statement chosen = simple(kind::choose);
                chosen.falls_through = below(2);
                for (uint32_t i = 0; i < 3; ++i) chosen.parts.push_back(make_block(depth + 1, false, 2, quiet));
                made.push_back(chosen);
            }
        }
        return made;
    }
    std::mt19937 random_;
};

std::string text_of(const block &statements, uint32_t depth);

std::string text_of(const statement &s, uint32_t depth) {
    const std::string to = names[s.to], from = names[s.from], k = std::to_string(s.k), m = std::to_string(s.modulus);
    const std::string number = "(lane * " + k + " + " + from + ") % " + m,
                      condition = number + " < " + std::to_string(s.limit);
    const std::string n = "n" + std::to_string(depth);
    switch (s.what) {
    case kind::assign: return to + " = " + from + " * 3 + lane + " + k + ";\n";
    case kind::talk:
    case kind::maybe: {
        const std::string other = names[(s.from + 1) % variables];
        const std::string operands[operand_count] = {from, "(uint)(" + from + ")", "uint(" + from + ") / 2 + 5",
                                                     "(" + from + " ^ min(" + other + ", " + from + " + 7)) * 3"};
        const std::string taken = operands[s.k % operand_count];
        const std::string calls[talk_count] = {"simd_sum(" + from + ")",
                                               "simd_max(" + from + ")",
                                               "simd_prefix_inclusive_sum(" + from + ")",
                                               "simd_shuffle_up(" + taken + ", " + k + ")",
                                               "simd_shuffle_down(" + taken + ", " + k + ")",
                                               "simd_shuffle(" + taken + ", (lane * 7 + " + k + ") % 32)",
                                               "simd_shuffle_xor(" + taken + ", " + k + ")",
                                               "simd_shuffle_rotate_down(" + taken + ", " + k + ")",
                                               "simd_broadcast(" + taken + ", " + k + ")",
                                               "simd_shuffle_and_fill_up(" + taken + ", 9u, " + k + ")",
                                               "quad_shuffle(" + taken + ", " + std::to_string(s.k % 4) + ")",
                                               "quad_shuffle_up(" + taken + ", 1)"};
        const std::string any = "simd_any(" + from + " % 3 == 0)";
        const std::string expressions[forms] = {
            to + " = " + to + " * 5 + (" + condition + " ? " + calls[s.call] + " : " + from + " * 2);",
            to + " += " + condition + " && " + any + ";",
            to + " += max(uint(" + condition + " || " + any + "), 0u);",
            "{ const uint v = " + condition + " ? simd_sum(" + from + ") : simd_max(" + from + "), w = v * 2; " + to +
                " ^= w; }",
            to + " ^= " + condition + " ? together(" + from + ") : together(" + from + ") + 1;",
            "if (" + condition + " && " + any + ") " + to + " += 3; else " + to + " += 4;",
            to + " += (" + condition + " && together(" + from + ") % 2 == 0) || together(" + from +
                ") % 3 == 0 ? simd_sum(1u) : simd_sum(2u);"};
        return s.what == kind::talk ? to + " = " + to + " * 5 + " + calls[s.limit] + ";\n" : expressions[s.form] + "\n";
    }
    case kind::branch: {
        std::string text = "if (" + condition + ") {\n" + text_of(s.parts[0], depth + 1) + "}";
        if (s.parts.size() > 1) text += " else {\n" + text_of(s.parts[1], depth + 1) + "}";
        return text + "\n";
    }
    case kind::loop:
        return "for (uint " + n + " = 0; " + n + " < " + number + "; ++" + n + ") {\n" + from + " += " + n +
               " * 0u;\n" + text_of(s.parts[0], depth + 1) + "if (" + n + " > 3) break;\n}\n";
    case kind::choose: {
        std::string text = "switch (" + number + ") {\n";
        for (uint32_t i = 0; i < 3; ++i)
            text += (i < 2 ? "case " + std::to_string(i) : std::string("default")) + ":\n{\n" +
                    text_of(s.parts[i], depth + 1) + "}\n" + (s.falls_through ? "" : "break;\n");
        return text + "}\n";
    }
    case kind::leave: return "break;\n";
    case kind::skip: return "continue;\n";
    case kind::finish: return "return a ^ b * 3 ^ c * 7;\n";
    }
    return {};
}

/* Before each statement and at the end lanes may touch memory that they share. */
std::string text_of(const block &statements, uint32_t depth) {
    std::string text;
    for (const statement &s : statements) text += "SHARE\n" + text_of(s, depth);
    return text + "SHARE\n";
}

class model {
public:
    values run(const block &program) {
        for (uint32_t lane = 0; lane < lanes; ++lane)
            for (uint32_t v = 0; v < variables; ++v) of_[v][lane] = lane * 11 + v * 5 + 1;
        execute(program, ~0u);
        return of_result();
    }

private:
    values of_result() const {
        values result;
        for (uint32_t lane = 0; lane < lanes; ++lane) result[lane] = of_[0][lane] ^ of_[1][lane] * 3 ^ of_[2][lane] * 7;
        return result;
    }
    uint32_t number(const statement &s, uint32_t lane) const { return (lane * s.k + of_[s.from][lane]) % s.modulus; }

    /* Returns the lanes that come to the end of the block. */
    mask execute(const block &statements, mask active) {
        for (const statement &s : statements)
            if (active != 0) active = execute(s, active);
        return active;
    }
    mask execute(const statement &s, mask active) {
        const bool region = (!s.parts.empty() || s.what == kind::maybe) && s.talks();
        regions_ += region;
        const mask left = part(s, active);
        regions_ -= region;
        /* Variables that lanes declared in a function are gone once the lanes have left it. */
        if (regions_ == 0) gone_ = finished_;
        return left;
    }
    mask part(const statement &s, mask active) {
        const auto chosen = [&](auto condition) {
            mask result = 0;
            for (uint32_t lane = 0; lane < lanes; ++lane) result |= mask(active >> lane & 1 && condition(lane)) << lane;
            return result;
        };
        const auto below_limit = [&](uint32_t lane) { return number(s, lane) < s.limit; };
        switch (s.what) {
        case kind::assign:
            for (uint32_t lane = 0; lane < lanes; ++lane)
                if (active >> lane & 1) of_[s.to][lane] = of_[s.from][lane] * 3 + lane + s.k;
            return active;
        case kind::talk: talk_together(s, active); return active;
        case kind::maybe: choose_together(s, active, chosen(below_limit)); return active;
        case kind::branch: {
            const mask taken = chosen(below_limit);
            const mask first = execute(s.parts[0], taken);
            return first | (s.parts.size() > 1 ? execute(s.parts[1], active & ~taken) : active & ~taken);
        }
        case kind::loop: {
            mask done = 0;
            const mask outer_left = left_, outer_skipped = skipped_;
            left_ = 0;
            for (uint32_t n = 0; active != 0; ++n) {
                const mask going = chosen([&](uint32_t lane) { return n < number(s, lane); });
                done |= active & ~going;
                skipped_ = 0;
                active = execute(s.parts[0], going);
                if (n > 3) {
                    done |= active;
                    active = 0;
                }
                active |= skipped_;
            }
            done |= left_;
            left_ = outer_left;
            skipped_ = outer_skipped;
            return done;
        }
        case kind::choose: {
            std::array<mask, 3> cases;
            for (uint32_t i = 0; i < 3; ++i)
                cases[i] = chosen([&](uint32_t lane) { return std::min(number(s, lane), 2u) == i; });
            mask end = 0, falling = 0;
            for (uint32_t i = 0; i < 3; ++i) {
                const mask past = execute(s.parts[i], cases[i] | falling);
                falling = s.falls_through ? past : 0;
                end |= s.falls_through ? 0 : past;
            }
            return end | falling;
        }
        case kind::leave: left_ |= active; return 0;
        case kind::skip: skipped_ |= active; return 0;
        case kind::finish: finished_ |= active; return 0;
        }
        return active;
    }
    void choose_together(const statement &s, mask active, mask chosen) {
        const mask others = active & ~chosen;
        const values from = of_[s.from];
        mask threes = 0;
        for (uint32_t lane = 0; lane < lanes; ++lane) threes |= mask(from[lane] % 3 == 0) << lane;
        const auto of = [&](uint32_t call, mask together) { return results(s, call, together); };
        values result{};
        const auto set = [&](mask to, auto value) {
            for (uint32_t lane = 0; lane < lanes; ++lane)
                if (to >> lane & 1) result[lane] = value(lane);
        };
        const values called = of(s.call, chosen), sums = of(sum, chosen), other_sums = of(sum, others),
                     largest = of(maximum, others);
        const auto twice = [&](mask one) {
            set(one, [&](uint32_t) { return uint32_t(std::popcount(one)); });
            set(active & ~one, [&](uint32_t) { return 2 * uint32_t(std::popcount(active & ~one)); });
        };
        auto &to = of_[s.to];
        switch (s.form) {
        case 0:
            set(chosen, [&](uint32_t lane) { return to[lane] * 5 + called[lane]; });
            set(others, [&](uint32_t lane) { return to[lane] * 5 + from[lane] * 2; });
            break;
        case 1:
            set(active, [&](uint32_t lane) { return to[lane] + (chosen >> lane & 1 && (threes & chosen) != 0); });
            break;
        case 2:
            set(active, [&](uint32_t lane) { return to[lane] + (chosen >> lane & 1 || (threes & others) != 0); });
            break;
        case 3:
            set(chosen, [&](uint32_t lane) { return to[lane] ^ sums[lane] * 2; });
            set(others, [&](uint32_t lane) { return to[lane] ^ largest[lane] * 2; });
            break;
        case 4:
            set(chosen, [&](uint32_t lane) { return to[lane] ^ sums[lane]; });
            set(others, [&](uint32_t lane) { return to[lane] ^ (other_sums[lane] + 1); });
            break;
        case 5:
            set(active,
                [&](uint32_t lane) { return to[lane] + (chosen >> lane & 1 && (threes & chosen) != 0 ? 3 : 4); });
            break;
        case 6: {
            mask even = 0, third = 0;
            for (uint32_t lane = 0; lane < lanes; ++lane)
                even |= mask(chosen >> lane & 1 && sums[lane] % 2 == 0) << lane;
            const mask rest = active & ~even;
            const values of_rest = of(sum, rest);
            for (uint32_t lane = 0; lane < lanes; ++lane)
                third |= mask(rest >> lane & 1 && of_rest[lane] % 3 == 0) << lane;
            twice(even | third);
            set(active, [&](uint32_t lane) { return to[lane] + result[lane]; });
            break;
        }
        }
        set(~active, [&](uint32_t lane) { return to[lane]; });
        to = result;
    }
    void talk_together(const statement &s, mask active) {
        const values result = results(s, s.limit, active);
        for (uint32_t lane = 0; lane < lanes; ++lane)
            if (active >> lane & 1) of_[s.to][lane] = of_[s.to][lane] * 5 + result[lane];
    }
    /* What a lane computes for a shuffle. */
    uint32_t taken(const statement &s, uint32_t lane) const {
        const uint32_t from = of_[s.from][lane], other = of_[(s.from + 1) % variables][lane];
        switch (s.k % operand_count) {
        case 2: return from / 2 + 5;
        case 3: return (from ^ std::min(other, from + 7)) * 3;
        default: return from;
        }
    }
    /* The results of a lane function for the lanes that call it together. */
    values results(const statement &s, uint32_t call, mask active) const {
        values all{};
        const values from = of_[s.from];
        uint32_t total = 0, largest = 0;
        for (uint32_t lane = 0; lane < lanes; ++lane)
            if (active >> lane & 1) {
                total += from[lane];
                largest = std::max(largest, from[lane]);
            }
        uint32_t running = 0;
        for (uint32_t lane = 0; lane < lanes; ++lane) {
            if (!(active >> lane & 1)) continue;
            running += from[lane];
            const auto of_lane = [&](uint32_t other) {
                const bool unknown = (s.from != 0 || s.k % operand_count == 3) && gone_ >> other & 1;
                return taken(s, unknown ? lane : other);
            };
            uint32_t result = 0;
            switch (call) {
            case sum: result = total; break;
            case maximum: result = largest; break;
            case prefix: result = running; break;
            case up: result = of_lane(lane < s.k ? lane : lane - s.k); break;
            case down: result = of_lane(lane + s.k < lanes ? lane + s.k : lane); break;
            case any_lane: result = of_lane((lane * 7 + s.k) % lanes); break;
            case exclusive: result = of_lane(lane ^ s.k); break;
            case rotate: result = of_lane((lane + s.k) % lanes); break;
            case broadcast: result = of_lane(s.k); break;
            case fill: result = lane < s.k ? 9 : of_lane(lane - s.k); break;
            case quad: result = of_lane(lane / 4 * 4 + s.k % 4); break;
            case quad_up: result = of_lane(lane % 4 == 0 ? lane : lane - 1); break;
            }
            all[lane] = result;
        }
        return all;
    }

    std::array<values, variables> of_{};
    mask left_ = 0, skipped_ = 0, finished_ = 0, gone_ = 0;
    uint32_t regions_ = 0;
};

}  // namespace

int main(int count, char **arguments) {
    const uint32_t programs = count > 1 ? uint32_t(std::strtoul(arguments[1], nullptr, 10)) : 2 * programs_together;
    for (uint32_t first = 0; first < programs; first += programs_together) {
        const char *const share = "m[lane ^ 1] += a; if (lane % 3 == 1) m[lane] = m[lane ^ 1];";
        std::string source = "#define SHARE " + std::string(first != 0 ? share : "") +
                             "\nstatic __attribute__((noinline)) uint together(uint x) { return simd_sum(x); }\n",
                    choice;
        std::vector<block> made;
        for (uint32_t i = 0; i < programs_together; ++i) {
            made.push_back(generator(first + i).make());
            const std::string name = "program" + std::to_string(i);
            source += "static __attribute__((noinline)) uint " + name +
                      "(uint a, uint lane, threadgroup uint *m) {\nuint b = lane * 11 + 6, c = lane * 11 + 11;\n" +
                      text_of(made.back(), 0) + "return a ^ b * 3 ^ c * 7;\n}\n";
            choice += "if (n == " + std::to_string(i) + ") out[i] = " + name + "(lane * 11 + 1, lane, m);\n";
        }
        source +=
            "kernel void run(device uint *out [[buffer(0)]], constant uint &n [[buffer(1)]], uint i [[thread_position_in_grid]],"
            " uint lane [[thread_index_in_simdgroup]]) {\nthreadgroup uint m[32];\n" +
            choice + "}\n";
        metal_program program(source);
        for (uint32_t i = 0; i < programs_together; ++i) {
            std::vector<uint32_t> out(64);
            CHECK(launch(program.kernel("run")).buffer(0, out).constant(1, i).run({64}, {64}).empty());
            const values expected = model().run(made[i]);
            bool same = true;
            for (uint32_t thread = 0; thread < 64; ++thread) same = same && out[thread] == expected[thread % lanes];
            CHECK(same);
            if (!same && std::getenv("VERBOSE") != nullptr)
                std::printf("program %u:\n%s\n", first + i, text_of(made[i], 0).c_str());
        }
    }
    return check::report("engine/divergence_programs_test");
}
