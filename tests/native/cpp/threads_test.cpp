// Threads that share a device and a buffer, each with a stream: what ThreadSanitizer looks at.
#include "check.hpp"
#include "metal_bridge.hpp"

#include <thread>
#include <vector>

using namespace metal_bridge;

namespace {

constexpr size_t Threads = 8, Rounds = 20, Bytes = 3001;

void work(const Device &device, const MetalBuffer &all, unsigned number) {
    Stream stream = Stream::Create(device).value();
    for (unsigned round = 0; round < Rounds; round++) {
        const size_t offset = number * Bytes;
        std::vector<unsigned char> bytes(Bytes, static_cast<unsigned char>(number * 16 + round)), back(Bytes),
            again(Bytes);
        MetalBuffer own = MetalBuffer::Create(device, Bytes, round % 2 == 0).value();
        stream.CopyFromHost(all, offset, bytes.data(), Bytes, round % 3 ? HostMemory::Borrowed : HostMemory::Copied)
            .value();
        stream.CopyBuffer(own, 0, all, offset, Bytes).value();
        int calls = 0;
        stream.CallHostFunction([&] { calls++; }).value();
        Pending download = stream.CopyToHost(own, 0, back.data(), Bytes).value();
        download.Wait().value();
        CHECK(calls == 1 && back == bytes);
        stream.Synchronize().value();
        own.CopyToHost(again.data(), Bytes).value();
        CHECK(again == bytes);
    }
}

}  // namespace

int main() {
    Device device = Device::Default().value();
    MetalBuffer all = MetalBuffer::Create(device, Threads * Bytes, false).value();
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < Threads; number++)
        threads.emplace_back([&, number] { work(device, all, number); });
    for (auto &thread : threads) thread.join();
    std::puts("C++ threads: fine");
}
