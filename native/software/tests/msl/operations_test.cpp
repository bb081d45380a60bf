// Shifts, which take their count modulo the width of what they shift, whether the compiler computes them or a kernel,
// and divisions, of which none is an exception.
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"
#include "results.h"

namespace {

// The counts of a shift have a type of their own.
void test_mixed_shifts() {
    const std::vector<float> found = results_of(R"(
kernel void k(device float *a) {
    int2 i = int2(-8, 3);
    uint2 u = uint2(1, 2);
    ushort2 h = ushort2(1, 3);
    long2 l = long2(1);
    a[0] = (i >> u).x; a[1] = (u << int2(4, 5)).y; a[2] = (h << u).y; a[3] = (l << u).y;
    i <<= u;
    u >>= h;
    a[4] = i.y; a[5] = u.x; a[6] = (u << 3).x; a[7] = (1 << int2(3, 4)).y;
}
)",
                                                8);
    expect("shifts", found, {-4, 64, 12, 4, 12, 0, 0, 16});
}

// What is assigned is named twice, the second time before literals and casts are translated.
void test_assigned_elements() {
    const std::vector<float> found = results_of(R"(
kernel void k(device float *a) {
    const half one = 1;
    uint n[3] = {1, 2, 64}, m[2][2] = {};
    m[1][0] = 1;
    n[int(1.0bf)] <<= 33;
    n[int(2.0h)] >>= uint(a[0]) + 34;
    n[int(bfloat(one)) - 1] <<= 3;
    m[int(bfloat(one))][int(0.5h)] <<= 2;
    a[0] = n[0]; a[1] = n[1]; a[2] = n[2]; a[3] = m[1][0];
}
)",
                                                4);
    expect("assigned elements", found, {8, 4, 16, 4});
}

// C++14 has it; C++17, which compiles what Metal's sources become, does not.
void test_incremented_bools() {
    const std::vector<float> found = results_of(R"(
kernel void k(device float *a) {
    bool b = a[0] > 9, c = b;
    a[0] = b++; a[1] = b; a[2] = ++c;
    int rounds = 0;
    for (bool i = false; i < true; i++) rounds += 7;
    a[3] = rounds;
}
)",
                                                4);
    expect("incremented bools", found, {0, 1, 1, 7});
}

// A shift takes its count modulo the width.
void test_shifts() {
    const std::vector<float> found = results_of(R"(
kernel void k(device float *a) {
    const int n = int(a[0] * -33), one = int(-a[1]);
    a[0] = one << n;
    a[1] = (one * 256) >> (n + 32);
    a[2] = (uint4(one) << uint4(n)).z;
    a[3] = (short3(short(one)) << short3(short(n)))[2];
    a[4] = (long2(256) >> long2(n + 32)).y;
    int shifted = one;
    shifted <<= -31;
    a[5] = shifted;
    a[6] = ulong(1) << (ulong(n) + 32);
}
)",
                                                7);
    expect("shifts", found, {2, 128, 2, 2, 128, 2, 2});
}

// What stands behind the name of a variable, a parameter or a member compares.
void test_counts_before_comparisons() {
    const std::vector<float> found = results_of(R"(
struct pair { uint x, y; };
template <uint N> uint plus(uint i) { return i + N; }
template <class T> struct holder { T x; holder(T y) : x(y) {} static T sum(T y) { return y + 30; } };
uint shifted(uint n, uint a) { return 1u << n < a | 3u > (2); }
uint max3(uint n, uint max) { return 1u << n < max ? 1 : 1 > (2) ? 4 : 5; }
kernel void k(device float *a) {
    uint n = uint(a[0]) + 7, b = 3, c = 2, seven = 7;
    int m(100), first{4};
    decltype(n) o = 4;
    pair p = {4, 100};
    uint3 v = uint3(n, 3, 100);
    enum { four = 4 };
    uint q = 1u << n < m | b > (c);
    a[0] = q;
    a[1] = 1u << first < seven == b > (2) | 1u << o < seven == b > (2);
    a[2] = (1u << n < m && b > (c)) + (1u << n < m || b > (c)) * 10 + (1u << first < m ? 3 > (c) : 5) * 100;
    a[3] = 1u << p.x < p.y | v.z < 3u | 1u << v.x < v.z | b > (c);
    a[4] = (1u << four < seven == b > (2)) + shifted(7, 100) * 10 + max3(4, 20) * 100;
    a[5] = (1u << plus<32>(1)) + (1 << holder<int>(33).x) + (1 << holder<int>::sum(4)) + (1 << max<uint>(b, 33));
    a[6] = (m < n >> 33 + c) + (v[1] < 96 >> 37) * 10 + ((m) < 1616 >> 36) * 100;
})",
                                                7);
    expect("counts before comparisons", found, {1, 0, 10 + 100, 1, 10 + 100, 2 + 2 + 4 + 2, 100});
}

// The compiler knows the operands of all these shifts.
void test_shifts_of_constants() {
    const std::vector<float> found = results_of(R"(
constant int five = 5, far = -30, one[2] = {1, 1 << 4};
constant ulong wide = 1ul << 40;
constant short many = (five << 33) >> far;
template <int N, int M = (1 << N)> struct S { int a[1 << N]; enum { last = 256 >> N + 1, first = M }; };
template <class T> T twice(T x) { return x << (T)33; }
template <class... T> int all(T... n) { return (1 << ... << n); }
struct Flags { uint bits; Flags operator<<(uint n) const { return {bits << n}; } uint operator>>(uint n) const { return bits >> n; } };
kernel void k(device float *a) {
    const int n = 34;
    int4 v = int4(five) << far + 32;
    S<3> s{{7, 6}};
    vec<vec<int, 2>::value_type, 2> w = five >> 33;
    a[0] = 5 << 33;
    a[1] = five << far;
    a[2] = 256 >> n << n;
    a[3] = -8 << five + 28;
    a[4] = wide >> five * static_cast<uint>(S<3>::first + 12);
    a[5] = many + s.a[1] + sizeof(s) / 4 + S<3>::last + S<2>::first;
    a[6] = twice(five) + v.x + w.y + all(2, 3);
    a[7] = (Flags{3} << 35) >> 1;
    switch (five >> 32 - far * 16) { case 1 << 2: a[8] = 1; break; case 5: a[8] = 2; break; default: a[8] = 3; }
    a[9] = one[n >> 5] < 3 >> 1;
    int shifted = 1;
    shifted <<= n;
    a[10] = (bool)far ? shifted >> 33 : 0;
}
)",
                                                11);
    expect("shifts of constants", found, {10, 20, 256, -16, 16, 2 + 6 + 8 + 16 + 4, 10 + 20 + 2 + 32, 12, 2, 0, 2});
}

// Wherever the compiler computes a shift itself, and whatever is shifted.
void test_shifts_that_the_compiler_computes() {
    const std::vector<float> found = results_of(R"(
enum small { one = 1, far = 40 };
enum class scoped : int { x = 33 };
int operator<<(int a, scoped b) { return a + int(b); }
struct bits { uint low : 4; int high : 1 << 36; };
struct stream { int sum; };
template <class T> stream operator<<(stream s, T x) { return {s.sum + int(x)}; }
constexpr int same(int n) { return n; }
constexpr int assigned(int n) { int i[2] = {1, 2}; n <<= 33; if (n) i[1] <<= 40; return i[1] >>= n / 4 + 31; }
constexpr long assigned_long(int n) { long i = 1; i <<= n + 32; return i; }
constexpr int2 assigned_vector(int2 n) { n <<= 40; return n; }
constant int cast = int(2) << 40, called = same(2) << 40, by_enumerator = 2 << far, several[2] = {int(2) << 40, same(64) >> 37};
constant bool truth = int(2) << 40;
constant float real = (2) << 40;
constant char2 vector = char2(2) << 9, vectors = char2(2) << char2(9, -7);
constexpr constant int evaluated = assigned(2);
constant int of_vector = assigned_vector(int2(2)).x;
template <int N> struct S { enum { n = N }; uchar a[N << 33]; };
kernel void k(device float *a) {
    a[0] = (int(2) << 40 ? 1 : 0) + (truth ? 10 : 0) + (same(2) << 40 && true ? 100 : 0);
    a[1] = cast + called;
    a[2] = by_enumerator + real;
    a[3] = several[0] * 10 + several[1];
    a[4] = vector.x * 10 + vectors.y;
    a[5] = evaluated + assigned_long(2) / 1073741824;
    a[6] = of_vector;
    a[7] = S<1 << 33>::n + S<(8 >> 33)>::n * 10 + sizeof(S<3>) * 100;
    int array[same(2) << 33];
    a[8] = sizeof(array);
    const int n = 33;
    a[9] = (1 << n and true ? 1 : 0) + (1 << 33 bitand 3) * 10;
    a[10] = (1 << scoped::x) + (one << n);
    a[11] = (stream{1} << n << 2).sum;
    bits b = {1, 1};
    b.high <<= n, b.low <<= n + 1;
    a[12] = (b.low << n) * 10 + b.high;
    packed_char2 p = {1, 3};
    p <<= n;
    int4 v = 4;
    v.x <<= n, v.zy >>= n;
    a[13] = (p << n).y + (2 << packed_int2(n, 1)).x + v.x + v.y;
    bool less = n < 40;
    int chosen = 1;
    less ? chosen <<= less ? n : 2 : chosen >>= n;
    a[14] = chosen;
    if constexpr ((1 << 33) == 2) switch (same(1) << 34) { case 1 << 34: a[15] = 1; }
}
)",
                                                16);
    expect("shifts that the compiler computes", found,
           {111, 1024, 1024, 5122, 44, 512 + 16, 512, 2 + 40 + 600, 16, 1 + 20, 34 + 2, 36, 82, 12 + 4 + 8 + 2, 2, 1});
}

// A source's own operators get the count as it is written: its value and its type.
void test_own_operators() {
    const std::vector<float> found = results_of(R"(
enum small { one = 1, far = 40 };
constexpr int operator<<(small s, int n) { return 1000 + n; }
int operator>>(int n, small s) { return 2000 + s; }
thread small &operator<<=(thread small &s, int n) { return s = small(n); }
constexpr int operator<<(small s, small t) { return 3000 + t; }
struct wide { int v; wide(int v) : v(v) {} };
wide operator<<(wide w, wide n) { return w.v * 100 + n.v; }
struct typed { int v; };
template <class T> struct name { enum { v = 9 }; };
template <> struct name<int> { enum { v = 1 }; };
template <> struct name<short> { enum { v = 2 }; };
template <class T> typed operator<<(typed s, T n) { n += 1; return {s.v * 10 + name<T>::v}; }
template <class T> thread typed &operator>>(thread typed &s, T n) { s.v += n * T(2); return s; }
struct member { int v; template <class T> member operator<<(T) const { return {v * 10 + name<T>::v}; } };
constant int of_constants = one << far, of_a_literal = one << 41;
kernel void k(device float *a) {
    int n = 33;
    short s = 4;
    a[0] = one << n;
    a[1] = n >> far;
    a[2] = of_constants;
    a[3] = of_a_literal;
    a[4] = (wide(3) << n << 50).v;
    a[5] = (typed{0} << n << s << 40 << 3u).v;
    typed t = {1};
    t >> n >> s;
    a[6] = t.v;
    a[7] = (member{0} << n << s).v;
    small assigned = one;
    assigned <<= 50;
    a[8] = assigned;
}
)",
                                                9);
    expect("own operators", found, {1033, 2040, 3040, 1041, 33350, 1219, 75, 12, 50});
}

// What an object converts to is shifted as the scalar that it is.
void test_objects_that_convert() {
    const std::vector<float> found = results_of(R"(
struct to_int { int v; constexpr operator int() const { return v; } };
struct to_long { int v; constexpr operator long() const { return v; } };
struct to_char { char v; constexpr operator char() const { return v; } };
struct shifted { int v; constexpr operator int() const { return v; } constexpr int operator>>(int n) const { return v * 100 + n; } };
constexpr int operator<<(shifted s, int n) { return s.v * 1000 + n; }
constexpr constant to_int two{2};
constant int folded = two << 33, right = to_int{64} >> 36, narrow = to_char{3} << 34;
constant long wide = to_long{1} << 33, around = to_long{5} << 65;
constant int own = shifted{1} << 40, own_right = shifted{1} >> 40;
template <int N> struct S { enum { n = N }; };
kernel void k(device float *a) {
    const int n = 33;
    const to_int c{3};
    a[0] = folded + (c << 33);
    a[1] = right;
    a[2] = narrow;
    a[3] = wide / 1073741824;
    a[4] = around;
    a[5] = own + own_right;
    a[6] = S<(to_int{1} << 35)>::n + (c << n);
}
)",
                                                7);
    expect("objects that convert", found, {4 + 6, 4, 12, 8, 10, 1040 + 140, 8 + 6});
}

// A float is not shifted, and the error speaks of the source's types.
void test_errors() {
    for (const char *left : {"1.0f", "half(1)", "(&a[0])"}) {
        const compiled source(head + "kernel void k(device float *a) { const int n = 33; a[0] = " + left + " << n; }");
        CHECK(source.library == nullptr && source.says("error: invalid operands to binary expression ('") &&
              source.says("and 'int')") && source.log.find("note:") == std::string::npos);
    }
}

// Clang warns of what a source says, not of what its translation makes of that.
void test_warnings() {
    const compiled source(head + R"(
static_assert(1 << 33 == 2, "modulo the width");
kernel void k(device int *a) { int i = 0; const int n = 33; a[i++] <<= n; })");
    CHECK(source.library != nullptr && source.log.empty());
}

// By zero and, of the least integer, by -1: Metal leaves open what the first one gives, and excludes an exception.
void test_divisions() {
    const std::vector<float> found = results_of(R"(
template <class T> T least() { return T(1) << (sizeof(T) * 8 - 1); }
template <class T> float4 all(int zero, int minus_one) {
    const T x = 77, none = T(zero), last = least<T>(), other = T(minus_one);
    T y = x, z = x;
    y /= none, z %= none;
    return float4(x / none == y, z == x % none, last / other == last, last % other == 0);
}
template <class V, class T> float all(V x, T zero, T minus_one) {
    const V by_zero = x / V(zero), last = V(least<T>());
    const bool4 same = last / V(minus_one) == last, none = last % V(minus_one) == V(0);
    return select(0.0f, 1.0f, metal::all(same) && metal::all(none) && metal::all(by_zero == x / zero)) + (x % V(7, 3, 2, 5)).x;
}
kernel void k(device float *a) {
    const int zero = int(a[0]) + 1, minus_one = int(a[1]);
    const float4 wide = all<int>(zero, minus_one) + all<long>(zero, minus_one);
    const float4 narrow = all<short>(zero, minus_one) + all<char>(zero, minus_one);
    for (int i = 0; i < 4; ++i) a[i] = wide[i] * 10 + narrow[i];
    a[4] = all(int4(9), zero, minus_one) * 1000 + all(short4(9), short(zero), short(minus_one)) * 100 +
           all(char4(9), char(zero), char(minus_one)) * 10 + all(long4(9), long(zero), long(minus_one));
    const uint none = zero, n = 1000;
    a[5] = (n / none == n / none) + (n / uint(minus_one)) * 10 + n / (none + 7);
    // The quotient says nothing of its divisor.
    const int divisor = zero == 0 ? 0 : zero;
    a[6] = 5 / divisor + 1000 * (divisor == 0) - 5 / zero;
    a[7] = (-7 / (minus_one * 2)) * 10 + -7 % (minus_one * 2) + 100 % (minus_one * -30);
}
)",
                                                8);
    // Short integers are divided as int.
    expect("divisions", found, {22, 22, 20, 22, 3333, 1 + 142, 1000, 30 - 1 + 10});
}

// Clang computes a division of numbers that it knows, and takes one by zero for leave to remove whatever depends on it.
void test_divisions_that_the_compiler_computes() {
    const std::vector<float> found = results_of(R"(
constant int table[3] = {4, 5, 6};
constant int none = 0;
struct pair { int x, y; };
kernel void k(device float *a) {
    const int zero = 0, five = 5, least = 1 << 31, minus_one = -1;
    a[0] = 77;
    a[five / zero] += 1;
    a[1] = five / zero + five % none;
    switch (five / none) { case 1: case 5: case 0: a[2] = 1; break; default: a[2] = 2; }
    if (five / zero > 6) a[3] = 1; else a[3] = 2;
    bool chosen = a[9] < 9 && (five % zero) > 7;
    a[4] = (a[9] < 9 ? five / zero : 3) < 6;
    for (int i = 0; i < five / zero; ++i) chosen = chosen || i == 7;
    a[5] = chosen;
    const int2 quotient = int2(6, 8) / int2(3, 0);
    const int2 whole = int2(6, 8) / int2(0, 0), either = a[9] < 9 ? whole : int2(9);
    a[6] = quotient.x + (either.x > 6);
    const pair both = {five / zero, least / minus_one};
    const int rest = least % minus_one;
    a[7] = both.x < 6 && rest == 0;
    int n = five;
    n /= zero;
    a[8] = n < 6;
    a[10] = 88;
}
)",
                                                11);
    expect("divisions of constants", found, {78, 0, 1, 2, 1, 0, 2, 1, 1, -1, 88});
}

}  // namespace

int main() {
    test_mixed_shifts();
    test_assigned_elements();
    test_incremented_bools();
    test_shifts();
    test_counts_before_comparisons();
    test_shifts_of_constants();
    test_shifts_that_the_compiler_computes();
    test_own_operators();
    test_objects_that_convert();
    test_errors();
    test_warnings();
    test_divisions();
    test_divisions_that_the_compiler_computes();
    return check::report("msl/operations_test");
}
