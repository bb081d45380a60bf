/* A file's bytes, to be read. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smtl {

class mapped_file {
public:
    /* Maps an open file, which may be closed then. Has no byte if the file cannot be mapped, or is empty. */
    explicit mapped_file(int file) {
        struct stat status{};
        if (file < 0 || fstat(file, &status) != 0 || status.st_size <= 0) return;
        void *const memory = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
        if (memory == MAP_FAILED) return;
        bytes_ = static_cast<const char *>(memory);
        size_ = size_t(status.st_size);
    }
    /* The whole last page: else ThreadSanitizer remembers the end of the mapping, and takes whoever the dynamic loader
     * gives the address to for one who races with it. */
    ~mapped_file() {
        const auto page = size_t(sysconf(_SC_PAGESIZE));
        if (bytes_ != nullptr) munmap(const_cast<char *>(bytes_), (size_ + page - 1) / page * page);
    }
    mapped_file(const mapped_file &) = delete;
    mapped_file &operator=(const mapped_file &) = delete;

    /* `count` objects at `offset`; NULL if the file ends before, or the objects would not be aligned. */
    template <class T> const T *at(uint64_t offset, uint64_t count = 1) const {
        const bool within =
            bytes_ != nullptr && offset <= size_ && offset % alignof(T) == 0 && count <= (size_ - offset) / sizeof(T);
        return within ? reinterpret_cast<const T *>(bytes_ + offset) : nullptr;
    }

private:
    const char *bytes_ = nullptr;
    size_t size_ = 0;
};

}  // namespace smtl
