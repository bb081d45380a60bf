// A shader's source learns nothing of files but those in the folders that the host names.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "compiled_source.h"
#include "msl/compile/visible_files.h"

namespace fs = std::filesystem;

namespace {

const std::string kernel = "\nkernel void k(device float *a) { a[0] = 1; }\n";

// A source learns neither what is in a file nor whether the file exists. The host offers one folder, by an
// option or, in a process of its own, by the environment.
constexpr const char *named_by_environment = "SOFTWARE_METAL_INCLUDE";

// Folders are read for the sources that need it, and for no others: they may be large.
void test_reach(const std::string &named) {
    for (const char *source :
         {"#include \"value.h\"", " # include <value.h>", "#include_next \"value.h\"", "#import \"sub/good.h\"",
          "#embed \"value.h\"", "#inc\\\nlude \"value.h\"", "#inc\\ \r\nlude \"value.h\"", "/**/#include\t\"value.h\"",
          "#/**/include \"value.h\"", "#include /**/ \"value.h\"", "#define NAME \"value.h\"\n#include NAME",
          "#if __has_include(\"value.h\")\n#endif", "#if __has_embed(<value.h>)\n#endif", "#include \"../missing.h\"",
          "#include \"/missing.h\"", "#include \"missing.h", "#include \"away/there.txt\"",
          "#pragma GCC dependency \"value.h\"", "#include <metal_stdlib>\n#include \"value.h\""})
        if (!CHECK(smtl::msl::may_reach(source, {"/nowhere", named}))) std::fprintf(stderr, "%s\n", source);
    for (const char *source :
         {"", "include", "#include <metal_stdlib>\n// This includes nothing.\n#include_next \"missing.h\"",
          "int included; // import \"value.h\"", "#include \"sub\\\n/missing.h\""})
        if (!CHECK(!smtl::msl::may_reach(source, {"/nowhere", named}))) std::fprintf(stderr, "%s\n", source);
}

void test_files(const std::string &folder) {
    const std::string there = folder + "/outside/there.txt", missing = folder + "/outside/missing.txt";
    const std::string named = folder + "/named";
    const char *folders[] = {named.c_str()};
    smtl_compile_options options{};
    const bool by_environment = std::getenv(named_by_environment) != nullptr;
    if (!by_environment) {
        options.include_paths = folders;
        options.include_path_count = 1;
    }
    const auto text_of = [&](const std::string &source) {
        const compiled library(source + kernel, &options);
        CHECK(library.log.find("secret") == std::string::npos);
        return std::string(library.library ? "compiles\n" : "") + library.log;
    };
    // The compiler says the same of a file that exists and of one that does not, apart from the name.
    const auto tells_nothing = [&](const std::string &before, const std::string &one, const std::string &other,
                                   const std::string &behind) {
        std::string first = text_of(before + one + behind);
        const std::string second = text_of(before + other + behind);
        for (std::size_t at = first.find(one); at != std::string::npos; at = first.find(one, at + other.size()))
            first.replace(at, one.size(), other);
        if (!CHECK(first == second))
            std::fprintf(stderr, "%s%s%s: %s\nand: %s\n", before.c_str(), one.c_str(), behind.c_str(), first.c_str(),
                         second.c_str());
    };
    const std::vector<std::pair<std::string, std::string>> names = {
        {there, missing},
        {"../outside/there.txt", "../outside/gone.txt"},
        {"sub/../../outside/there.txt", "sub/../../outside/gone.txt"},
        {"out.h", "not.h"},
        {"nowhere.h", "not.h"},
        {"away/there.txt", "away/gone.txt"},
        {"pipe.h", "none.h"},
        {"/dev/zero", "/dev/none"},
        {folder + "/outside", folder + "/inside"},
        {"away", "none"}};
    for (const auto &[one, other] : names) {
        tells_nothing("#include \"", one, other, "\"\n");
        tells_nothing("#if __has_include(\"", one, other, "\")\n#error yes\n#endif\n");
        // Both ways to name folders end in one list.
        if (by_environment) continue;
        for (const char *directive : {"import", "include_next", "embed", "pragma GCC dependency"})
            tells_nothing(std::string("#") + directive + " \"", one, other, "\"\n");
        for (const char *question : {"__has_include_next", "__has_embed"})
            tells_nothing(std::string("#if ") + question + "(\"", one, other, "\")\n#error yes\n#endif\n");
        tells_nothing("# 1 \"", one, other, "\"\nint x = nothing;\n");
        tells_nothing("# 1 \"", one, other, "\" 1\nint x;\n");
        tells_nothing("#line 1 \"", one, other, "\"\n#error stop\n");
        tells_nothing("#define NAME \"", one, other, "\"\n#include NAME\n");
        // These are directives only to a reader of the preprocessed text.
        tells_nothing("#define HASH #\nHASH include \"", one, other, "\"\n");
        tells_nothing("#define HASH %:\nHASH include \"", one, other, "\"\n");
        tells_nothing("#define HASH ?\?=\nHASH embed \"", one, other, "\"\n");
    }
    // Names and values of macros give no access either.
    for (const auto &[name, value] :
         std::vector<std::pair<std::string, std::string>>{{"X", "1\n#include \"" + there + "\""},
                                                          {"X", "1\r#include \"" + there + "\""},
                                                          {"X 1\n#include \"" + there + "\"\n#define Y", "2"}}) {
        const smtl_macro macro{name.c_str(), value.c_str()};
        smtl_compile_options with_macro{};
        with_macro.macros = &macro;
        with_macro.macro_count = 1;
        const compiled library("int x = X;" + kernel, &with_macro);
        CHECK(library.log.find("secret") == std::string::npos &&
              library.log.find("file not found") == std::string::npos);
    }
    // Files that the host offered can be included by every path that stays inside, and messages quote them.
    CHECK(text_of("#include \"sub/good.h\"\nstatic_assert(value == 6, \"\");\n").starts_with("compiles"));
    CHECK(
        text_of(
            "#include \"sub/../again.h\"\nstatic_assert(value == 6, \"\");\n#if !__has_include(\"value.h\")\n#error no\n#endif\n")
            .starts_with("compiles"));
    CHECK(text_of("#include \"" + named + "/value.h\"\n#include <stdint.h>\n#include <metal_stdlib>\n")
              .starts_with("compiles"));
    CHECK(text_of("#include \"inner.h\"\n").find("constant int broken = nothing;") != std::string::npos);
    test_reach(named);
}

void test_named_folders(const char *program) {
    std::string folder = "/tmp/software-metal-files-XXXXXX";
    if (!CHECK(mkdtemp(folder.data()) != nullptr)) return;
    fs::create_directories(folder + "/named/sub");
    fs::create_directories(folder + "/outside");
    std::ofstream(folder + "/outside/there.txt") << "secret_contents\n";
    std::ofstream(folder + "/named/inner.h") << "constant int inner = 7;\nconstant int broken = nothing;\n";
    std::ofstream(folder + "/named/sub/good.h") << "#include \"../value.h\"\n";
    std::ofstream(folder + "/named/value.h") << "constant int value = 6;\n";
    fs::create_symlink("../outside/there.txt", folder + "/named/out.h");
    fs::create_symlink("../outside/missing.txt", folder + "/named/nowhere.h");
    fs::create_symlink("../outside", folder + "/named/away");
    fs::create_symlink("value.h", folder + "/named/again.h");
    CHECK(mkfifo((folder + "/named/pipe.h").c_str(), 0600) == 0);
    test_files(folder);
    const std::string child = std::string(named_by_environment) + "=" + folder + "/named " + program + " " + folder;
    CHECK(std::system(child.c_str()) == 0);
    // Without a named folder no file can be included, not even one in the working directory.
    const fs::path before = fs::current_path();
    fs::current_path(folder + "/named");
    const compiled library("#include \"value.h\"\n" + kernel);
    CHECK(library.library == nullptr && library.says("program_source:1:10: error: 'value.h' file not found"));
    fs::current_path(before);
    fs::remove_all(folder);
}

}  // namespace

// With an argument: the files of that folder alone.
int main(int count, char **arguments) {
    if (count > 1) {
        test_files(arguments[1]);
        return check::report("msl/named_folders_test, by the environment");
    }
    test_named_folders(arguments[0]);
    return check::report("msl/named_folders_test");
}
