// What lies behind pointers, and how often the compiler is asked for it: each question leaves an entry in a cache of
// this test's own.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "check.h"
#include "compiled_source.h"

namespace fs = std::filesystem;

namespace {

fs::path cache;

int questions() {
    int count = 0;
    for (const fs::directory_entry &entry : fs::directory_iterator(cache))
        count += entry.path().filename().string().starts_with("types-");
    return count;
}

// What the first parameter of the kernel `k` points to.
const smtl_type *pointee(const compiled &source) {
    const smtl_argument *arguments = nullptr;
    if (!CHECK(smtl_library_arguments(source.library, "k", &arguments) == 1))
        std::fprintf(stderr, "%s\n", source.log.c_str());
    return source.library ? smtl_library_pointee(source.library, arguments) : nullptr;
}

// `count` structures A0, A1, ... of a pointer and a float, and T, which has one of each.
std::string structure_of(int count) {
    std::string structures, members;
    for (int i = 0; i < count; ++i) {
        const std::string name = "A" + std::to_string(i);
        structures += "struct " + name + " { device int *p; float f; };\n";
        members += " " + name + " m" + std::to_string(i) + ";";
    }
    return structures + "struct T {" + members + " device int *last; };\nkernel void k(constant T &t) { (void)t; }\n";
}

void test_many_structures() {
    const compiled source(structure_of(300));
    const int before = questions();
    const smtl_type *type = pointee(source);
    if (!CHECK(type && type->member_count == 301 && type->argument_count == 601)) return;
    CHECK(questions() == before + 2);
    for (unsigned i = 0; i < 300; ++i) {
        const smtl_member &member = type->members[i];
        CHECK(member.offset == 16 * i && member.argument_index == 2 * i && member.type->member_count == 2);
    }
    CHECK(pointee(source) == type && questions() == before + 2);
}

// The structures that one has named are asked for together, level by level.
void test_levels() {
    const compiled source(
        "struct Leaf { int n[3]; }; struct Left { Leaf leaf; constant struct Top *top; }; struct Right { Leaf leaf; };\n"
        "struct Top { Left left; device Right *right; };\nkernel void k(constant Top &t) { (void)t; }\n");
    const int before = questions();
    const smtl_type *type = pointee(source);
    if (!CHECK(type && type->member_count == 2)) return;
    CHECK(questions() == before + 3);
    const smtl_type *left = type->members[0].type, *right = type->members[1].type->element;
    CHECK(left->members[1].type->element == type && left->members[0].type == right->members[0].type);
    CHECK(right->members[0].type->members[0].type->length == 3);
}

// The compiler cannot be asked for the members of one: it has no name outside, or its [[id(n)]] has none there.
void test_unknown_structures() {
    const compiled source("namespace { struct Hidden { int i; }; }\n"
                          "namespace n { constant constexpr int at = 3; struct Far { int i [[id(at)]]; }; }\n"
                          "struct A { device int *p; }; struct B { float f; }; struct C { float4 v; };\n"
                          "struct T { A a; device Hidden *hidden; B b; device n::Far *far; C c; };\n"
                          "kernel void k(constant T &t) { (void)t; }\n");
    const smtl_type *type = pointee(source);
    if (!CHECK(type && type->member_count == 5)) return;
    for (const int i : {0, 2, 4}) CHECK(type->members[i].type->member_count == 1);
    for (const int i : {1, 3}) CHECK(type->members[i].type->element->member_count == 0);
}

}  // namespace

int main() {
    char folder[] = "/tmp/smtl-type-questions-XXXXXX";
    cache = mkdtemp(folder);
    setenv("SOFTWARE_METAL_CACHE", folder, 1);
    test_many_structures();
    test_levels();
    test_unknown_structures();
    fs::remove_all(cache);
    return check::report("msl/compile/type_questions_test");
}
