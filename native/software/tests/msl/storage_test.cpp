// Where variables lie, executed: threadgroup variables are one for all threads of a threadgroup and others are each
// thread's own, however the declaration is written. What cannot be declared so is an error, never another meaning.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

constexpr uint32_t threads = 64;

// The result of every thread of one threadgroup.
std::vector<float> results_of(const std::string &source) {
    const compiled library(source);
    if (!CHECK(library.library != nullptr)) {
        std::fprintf(stderr, "%s\n", library.log.c_str());
        return {};
    }
    std::vector<float> results(threads, -1);
    std::string error;
    const std::string path = library.specialize("k", {}, &error);
    if (error.empty()) error = run(path, {&results}, threads);
    if (!CHECK(error.empty())) std::fprintf(stderr, "%s\nin: %s\n", error.c_str(), source.c_str());
    return results;
}

const std::string parameters = "(device float *a [[buffer(0)]], uint i [[thread_index_in_threadgroup]])";
const std::string barrier = " threadgroup_barrier(mem_flags::mem_threadgroup); ";

// Variables in one kernel, each in a block of its own. Every thread writes the variable, then one thread writes again:
// what the threads read afterwards tells whether they share the variable.
class Cases {
public:
    explicit Cases(std::string before = "") : before_(std::move(before)) {}

    // `element` makes a number of the variable that `declaration` declares; `around` is what the block stands in.
    void add(bool shared, const std::string &declaration, const std::string &element, const std::string &around = "|") {
        add(shared, declaration, element, "i + 1", "100", element, around);
    }
    void add(bool shared, const std::string &declaration, const std::string &variable, const std::string &first,
             const std::string &last, const std::string &value, const std::string &around) {
        const std::string number = std::to_string(++count_), wanted = shared ? "100" : "(i == 5 ? 100 : int(i) + 1)";
        const std::string block = declaration + " " + variable + " = " + first + ";" + barrier + "if (i == 5) " +
                                  variable + " = " + last + ";" + barrier + "if (" + value + " != " + wanted +
                                  ") wrong = " + number + ";" + barrier;
        const std::size_t hole = around.find('|');
        body_ += " {" + around.substr(0, hole) + " " + block + around.substr(hole + 1) + "} // " + number + "\n";
    }
    void check() const {
        const std::string source = head + before_ + "kernel void k" + parameters +
                                   " {\n typedef float element;\n float wrong = 0;\n" + body_ + " a[i] = wrong;\n}\n";
        for (const float wrong : results_of(source))
            if (!CHECK(wrong == 0))
                return std::fprintf(stderr, "declaration %g is wrong in: %s\n", double(wrong), source.c_str()), void();
    }

private:
    std::string before_, body_;
    unsigned count_ = 0;
};

void refuse(const std::string &source, const std::string &message) {
    const compiled library(head + source);
    if (!CHECK(library.library == nullptr && library.says(message)))
        std::fprintf(stderr, "accepted: %s\n", source.c_str());
}

void test_forms() {
    const char *const forms[] = {
        "threadgroup float t[32];",
        "threadgroup __attribute__((aligned(16))) float t[32];",
        "__attribute__((aligned(16))) threadgroup float t[32];",
        "threadgroup alignas(16) float t[32];",
        "alignas(16) threadgroup float t[32];",
        "float threadgroup t[32];",
        "float const threadgroup *q = nullptr; float volatile threadgroup t[32];",
        "threadgroup float t[32] __attribute__((aligned(16)));",
        "threadgroup float t [[maybe_unused]] [32];",
        "[[maybe_unused]] threadgroup float t[32];",
        "[[maybe_unused]] alignas(32) volatile float threadgroup __attribute__((aligned(16))) t[32] __attribute__((unused));",
        "static threadgroup float t[32];",
        "threadgroup static float t[32];",
        "float static threadgroup volatile t[32];",
        "threadgroup float other, t[32], more[2][3];",
        "threadgroup float (t)[32];",
        "threadgroup float other[2], *p = other, t[32], *q = t, &r = other[0]; p[0] = 0; q[0] = 0; r = 0;",
        "float threadgroup *q = nullptr, t[32];",
        "threadgroup unsigned int t[32];",
        "unsigned threadgroup int t[32];",
        "using element = float; threadgroup element t[32];",
        "typedef float row[32]; threadgroup row t;",
        "threadgroup array<float, 32> t;",
        "array<float, (32 > 2 ? 32 : 1)> threadgroup t;",
        "threadgroup struct { int n; float *p; } x; x.n = 0; threadgroup float t[32];",
        "struct S { float x; }; threadgroup float t[32];",
        "case_: threadgroup float t[32];",
        "if (i > 1000) { } threadgroup float t[32];",
        "if (i > 1000) a[0] = 1; else a[i] = 1; threadgroup float t[32];",
        "int two = 2; float twice = i < two ? two : two; twice = twice > two ? 1 : 2; threadgroup float t[32];",
    };
    Cases cases("template <class T, int N> struct S { struct type { T x; }; };\n");
    for (const char *form : forms) cases.add(true, form, "t[0]");
    for (const char *form :
         {"thread float t[32];", "float thread t[32];", "float t[32];", "float thread volatile t[32];",
          "alignas(16) thread float t[32];", "threadgroup float other, *p; float t[2]; other = 0; p = &other;"}) {
        cases.add(false, form, "t[0]");
    }
    cases.add(true, "threadgroup struct { float x; } t, u[2];", "t.x");
    cases.add(true, "struct { float x; } threadgroup t;", "t.x");
    cases.add(true, "struct L { float x; float get() const threadgroup { return x; } } threadgroup t;", "t.x");
    cases.add(true, "threadgroup S<float, 3>::type t;", "t.x");
    cases.add(true, "S<float, 3>::type threadgroup t[2][3];", "t[1][2].x");
    for (const char *around :
         {"{ {| } }", "if (i < 1000) {|}", "for (uint n = 0; n < 1; ++n) {|}", "switch (i / 64) { case 0: |}",
          "do {|} while (false);", "[&] {|}();", "auto f = [&](uint n) {|}; f(i);",
          "struct L { static void run(thread float &wrong, uint i) {|} }; L::run(wrong, i);"}) {
        cases.add(true, "threadgroup __attribute__((aligned(16))) float t[4];", "t[1]", around);
        cases.add(true, "float threadgroup t[4];", "t[1]", around);
        cases.add(false, "float t[4];", "t[1]", around);
    }
    cases.check();
    Cases derived;
    derived.add(true, "threadgroup decltype(float()) t[32];", "t[0]");
    derived.add(true, "decltype(float()) threadgroup t[32], *q = t; q[1] = 0;", "t[0]");
    derived.add(false, "decltype(float()) t[32];", "t[0]");
    derived.check();
}

// The pointer itself lies in threadgroup memory, or what it points to does.
void test_pointers() {
    Cases cases;
    const auto add = [&](bool shared, const std::string &declaration) {
        cases.add(shared, "threadgroup float v[65]; v[i] = i + 1; v[64] = 100; " + declaration, "p", "v + i", "v + 64",
                  "*p", "|");
    };
    for (const char *own : {"threadgroup float *p;", "float threadgroup *p;", "threadgroup float * thread p;",
                            "threadgroup float * threadgroup q, *p; q = v;"})
        add(false, own);
    for (const char *shared : {"threadgroup float * threadgroup p;", "float threadgroup * threadgroup p;",
                               "threadgroup float * const volatile q = nullptr, * volatile threadgroup p;",
                               "threadgroup float *q, * threadgroup p; q = v;"})
        add(true, shared);
    cases.check();
}

void test_contexts() {
    // Templates, macros, and overloads that say the same otherwise.
    const std::string work =
        "t[0] = float(i) + 1;" + barrier + "if (i == 5) t[0] = 100;" + barrier + "a[i] = t[0]; }\n";
    const auto found = [&](const std::string &text, float third) {
        const std::vector<float> results = results_of(head + text);
        CHECK(results.size() == threads && results[3] == third && results[5] == 100);
    };
    found("template <class T, int N> void f(device T *a, uint i) { T alignas(16) threadgroup t[N]; " + work +
              "kernel void k" + parameters + " { f<float, 4>(a, i); }",
          100);
    found(
        "#define SHARED(type, name, ...) threadgroup __attribute__((aligned(8))) type name[__VA_ARGS__]\nkernel void k" +
            parameters + " { SHARED(float, t, 2 + 2); " + work,
        100);
    const std::string overloads = "void f(device float *a, thread int *, uint i) { float t[2]; " + work +
                                  "void f(device float *a, device int *, uint i) { threadgroup float t[2]; " + work;
    found(overloads + "kernel void k" + parameters + " { f(a, (device int *)a, i); }", 100);
    found(overloads + "kernel void k" + parameters + " { int x; f(a, &x, i); }", 4);
    // Constants have their values wherever the word stands.
    const std::vector<float> constants = results_of(
        head +
        "float constant one[2] = {1, 2}; static float const constant two = 3; alignas(16) constant float three[] = {4}; __attribute__((aligned(16))) constant float four = 5;"
        "struct S { static float constant five = 6; float static constant constexpr six = 7; };\nkernel void k" +
        parameters +
        " { a[i] = one[1] * 100000 + two * 10000 + three[0] * 1000 + four * 100 + S::five * 10 + S::six; }");
    CHECK(!constants.empty() && constants[0] == 234567);
}

void test_refused() {
    const std::string start = "kernel void k(device float *a, uint i [[thread_index_in_threadgroup]]) {\n ";
    refuse(start + "threadgroup float t = 0; a[i] = t; }",
           "program_source:4:2: error: 't' is in the threadgroup address space and cannot have an initializer");
    refuse(start + "float threadgroup t[2] = {1, 2}; a[i] = t[0]; }",
           "program_source:4:8: error: 't' is in the threadgroup address space and cannot have an initializer");
    refuse(start + "threadgroup float t{}; a[i] = t; }", "cannot have an initializer");
    refuse(start + "threadgroup float2 t(1, 2); a[i] = t.x; }", "cannot have an initializer");
    refuse(start + "for (threadgroup float t[2]; i < 3; ++i) a[i] = t[0]; }",
           "program_source:4:7: error: 't' is in the threadgroup address space: declare it in a statement of its own");
    refuse(start + "float t[2] threadgroup; a[i] = t[0]; }",
           "program_source:4:13: error: 'threadgroup' must qualify a variable, a pointer or a reference");
    refuse(start + "device float t[2]; a[i] = t[0]; }",
           "'t' cannot be in the device address space: pass it to the kernel as a buffer");
    refuse(start + "float * device t = a; a[i] = t[0]; }", "'t' cannot be in the device address space");
    refuse(start + "float & threadgroup t = a[0]; a[i] = t; }",
           "'t' is a reference: write its address space before the '&'");
    refuse(
        start + "struct { threadgroup float x; } t; a[i] = t.x; }",
        "program_source:4:11: error: 'x' is a member and cannot name the threadgroup address space: it lies in its object's");
    refuse("struct S { float threadgroup x[2]; };\n" + start + "S s; a[i] = s.x[0]; }",
           "program_source:3:18: error: 'x' is a member and cannot name the threadgroup address space");
    refuse("typedef struct { float threadgroup x[2]; } S;\n" + start + "S s; a[i] = s.x[0]; }",
           "program_source:3:24: error: 'x' is a member and cannot name the threadgroup address space");
    refuse("threadgroup float t[2];\n" + start + "a[i] = t[0]; }",
           "program_source:3:1: error: 't' cannot be in the threadgroup address space: declare it in a function");
    refuse("struct S { S(int); float x; };\nthreadgroup S t(3);\n" + start + "a[i] = t.x; }",
           "program_source:4:1: error: 't' cannot be in the threadgroup address space");
    refuse("struct { float x; } threadgroup t;\n" + start + "a[i] = t.x; }",
           "program_source:3:21: error: 'threadgroup' must qualify a variable, a pointer or a reference");
    refuse("constant auto f = [](uint i) { threadgroup float t[2]; t[0] = i; return t[0]; };\n" + start +
               "a[i] = f(i); }",
           "program_source:3:32: error: 'threadgroup' must qualify a variable, a pointer or a reference");
    // Types that contain the address space.
    for (const char *declared :
         {"typedef threadgroup float shared; shared t[2];", "using shared = float threadgroup; shared t[2];",
          "using shared = threadgroup float[2]; shared t;", "threadgroup float s[2]; decltype(s) t;",
          "struct outer { typedef float threadgroup shared; }; outer::shared t[2];"}) {
        refuse(start + declared + " t[0] = i; a[i] = t[0]; }", "program_source:4:");
        refuse(start + declared + " t[0] = i; a[i] = t[0]; }",
               "error: automatic variable qualified with an address space");
    }
    refuse("template <class T> struct S { typedef T type; };\n" + start +
               "S<threadgroup float>::type t; t = i; a[i] = t; }",
           "automatic variable qualified with an address space");
    // Such types are allowed behind pointers.
    CHECK(results_of(
              head +
              "typedef threadgroup float shared; template <class T> struct S { typedef T type; };\nkernel void k" +
              parameters +
              " { threadgroup float t[2]; shared *p = t; S<threadgroup float>::type *q = t; *p = 3; a[i] = *q; }")[9] ==
          3);
}

// Declarations with a seed: qualifiers and attributes in every order, and several declarators.
class Generator {
public:
    explicit Generator(unsigned seed) : random_(seed) {}

    // Ends with the declaration of `t`; `element` is a number of it.
    std::string declaration(bool shared, std::string &element) {
        std::vector<std::string> words{
            pick({"float", "int", "half", "element", "S<float>::type", "metal::array<float, 3>", "unsigned int"})};
        element = words[0].find("S<") == 0 ? ".x" : words[0].find("array") != std::string::npos ? "[1]" : "";
        if (shared) words.emplace_back("threadgroup");
        if (!shared && chance(2)) words.emplace_back("thread");
        for (const char *more :
             {"volatile", "alignas(16)", "__attribute__((aligned(32)))", "__attribute__((unused))"}) {
            // Copies of volatile classes need constructors of their own.
            if (chance(4) && (element.empty() || more[0] != 'v') && (shared || more[0] != 'a'))
                words.emplace_back(more);
        }
        if (shared && chance(4)) words.emplace_back("static");
        std::shuffle(words.begin(), words.end(), random_);
        std::string text = chance(5) ? "[[maybe_unused]] " : "";
        for (const std::string &word : words) text += word + " ";
        std::vector<std::string> declarators;
        for (unsigned i = 0; chance(2); ++i)
            declarators.push_back(pick({"*", "*const volatile ", "", "(*", "(("}) + std::string("x") +
                                  std::to_string(i));
        for (std::string &other : declarators) {
            if (other.starts_with("((")) other += "))[2]";
            if (other.starts_with("(*")) other += ")[3]";
            if (other.starts_with("*c")) other += " = nullptr";
        }
        std::string own = pick({"t", "(t)", "t[2]", "t[3][2]", "(t[2])", "t __attribute__((aligned(16)))",
                                "t[2] __attribute__((unused))"});
        const auto dimensions = std::count(own.begin(), own.end(), '[');
        element = "t" + std::string(dimensions > 0 ? "[1]" : "") + (dimensions > 1 ? "[0]" : "") + element;
        declarators.push_back(own);
        if (chance(2)) std::swap(declarators.front(), declarators.back());
        for (std::size_t i = 0; i < declarators.size(); ++i) text += (i ? ", " : "") + declarators[i];
        return text + ";";
    }

private:
    bool chance(unsigned of) { return random_() % of == 0; }
    std::string pick(const std::vector<std::string> &from) { return from[random_() % from.size()]; }

    std::mt19937 random_;
};

void test_generated() {
    constexpr unsigned count = 150;
    Generator generator(20240607);
    Cases cases("template <class T> struct S { struct type { T x; }; };\n");
    for (unsigned n = 0; n < count; ++n) {
        const bool shared = n % 3 != 0;
        std::string element;
        const std::string declaration = generator.declaration(shared, element);
        cases.add(shared, declaration, element);
    }
    cases.check();
}

}  // namespace

int main() {
    test_forms();
    test_pointers();
    test_contexts();
    test_refused();
    test_generated();
    return check::report("msl/storage_test");
}
