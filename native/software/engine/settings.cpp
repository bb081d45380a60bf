#include "settings.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <sched.h>

namespace smtl {
namespace {

constexpr unsigned max_threads = 256;
constexpr double max_timeout = 1e6;

/* The cores this process may run on: fewer than the machine's in a container. */
unsigned usable_cores() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return unsigned(std::max(1, CPU_COUNT(&set)));
    return std::max(1u, std::thread::hardware_concurrency());
}

bool parse(const char *text, uint64_t &value) {
    if (text == nullptr || *text == '\0') return false;
    char *end = nullptr;
    value = std::strtoull(text, &end, 0);
    return *end == '\0';
}

/* No correct dispatch takes as long on a machine that anybody waits for. */
constexpr double default_timeout = 120;

/* 0 switches the watchdog off. */
double parse_seconds(const char *text) {
    if (text == nullptr || *text == '\0') return default_timeout;
    char *end = nullptr;
    const double seconds = std::strtod(text, &end);
    return *end == '\0' && seconds >= 0 && seconds <= max_timeout ? seconds : default_timeout;
}

settings read_environment() {
    settings result{};
    uint64_t value = 0;
    const bool given = parse(std::getenv("SOFTWARE_METAL_THREADS"), value) && value > 0;
    result.threads = given ? unsigned(std::min<uint64_t>(value, max_threads)) : std::min(usable_cores(), max_threads);
    result.shuffle = parse(std::getenv("SOFTWARE_METAL_SHUFFLE"), result.shuffle_seed);
    result.timeout = parse_seconds(std::getenv("SOFTWARE_METAL_TIMEOUT"));
    result.poison = parse(std::getenv("SOFTWARE_METAL_POISON"), value) && value != 0;
    return result;
}

} // namespace

const settings &current_settings() {
    static const settings cached = read_environment();
    return cached;
}

} // namespace smtl
