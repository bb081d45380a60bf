// <metal_initializer_list>. The compiler makes such lists, and wants them in `std`.
#pragma once

#include "scalar.h"

namespace std {

template <class T> class initializer_list {
public:
    using value_type = T;
    using size_type = size_t;
    using reference = const T &;
    using const_reference = const T &;
    using iterator = const T *;
    using const_iterator = const T *;

    constexpr initializer_list() : begin_(nullptr), size_(0) {}
    constexpr size_t size() const { return size_; }
    constexpr const T *begin() const { return begin_; }
    constexpr const T *end() const { return begin_ + size_; }

private:
    const T *begin_;
    size_t size_;
};

}  // namespace std

namespace metal {
using std::initializer_list;
template <class T> constexpr const T *begin(initializer_list<T> list) { return list.begin(); }
template <class T> constexpr const T *end(initializer_list<T> list) { return list.end(); }
}  // namespace metal
