/* Checks that count and print. A test program returns `check::report()`. */
#ifndef SMTL_TESTS_CHECK_H
#define SMTL_TESTS_CHECK_H

#include <cstdio>

namespace check {

inline unsigned passed = 0, failed = 0;

inline bool that(bool condition, const char *file, int line, const char *expression) {
    if (condition)
        ++passed;
    else if (++failed <= 20)
        std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, expression);
    return condition;
}

inline int report(const char *name) {
    std::printf("%s: %u checks passed, %u failed\n", name, passed, failed);
    return failed == 0 ? 0 : 1;
}

}  // namespace check

#define CHECK(...) check::that((__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)

#endif
