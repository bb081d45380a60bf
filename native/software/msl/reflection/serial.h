// Numbers and texts as bytes, for files of the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace smtl::msl {

template <class T> bool read_at(std::string_view bytes, std::size_t offset, T &value) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return true;
}

class Writer {
public:
    void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char *>(&value), sizeof value); }
    void text(std::string_view value) {
        number(value.size());
        bytes_ += value;
    }
    void texts(const std::vector<std::string> &values) {
        number(values.size());
        for (const std::string &value : values) text(value);
    }
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

// After the first value that is not as expected, every read gives an empty value.
class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    std::uint64_t number() {
        std::uint64_t value = 0;
        if (!read_at(bytes_, position_, value)) good_ = false;
        position_ += good_ ? sizeof value : 0;
        return good_ ? value : 0;
    }
    // A count of things that take eight bytes each at least.
    std::size_t count() {
        const std::uint64_t value = number();
        if (value > (bytes_.size() - position_) / 8) good_ = false;
        return good_ ? value : 0;
    }
    std::string text() {
        const std::uint64_t size = number();
        if (size > bytes_.size() - position_) good_ = false;
        if (!good_) return {};
        position_ += size;
        return std::string(bytes_.substr(position_ - size, size));
    }
    std::vector<std::string> texts() {
        std::vector<std::string> values(count());
        for (std::string &value : values) value = text();
        return values;
    }
    bool good() const { return good_; }

private:
    std::string_view bytes_;
    std::size_t position_ = 0;
    bool good_ = true;
};

}  // namespace smtl::msl
