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
#include <sys/mman.h>
#include <sys/socket.h>
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
    void set(int number) {
        if (number_ >= 0) (void)::close(number_);
        number_ = number;
    }
    void close() { set(-1); }

private:
    int number_;
};

// A file in memory with the words of a request.
int write_words(const ProcessStart &start) {
    std::string text;
    const auto add = [&](const char *word) { text.append(word, std::strlen(word) + 1); };
    for (const std::string &word : start.arguments) add(word.c_str());
    for (const char *word : start.environment) add(word);
    const int file = memfd_create("words", MFD_CLOEXEC);
    for (std::size_t written = 0; file >= 0 && written < text.size();) {
        const ssize_t count = write(file, text.data() + written, text.size() - written);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            (void)close(file);
            return -1;
        }
        written += static_cast<std::size_t>(count);
    }
    return file;
}

// What a program of this process may have at most, which is `value` for those who may raise limits.
rlimit limit_of(__rlimit_resource resource, rlim_t value) {
    rlimit own{};
    (void)getrlimit(resource, &own);
    return value <= own.rlim_max || geteuid() == 0 ? rlimit{value, value} : own;
}

bool send_request(int socket, const smtl_run_request &request,
                  const std::array<int, SMTL_RUN_DESCRIPTORS> &descriptors) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
    iovec part{const_cast<smtl_run_request *>(&request), sizeof request};
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
    return sent == ssize_t{sizeof request};
}

// Waits for a reply. The server keeps to the program's bounds; a server that does not is taken for lost.
bool receive_reply(int pipe, std::uint64_t seconds, smtl_run_reply &reply) {
    constexpr std::uint64_t margin = 30;
    pollfd wanted{pipe, POLLIN, 0};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds + margin);
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
        const int ready = left <= 0 ? 0 : poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(left, INT_MAX)));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0 && left <= INT_MAX) return false;
        if (ready > 0) break;
    }
    ssize_t size;
    do {
        size = read(pipe, &reply, sizeof reply);
    } while (size < 0 && errno == EINTR);
    return size == ssize_t{sizeof reply};
}

// One request and its reply; nothing if there was none, `lost` if that is the server's doing.
std::optional<ProcessEnd> ask(int socket, const ProcessStart &start, bool &lost) {
    const ProcessBounds &bounds = start.bounds;
    const Open words(write_words(start)), input(open(start.input.c_str(), O_RDONLY | O_CLOEXEC)),
        output(open("/dev/null", O_WRONLY | O_CLOEXEC)),
        errors(open(start.errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)),
        folder(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::array<int, 2> ends{-1, -1};
    (void)pipe2(ends.data(), O_CLOEXEC);
    const Open reply_end(ends[0]);
    Open server_end(ends[1]);
    const std::array<int, SMTL_RUN_DESCRIPTORS> descriptors{words.number(),  input.number(),  output.number(),
                                                            errors.number(), folder.number(), server_end.number()};
    if (std::any_of(descriptors.begin(), descriptors.end(), [](int number) { return number < 0; })) return std::nullopt;
    const smtl_run_request request{static_cast<std::uint32_t>(start.arguments.size()),
                                   static_cast<std::uint32_t>(start.environment.size()),
                                   bounds.seconds,
                                   limit_of(RLIMIT_CPU, bounds.processor_seconds),
                                   limit_of(RLIMIT_AS, bounds.address_space),
                                   limit_of(RLIMIT_FSIZE, bounds.file_bytes)};
    lost = !send_request(socket, request, descriptors);
    // With the server's copies this is the last one: the pipe ends with the server.
    server_end.close();
    smtl_run_reply reply{};
    lost = lost || !receive_reply(reply_end.number(), bounds.seconds, reply);
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
        if (text.starts_with(preload)) {
            others = text.substr(preload.size());
        } else {
            environment.emplace_back(text);
        }
    }
    environment.push_back(std::string(preload) + library + (others.empty() ? "" : ":" + others));
    environment.push_back(std::string(SMTL_FORK_SERVER_PROGRAM "=") + program);
    return environment;
}

}  // namespace

struct ForkServer::Connection {
    Connection(int to_server, uid_t as_user, gid_t as_group) : socket(to_server), user(as_user), group(as_group) {}
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    // The server ends with its socket. A child of this process that a fork made is not the server's parent.
    ~Connection() {
        socket.close();
        siginfo_t information{};
        while (process.number() >= 0 &&
               waitid(P_PIDFD, static_cast<id_t>(process.number()), &information, WEXITED) != 0 && errno == EINTR)
            continue;
    }

    Open socket;
    Open process{-1};
    uid_t user;  // as whom the server works
    gid_t group;
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
    auto connection = std::make_shared<Connection>(ends[0], geteuid(), getegid());
    const Open end(ends[1]), file(open(library.c_str(), O_RDONLY | O_CLOEXEC));
    // Away from the two numbers that they are to have.
    const Open server(fcntl(end.number(), F_DUPFD_CLOEXEC, object_number + 1)),
        object(fcntl(file.number(), F_DUPFD_CLOEXEC, object_number + 1));
    if (server.number() < 0 || object.number() < 0) return nullptr;

    const std::vector<std::string> environment =
        environment_of_server(start, path.data(), "/proc/self/fd/" + std::to_string(object_number));
    SpawnSettings settings;
    for (const int number : {0, 1, 2})
        posix_spawn_file_actions_addopen(&settings.actions, number, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&settings.actions, server.number(), SMTL_FORK_SERVER_SOCKET);
    posix_spawn_file_actions_adddup2(&settings.actions, object.number(), object_number);
    posix_spawn_file_actions_addclosefrom_np(&settings.actions, object_number + 1);
    settings.reset_signals();
    // Another program than clang does this, and ends.
    const std::vector<char *> arguments = words_of(std::vector<const char *>{program_.c_str(), "--version"});
    pid_t process = 0;
    if (posix_spawn(&process, program_.c_str(), &settings.actions, &settings.attributes, arguments.data(),
                    words_of(environment).data()) != 0)
        return nullptr;
    connection->process.set(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    return connection;
}

std::optional<ProcessEnd> ForkServer::run(const ProcessStart &start) {
    for (bool launched = false; !launched;) {
        std::shared_ptr<Connection> connection;
        {
            const std::lock_guard lock(mutex_);
            // A host that gives up rights does not keep them in a server.
            if (connection_ && (connection_->user != geteuid() || connection_->group != getegid())) connection_.reset();
            if (!connection_ && !refused_) {
                connection_ = launch(start);
                launched = true;
                refused_ = !connection_;
            }
            connection = connection_;
        }
        if (!connection) return std::nullopt;
        bool lost = false;
        std::optional<ProcessEnd> end = ask(connection->socket.number(), start, lost);
        if (!lost) return end;
        // A server ends when nobody has asked it for a while. One that was started just now is none.
        const std::lock_guard lock(mutex_);
        if (connection_ == connection) connection_.reset();
        refused_ = refused_ || launched;
    }
    return std::nullopt;
}

void ForkServer::end() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) connection_.reset();
}

}  // namespace smtl::msl
