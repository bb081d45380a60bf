#include "simd_sync.h"

#include <string_view>

#include "function_sync.h"
#include "lane_functions.h"

namespace smtl::msl {
namespace {

// Code that is in no function that this pass walks through: with SIMD-group functions under a branch their lanes would
// part unseen. Without a branch, any call may be one of what stands there.
void refuse_unseen_branches(Source &source, Range code, LaneFunctions &lanes) {
    bool branches = false;
    Index call = 0;
    for (Index i = code.begin; i < code.end; ++i) {
        if ((source[i].is("decltype") || source[i].is("sizeof")) && source[i + 1].is("(")) {
            i = source.skip_group(i + 1, code.end) - 1;
            continue;
        }
        for (const char *word : {"if", "for", "while", "do", "switch", "?", "&&", "||"})
            branches = branches || source[i].is(word);
        if (lanes.calls_talk && is_call_of_value(source, i, lanes)) call = i;
        const bool called = source[i].is_identifier() && (source[i + 1].is("(") || source[i + 1].is("<"));
        if (!called) continue;
        if (is_lane_function(source[i].text) || lanes.talking.contains(source[i].text)) call = i;
    }
    lanes.anything_talks = lanes.anything_talks || call != 0;
    if (branches && call != 0)
        source.problem(call,
                       "SIMD-group functions under a branch must stand in a function of a namespace, or of a type that "
                       "is declared in a namespace");
}

// Members of types that are declared in the function, and statements in parentheses, which are an extension.
void refuse_unseen_branches_within(Source &source, Range body, LaneFunctions &lanes) {
    for (Index i = body.begin + 1; i < body.end; ++i) {
        const bool statements = source[i].is("{") && source[i - 1].is("(");
        const bool type = (source[i].is("struct") || source[i].is("class") || source[i].is("union")) &&
                          !source[i - 1].is("<") && !source[i - 1].is(",");
        if (!statements && !type) continue;
        Index open = i;
        while (open < body.end && !source[open].is("{") && !source[open].is(";") && !source[open].is("=") &&
               !source[open].is("("))
            ++open;
        if (open >= body.end || !source[open].is("{")) continue;
        const Index past = source.skip_group(open, body.end);
        refuse_unseen_branches(source, {open, past}, lanes);
        i = past - 1;
    }
}

void refuse_unseen_branches_of(Source &source, const Declaration &declaration, LaneFunctions &lanes) {
    if (declaration.erased || declaration.explicit_instantiation) return;
    if (is_function(declaration)) {
        // With default arguments and what initialises a constructor's members.
        refuse_unseen_branches(source, {declaration.parameters->begin, declaration.body.begin}, lanes);
        refuse_unseen_branches_within(source, declaration.body, lanes);
    } else if (declaration.kind == DeclarationKind::prototype) {
        refuse_unseen_branches(source, *declaration.parameters, lanes);
    } else if (declaration.kind == DeclarationKind::variable || declaration.kind == DeclarationKind::statement) {
        refuse_unseen_branches(source, {declaration.begin, declaration.end}, lanes);
    }
}

}  // namespace

void synchronize_lanes(Source &source, const Declarations &declarations, const ThreadgroupVariables &variables) {
    LaneFunctions lanes = find_lane_functions(source, declarations);
    for (const Declaration &declaration : declarations) refuse_unseen_branches_of(source, declaration, lanes);
    LaneFunctions::Names meeting;
    for (const Declaration &declaration : declarations)
        if (is_function(declaration)) FunctionSync(source, declaration, lanes, variables, meeting).edit();
}

}  // namespace smtl::msl
