// Metal programs from a grammar, with what they compute. Each piece is made twice at once: as text, and as a function
// that a threadgroup's threads execute together, as a GPU's do, under a mask.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "numbers.h"

namespace fuzz {

constexpr unsigned threads = 64, groups = 2, lanes = 32;
using Mask = std::uint64_t;  // of a threadgroup's threads
constexpr Mask everyone = ~Mask(0);

template <class F> void each(Mask mask, F &&f) {
    for (; mask != 0; mask &= mask - 1) f(unsigned(std::countr_zero(mask)));
}

// The precedence of an operator. An operand that binds less strongly is put in brackets.
enum Rank : unsigned {
    primary,
    unary,
    product,
    sum,
    shift,
    order,
    equality,
    bit_and,
    bit_xor,
    bit_or,
    logical_and,
    logical_or,
    choice
};

struct Expression {
    Type type;
    std::string text;
    Rank rank;
    std::function<Value(unsigned thread)> at;
    std::string in(unsigned rank_around) const { return rank <= rank_around ? text : "(" + text + ")"; }
};

// `run` returns the threads that go on behind the statement.
struct Statement {
    std::string text;
    std::function<Mask(Mask)> run;
};
using Block = std::vector<Statement>;

struct Variable {
    enum Where {
        own,
        threadgroup,
        device,
        constant
    };
    Type type;
    std::string name;
    std::size_t base;    // in the machine's memory
    unsigned count = 0;  // of an array, a power of two; 0: no array
    bool writable = true;
    bool shared = false;  // one for all threads
    Where where = own;
    std::string suffix{};  // behind the index: a member of an array's elements
    bool packed = false;
    bool steady = false;  // the same for all threads
    std::string text(const std::string &index) const { return name + (count ? "[" + index + "]" : "") + suffix; }
    std::size_t at(unsigned thread, unsigned index = 0) const {
        return base + (shared ? index : index * threads + thread);
    }
};

struct Member {
    Type type;
    std::string name;
    bool packed;
    unsigned offset;  // in memory
};
struct Structure {
    std::string name;
    std::vector<Member> members;
    unsigned size = 0;
};

struct Function {
    std::string name;
    std::vector<Variable> parameters;
    std::vector<std::string> passing;  // of each: "" by value, "&" or "*"
    Type result;
    std::size_t result_base;
    Block body;
    bool changes = false;  // variables of its caller: its call is a statement
};

// A buffer has a part for each thread of the grid, or is shared.
struct Buffer {
    struct Part {
        Variable variable;
        unsigned offset;  // in an element
    };
    std::string name, type, declaration;
    unsigned count, stride;  // elements (of one thread, if the buffer is not shared), and the bytes of one
    bool shared;
    std::vector<Part> parts{};  // one, or the members of a structure
    std::size_t elements() const { return std::max(count, 1u) * (shared ? 1 : threads * groups); }
};

struct Constant {
    Type type;
    unsigned index;
    Value value;
};

class Program {
public:
    // Leaves out the statements whose numbers are in `off`.
    Program(std::uint64_t seed, std::set<std::uint64_t> off = {});
    Program(const Program &) = delete;

    const std::string &text() const { return text_; }
    const std::vector<Constant> &constants() const { return constants_; }
    // The numbers of all statements, an outer statement before those inside it.
    const std::vector<std::uint64_t> &statements() const { return statements_; }
    // The buffers as the host gives them.
    std::vector<std::vector<unsigned char>> given() const;
    // The first value that is not what it should be when all has run; empty if all are.
    std::string difference(const std::vector<std::vector<unsigned char>> &found);

private:
    // expressions.cpp
    unsigned below(unsigned n) { return unsigned(random_() % n); }
    bool chance(unsigned of) { return below(of) == 0; }
    template <class T> T pick(std::initializer_list<T> from) { return from.begin()[below(unsigned(from.size()))]; }
    Kind any_kind();
    Type any_type();
    std::string spell(Type type);
    Expression expression(Type type, unsigned depth);
    Expression leaf(Type type);
    Expression literal(Type type);
    Expression read(const Variable &variable, unsigned depth);
    Expression converted(Expression from, Type to);
    Expression operation(const std::string &op, Expression a, Expression b);
    Expression arithmetic(Type type, unsigned depth);
    Expression comparison(Type type, unsigned depth);
    Expression library_call(Type type, unsigned depth);
    Expression chosen(Type type, unsigned depth);
    Expression built(Type type, unsigned depth);
    Expression swizzled(Type type, unsigned depth);
    Expression function_call(const Function &function, unsigned depth);
    Expression number(Type type, unsigned value);
    Expression small(unsigned bound, unsigned depth);
    Expression condition(unsigned depth);
    // Makes an expression that is the same for all threads.
    template <class F> Expression steadily(F &&make);
    Expression uniform_condition();

    // functions.cpp
    Expression exact(Type type, unsigned depth);
    Expression exact_call(Type type, unsigned depth);
    Expression bits_call(Type type, unsigned depth);
    Expression reinterpreted(Type type, unsigned depth);
    Expression test(Type type, unsigned depth);

    // structures.cpp
    void make_structures();
    std::vector<Variable> instance(const Structure &structure, const std::string &name, const std::string &to,
                                   unsigned count, Variable like);
    Statement structure();
    Statement matrix();

    // statements.cpp
    struct Loop {
        Mask left = 0, skipped = 0;
        bool uniform = false;  // all threads leave it at once
    };
    std::string fresh(const std::string &stem) { return stem + std::to_string(names_++); }
    std::size_t allocate(unsigned count, bool shared) {
        return std::exchange(memory_size_, memory_size_ + std::size_t(count) * (shared ? 1 : threads));
    }
    std::string declared(Type type, const std::string &name, const std::string &space = "", bool constant = false);
    Block block(unsigned depth, unsigned most, std::uint64_t id, bool keeps_scope = false);
    Statement statement(unsigned depth);
    Statement declaration();
    Statement assignment();
    Statement branch(unsigned depth);
    Statement loop(unsigned depth);
    Statement choose(unsigned depth);
    Statement leave();
    Statement call_with_references();
    const Variable *writable();

    // together.cpp
    Statement talk();
    Statement vote();
    Statement exchange();
    Statement exchange_structures();
    Statement count();
    static std::string text_of(const Block &block);
    static Mask run(const Block &block, Mask mask);

    // program.cpp
    void make_constants();
    void make_function();
    void make_buffers();
    void make_kernel();
    void make_results();
    std::vector<std::vector<unsigned char>> expected();

    std::set<std::uint64_t> off_;
    std::mt19937_64 random_;
    std::vector<std::uint64_t> statements_;
    std::uint64_t id_ = 1;  // of the statement in the making
    unsigned names_ = 0;
    std::size_t memory_size_ = 0;
    std::vector<Value> memory_;
    std::vector<Variable> scope_;
    std::deque<Function> functions_;
    std::vector<Structure> structures_;
    std::vector<Type> palette_;  // types that come more often than others, so that they meet
    std::vector<Buffer> buffers_;
    std::vector<Constant> constants_;
    struct Result {
        Variable variable;
        unsigned index, component;
    };
    std::vector<Result> results_;
    std::vector<Variable> counters_;
    std::vector<std::pair<std::size_t, Value>> initial_;
    std::string text_;
    bool generic_ = false;  // a template is in the making
    bool plain_ = false;  // what constants are initialised with
    Function *function_ = nullptr;  // in the making
    std::vector<Loop *> loops_;     // around the statement in the making
    std::vector<std::unique_ptr<Loop>> all_loops_;
    bool uniform_ = false,
         blocking_ = false;  // all threads execute the statement; the kernel may have barriers and lane functions
    Block kernel_;
};

template <class F> Expression Program::steadily(F &&make) {
    std::vector<Variable> all = std::exchange(scope_, {});
    for (const Variable &variable : all)
        if (variable.steady) scope_.push_back(variable);
    Expression made = make();
    scope_ = std::move(all);
    return made;
}

}  // namespace fuzz
