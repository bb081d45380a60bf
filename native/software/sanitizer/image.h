/* What an instrumented kernel's shared object holds beside code: its threadgroup variables and its constants. */
#ifndef SMTL_SANITIZER_IMAGE_H
#define SMTL_SANITIZER_IMAGE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memory.h"

struct smtl_sanitized_globals;

namespace smtl::sanitize {

/* A `constant` table. The bytes behind it, up to `guard_end`, belong to nothing. */
struct constant_table {
    uintptr_t begin, end, guard_end;
    std::string name;
};

class image {
public:
    /* Reads the symbols of the file that is loaded at `base`. NULL, with the reason, if it cannot be read. */
    static std::unique_ptr<image> read(const std::string &path, uintptr_t base, uintptr_t end,
                                       const smtl_sanitized_globals &globals, std::string &problem);

    const std::string &path() const { return path_; }
    uintptr_t base() const { return base_; }
    bool contains(uintptr_t address) const { return address >= base_ && address < end_; }
    /* Bytes of all threadgroup variables. */
    size_t threadgroup_memory() const;
    const std::vector<std::unique_ptr<smtl_watched>> &variables() const { return variables_; }
    /* The threadgroup variable at or near the address; NULL if there is none, or if another object is there. */
    smtl_watched *variable_near(uintptr_t address) const;
    /* The constant that the access runs off, into its guard; NULL if there is none. */
    const constant_table *constant_before(uintptr_t address, size_t size) const;

private:
    bool read_symbols(std::string &problem);
    void add_object(uintptr_t begin, size_t size, const char *symbol, bool uninitialised);
    bool is_other_object(uintptr_t address) const;

    std::string path_;
    uintptr_t base_ = 0, end_ = 0;
    uintptr_t writable_ = 0; /* where the writable sections begin */
    std::vector<std::unique_ptr<smtl_watched>> variables_; /* by address */
    std::vector<std::pair<uintptr_t, uintptr_t>> others_; /* objects that are not threadgroup variables */
    std::vector<constant_table> constants_;
};

}  // namespace smtl::sanitize

#endif
