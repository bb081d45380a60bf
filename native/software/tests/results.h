/* Kernels that write what they find, and a test that knows what that is. */
#ifndef SMTL_TESTS_RESULTS_H
#define SMTL_TESTS_RESULTS_H

#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"

// The results of a kernel `k` that fills `a`, run by one thread.
inline std::vector<float> results_of(const std::string &source, size_t count, uint32_t threads = 1) {
    metal_program program(source);
    std::vector<float> results(count, -1);
    CHECK(launch(program.kernel("k")).buffer(0, results).run({threads}, {threads}).empty());
    return results;
}

inline void expect(const char *what, const std::vector<float> &found, const std::vector<float> &expected) {
    for (size_t i = 0; i < expected.size(); ++i)
        if (!CHECK(found[i] == expected[i]))
            std::fprintf(stderr, "%s: result %zu is %g, not %g\n", what, i, double(found[i]), double(expected[i]));
}

#endif
