// Goes behind the text of layouts.h.
#include <metal_stdlib>
using namespace metal;

kernel void layouts(device uint *numbers [[buffer(0)]], constant shared_values &values [[buffer(1)]],
                    device float *read [[buffer(2)]]) {
#define MEMBER(NAME)                                                                                                   \
    *numbers++ = uint(reinterpret_cast<constant char *>(&values.NAME) - reinterpret_cast<constant char *>(&values));   \
    *numbers++ = sizeof(values.NAME);
    FOR_ALL_MEMBERS(MEMBER)
    *numbers = sizeof(shared_values);

    read[0] = values.position.z;
    read[1] = float(values.cell.y);
    read[2] = float(values.shade.w);
    const float3 moved = values.pose * float4(1, 10, 100, 1000);
    read[3] = moved.y;
    read[4] = determinant(values.turn);
    read[5] = float(values.code.z) + float(values.colour.w) + float(values.big.y) + float(values.last);
    read[6] = values.rest[3];
    read[7] = float(values.small[2].y);
}
