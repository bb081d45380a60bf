// SHA-256, for names in the cache: if two inputs shared a name, one's code would run in place of the other's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smtl::msl {

class Hash {
public:
    // Length-prefixed, so that the borders between parts count.
    Hash &add(std::string_view part);
    Hash &add(std::uint64_t number);
    // Hexadecimal digits; the object is spent.
    std::string digest();

private:
    void update(const void *data, std::size_t size);
    void compress(const unsigned char *block);

    std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<unsigned char, 64> block_{};
    std::size_t filled_ = 0;
    std::uint64_t total_ = 0;
};

}  // namespace smtl::msl
