// Templates of variables in expressions: their arguments are no comparisons, whatever stands behind them.
#include <bit>
#include <cstdio>
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

const std::string templates = R"(#include <metal_stdlib>
using namespace metal;
template <int A, int B> constant constexpr int area = A * B;
template <int A> constant constexpr int twice = A * 2;
template <typename T, typename U = T> constant constexpr bool alike = is_same_v<T, U>;
struct Table { template <int A, int B> static constexpr int sum = A + B; };
static int of(int a, int b) { return a * 10 + b; }
)";

// The kernel reads and writes `o`, so that the order of its accesses is kept.
int value_of(const std::string &statements) {
    const compiled library(templates +
                           "kernel void k(device int *o) {\n    o[1] += 2;\n    int x = o[1], area_ = 7;\n    " +
                           statements + "\n}\n");
    std::vector<float> o(4, std::bit_cast<float>(1));
    std::string error;
    const std::string path = library.library ? library.specialize("k", {}, &error) : "";
    if (!CHECK(!path.empty() && run(path, {&o}, 1).empty())) {
        std::fprintf(stderr, "%s\n%s%s", statements.c_str(), library.log.c_str(), error.c_str());
        return -1;
    }
    return std::bit_cast<int>(o[0]);
}

struct Case {
    std::string statements;
    int value;
};

// x is 3.
const std::vector<Case> cases = {
    {"o[0] = area<2, 3> + 1;", 7},
    {"o[0] = 3 + area<2, 3> * 2;", 15},
    {"o[0] += area<2, 3> - 1;", 6},
    {"o[0] = area<2, 3> & 3;", 2},
    {"o[0] = area<2, 3> | x;", 7},
    {"o[0] = area<2, area<1, 3> + 1> - 1;", 7},
    {"o[0] = is_same_v<int, int> * 10;", 10},
    {"o[0] = metal::is_same_v<int, float> + 4;", 4},
    {"o[0] = alike<int> * 5 + alike<int, float> * 3;", 5},
    {"o[0] = Table::sum<2, 3> * 2;", 10},
    {"o[0] = x << twice<1> + 1;", 24},
    {"o[0] = 1 << twice<3> * 2;", 4096},
    {"o[0] = 65 << twice<1> & 7;", 4},
    {"o[0] = 97 >> twice<2> | 1;", 7},
    {"o[0] = x; o[0] <<= area<1, 2> + 1;", 24},
    {"o[0] = int((bfloat)twice<3>) + int((bfloat)twice<3> * 2);", 18},
    {"o[0] = x ? area<2, 3> * 2 : o[3];", 12},
    {"o[0] = !x ? o[3] : area<2, 3> * 2;", 12},
    {"o[0] = of(area<2, 3> - 1, twice<2>);", 54},
    {"o[0] = of(x, area<2, 1> + 1);", 33},
    // A variable that has a template's name compares.
    {"int area = 2; o[0] = of(area < 3, x > 2);", 11},
    {"const int twice = 2; o[0] = twice < 3 ? x > 2 : 5;", 1},
    {"o[0] = of(area_ < 8, x > (2));", 11},
};

}  // namespace

int main() {
    for (const Case &one : cases) {
        const int value = value_of(one.statements);
        if (!CHECK(value == one.value)) std::fprintf(stderr, "%s gives %d\n", one.statements.c_str(), value);
    }
    return check::report("msl/templates_test");
}
