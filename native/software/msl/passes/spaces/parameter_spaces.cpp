#include "parameter_spaces.h"

#include "msl/source/attributes.h"

namespace smtl::msl {
namespace {

// `constant uint n`: a parameter that is a value lies in no space but the thread's. `threadgroup float a[4]` is a
// pointer, which clang takes only if it is written as one.
void write_parameters(Source &source, Range parameters) {
    for (const Range &part : source.split_commas(parameters)) {
        Index space = part.end, bounds = part.end;
        bool value = true;
        for (Index i = part.begin; i < part.end && !source[i].is("="); ++i) {
            if (source.opens_attribute(i)) {
                i = source.skip_group(i, part.end) - 1;
            } else if (source[i].is("<")) {
                i = source.skip_angles(i, part.end).value_or(i + 1) - 1;
            } else if (source[i].is("[")) {
                if (bounds == part.end) bounds = i;
                i = source.skip_group(i, part.end) - 1;
            } else if (space_named(source, i) != AddressSpace::none && space == part.end) {
                space = i;
            } else if (source[i].is("*") || source[i].is("&")) {
                value = false;
            }
        }
        if (!value || space == part.end) continue;
        if (bounds == part.end) {
            source[space].replace(source[space].is("constant") ? "const" : "");
        } else if (source[bounds - 1].is_identifier()) {
            source[bounds - 1].replace("(*" + std::string(source[bounds - 1].text) + ")");
            source.erase({bounds, source.skip_group(bounds, part.end)});
        }
    }
}

// A pointer or reference that names no space takes any other: `thread T *` would find a T in another space, and find it
// better than a `device const T *` beside it does.
void keep_templates_private(Source &source, const Declaration &declaration) {
    if (!declaration.template_parameters) return;
    std::string condition;
    for (const Range &part : source.split_commas(*declaration.template_parameters)) {
        if (part.end < part.begin + 2 || !(source[part.begin].is("typename") || source[part.begin].is("class")))
            continue;
        const std::string_view name = source[part.begin + 1].text;
        for (const Range &parameter : source.split_commas(*declaration.parameters)) {
            bool own = false, named = false, plain = true, indirect = false;
            for (Index i = parameter.begin; i < parameter.end && plain && !indirect; ++i) {
                const AddressSpace space = space_named(source, i);
                own = own || space == AddressSpace::thread;
                named = named || source[i].text == name;
                indirect = source[i].is("*") || source[i].is("&");
                plain = indirect || space == AddressSpace::thread || source[i].text == name || source[i].is("const") ||
                        source[i].is("volatile");
            }
            if (own && named && plain && indirect) condition += " && !::smtl::in_space<" + std::string(name) + ">";
        }
    }
    if (!condition.empty())
        source[declaration.template_parameters->end].appended +=
            " __attribute__((enable_if(" + condition.substr(4) + ", \"\")))";
}

}  // namespace

void edit_parameter_spaces(Source &source, const Declarations &declarations) {
    for (const Declaration &declaration : declarations) {
        if (!declaration.parameters || declaration.erased) continue;
        write_parameters(source, *declaration.parameters);
        if (!declaration.kernel) keep_templates_private(source, declaration);
    }
}

}  // namespace smtl::msl
