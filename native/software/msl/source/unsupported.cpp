#include "unsupported.h"

#include <algorithm>
#include <array>

namespace smtl::msl {
namespace {

struct Name {
    std::string_view name;
    std::string_view subject;
    bool word = false;  // a name like any other, unless `::` or `<` follows
};

constexpr std::string_view textures = "textures are", samplers = "samplers are", rays = "ray tracing is",
                           meshes = "mesh shading is", tensors = "tensors are", imageblocks = "imageblocks are",
                           commands = "commands for rendering are", fragments = "fragment functions are",
                           tessellation = "tessellation is";

constexpr std::array prefixes = std::to_array<Name>({{"texture1d", textures},
                                                     {"texture2d", textures},
                                                     {"texture3d", textures},
                                                     {"texturecube", textures},
                                                     {"texture_buffer", textures},
                                                     {"depth2d", textures},
                                                     {"depthcube", textures},
                                                     {"tensor_", tensors},
                                                     {"imageblock", imageblocks},
                                                     {"MetalPerformancePrimitives", tensors},
                                                     {"intersection_", rays},
                                                     {"rasterization_rate_map", fragments}});

constexpr std::array names = std::to_array<Name>({
    {"access", textures, true},
    {"gradient2d", textures},
    {"gradient3d", textures},
    {"gradientcube", textures},
    {"min_lod_clamp", textures},
    {"sparse_color", textures, true},
    {"sampler", samplers},
    {"coord", samplers, true},
    {"filter", samplers, true},
    {"mag_filter", samplers},
    {"min_filter", samplers},
    {"mip_filter", samplers},
    {"address", samplers, true},
    {"s_address", samplers},
    {"t_address", samplers},
    {"r_address", samplers},
    {"border_color", samplers, true},
    {"compare_func", samplers},
    {"max_anisotropy", samplers},
    {"lod_clamp", samplers},
    {"raytracing", rays},
    {"intersector", rays},
    {"acceleration_structure", rays},
    {"primitive_acceleration_structure", rays},
    {"instance_acceleration_structure", rays},
    {"ray", rays, true},
    {"ray_data", rays},
    {"triangle_data", rays},
    {"curve_data", rays},
    {"world_space_data", rays},
    {"instancing", rays},
    {"forced_opacity", rays},
    {"mesh", meshes, true},
    {"mesh_grid_properties", meshes},
    {"topology", meshes, true},
    {"object_data", meshes},
    {"tensor", tensors, true},
    {"mpp", tensors},
    {"dextents", tensors},
    {"cooperative_tensor", tensors},
    {"execution_simdgroup", tensors},
    {"execution_simdgroups", tensors},
    {"render_command", commands},
    {"render_pipeline_state", commands},
    {"interpolant", fragments},
    {"interpolation", fragments, true},
    {"dfdx", fragments},
    {"dfdy", fragments},
    {"fwidth", fragments},
    {"discard_fragment", fragments},
    {"get_num_samples", fragments},
    {"get_sample_position", fragments},
    {"patch_control_point", tessellation},
});

}  // namespace

std::string_view unsupported_subject(std::string_view name, bool qualifies) {
    const auto prefix =
        std::find_if(prefixes.begin(), prefixes.end(), [&](const Name &known) { return name.starts_with(known.name); });
    if (prefix != prefixes.end()) return prefix->subject;
    const auto found = std::find_if(names.begin(), names.end(), [&](const Name &known) {
        return known.name == name && (qualifies || !known.word);
    });
    return found == names.end() ? std::string_view() : found->subject;
}

}  // namespace smtl::msl
