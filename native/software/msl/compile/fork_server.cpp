#include "fork_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <string_view>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "msl/include/host/fork_server.h"
#include "spawn.h"

namespace smtl::msl {
namespace {

// A descriptor that is closed at the end.
class Open {
public:
    explicit Open(int number) : number_(number) {}
    Open(const Open &) = delete;
    Open &operator=(const Open &) = delete;
    ~Open() { close(); }

    int number() const { return number_; }
    int release() { return std::exchange(number_, -1); }
    void close() {
        if (number_ >= 0) (void)::close(release());
    }

private:
    int number_;
};

// A copy with another number, from `least` on.
int moved(const Open &descriptor, int least) { return fcntl(descriptor.number(), F_DUPFD_CLOEXEC, least); }

// What the descriptor stands for, in the words of /proc; empty without it.
std::string target_of(int number) {
    std::array<char, PATH_MAX> text{};
    const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(number)).c_str(), text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

// A descriptor that this process keeps. The host may have closed it, and opened something else under its number. Before
// Linux 6.9 a descriptor of a process, an event counter and others have one inode: only their words differ.
class Kept {
public:
    // Under none of the numbers of the standard streams, which a host may have closed.
    explicit Kept(int number) : number_(moved(Open(number), 3)), target_(target_of(number_)) {
        (void)fstat(number_, &status_);
    }
    Kept(const Kept &) = delete;
    Kept &operator=(const Kept &) = delete;
    ~Kept() {
        if (is_open()) (void)close(number_);
    }

    int number() const { return number_; }
    bool is_open() const {
        struct stat now;
        return number_ >= 0 && fstat(number_, &now) == 0 && now.st_dev == status_.st_dev &&
               now.st_ino == status_.st_ino && target_of(number_) == target_;
    }

private:
    int number_;
    struct stat status_{};
    std::string target_;
};

// A descriptor of the process, ready when it ends.
int open_process(pid_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

std::string packet_of(const ProcessStart &start) {
    const ProcessBounds &bounds = start.bounds;
    smtl_run_request request{};
    request.arguments = static_cast<std::uint32_t>(start.arguments.size());
    request.variables = static_cast<std::uint32_t>(start.environment.size());
    request.seconds = bounds.seconds;
    request.processor = bounded(RLIMIT_CPU, bounds.processor_seconds);
    request.memory = bounded(RLIMIT_AS, bounds.address_space);
    request.file = bounded(RLIMIT_FSIZE, bounds.file_bytes);
    (void)sched_getaffinity(0, sizeof request.processors, &request.processors);
    request.nice = getpriority(PRIO_PROCESS, 0);
    std::string packet(reinterpret_cast<const char *>(&request), sizeof request);
    const auto add = [&](const char *word) { packet.append(word, std::strlen(word) + 1); };
    for (const std::string &word : start.arguments) add(word.c_str());
    for (const char *word : start.environment) add(word);
    return packet;
}

bool send_packet(int socket, std::string &packet, const std::array<int, SMTL_RUN_DESCRIPTORS> &descriptors) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
    iovec part{packet.data(), packet.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptors);
    std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof descriptors);
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(packet.size());
}

// Reads what comes within `seconds`. False if nothing does, or `process` ends before.
template <class Value> bool receive(int from, int process, std::uint64_t seconds, Value &value) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    std::array<pollfd, 2> wanted{{{from, POLLIN, 0}, {process, POLLIN, 0}}};
    for (int ready = 0; ready <= 0;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
        if (left <= 0) return false;
        ready = poll(wanted.data(), wanted.size(), static_cast<int>(std::min<std::int64_t>(left, 1 << 20)));
        if (ready < 0 && errno != EINTR) return false;
    }
    if (wanted[0].revents == 0) return false;
    ssize_t size;
    do {
        size = read(from, &value, sizeof value);
    } while (size < 0 && errno == EINTR);
    return size == ssize_t{sizeof value};
}

// One request and its reply; nothing if there was none, `lost` if that is the server's doing.
std::optional<ProcessEnd> ask(int socket, int server, const ProcessStart &start, bool &lost) {
    std::string packet = packet_of(start);
    if (packet.size() > SMTL_RUN_MAX_REQUEST) return std::nullopt;
    const Open input(open(start.input.c_str(), O_RDONLY | O_CLOEXEC)), output(open("/dev/null", O_WRONLY | O_CLOEXEC)),
        errors(open(start.errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)),
        folder(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::array<int, 2> ends{-1, -1};
    (void)pipe2(ends.data(), O_CLOEXEC);
    const Open reply_end(ends[0]);
    Open server_end(ends[1]);
    const std::array<int, SMTL_RUN_DESCRIPTORS> descriptors{input.number(), output.number(), errors.number(),
                                                            folder.number(), server_end.number()};
    if (std::any_of(descriptors.begin(), descriptors.end(), [](int number) { return number < 0; })) return std::nullopt;
    lost = !send_packet(socket, packet, descriptors);
    // With the server's copies this is the last one: the pipe ends with the server.
    server_end.close();
    // A server that has the request replies even if it ends meanwhile. It keeps to the program's bounds.
    constexpr std::uint64_t margin = 30;
    char taken;
    smtl_run_reply reply{};
    lost = lost || !receive(reply_end.number(), server, margin, taken) ||
           !receive(reply_end.number(), -1, start.bounds.seconds + margin, reply);
    if (lost) return std::nullopt;
    return ProcessEnd{reply.status, reply.too_slow != 0, reply.processor_milliseconds};
}

// The environment that makes a server of the program.
std::vector<std::string> environment_of_server(const ProcessStart &start, const std::string &program,
                                               const std::string &library) {
    constexpr std::string_view preload = "LD_PRELOAD=";
    std::vector<std::string> environment;
    std::string others;
    for (const char *variable : start.environment) {
        const std::string_view text = variable;
        if (text.starts_with(preload))
            others = text.substr(preload.size());
        else
            environment.emplace_back(text);
    }
    environment.push_back(std::string(preload) + library + (others.empty() ? "" : ":" + others));
    environment.push_back(std::string(SMTL_FORK_SERVER_PROGRAM "=") + program);
    // A function is looked up once in the server, and not in each compilation.
    environment.emplace_back("LD_BIND_NOW=1");
    return environment;
}

}  // namespace

struct ForkServer::Connection {
    Connection(int to_server, pid_t the_server)
        : socket(to_server), server(open_process(the_server)), process(the_server) {}
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    // A process that takes in orphans, as the first process of a container does, has to wait for the server too.
    ~Connection() {
        constexpr auto by_descriptor = static_cast<idtype_t>(3);  // P_PIDFD, which not every C library names
        siginfo_t ignored;
        if (server.is_open()) (void)waitid(by_descriptor, server.number(), &ignored, WEXITED | WNOHANG);
    }

    bool is_open() const { return socket.is_open() && server.is_open(); }

    Kept socket, server;
    pid_t process;
    // As whom the server works.
    uid_t user = geteuid();
    gid_t group = getegid();
};

ForkServer::ForkServer(std::string program, std::function<std::string()> library)
    : program_(std::move(program)), library_(std::move(library)) {}

ForkServer::~ForkServer() = default;

std::shared_ptr<ForkServer::Connection> ForkServer::launch(const ProcessStart &start) {
    std::array<char, PATH_MAX> path{};
    const std::string library = library_();
    if (library.empty() || !realpath(program_.c_str(), path.data())) return nullptr;
    // A path can hold characters that stand between the names of libraries.
    constexpr int object_number = SMTL_FORK_SERVER_SOCKET + 1;
    std::array<int, 2> ends{-1, -1};
    (void)socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data());
    Open ours(ends[0]);
    const Open theirs(ends[1]), file(open(library.c_str(), O_RDONLY | O_CLOEXEC));
    // Away from the two numbers that they are to have.
    const Open socket(moved(theirs, object_number + 1)), object(moved(file, object_number + 1));
    if (socket.number() < 0 || object.number() < 0) return nullptr;

    const std::vector<std::string> environment =
        environment_of_server(start, path.data(), "/proc/self/fd/" + std::to_string(object_number));
    SpawnSettings settings;
    for (const int number : {0, 1, 2})
        posix_spawn_file_actions_addopen(&settings.actions, number, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&settings.actions, socket.number(), SMTL_FORK_SERVER_SOCKET);
    posix_spawn_file_actions_adddup2(&settings.actions, object.number(), object_number);
    posix_spawn_file_actions_addclosefrom_np(&settings.actions, object_number + 1);
    settings.reset_signals();
    // Another program than clang does this, and ends.
    const std::vector<char *> arguments = words_of(std::vector<const char *>{program_.c_str(), "--version"});
    pid_t process = 0, server = 0;
    if (posix_spawn(&process, program_.c_str(), &settings.actions, &settings.attributes, arguments.data(),
                    words_of(environment).data()) != 0)
        return nullptr;
    constexpr std::uint64_t patience = 60;
    const Open started(open_process(process));
    const bool greeted = started.number() >= 0 && receive(ours.number(), started.number(), patience, server);
    while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) continue;
    if (!greeted || server <= 0) return nullptr;
    auto connection = std::make_shared<Connection>(ours.release(), server);
    return connection->is_open() ? connection : nullptr;
}

// The server to ask, which is launched if there is none. Nothing while another thread launches it, and in a child of a
// fork that found it so.
std::shared_ptr<ForkServer::Connection> ForkServer::connect(const ProcessStart &start, bool &launched) {
    constexpr int most_failures = 3;
    {
        const std::lock_guard lock(mutex_);
        if (launching_ || failures_ == most_failures) return nullptr;
        // A host that gives up rights does not keep them in a server.
        if (connection_ && connection_->is_open() && connection_->user == geteuid() && connection_->group == getegid())
            return connection_;
        launching_ = true;
    }
    std::shared_ptr<Connection> connection = launch(start);
    launched = true;
    const std::lock_guard lock(mutex_);
    launching_ = false;
    failures_ = connection ? 0 : failures_ + 1;
    connection_ = connection;
    return connection;
}

std::optional<ProcessEnd> ForkServer::run(const ProcessStart &start) {
    for (bool launched = false; !launched;) {
        const std::shared_ptr<Connection> connection = connect(start, launched);
        if (!connection) return std::nullopt;
        bool lost = false;
        std::optional<ProcessEnd> end = ask(connection->socket.number(), connection->server.number(), start, lost);
        if (!lost) return end;
        // A server ends when nobody has asked it for a while.
        const std::lock_guard lock(mutex_);
        if (connection_ == connection) connection_.reset();
    }
    return std::nullopt;
}

pid_t ForkServer::process() {
    const std::lock_guard lock(mutex_);
    return connection_ ? connection_->process : 0;
}

void ForkServer::end() {
    const std::lock_guard lock(mutex_);
    connection_.reset();
}

}  // namespace smtl::msl
