// Metal from C++ with no Objective-C in it, in the way of Apple's metal-cpp: the program looks up classes and selectors
// as it starts, and sends messages through objc_msgSend cast to the method's type. Compiled with what pkg-config says.
#include <CoreFoundation/CoreFoundation.h>
#include <dlfcn.h>
#include <mach/mach.h>
#include <objc/message.h>
#include <objc/runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

extern "C" void *MTLCreateSystemDefaultDevice();
// As bindings of other languages declare them.
extern "C" void *objc_retain(void *object);
extern "C" void objc_release(void *object);
extern "C" void *objc_retainAutorelease(void *object);

namespace {

// Before main, as metal-cpp's are: the library has to be ready by then.
void *const string_class = objc_lookUpClass("NSString");
void *const pool_class = objc_lookUpClass("NSAutoreleasePool");
void *const options_class = objc_lookUpClass("MTLCompileOptions");
const SEL alloc = sel_registerName("alloc");
const SEL init = sel_registerName("init");
const SEL release = sel_registerName("release");

template <class Result, class... Arguments> Result send(const void *object, SEL selector, Arguments... arguments) {
#ifdef __x86_64__
    if constexpr (std::is_floating_point_v<Result>) {
        return reinterpret_cast<Result (*)(const void *, SEL, Arguments...)>(&objc_msgSend_fpret)(object, selector,
                                                                                                  arguments...);
    } else if constexpr (!std::is_void_v<Result>) {
        if constexpr (sizeof(Result) > 2 * sizeof(void *)) {
            Result result;
            reinterpret_cast<void (*)(Result *, const void *, SEL, Arguments...)>(&objc_msgSend_stret)(
                &result, object, selector, arguments...);
            return result;
        }
    }
#endif
    return reinterpret_cast<Result (*)(const void *, SEL, Arguments...)>(&objc_msgSend)(object, selector, arguments...);
}
template <class Result, class... Arguments>
Result send(const void *object, const char *selector, Arguments... arguments) {
    return send<Result>(object, sel_registerName(selector), arguments...);
}

struct Owned {
    explicit Owned(void *object) : object(object) {}
    Owned(const Owned &) = delete;
    ~Owned() { send<void>(object, release); }
    operator void *() const { return object; }
    void *object;
};

struct Size {
    unsigned long width, height, depth;
};

void *string(const char *text) {
    constexpr unsigned long utf8 = 4;
    return send<void *>(string_class, "stringWithCString:encoding:", text, utf8);
}
std::string text(const void *of) { return send<const char *>(of, "UTF8String"); }

void require(bool condition, const std::string &what) {
    if (!condition) throw std::runtime_error(what);
}

const char *const source = R"(
#include <metal_stdlib>
kernel void scale(device float *values [[buffer(0)]], constant float &factor [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    values[i] *= factor;
}
)";

// Returns how many values are right.
unsigned long scale(void *device, unsigned long count, float factor) {
    void *error = nullptr;
    const Owned options(send<void *>(send<void *>(options_class, alloc), init));
    const Owned library(
        send<void *>(device, "newLibraryWithSource:options:error:", string(source), options.object, &error));
    require(library, "no library: " + (error ? text(send<void *>(error, "localizedDescription")) : ""));
    const Owned function(send<void *>(library, "newFunctionWithName:", string("scale")));
    const Owned pipeline(send<void *>(device, "newComputePipelineStateWithFunction:error:", function.object, &error));
    require(pipeline, "no pipeline");

    // Memory of Mach's without a copy; the block is made of a std::function by the compiler, as metal-cpp has it.
    vm_address_t memory = 0;
    require(vm_allocate(mach_task_self(), &memory, count * sizeof(float), VM_FLAGS_ANYWHERE) == KERN_SUCCESS,
            "no memory");
    float *const values = reinterpret_cast<float *>(memory);
    for (unsigned long i = 0; i < count; ++i) values[i] = float(i);
    bool given_back = false;
    const std::function<void(void *, unsigned long)> give_back = [&](void *, unsigned long length) {
        given_back = vm_deallocate(mach_task_self(), memory, length) == KERN_SUCCESS;
    };
    unsigned long right = 0;
    {
        const Owned buffer(send<void *>(device, "newBufferWithBytesNoCopy:length:options:deallocator:", values,
                                        count * sizeof(float), 0UL,
                                        ^(void *at, unsigned long length) { give_back(at, length); }));
        const Owned queue(send<void *>(device, "newCommandQueue"));
        void *const commands = send<void *>(queue, "commandBuffer");
        void *const encoder = send<void *>(commands, "computeCommandEncoder");
        send<void>(encoder, "setComputePipelineState:", pipeline.object);
        send<void>(encoder, "setBuffer:offset:atIndex:", buffer.object, 0UL, 0UL);
        send<void>(encoder, "setBytes:length:atIndex:", static_cast<const void *>(&factor), sizeof factor, 1UL);
        send<void>(encoder, "dispatchThreads:threadsPerThreadgroup:", Size{count, 1, 1}, Size{64, 1, 1});
        send<void>(encoder, "endEncoding");
        send<void>(commands, "commit");
        send<void>(commands, "waitUntilCompleted");
        require(send<void *>(commands, "error") == nullptr, "the command buffer failed");
        require(send<double>(commands, "GPUEndTime") >= send<double>(commands, "GPUStartTime"), "times go backwards");
        for (unsigned long i = 0; i < count; ++i) right += values[i] == factor * float(i);
    }
    require(given_back, "the buffer keeps its memory");
    return right;
}

}  // namespace

int main() try {
    void *const pool = send<void *>(send<void *>(pool_class, alloc), init);
    const Owned device(MTLCreateSystemDefaultDevice());
    objc_release(objc_retain(objc_retainAutorelease(device)));
    const auto class_of = reinterpret_cast<void *(*)(void *)>(dlsym(RTLD_DEFAULT, "object_getClass"));
    require(class_of(device) == send<void *>(device, "class") && class_of(nullptr) == nullptr,
            "an object's class by a call");
    const auto threads = send<Size>(device, "maxThreadsPerThreadgroup");
    require(threads.width >= 64 && threads.depth >= 1, "a structure as a result");
    require(scale(device, 1000, 2.5f) == 1000, "wrong values");

    require(text(__builtin___CFStringMakeConstantString("letters")) == "letters", "a constant string");
    require(text(__builtin___CFStringMakeConstantString("Größe €")) == "Größe €", "a constant string beyond ASCII");
    require(send<bool>(__CFStringMakeConstantString("a"), "isEqual:", string("a")), "a string made constant");
    require(__CFStringMakeConstantString("a") == __CFStringMakeConstantString("a"), "one constant for one text");
    require(dlsym(RTLD_DEFAULT, "MTLCommonCounterTimestamp") != nullptr, "a string constant by its name");
    require(objc_getProtocol("MTLDevice") != nullptr, "a protocol by its name");

    // More messages than the floating-point stack has places.
    for (int i = 0; i < 20; ++i) require(send<double>(nullptr, "GPUEndTime") == 0.0, "nil answers with zero");
    volatile long double precise = 3;
    require(std::sqrt(precise * 3) == 3, "arithmetic after messages to nil");
    send<void>(pool, "drain");
    std::puts("messages: right");
    return 0;
} catch (const std::exception &failure) {
    std::fprintf(stderr, "messages: %s\n", failure.what());
    return 1;
}
