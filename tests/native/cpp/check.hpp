// What the C++ tests share: a check that says where it failed and ends the program, and a wait that does not last.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(EXIT_FAILURE);                                             \
        }                                                                        \
    } while (0)

// Whether the condition holds, now or within minutes: for what a thread of Metal's does.
template <class Condition> bool Eventually(Condition condition) {
    for (int i = 0; i < 120000 && !condition(); i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return condition();
}

#endif
