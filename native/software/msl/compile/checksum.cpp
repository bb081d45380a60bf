#include "checksum.h"

#include <cstring>

namespace smtl::msl {
namespace {

constexpr std::uint64_t factor = 0x9e3779b97f4a7c15u;

}  // namespace

void Checksum::add(std::string_view bytes) {
    size_ += bytes.size();
    for (; bytes.size() >= block; bytes.remove_prefix(block)) {
        for (std::size_t lane = 0; lane < 4; ++lane) {
            std::uint64_t word;
            std::memcpy(&word, bytes.data() + 8 * lane, sizeof word);
            lanes_[lane] = (lanes_[lane] ^ word) * factor;
            lanes_[lane] ^= lanes_[lane] >> 29;
        }
    }
    bytes.copy(reinterpret_cast<char *>(rest_), bytes.size());
}

std::uint64_t Checksum::value() const {
    std::uint64_t sum = size_;
    for (std::size_t i = 0; i < size_ % block; ++i) sum = (sum ^ rest_[i]) * factor;
    for (std::uint64_t lane : lanes_) sum = ((sum ^ lane) * factor) ^ (sum >> 31);
    return sum;
}

std::uint64_t checksum(std::string_view bytes) {
    Checksum sum;
    sum.add(bytes);
    return sum.value();
}

}  // namespace smtl::msl
