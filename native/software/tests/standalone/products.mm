// Matrix-vector products in Objective-C++, from a source in the program: templates, function constants, a concurrent
// encoder, and the errors that a user meets. It knows nothing of this repository and is compiled with what pkg-config
// says.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

NSString *const source = @R"(
#include <metal_stdlib>
using namespace metal;

constant bool negate [[function_constant(0)]];

struct shape { uint rows, columns; };

template <typename T>
kernel void product(device const T *matrix [[buffer(0)]], device const T *vector [[buffer(1)]],
                    device T *result [[buffer(2)]], constant shape &size [[buffer(3)]],
                    uint row [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint i = 0; i < size.columns; i++) sum += float(matrix[row * size.columns + i]) * float(vector[i]);
    result[row] = T(negate ? -sum : sum);
}

template [[host_name("product_float")]] kernel void product<float>(device const float *, device const float *, device float *,
                                                                   constant shape &, uint);
template [[host_name("product_half")]] kernel void product<half>(device const half *, device const half *, device half *,
                                                                 constant shape &, uint);
)";

// Releases what it owns, as ARC would.
struct Releaser {
    void operator()(id object) const { [object release]; }
};
template <typename T> class Owned {
public:
    explicit Owned(T object) : object_(object) {}
    operator T() const { return static_cast<T>(object_.get()); }

private:
    std::unique_ptr<typename std::remove_pointer<id>::type, Releaser> object_;
};

std::string text(NSError *error) { return error ? [[error localizedDescription] UTF8String] : "no error"; }

struct Shape {
    uint32_t rows, columns;
};

template <typename T>
std::vector<T> multiply(id<MTLDevice> device, id<MTLLibrary> library, NSString *name, bool negate, Shape shape,
                        const std::vector<T> &matrix, const std::vector<T> &vector) {
    NSError *error = nil;
    const Owned<MTLFunctionConstantValues *> constants([[MTLFunctionConstantValues alloc] init]);
    [static_cast<MTLFunctionConstantValues *>(constants) setConstantValue:&negate type:MTLDataTypeBool atIndex:0];
    const Owned<id<MTLFunction>> function([library newFunctionWithName:name constantValues:constants error:&error]);
    const Owned<id<MTLComputePipelineState>> pipeline([device newComputePipelineStateWithFunction:function
                                                                                            error:&error]);
    if (static_cast<id>(pipeline) == nil) throw std::runtime_error(text(error));

    const Owned<id<MTLBuffer>> left([device newBufferWithBytes:matrix.data() length:matrix.size() * sizeof(T)
                                                       options:MTLResourceStorageModeShared]);
    const Owned<id<MTLBuffer>> right([device newBufferWithBytes:vector.data() length:vector.size() * sizeof(T)
                                                        options:MTLResourceStorageModeShared]);
    const Owned<id<MTLBuffer>> out([device newBufferWithLength:shape.rows * sizeof(T)
                                                       options:MTLResourceStorageModeShared]);
    const Owned<id<MTLCommandQueue>> queue([device newCommandQueue]);
    id<MTLCommandBuffer> commands = [static_cast<id<MTLCommandQueue>>(queue) commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    [encoder setComputePipelineState:pipeline];
    NSUInteger index = 0;
    for (id<MTLBuffer> buffer :
         {static_cast<id<MTLBuffer>>(left), static_cast<id<MTLBuffer>>(right), static_cast<id<MTLBuffer>>(out)}) {
        [encoder setBuffer:buffer offset:0 atIndex:index++];
    }
    [encoder setBytes:&shape length:sizeof shape atIndex:index];
    [encoder dispatchThreads:MTLSizeMake(shape.rows, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    if ([commands status] != MTLCommandBufferStatusCompleted) throw std::runtime_error(text([commands error]));
    const T *result = static_cast<const T *>([static_cast<id<MTLBuffer>>(out) contents]);
    return {result, result + shape.rows};
}

template <typename T> int check(id<MTLDevice> device, id<MTLLibrary> library, NSString *name) {
    const Shape shape = {37, 64};
    std::vector<T> matrix(shape.rows * shape.columns), vector(shape.columns);
    for (std::size_t i = 0; i < matrix.size(); i++) matrix[i] = T(float(i % 7) - 3);
    for (std::size_t i = 0; i < vector.size(); i++) vector[i] = T(float(i % 3));
    int wrong = 0;
    for (const bool negate : {false, true}) {
        const std::vector<T> result = multiply(device, library, name, negate, shape, matrix, vector);
        for (uint32_t row = 0; row < shape.rows; row++) {
            float sum = 0;
            for (uint32_t i = 0; i < shape.columns; i++)
                sum += float(matrix[row * shape.columns + i]) * float(vector[i]);
            wrong += float(result[row]) != (negate ? -sum : sum);
        }
    }
    std::printf("%s: %d wrong of %u\n", [name UTF8String], wrong, 2 * shape.rows);
    return wrong;
}

// The error of a source with a mistake names its line. A caller may pass NULL for the error.
bool reports_mistakes(id<MTLDevice> device) {
    NSError *error = nil;
    const Owned<id<MTLLibrary>> library(
        [device newLibraryWithSource:@"kernel void broken(\n    device float *x) { x[0] = y; }\n" options:nil
                               error:&error]);
    const Owned<id<MTLLibrary>> again([device newLibraryWithSource:@"broken" options:nil error:nil]);
    return static_cast<id>(library) == nil && static_cast<id>(again) == nil &&
           text(error).find(":2:") != std::string::npos;
}

int run() {
    const Owned<id<MTLDevice>> device(MTLCreateSystemDefaultDevice());
    if (static_cast<id>(device) == nil) throw std::runtime_error("no Metal device");
    NSError *error = nil;
    const Owned<id<MTLLibrary>> library([device newLibraryWithSource:source options:nil error:&error]);
    if (static_cast<id>(library) == nil) throw std::runtime_error(text(error));
    int wrong = check<float>(device, library, @"product_float") + check<_Float16>(device, library, @"product_half");
    if (!reports_mistakes(device)) {
        std::puts("a mistake in a source is not reported with its line");
        wrong++;
    }
    return wrong;
}

}  // namespace

int main() {
    @autoreleasepool {
        try {
            return run() == 0 ? 0 : 1;
        } catch (const std::exception &exception) {
            std::fprintf(stderr, "products: %s\n", exception.what());
            return 1;
        }
    }
}
