#include "translate.h"

#include <optional>
#include <utility>

#include "passes/bases.h"
#include "passes/casts.h"
#include "passes/checks/explicit_spaces.h"
#include "passes/checks/keywords.h"
#include "passes/checks/recursion.h"
#include "passes/checks/refusals.h"
#include "passes/checks/unended_types.h"
#include "passes/components.h"
#include "passes/exported_functions.h"
#include "passes/spaces/conditionals.h"
#include "passes/function_constants/conditions.h"
#include "passes/function_constants/constant_variables.h"
#include "passes/function_constants/queries.h"
#include "passes/kernel_heads.h"
#include "passes/kernels.h"
#include "passes/literals.h"
#include "passes/spaces/member_spaces.h"
#include "passes/metal_attributes.h"
#include "passes/spaces/parameter_spaces.h"
#include "passes/pragmas.h"
#include "passes/spaces/elements.h"
#include "passes/spaces/results.h"
#include "passes/shift_counts.h"
#include "passes/simd_sync/simd_sync.h"
#include "passes/spaces/strings.h"
#include "passes/threadgroup_variables.h"
#include "source/declarations.h"
#include "source/source.h"

namespace smtl::msl {
namespace {

// Each pass says in its header what it needs and what holds after it.
void run_passes(Source &source, Translation &translation, Exports exports) {
    const bool checking = source.checking();
    refuse_what_metal_has_not(source);
    erase_metal_attributes(source);

    Declarations declarations = read_declarations(source);
    merge_members(source, declarations);
    mark_exported_functions(source, declarations, exports);
    if (!checking) edit_parameter_spaces(source, declarations);
    edit_kernel_heads(source, declarations);
    const ThreadgroupVariables variables = allocate_threadgroup_variables(source, declarations);
    ProgramConstants constants = edit_constant_variables(source, declarations, translation);
    define_kernels(source, declarations, constants, translation);
    if (!checking) edit_shift_counts(source);
    if (!checking) synchronize_lanes(source, declarations, variables);
    define_evaluated_constants(source, constants);
    edit_constant_queries(source, constants, translation);
    if (checking) check_explicit_spaces(source, declarations);
    if (checking) check_recursion(source, declarations);

    edit_literals(source);
    if (!checking) qualify_elements(source, declarations);
    edit_components(source);
    edit_casts(source);
    if (!checking) edit_conditionals(source);
    if (!checking) qualify_results(source, declarations);
    if (!checking) qualify_strings(source);
    if (!checking) move_members(source);
    if (checking) check_keywords(source);
    translation.math_mode_safe = edit_pragmas(source);

    reject_double(source);
    reject_stray_kernels(source);
    reject_stray_spaces(source, variables);
}

}  // namespace

Translation translate(std::string_view preprocessed, Purpose purpose, Exports exports) {
    Source source(preprocessed, purpose == Purpose::check);
    Translation translation;
    translation.source = preprocessed;
    // All else that could be found would follow from it.
    if (std::optional<Problem> problem = source.find_open_bracket()) {
        translation.problems = {std::move(*problem)};
        return translation;
    }
    // The same.
    if (find_unended_types(source)) {
        translation.problems = source.problems();
        return translation;
    }
    run_passes(source, translation, exports);
    for (Index i = 0; i < source.size(); ++i)
        translation.thread_elements = translation.thread_elements || source[i].is("thread_elements");
    translation.problems = source.problems();
    translation.text = source.text();
    return translation;
}

}  // namespace smtl::msl
