#include "kernel_heads.h"

#include <string>

namespace smtl::msl {
namespace {

// `device float *p[4]` takes four buffers, where a parameter of C++ would be a pointer to pointers: it becomes an array
// that is a value.
void edit_buffer_arrays(Source &source, Range parameters) {
    for (const Range &part : source.split_commas(parameters)) {
        Index begin = part.begin;
        while (begin < part.end && source.opens_attribute(begin)) begin = source.skip_group(begin, part.end);
        Index star = part.end, bounds = part.end;
        for (Index i = begin; i < part.end && !source[i].is("(") && !source[i].is("="); ++i) {
            if (source[i].is("<")) i = source.skip_angles(i, part.end).value_or(i + 1) - 1;
            if (source[i].is("*")) star = i;
            if (source[i].is("[")) {
                if (!source.opens_attribute(i) && bounds == part.end) bounds = i;
                i = source.skip_group(i, part.end) - 1;
            }
        }
        if (star == part.end || bounds == part.end) continue;
        const Index past = source.skip_group(bounds, part.end);
        const Token &first = source[begin];
        source[begin].replace("::metal::array<" + (first.replaced ? first.replacement : std::string(first.text)));
        source[star].replace("*, " + source.written({bounds + 1, past - 1}) + ">");
        source.erase({bounds, past});
    }
}

}  // namespace

void edit_kernel_heads(Source &source, const Declarations &declarations) {
    for (const Declaration &declaration : declarations) {
        const Index begin = declaration.begin;
        if (declaration.erased || declaration.kind == DeclarationKind::statement) continue;
        if (!declaration.member && (source[begin].is("vertex") || source[begin].is("fragment"))) {
            source.problem(begin,
                           "'" + std::string(source[begin].text) + "' functions are not supported, only kernels are");
            source[begin].erase();
        }
        if (!declaration.kernel) continue;
        if (!declaration.parameters && !declaration.explicit_instantiation)
            source.problem(begin, "'kernel' must stand before a function");
        if (declaration.parameters) edit_buffer_arrays(source, *declaration.parameters);
        for (Index i = begin; i < declaration.head_end; ++i)
            if (source[i].is("kernel")) source[i].erase();
    }
}

void reject_stray_kernels(Source &source) {
    for (Index i = 0; i < source.size(); ++i)
        if (source[i].is("kernel") && !source[i].replaced)
            source.problem(i, "'kernel' must stand before a function outside of functions and types");
}

}  // namespace smtl::msl
