// The device through metal-cpp: libraries made of MLX's headers, pipelines with function constants, launches.
#ifndef FOREIGN_MLX_GPU_H
#define FOREIGN_MLX_GPU_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>

// One text of MLX's headers with what they include, each once: what MLX hands to newLibraryWithSource, which has no
// include paths.
class Source {
public:
    explicit Source(std::string folder) : folder_(std::move(folder)) {}
    // `header` as MLX's own include lines name it, below mlx/backend/metal/kernels/.
    Source &include(const std::string &header);
    Source &add(const std::string &text);
    const std::string &text() const { return text_; }

private:
    void inline_file(const std::string &path);

    std::string folder_;
    std::string text_;
    std::set<std::string> included_;
};

using Constants = std::map<unsigned, int>;  // function constants, bool or int, by index; what is not named is 0

struct Threads {
    std::size_t x = 1, y = 1, z = 1;
};

// Bytes for an argument: elements of a type, whatever they are made of.
template <typename T> std::vector<std::byte> bytes_of(const std::vector<T> &values) {
    const auto *first = reinterpret_cast<const std::byte *>(values.data());
    return {first, first + values.size() * sizeof(T)};
}

class Library {
public:
    Library(MTL::Device *device, const std::string &source);
    std::vector<std::string> kernels() const;
    NS::SharedPtr<MTL::ComputePipelineState> pipeline(const std::string &kernel, const Constants &constants = {}) const;

private:
    MTL::Device *device_;
    NS::SharedPtr<MTL::Library> library_;
};

// A kernel with its arguments, launched once.
class Launch {
public:
    Launch(MTL::Device *device, NS::SharedPtr<MTL::ComputePipelineState> pipeline);

    template <typename T> Launch &buffer(unsigned index, const std::vector<T> &values) {
        return bind(index, bytes_of(values));
    }
    // Read back by `result`.
    template <typename T> Launch &output(unsigned index, std::size_t count, T filling = T(-77)) {
        return bind(index, bytes_of(std::vector<T>(count, filling)));
    }
    template <typename T> Launch &value(unsigned index, const T &value) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto *first = reinterpret_cast<const std::byte *>(&value);
        values_[index] = {first, first + sizeof value};
        return *this;
    }
    Launch &threadgroup_memory(unsigned index, std::size_t bytes);
    // Throws where the command buffer ends with an error.
    void threads(Threads grid, Threads group);
    void groups(Threads groups, Threads group);
    std::size_t simdgroup_width() const { return pipeline_->threadExecutionWidth(); }

    template <typename T> std::vector<T> result(unsigned index) const {
        const MTL::Buffer *buffer = buffers_.at(index).get();
        const T *first = static_cast<const T *>(const_cast<MTL::Buffer *>(buffer)->contents());
        return {first, first + buffer->length() / sizeof(T)};
    }

private:
    Launch &bind(unsigned index, const std::vector<std::byte> &bytes);
    void run(const std::function<void(MTL::ComputeCommandEncoder *)> &dispatch);

    MTL::Device *device_;
    NS::SharedPtr<MTL::ComputePipelineState> pipeline_;
    std::map<unsigned, NS::SharedPtr<MTL::Buffer>> buffers_;
    std::map<unsigned, std::vector<std::byte>> values_;
    std::map<unsigned, std::size_t> threadgroup_;
};

#endif
