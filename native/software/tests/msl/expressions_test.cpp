// Expressions that the translation has to read: where a template's arguments end, what a cast applies to, what an
// operand of `?:` is.
#include <bit>
#include <cstdio>
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

const std::string declarations = R"(#include <metal_stdlib>
using namespace metal;
template <int A, int B> constant constexpr int area = A * B;
template <int A> constant constexpr int twice = A * 2;
template <typename T, typename U = T> constant constexpr bool alike = is_same_v<T, U>;
template <int A, int B> constant constexpr int braced{A + B};
template <template <typename> class W, int N = 4> struct Choice {
    static int of(int a, int b) { return 1 << N < a && b > 0; }
};
template <typename T> struct Whole {};
template <class T> static int of_type() { return T::template sum<2, 3> * 2; }
struct Table { template <int A, int B> static constexpr int sum = A + B; };
static int of(int a, int b) { return a * 10 + b; }
template <int N> struct Value { float v; };
class Point {
public:
    Point(int) : x(3) {}
    template <int N> float get() const { return x * N; }
    int x;
};
template <typename T> static T by_half(float v) { return (T)(half)v; }
struct Bits { int a : 3, b : 5; };
)";

struct Case {
    std::string statements;
    int value;
    bool alone = false;  // in a source of its own
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
    {"o[0] = braced<2, 3> + 1;", 6},
    {"o[0] = 1 << braced<1, 1> + 1;", 8},
    {"o[0] = of_type<Table>();", 10},
    {"Table t; o[0] = t.sum<2, 3> + 1;", 6},
    {"o[0] = Choice<Whole>::of(10, 7);", 0},
    {"o[0] = Choice<Whole, 2>::of(10, 7);", 1},
    // A variable that has a template's name compares.
    {"int area = 2; o[0] = of(area < 3, x > 2);", 11, true},
    {"const int twice = 2; o[0] = twice < 3 ? x > 2 : 5;", 1, true},
    {"o[0] = of(area_ < 8, x > (2));", 11},
    // Casts between the types of 16 bits: the source has both.
    {"bfloat b = (bfloat)(float)x; o[0] = (int)b;", 3},
    {"half h = (half)-(float)x; o[0] = (int)h;", -3},
    {"half h = (half)(int)2.7f; o[0] = (int)(bfloat)h;", 2},
    {"half h = (half)(int)-x; o[0] = (int)(bfloat)h * 2;", -6},
    {"bfloat b = (bfloat)(half)2049; o[0] = (int)b;", 2048},
    {"bfloat b = 2; o[0] = (float)(half)b + 1;", 3},
    {"bfloat b = 5; half h = (half)(b) - (half)(x); o[0] = (int)h;", 2},
    {"bfloat b = 5; half h = x > 2 ? (half)(b) : (half)(bfloat)-1; o[0] = (int)h;", 5},
    {"o[0] = (float)by_half<bfloat>(3) + by_half<half>(4);", 7},
    {"Point p(1); o[0] = (int)(bfloat)p.get<2>() + (half)p.template get<3>();", 15},
    {"o[0] = (bfloat)Value<4>{5}.v;", 5},
    {"o[0] = (int)(bfloat)sizeof x + (half)not x;", 4},
    {"o[0] = (half)(x) and x;", 1},
    {"bfloat b = 5; thread bfloat *p = &b; half h = half(*p); o[0] = max((int)half(*p), (int)h);", 5},
    {"bfloat b = 5; o[0] = (unsigned int)half(b) + (const float)half(b);", 10},
    {"bfloat b = 2; half h = 3; o[0] = (h > (half)(b)) + (h > (half)-b) * 2;", 3},
    {"Point p(1); bfloat b = bfloat(p.template get<2>()); o[0] = (int)half(b);", 6},
    {"bfloat b = 5; o[0] = (int)(half)*&b + (half)-*&b * 2;", -5},
    {"half h = 5; thread half *p = &h; o[0] = (int)(bfloat)*&*p + (int)bfloat(*&h);", 10},
    {"bfloat b = 5; half h = (half)[&] { return b; }() + 1; o[0] = (int)h;", 6},
    {"half h = 5; bfloat b = (bfloat)[=](half v) -> half { return v + (half)bfloat(h); }(x) * 2; o[0] = (int)b;", 16},
    {"bfloat b = 5; o[0] = (int)half([&] { return b; }()) + (half)-[](bfloat v) -> vec<bfloat, 2> { return v; }(b).y;",
     0},
    // Operands of ?:
    {"Bits b{1, 2}; o[0] = x ? (b.a) : (b.b);", 1},
    {"struct { uint a : 4, b : 4; } f = {15, 2}; o[0] = x > 5 ? f.a : f.b;", 2},
    {"device int *q = x > 5 ? o : (0); o[0] = q == nullptr;", 1},
    {"device int *q = x ? (o) : (nullptr); q[0] = 6;", 6},
};

// A kernel for each, in one library. It reads and writes `o`, so that the order of its accesses is kept.
void test_together(const std::vector<Case> &together) {
    std::string source = declarations;
    for (std::size_t i = 0; i < together.size(); ++i)
        source += "kernel void k" + std::to_string(i) +
                  "(device int *o) {\n    o[1] += 2;\n    int x = o[1], area_ = 7;\n    " + together[i].statements +
                  "\n}\n";
    const compiled library(source);
    if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
    for (std::size_t i = 0; i < together.size(); ++i) {
        const Case &one = together[i];
        std::vector<float> o(4, std::bit_cast<float>(1));
        std::string error;
        const std::string path = library.specialize(("k" + std::to_string(i)).c_str(), {}, &error);
        if (!CHECK(!path.empty() && run(path, {&o}, 1).empty()))
            std::fprintf(stderr, "%s\n%s", one.statements.c_str(), error.c_str());
        else if (!CHECK(std::bit_cast<int>(o[0]) == one.value))
            std::fprintf(stderr, "%s gives %d\n", one.statements.c_str(), std::bit_cast<int>(o[0]));
    }
}

}  // namespace

int main() {
    // The translation treats sources without bfloats in another way.
    std::vector<Case> with_bfloats, without;
    for (const Case &one : cases)
        if (one.alone)
            test_together({one});
        else
            (one.statements.find("bfloat") == std::string::npos ? without : with_bfloats).push_back(one);
    test_together(with_bfloats);
    test_together(without);
    return check::report("msl/expressions_test");
}
