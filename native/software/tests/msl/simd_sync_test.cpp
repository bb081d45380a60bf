// The translation makes lanes wait for each other where a source relies on their pace, and nowhere else, since waits
// cost time.
#include <string>

#include "check.h"
#include "msl/translate.h"

namespace {

// Each kernel is called `k` and has these parameters.
constexpr const char *parameters =
    "kernel void k(device float *out [[buffer(0)]], device const float *in [[buffer(1)]], threadgroup float *s [[threadgroup(0)]],"
    " uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]], uint i [[thread_position_in_grid]],"
    " uint3 local [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) ";

unsigned waits_in(const std::string &source) {
    const std::string text = smtl::msl::translate(source).text;
    unsigned count = 0;
    for (const char *call : {"::smtl::synced", "::smtl::simd_sync"})
        for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) ++count;
    return count;
}

void expect(bool waits, const char *what, const std::string &source) {
    const unsigned count = waits_in(source);
    if (!CHECK((count != 0) == waits)) std::fprintf(stderr, "%s: %u waits\n", what, count);
}

void right(const char *what, const char *body, const std::string &before = "") {
    expect(false, what, before + parameters + "{" + body + "}");
}
void racy(const char *what, const char *body, const std::string &before = "") {
    expect(true, what, before + parameters + "{" + body + "}");
}

// Labels of a `switch` through which lanes enter a loop or branch in its middle.
void test_entries() {
    const auto problems = [](const std::string &body) {
        return smtl::msl::translate(parameters + ("{ switch (i % 4) {" + body + "} }")).problems;
    };
    for (const char *body : {"case 0: do { out[i] += simd_sum(1); case 3: out[i] += simd_sum(1); } while (--n > 0);",
                             "case 0: if (n > 4) { case 1: out[i] = 1; } out[i] += simd_sum(1);",
                             "case 0: while (n > 4) if (n-- > 9) { default: out[i] = 1; } out[i] += simd_sum(1);"}) {
        const auto found = problems(body);
        if (!CHECK(found.size() == 1 && found[0].message.find("its labels cannot stand inside") != std::string::npos))
            std::fprintf(stderr, "%s\n", body);
    }
    for (const char *body : {"case 0: do { out[i] += 1; case 3: out[i] += 1; } while (--n > 0);",
                             "case 0: { case 2: out[i] = simd_sum(1); } break; default: out[i] = 1;",
                             "case 0: for (;;) switch (n) { case 5: out[i] = simd_sum(1); default: break; }"})
        CHECK(problems(body).empty());
}

constexpr const char *barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";

}  // namespace

int main() {
    test_entries();
    right("a sum's result", "float sum = simd_sum(in[i]); if (lane == 0) out[group] = sum;");
    right("a sum across simdgroups",
          "float sum = simd_sum(in[i]); if (lane == 0) s[group] = sum; threadgroup_barrier(mem_flags::mem_threadgroup);"
          "sum = simd_sum(lane < n / 32 ? s[lane] : 0); if (i == 0) out[0] = sum;");
    right("tiles",
          "for (uint k = 0; k < n; k += 32) { s[lane] = in[k]; s[lane + 32] = in[k + 1];"
          "threadgroup_barrier(mem_flags::mem_threadgroup); for (uint j = 0; j < 32; ++j) sum += s[j] * s[32 + j];"
          "threadgroup_barrier(mem_flags::mem_threadgroup); } out[i] = sum;");
    right(
        "a lane's own elements",
        "for (uint j = lane; j < n; j += 32) s[j] = in[j]; for (uint j = lane; j < n; j += 32) { s[j] = exp(s[j]); s[j] *= 2; out[j] = s[j]; }");
    right("a lane's own row", "device float *row = out + i * 8; for (uint j = 1; j < 8; ++j) row[j] = row[j] + in[j];");
    right(
        "a comparison and exchange",
        "for (uint j = n / 2; j > 0; j /= 2) { uint other = local.x ^ j; if (other > local.x) { if (s[local.x] > s[other]) {"
        " float x = s[local.x]; s[local.x] = s[other]; s[other] = x; } } threadgroup_barrier(mem_flags::mem_threadgroup); }");
    right(
        "what one lane does alone",
        "if (lane == 0) { s[0] = 1; for (uint j = 1; j < n; ++j) s[j] = s[j - 1] + in[j]; } simdgroup_barrier(mem_flags::mem_none); out[i] = s[lane];");
    right("what one lane does alone, if it does",
          "if (n > 3 && (0 == lane)) { s[0] = 1; s[1] = s[0] + in[i]; }"
          "simdgroup_barrier(mem_flags::mem_none); if (!lane && n) { s[0] = 1; s[1] = s[0] + in[i]; }");
    right("what one lane does alone, whose index is computed with",
          "uint bits = lane & n; float x = max(in[lane], float(lane * bits));"
          "if (lane == 0) { s[0] = x; s[1] = s[0] + in[i]; }");
    right(
        "pointers in an array",
        "device const float *rows[4]; for (uint j = 0; j < 4; ++j) rows[j] = in + j * n; out[i] = rows[0][i] + rows[1][i];");
    right("members", "threadgroup pair *p = (threadgroup pair *)s; p->a = 1; out[i] = p->b[lane];",
          "struct pair { float a; float b[32]; };");
    right("a function that has a barrier", "s[lane] = in[i]; share(s); out[i] = s[31 - lane];",
          std::string("void share(threadgroup float *s) { ") + barrier + " }");
    right(
        "atomics",
        "threadgroup atomic_int *c = (threadgroup atomic_int *)s; if (lane == 0) atomic_store_explicit(c, 0, memory_order_relaxed);"
        "atomic_fetch_add_explicit(&c[0], 1, memory_order_relaxed);");

    racy("one lane after all have read", "float x = s[0]; if (lane == 0) s[0] = x + 1; out[i] = x;");
    racy("all after one lane", "if (lane == 31) s[0] = in[i]; out[i] = s[0];");
    racy("all but one lane", "if (lane == 31) out[i] = 0; else { s[lane] = in[i]; out[i] = s[lane + 1]; }");
    racy("one lane or another", "if (lane == 0 || lane == 1) { s[lane] = in[i]; out[i] = s[1 - lane]; }");
    racy("not that one lane", "if (!(lane == 3)) { s[lane] = in[i]; out[i] = s[31 - lane]; }");
    racy("every eighth lane", "if (lane % 8 == 0) { s[lane] = in[i]; out[i] = s[24 - lane]; }");
    racy("a group of lanes", "uint eight = lane / 8; if (eight == 0) { s[lane] = in[i]; out[i] = s[7 - lane]; }");
    racy("an index that changes", "lane /= 8; if (lane == 0) { s[i] = in[i]; out[i] = s[7 - i]; }");
    racy("an index that a function changes", "halve(lane); if (lane == 0) { s[i] = in[i]; out[i] = s[7 - i]; }",
         "void halve(thread uint &n) { n /= 2; }");
    racy("an index that goes by another name",
         "thread uint &same = lane; same /= 2; if (lane == 0) { s[i] = in[i]; out[i] = s[7 - i]; }");
    racy("an index that a pointer reaches",
         "thread uint *same = &lane; *same /= 2; if (lane == 0) { s[i] = in[i]; out[i] = s[7 - i]; }");
    racy("an index that another variable hides",
         "{ uint lane{i / 2}; if (lane == 0) { s[i] = in[i]; out[i] = s[1 - i]; } }");
    racy("an index that a structured binding hides",
         "{ auto [lane] = P{i / 2}; if (lane == 0) { s[i] = in[i]; out[i] = s[1 - i]; } }", "struct P { uint a; };");
    racy("an index that an operator changes", "lane + N(); if (lane == 0) { s[i] = in[i]; out[i] = s[7 - i]; }",
         "struct N {}; void operator+(thread uint &n, N) { n /= 2; }");
    racy("positions in a row", "if (local.x == 0) { s[local.y] = in[i]; out[i] = s[7 - local.y]; }");
    racy("a function of a number", "f(s, lane, 1);",
         "void f(threadgroup float *p, uint l, int k) { if (k == 1) { p[l] = 1; p[l] = p[l + 1]; } }");
    racy("the other branch's end", "float x = s[1]; if (group > 0) { if (lane != 3) out[i] = x; else s[1] = 2; }");
    racy("the loop's next round", "for (uint j = 0; j < n; ++j) { float x = s[j]; out[i] += x; s[j + lane] = x; }");
    racy("neighbours", "s[lane] = in[i]; out[i] = s[lane ^ 1];");
    racy("vector components",
         "threadgroup float4 *v = (threadgroup float4 *)s; float x = v[0].y; if (lane == 0) v[0].y = x + 1;");
    racy("references", "threadgroup float &total = s[3]; float x = total; if (lane == 0) total = x * 2; out[i] = x;");
    racy("a function of the lane", "out[i] = f<float>(s, lane);",
         "template <class T> T f(threadgroup T *p, uint l) { T x = p[0]; if (l == 0) { p[0] = x + 1; } return x; }");
    racy("only one of two simdgroup barriers",
         "float x = s[0]; if (group == 0) simdgroup_barrier(mem_flags::mem_none); if (lane == 0) s[0] = x + 1;");
    racy("the second of two pointers",
         "threadgroup float *a = s + max(1u, i), *p = s; float x = p[0]; if (lane == 0) p[0] = x + 1;");
    racy("the second of two references",
         "threadgroup float &a = s[1], &p = s[0]; float x = p; if (lane == 0) p = x + 1; out[i] = x;");
    // What the name of a type says of memory counts.
    const char *const one_lane = "float x = p[0]; if (lane == 0) p[0] = x + 1; out[i] = x;";
    for (const char *alias :
         {"typedef threadgroup float *P;", "typedef float threadgroup *P;", "using P = threadgroup float *;",
          "using Q = threadgroup float *; using P = Q;", "typedef threadgroup float *Q; typedef Q P;",
          "typedef threadgroup float F; typedef F *P;", "typedef const volatile threadgroup float *const P;"}) {
        const std::string value = std::string(alias).find("const") == std::string::npos ? "s" : "(P)s";
        racy(alias, ("P p = " + value + ";" + one_lane).c_str(), alias);
        racy(alias, ("const P a = s, p = " + value + ";" + one_lane).c_str(), alias);
        racy(alias, "out[i] = f(s, lane);",
             std::string(alias) + "float f(P p, uint l) { float x = p[0]; if (l == 0) { p[0] = x + 1; } return x; }");
        right(alias, (std::string("P p = s; p[lane] = in[i]; ") + barrier + "out[i] = p[31 - lane];").c_str(), alias);
    }
    racy("an alias in the function", ("using P = threadgroup float *; P p = s;" + std::string(one_lane)).c_str());
    racy("an alias in a type", ("S::P p = s;" + std::string(one_lane)).c_str(),
         "struct S { typedef threadgroup float *P; };");
    racy("an alias of a template", ("P<float> p = s;" + std::string(one_lane)).c_str(),
         "template <typename T> using P = threadgroup T *;");
    racy("an alias of what lies in memory", ("F *p = s;" + std::string(one_lane)).c_str(),
         "typedef threadgroup float F;");
    racy("an alias of a reference", "R p = s[0]; float x = p; if (lane == 0) p = x + 1; out[i] = x;",
         "typedef threadgroup float &R;");
    racy("an alias of an array", ("A &p = *(threadgroup A *)s;" + std::string(one_lane)).c_str(),
         "typedef threadgroup float A[4];");
    racy("an alias of a pointer to device memory", ("D p = out;" + std::string(one_lane)).c_str(),
         "typedef device float *D;");
    right("an alias of a function", "F f = g; float x = f(s); if (lane == 0) x = f(s); out[i] = x;",
          "typedef float (*F)(threadgroup float *); float g(threadgroup float *p) { return 1; }");
    // A comma between template arguments does not end the value that is stored.
    const std::string stored =
        smtl::msl::translate(std::string(parameters) +
                             "{ s[lane] = s[lane + 1] * vec<float, 4>(in[i]).y; out[i] = s[lane]; }")
            .text;
    if (!CHECK(stored.find("synced( s[lane + 1] * vec<float, 4>(in[i]).y)") != std::string::npos))
        std::fprintf(stderr, "%s\n", stored.c_str());
    // What another library defines may call SIMD-group functions, whatever else has its name.
    const std::string called =
        smtl::msl::translate("float f(float x); namespace n { float f(float x) { return x; } } " +
                             std::string(parameters) + "{ if (lane < 8) out[i] = f(1); else out[i] = f(2); }")
            .text;
    if (!CHECK(called.find("::smtl::take_turn") != std::string::npos)) std::fprintf(stderr, "%s\n", called.c_str());
    return check::report("msl/simd_sync_test");
}
