// A fast hash: it finds damage, not attackers. Entries of the cache are large, and every use checks them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace smtl::msl {

class Checksum {
public:
    static constexpr std::size_t block = 32;

    // Each piece but the last is a multiple of `block` long.
    void add(std::string_view bytes);
    std::uint64_t value() const;
    // How many bytes were added.
    std::uint64_t size() const { return size_; }

private:
    std::uint64_t lanes_[4] = {1, 2, 3, 4};
    std::uint64_t size_ = 0;
    unsigned char rest_[block];  // of the last piece
};

std::uint64_t checksum(std::string_view bytes);

}  // namespace smtl::msl
