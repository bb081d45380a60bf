// The parts of the translation share this state; see translate.cpp for the walk over declarations.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "msl/source/token.h"
#include "msl/translate.h"

namespace smtl::msl {

using Index = std::size_t;

// Half-open run of tokens.
struct Range {
    Index begin = 0;
    Index end = 0;
    bool empty() const { return begin >= end; }
};

enum class ScopeKind {
    file_or_namespace,
    type,
    block
};

// What a declaration's head looks like before its body, initialiser or semicolon.
struct Declaration {
    Index begin = 0;
    Index head_end = 0;               // the `{`, `;`, `=` or constructor's `:` that ends the head
    std::optional<Range> template_parameters;  // of the innermost `template <...>`
    bool explicit_instantiation = false;       // `template` without `<`
    std::optional<Range> parameters;  // between the parentheses of a function
    Index name_begin = 0;             // the declared name (with template arguments) where there are parameters
    Index name_end = 0;
    Index class_key = 0;              // `struct`, `class`, `union`, `enum` that opens a type; 0: none
    bool kernel = false;
    bool constructor = false;
    bool member = false;  // declared in a type
    std::string host_name;
    Range thread_limit;  // in [[max_total_threads_per_threadgroup(...)]]
};

// What stands before the declarators of a declaration.
struct Specifiers {
    Index begin = 0;            // behind attributes in brackets
    std::vector<Index> spaces;  // the address spaces among them
    bool typed = false;
    bool alias = false;  // `typedef`
    Index body = 0;      // the brace of a type that is defined here; 0: none
};

struct Declarator {
    Index begin = 0, end = 0;    // with the initialiser
    Index name = 0;              // 0: it has none
    std::vector<Index> spaces;   // behind the `*` or `&` next to the name, of which `indirect` tells
    std::vector<Index> other_spaces;
    bool indirect = false;
    bool reference = false;
    bool array = false;
    bool called = false;         // parentheses follow: a function, or a constructor's arguments
    bool initialised = false;    // with `=` or braces
    bool shared = false;         // lies in threadgroup memory
};

// What a declaration stands in, or that it is one of a type's name.
enum class Place {
    program,
    type,
    block,
    statement,
    alias
};

struct Attribute {
    std::string name;
    Range arguments;
    Index at = 0;
};

// One that stays for clang to honour.
bool is_standard_attribute(std::string_view name);

// A SIMD-group or quad-group function; a function of Metal's whose value differs from lane to lane.
bool is_lane_function(std::string_view name);
bool is_varying_function(std::string_view name);

class Translator {
public:
    // Executed, spaces are erased unless they are `distinct`; checked, they never are.
    Translator(std::string_view source, Purpose purpose, bool distinct)
        : source_(source), tokens_(tokenize(source)), checking_(purpose == Purpose::check), distinct_(distinct) {}
    Translation run();
    // What erased spaces would take from the source: functions that differ in them and in what they do.
    bool depends_on_spaces() const { return depends_on_spaces_; }

private:
    // translate.cpp: the walk over scopes and declarations.
    void walk_scope(Index begin, Index end, ScopeKind kind);
    Index walk_declaration(Index begin, Index end, ScopeKind kind);
    Index walk_namespace(Index begin, Index end);
    Declaration read_head(Index begin, Index end);
    Index body_begin(const Declaration &declaration, Index end) const;
    bool is_deleted_for_space(const Declaration &declaration, Index end) const;
    Index walk_function(const Declaration &declaration, Index end, ScopeKind kind);
    Index walk_type(const Declaration &declaration, Index end, ScopeKind kind);
    Index walk_variable(const Declaration &declaration, Index end, ScopeKind kind);
    void reject_stray_kernels();
    void edit_literals();
    void edit_casts();
    // conditionals.cpp
    void edit_conditionals();
    Index skip_branch(Index begin, Index end) const;

    bool is_functional_cast(Index begin, Index name, Index end) const;
    Index skip_operand(Index begin, Index end) const;
    void edit_component_assignments();
    Index component_begin(Index assignment) const;
    Index assigned_end(Index begin, Index end) const;
    Index skip_part(Index i, Index end) const;
    void reject_double();

    // refusals.cpp
    void refuse_what_metal_has_not();
    void refuse_attribute_list(Index open);
    void refuse_attribute(Index name, Range part);
    void refuse_directives(Index token);
    bool refuse_pragma(const std::vector<Token> &found, Index token, std::size_t offset);

    // pragmas.cpp
    void edit_pragmas();
    std::string replace_pragma(std::string_view text, Index token, std::size_t offset);

    // strict.cpp: what only Purpose::check does.
    void qualify_member(const Declaration &declaration);
    void qualify_parameters(Range parameters);
    void note_function(const Declaration &declaration, Range body);
    void check_parameters(const Declaration &declaration);
    void check_local_pointers(Range body);
    void check_program_variable(const Declaration &declaration, ScopeKind kind);
    void refer_to_functions(Range template_parameters);
    void check_tokens();
    void check_recursion();

    // brackets.cpp: navigation.
    void match_brackets();
    std::optional<Problem> find_open_bracket() const;         // or one that closes nothing
    Index skip_group(Index open, Index end) const;            // past the bracket that closes `open`
    std::optional<Index> skip_angles(Index open, Index end) const;  // past the `>` that closes `<`
    Index skip_to_semicolon(Index begin, Index end) const;    // past it
    bool opens_attribute(Index i) const;
    std::vector<Range> split_commas(Range range) const;
    std::string spelling(Range range) const;                  // of the original tokens, single blanks between them

    bool keeps_spaces() const { return checking_ || distinct_; }

    // declarators.cpp
    Index past_attribute(Index i, Index end) const;
    Index past_type_name(Index i, Index end) const;
    Index read_specifiers(Index i, Index end, Specifiers &read) const;
    Index read_class(Index i, Index end, Specifiers &read) const;
    Index read_declarator(Index i, Index end, Declarator &read) const;

    // storage.cpp: which variables lie in threadgroup memory.
    void place_statements(Index begin, Index end, Place place);
    void place_variables(Index begin, Index end, Place place);
    bool lies_in_threadgroup(const Specifiers &specifiers, const Declarator &declarator, Place place);
    void share_variables(const Specifiers &specifiers, const std::vector<Declarator> &declarators, Index end);
    void note_spaces_of_types();
    void reject_stray_spaces();
    void mark_placed(Range range);

    // attributes.cpp: `[[...]]` and address spaces.
    AddressSpace space_named(Index i) const;
    Index past_coherence(Index at, Index end) const;
    void erase_address_spaces_and_attributes();
    std::vector<Attribute> attributes_in(Range range) const;
    AddressSpace address_space_of(Range range) const;

    // kernels.cpp
    void add_kernel_definition(const Declaration &declaration, Index body_end);
    void add_kernel_instantiation(const Declaration &declaration, Index semicolon);
    std::vector<KernelParameter> read_parameters(Range parameters, bool report);
    KernelParameter read_parameter(Range range, bool report);
    void edit_buffer_arrays(Range parameters);
    std::string describe_indices(const std::vector<KernelParameter> &parameters) const;
    std::string register_kernel(Index at, std::string name, const std::string &address,
                                std::vector<KernelParameter> parameters, const std::string &thread_limit);
    std::string written(Range range) const;  // with the edits made so far

    // variables.cpp
    void edit_constant_variable(const Declaration &declaration, Index end, ScopeKind kind);
    void add_function_constant(const Declaration &declaration, const Attribute &attribute, Index end);
    void edit_constant_queries();
    std::pair<Index, std::string> constant_query(Index begin, Index end) const;

    // conditions.cpp: [[function_constant(...)]] of kernels' arguments
    void note_constants(Index begin, Index end);
    bool has_function(Index name) const;
    std::string evaluation(Range range);
    std::string define_conditions(std::vector<KernelParameter> &parameters, const std::string &suffix,
                                  Range template_parameters);
    void edit_evaluated_constants();

    // simd_sync/
    class Lockstep;
    void keep_lanes_in_step();

    // lane_functions.cpp
    std::string_view own_name(const Declaration &declaration) const;
    void note_parameters(const Declaration &declaration);
    void note_member(Range declaration);
    void find_constants();
    void find_lane_functions();

    // overloads.cpp: definitions that differ in address spaces alone.
    bool erase_if_duplicate(const Declaration &declaration, Range body);
    std::string overload_key(const Declaration &declaration, bool with_spaces) const;

    std::string qualified(std::string_view name) const;
    // With `offset`, of what stands that far into what leads to the token.
    void problem(Index at, std::string message, std::size_t offset = std::string_view::npos);
    void erase_range(Range range);

    struct Definition {
        std::string spaces;  // the key with its address spaces
        std::string body;
    };
    struct ProgramConstant {
        std::vector<std::string> scope;
        std::string type;
        Range value;  // empty: a function constant
        Index semicolon = 0;
    };
    // See lane_functions.cpp.
    struct Lanes {
        std::vector<std::pair<Declaration, Range>> bodies;
        std::set<std::string_view, std::less<>> varying;  // functions whose values differ where their arguments do not
        std::set<std::string_view, std::less<>>
            writing;  // functions and constructors that may store through an argument
        std::set<std::string_view, std::less<>> members;  // functions
        std::set<std::string_view, std::less<>> constants;
        std::set<Index> lambdas;  // where they begin
        bool anything_writes = false;  // names of functions do not tell
        bool anything_talks = false;  // the same of those that talk to other lanes
    };
    struct FunctionBody {
        Index name = 0;
        Range body;
        std::size_t definitions = 0;
    };
    struct Template {
        std::vector<KernelParameter> parameters;
        std::string thread_limit;  // the name of a variable template, as long as the kernel's own parameters
        // Template arguments, without and with those that have defaults.
        std::size_t needed_arguments = 0;
        std::size_t most_arguments = 0;
    };

    std::string_view source_;
    std::vector<Token> tokens_;
    std::vector<Index> closing_;  // of each bracket and `<` that opens; the number of tokens where nothing closes it
    std::vector<Index> statement_end_;  // from each token on: the `;` or the bracket that closes around it
    const bool checking_;
    const bool distinct_;
    bool depends_on_spaces_ = false;
    std::vector<std::string> scope_;  // names of the enclosing namespaces and types
    std::set<Index> placed_;  // address spaces that the declaration around them accounts for
    std::map<Index, bool> shared_variables_;  // names of those in threadgroup memory, and whether they are arrays
    std::map<std::string, std::vector<Definition>> definitions_;
    std::map<std::string, std::vector<Template>> templates_;  // kernel templates by unqualified name
    std::multimap<std::string, ProgramConstant, std::less<>> constants_;  // by unqualified name
    std::set<std::string_view> evaluated_;  // those that conditions depend on
    std::map<std::string, FunctionBody, std::less<>> functions_;  // by unqualified name
    std::set<std::string_view, std::less<>> meeting_functions_;  // that make lanes wait for each other
    std::set<std::string_view, std::less<>>
        lane_functions_;  // that call SIMD-group or quad-group functions, or such that do
    Lanes lanes_;
    std::deque<std::string> kept_text_;  // what token texts that were rewritten refer to
    std::map<std::string, std::string> addresses_;  // of the kernels by name, as written
    Translation result_;
};

}  // namespace smtl::msl
