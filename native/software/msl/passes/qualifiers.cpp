#include "qualifiers.h"

#include "msl/source/attributes.h"

namespace smtl::msl {
namespace {

// Members serve objects in every address space, as those of our library do: `float get() const device` loses the space.
// Executed, so does the type that refers to the object itself, in `device S &operator+=(S other) device`.
void qualify_member(Source &source, const Declaration &declaration) {
    bool placed = false;
    for (Index i = declaration.parameters->end; i < declaration.head_end; ++i) {
        if (space_named(source, i) == AddressSpace::none) continue;
        const bool readable = source[i].is("constant") && !declaration.constructor && !source[i - 1].is("const");
        source[i].replace(readable ? "const" : "");
        placed = true;
    }
    if (!placed || source.checking()) return;
    bool itself = false;
    for (Index i = declaration.begin; i < declaration.name_begin; ++i)
        itself = itself || declaration.scope->back().starts_with(source[i].text);
    for (Index i = declaration.begin; itself && i < declaration.name_begin; ++i) {
        if (space_named(source, i) != AddressSpace::none) source[i].replace(source[i].is("constant") ? "const" : "");
    }
}

// `constant uint n`: a parameter that is a value lies in no space but the thread's. `threadgroup float a[4]` is a
// pointer, which clang takes only if it is written as one.
void qualify_parameters(Source &source, Range parameters) {
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

}  // namespace

void qualify_members(Source &source, Declarations &declarations) {
    for (Declaration &declaration : declarations) {
        if (!declaration.member || !declaration.parameters) continue;
        // `X() constant` constructs in constant memory; no constructor can be const.
        for (Index i = declaration.parameters->end; i < declaration.head_end && declaration.constructor; ++i) {
            if (source[i].is("constant")) source[i].erase();
        }
        if (declaration.deleted_for_space) {
            source.erase({declaration.begin, declaration.end});
            declaration.erased = true;
        } else if (source.keeps_spaces()) {
            qualify_member(source, declaration);
        }
    }
}

void qualify_parameters(Source &source, const Declarations &declarations) {
    for (const Declaration &declaration : declarations) {
        if (declaration.parameters && !declaration.erased) qualify_parameters(source, *declaration.parameters);
    }
}

}  // namespace smtl::msl
