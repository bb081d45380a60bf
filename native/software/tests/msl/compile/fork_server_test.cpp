// The compiler as a fork server: what a program says, how it ends and what bounds it has are the same as in a process
// of its own, whatever happens to the server.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "msl/compile/fork_server.h"
#include "msl/compile/process.h"
#include "msl/compile/toolchain.h"

namespace fs = std::filesystem;

namespace {

using smtl::msl::ForkServer;
using smtl::msl::ProcessBounds;
using smtl::msl::ProcessEnd;
using smtl::msl::ProcessResult;
using smtl::msl::ProcessStart;
using smtl::msl::run_process;
using smtl::msl::Toolchain;

std::string folder;

// Which the toolchain made.
std::string library() {
    static const std::string path = [] {
        for (const fs::directory_entry &entry : fs::directory_iterator(std::getenv("SOFTWARE_METAL_CACHE")))
            if (const fs::path object = entry.path() / "fork_server.so"; fs::exists(object)) return object.string();
        return std::string();
    }();
    return path;
}

std::vector<std::string> compile(const std::string &output) {
    return {Toolchain::shared().clang, "-x", "c++", "-c", "-w", "-o", output, "-"};
}

std::string write(const std::string &name, const std::string &text) {
    std::ofstream(folder + "/" + name) << text;
    return folder + "/" + name;
}

// A folder of its own for what one run says.
std::string fresh_folder() {
    std::string path = folder + "/run-XXXXXX";
    CHECK(mkdtemp(path.data()) != nullptr);
    return path;
}

bool ends_by_the_server(ForkServer &server, const std::vector<std::string> &arguments, const std::string &input,
                        const ProcessBounds &bounds = {}) {
    const std::string errors = fresh_folder() + "/errors";
    return server.run(ProcessStart{arguments, {"LC_ALL=C"}, input, errors, bounds}).has_value();
}

// Whether this process has a child, or had one that nobody has waited for.
bool has_children() { return waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) == 0; }

// True when the process has ended.
bool ends(pid_t process) {
    for (int i = 0; i < 1000; ++i) {
        std::ifstream status("/proc/" + std::to_string(process) + "/stat");
        std::string text;
        std::getline(status, text);
        if (text.empty() || text.find(") Z") != std::string::npos) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

void test_results() {
    ForkServer server(Toolchain::shared().clang, library);
    const std::string good = write("good", "int f() { return 1; }\n"), bad = write("bad", "int f() { return x; }\n");
    // Else what follows would also be true without a server.
    CHECK(ends_by_the_server(server, compile(folder + "/good.o"), good));
    for (const std::string &input : {good, bad}) {
        const std::string by_server = fresh_folder(), alone = fresh_folder();
        const ProcessResult one = run_process(compile(by_server + "/o"), input, by_server, {}, &server);
        const ProcessResult other = run_process(compile(alone + "/o"), input, alone);
        CHECK(one.started && one.succeeded == (input == good) && one.succeeded == other.succeeded &&
              one.errors == other.errors);
        CHECK(fs::exists(by_server + "/o") == one.succeeded);
        if (one.succeeded) CHECK(fs::file_size(by_server + "/o") == fs::file_size(alone + "/o"));
    }
    // Names are names in the folder that this process works in now.
    const fs::path before = fs::current_path();
    fs::current_path(folder);
    CHECK(
        run_process({Toolchain::shared().clang, "-x", "c++", "-fsyntax-only", "good"}, "", fresh_folder(), {}, &server)
            .succeeded);
    fs::current_path(before);
    // Nothing of this process's is seen there but its environment.
    setenv("CPATH", folder.c_str(), 1);
    const ProcessResult hidden =
        run_process(compile(folder + "/hidden.o"), write("hidden", "#include \"good\"\n"), fresh_folder(), {}, &server);
    CHECK(!hidden.succeeded && hidden.errors.find("file not found") != std::string::npos);
    unsetenv("CPATH");
    server.end();
    CHECK(!has_children());
}

void test_bounds() {
    ForkServer server(Toolchain::shared().clang, library);
    const auto refused = [&](const std::string &source, const ProcessBounds &bounds, const std::string &why) {
        const ProcessResult result =
            run_process(compile(fresh_folder() + "/o"), write("bomb", source), fresh_folder(), bounds, &server);
        if (!CHECK(!result.succeeded && result.errors.find(why) != std::string::npos))
            std::fprintf(stderr, "not '%s': %s\n", why.c_str(), result.errors.c_str());
    };
    const std::string endless =
        "constexpr int f() { int s = 0; for (unsigned i = 0; i < 4000000000u; ++i) s ^= i; return s; }\nstatic_assert(f());\n";
    ProcessBounds bounds;
    bounds.processor_seconds = 1;
    std::vector<std::string> arguments = compile(folder + "/o");
    arguments.insert(arguments.end() - 1, "-fconstexpr-steps=2147483647");
    ProcessResult result = run_process(arguments, write("endless", endless), fresh_folder(), bounds, &server);
    CHECK(!result.succeeded && result.errors.find("took more than 1 second of processor time") != std::string::npos);
    bounds = {};
    bounds.seconds = 1;
    const std::string pipe = folder + "/pipe";
    CHECK(mkfifo(pipe.c_str(), 0600) == 0);
    refused("#include \"" + pipe + "\"\n", bounds, "took longer than 1 second");
    bounds = {};
    bounds.file_bytes = 1000;
    refused("char text[100000] = {1};\n", bounds, "wrote a file of more than 1000 bytes");
    bounds = {};
    bounds.address_space = std::uint64_t{1} << 29;
    refused(
        "template <class... T> struct L {}; template <int N, class... T> struct M : M<N - 1, T..., T..., int> {}; template <class... T> struct M<0, T...> { L<T...> l; };\nM<26> m;\n",
        bounds, "needed more than 512 MB of memory");
    CHECK(ends_by_the_server(server, compile(folder + "/good.o"), folder + "/good"));
    server.end();
    CHECK(!has_children());
}

// A server that is gone is replaced, and a compilation that it takes with it runs again.
void test_lost_servers() {
    ForkServer server(Toolchain::shared().clang, library);
    const std::vector<std::string> arguments = compile(folder + "/good.o");
    CHECK(ends_by_the_server(server, arguments, folder + "/good"));
    const pid_t first = server.process();
    CHECK(first > 0 && kill(first, SIGKILL) == 0 && ends(first));
    CHECK(ends_by_the_server(server, arguments, folder + "/good"));
    // One that has nothing to do ends by itself.
    const pid_t second = server.process();
    CHECK(second > 0 && second != first && ends(second));
    CHECK(ends_by_the_server(server, arguments, folder + "/good"));
    const pid_t third = server.process();
    if (!CHECK(third > 0 && third != second)) return;
    // What it has started ends with it.
    const std::string pipe = folder + "/late", at = fresh_folder();
    CHECK(mkfifo(pipe.c_str(), 0600) == 0);
    const std::string source = write("late.cpp", "#include \"" + pipe + "\"\nint g() { return late; }\n");
    ProcessResult result;
    std::thread waiting([&] { result = run_process(compile(at + "/o"), source, at, {}, &server); });
    int end = open(pipe.c_str(), O_WRONLY);  // when the compiler reads
    CHECK(kill(third, SIGKILL) == 0);
    pollfd unread{end, 0, 0};
    CHECK(poll(&unread, 1, 10000) == 1 && (unread.revents & POLLERR) != 0);
    (void)close(end);
    end = open(pipe.c_str(), O_WRONLY);
    CHECK(::write(end, "int late;\n", 10) == 10);
    (void)close(end);
    waiting.join();
    if (!CHECK(result.succeeded)) std::fprintf(stderr, "%s\n", result.errors.c_str());
    server.end();
}

// The first process of a container becomes the parent of servers, and does not collect dead ones.
void test_parent_of_orphans() {
    const pid_t child = fork();
    if (child == 0) {
        ForkServer server(Toolchain::shared().clang, library);
        bool good = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
        for (int i = 0; i < 2; ++i) {
            good = good && ends_by_the_server(server, compile(folder + "/child.o"), folder + "/good") &&
                   waitpid(-1, nullptr, WNOHANG) == 0;
            good = good && ends(server.process());
        }
        _exit(good ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// A script in the compiler's place is not a server, and compiles as well; so does a compiler without a library.
void test_no_server() {
    const std::string script = write("clang", "#!/bin/sh\nexec " + Toolchain::shared().clang + " \"$@\"\n");
    fs::permissions(script, fs::perms::owner_all);
    // What it leaves behind holds all that it has been given.
    const std::string lasting =
        write("lasting", "#!/bin/sh\nsleep 5 &\nexec " + Toolchain::shared().clang + " \"$@\"\n");
    fs::permissions(lasting, fs::perms::owner_all);
    ForkServer of_script(script, library), of_lasting(lasting, library),
        without(Toolchain::shared().clang, [] { return std::string(); }),
        damaged(Toolchain::shared().clang, [] { return write("damaged.so", "no library"); });
    std::vector<std::string> arguments = compile(folder + "/good.o");
    for (ForkServer *server : {&of_script, &of_lasting, &without, &damaged}) {
        arguments[0] = server == &of_script ? script : server == &of_lasting ? lasting : Toolchain::shared().clang;
        CHECK(!ends_by_the_server(*server, arguments, folder + "/good"));
        CHECK(run_process(arguments, folder + "/good", fresh_folder(), {}, server).succeeded);
        server->end();
    }
    CHECK(!has_children());
}

void test_threads_and_forks() {
    ForkServer server(Toolchain::shared().clang, library);
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            for (int j = 0; j < 4; ++j) {
                const std::string at = fresh_folder(), name = "n" + std::to_string(i) + "_" + std::to_string(j);
                std::ofstream(at + "/source") << "int f() { return " + name + "; }\n";
                const ProcessResult result = run_process(compile(at + "/o"), at + "/source", at, {}, &server);
                if (!result.succeeded && result.errors.find("identifier '" + name + "'") != std::string::npos) ++right;
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(right == 32);
    // A child of a fork uses its parent's server, and its end is not the server's.
    const pid_t child = fork();
    if (child == 0) {
        const bool good = ends_by_the_server(server, compile(folder + "/child.o"), folder + "/good");
        server.end();
        _exit(good ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    const pid_t before = server.process();
    CHECK(ends_by_the_server(server, compile(folder + "/good.o"), folder + "/good") && server.process() == before);
    server.end();
    CHECK(ends(before));
    CHECK(!has_children());
}

// A host may close all descriptors, and use their numbers for others.
void test_closed_descriptors() {
    ForkServer server(Toolchain::shared().clang, library);
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; ++i) (void)close(i);
        bool good = ends_by_the_server(server, compile(folder + "/child.o"), folder + "/good");
        for (int i = 0; i < 3; ++i) good = good && fcntl(i, F_GETFD) < 0;
        for (int i = 3; i < 256; ++i) (void)close(i);
        int ends[2];
        good = good && pipe(ends) == 0;
        for (int i = 3; i < 256; ++i) (void)dup2(ends[1], i);
        for (int i = 64; i < 256; ++i) (void)close(i);
        good = good && ends_by_the_server(server, compile(folder + "/child.o"), folder + "/good") &&
               fcntl(5, F_GETFD) >= 0;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// Who gives up the rights of root does not compile with them.
void test_users() {
    if (geteuid() != 0) return;
    ForkServer server(Toolchain::shared().clang, library);
    CHECK(ends_by_the_server(server, compile(folder + "/good.o"), folder + "/good"));
    fs::permissions(folder, fs::perms::all);
    CHECK(setegid(12345) == 0 && seteuid(12345) == 0);
    const std::string at = fresh_folder();
    const ProcessResult result = run_process(compile(at + "/o"), "", at, {}, &server);
    if (!CHECK(result.succeeded)) std::fprintf(stderr, "%s\n", result.errors.c_str());
    CHECK(seteuid(0) == 0 && setegid(0) == 0);
    struct stat status;
    CHECK(stat((at + "/o").c_str(), &status) == 0 && status.st_uid == 12345);
    server.end();
}

}  // namespace

int main() {
    folder = "/tmp/software-metal-fork-server-XXXXXX";
    if (!CHECK(mkdtemp(folder.data()) != nullptr)) return check::report("msl/compile/fork_server_test");
    setenv("SOFTWARE_METAL_CACHE", (folder + "/cache").c_str(), 1);
    // Makes the library.
    CHECK(Toolchain::shared().problem.empty());
    CHECK(Toolchain::shared().run({Toolchain::shared().clang, "--version"}, "", folder).succeeded);
    Toolchain::shared().server->end();
    CHECK(!library().empty() && !has_children());
    test_results();
    test_bounds();
    test_lost_servers();
    test_parent_of_orphans();
    test_no_server();
    test_threads_and_forks();
    test_closed_descriptors();
    test_users();
    fs::remove_all(folder);
    return check::report("msl/compile/fork_server_test");
}
