// The compiler as a fork server (msl/include/host/fork_server.c): it is loaded once, and each compilation is a fork of
// it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>

#include "process.h"

namespace smtl::msl {

class ForkServer {
public:
    // `library` makes the library that is preloaded, and gives its path: empty if there is no server to be had.
    ForkServer(std::string program, std::function<std::string()> library);
    ForkServer(const ForkServer &) = delete;
    ForkServer &operator=(const ForkServer &) = delete;
    ~ForkServer();

    // Starts the program, waits for its end and says how it ended. Nothing if there is no server: the program has to be
    // started without.
    std::optional<ProcessEnd> run(const ProcessStart &start);
    // Ends the server, unless it still works for another thread.
    void end();
    // The server's; 0 if none runs.
    pid_t process();

private:
    struct Connection;

    std::shared_ptr<Connection> launch(const ProcessStart &start);
    std::shared_ptr<Connection> connect(const ProcessStart &start, bool &launched);

    const std::string program_;
    const std::function<std::string()> library_;
    std::mutex mutex_;
    std::shared_ptr<Connection> connection_;
    bool launching_ = false;
    int failures_ = 0;  // launches in a row that made no server
};

}  // namespace smtl::msl
