#include "simd_sync.h"

#include "function_sync.h"
#include "lane_functions.h"

namespace smtl::msl {

void synchronize_lanes(Source &source, const Declarations &declarations, const ThreadgroupVariables &variables) {
    const LaneFunctions lanes = find_lane_functions(source, declarations);
    LaneFunctions::Names meeting;
    for (const Declaration &declaration : declarations) {
        if (is_function(declaration)) FunctionSync(source, declaration, lanes, variables, meeting).edit();
    }
}

}  // namespace smtl::msl
