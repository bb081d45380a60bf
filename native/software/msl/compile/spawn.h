// What is said to the system of a program that it starts.
#pragma once

#include <csignal>
#include <spawn.h>
#include <string>
#include <vector>

namespace smtl::msl {

// Words as the system takes them.
inline std::vector<char *> words_of(const std::vector<const char *> &words) {
    std::vector<char *> list;
    for (const char *word : words) list.push_back(const_cast<char *>(word));
    list.push_back(nullptr);
    return list;
}

inline std::vector<char *> words_of(const std::vector<std::string> &words) {
    std::vector<const char *> list;
    for (const std::string &word : words) list.push_back(word.c_str());
    return words_of(list);
}

class SpawnSettings {
public:
    SpawnSettings() {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
    }
    SpawnSettings(const SpawnSettings &) = delete;
    SpawnSettings &operator=(const SpawnSettings &) = delete;
    ~SpawnSettings() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }

    // The compiler would inherit a host's choice to ignore signals: Python ignores SIGXFSZ, and a compiler that does so
    // goes on past its bounds, or fails with other words.
    void reset_signals() {
        sigset_t signals;
        sigemptyset(&signals);
        posix_spawnattr_setsigmask(&attributes, &signals);
        for (const int signal : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ}) sigaddset(&signals, signal);
        posix_spawnattr_setsigdefault(&attributes, &signals);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

}  // namespace smtl::msl
