#include "initialiser_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "initialiser_values.h"
#include "text/lines.h"
#include "text/own_definitions.h"

namespace smtl::msl {
namespace {

using Names = std::vector<std::string_view>;

constexpr std::string_view list_begin = "@llvm.global_ctors = ";
constexpr std::string_view guard = "@_ZGV";               // whether an initialiser of a template's variable has run
constexpr std::string_view merged = "@smtl.initialise";  // no name of a source

// The names of the program in some lines, as they are spelled: `@name`, `@"name"`.
Names names_in(std::string_view text) {
    Names names;
    for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
        std::size_t end = at + 1;
        if (end < text.size() && text[end] == '"') {
            end = std::min(text.find('"', end + 1), text.size() - 1) + 1;
        } else {
            const auto belongs = [](char c) {
                return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '.' || c == '$' || c == '-';
            };
            while (end < text.size() && belongs(text[end])) ++end;
        }
        if (!text.substr(at).starts_with("@llvm.")) names.push_back(text.substr(at, end - at));
        at = end - 1;
    }
    return names;
}

class Module {
public:
    explicit Module(std::string_view code) {
        while (!code.empty()) {
            const std::string_view line = code.substr(0, std::min(code.find('\n'), code.size() - 1) + 1);
            if (line.starts_with(list_begin)) {
                list_ = line;
            } else if (line.starts_with("define ")) {
                const std::string_view body = code.substr(0, std::min(code.find("\n}\n"), code.size() - 3) + 3);
                if (const Names names = names_in(body); !names.empty()) {
                    functions_[names.front()] = body;
                    needs_[names.front()] = {names.begin() + 1, names.end()};
                }
                code.remove_prefix(body.size());
                continue;
            } else if (const Names names = names_in(line); !names.empty() && line.starts_with(names.front())) {
                needs_[names.front()] = {names.begin() + 1, names.end()};
                const bool defined = line.find(" = extern") == std::string_view::npos;
                if (defined && line.find(" global ") != std::string_view::npos) variables_.insert(names.front());
            }
            code.remove_prefix(line.size());
        }
        find_initialisers();
    }

    // Those that run, in an order that computes a value before it is read.
    std::optional<Names> order() {
        Names ordered;
        for (const std::string_view initialiser : initialisers_)
            if (!visit(initialiser, ordered)) return std::nullopt;
        return ordered;
    }

    std::string_view list() const { return list_; }

    bool is_initialiser(std::string_view name) const { return is_initialiser_.contains(name); }
    // A variable that has an initialiser, or that tells whether an initialiser has run.
    bool is_computed(std::string_view name) const {
        return computed_.contains(name) || (name.starts_with(guard) && variables_.contains(name));
    }

    // The function attributes of initialisers, without which they are not inlined.
    std::string_view attributes() const {
        const std::string_view body = functions_.at(initialisers_.front());
        const std::string_view head = body.substr(body.find(')'), body.find('\n') - body.find(')'));
        const std::size_t begin = head.find('#');
        return begin == std::string_view::npos ? std::string_view() : head.substr(begin, head.find(' ', begin) - begin);
    }

private:
    enum class State {
        fresh,
        open,
        done
    };
    struct Step {
        std::string_view name;
        std::size_t next;
    };

    // In the list is one function that calls the initialisers of most variables, and one for each variable of a
    // template with that variable as its key.
    void find_initialisers() {
        const Names listed = names_in(list_);
        for (std::size_t i = list_.empty() ? listed.size() : 0; i < listed.size(); ++i) {
            const auto function = functions_.find(listed[i]);
            if (function == functions_.end()) continue;
            if (calls_alone(function->second))
                for (const std::string_view called : needs_[listed[i]]) add(called);
            else
                add(listed[i]);
        }
    }

    static bool calls_alone(std::string_view body) {
        body.remove_prefix(body.find('\n') + 1);
        while (!body.starts_with("}")) {
            const std::string_view line = body.substr(0, body.find('\n') + 1);
            if (!line.starts_with("  call void @") && !line.starts_with("  ret void") && line != "entry:\n")
                return false;
            if (line.starts_with("  call") && line.find("()") == std::string_view::npos) return false;
            body.remove_prefix(line.size());
        }
        return true;
    }

    // Clang says at the end that the variable is constant once it has its value. If clang does not say so of a
    // variable, any variable that the initialiser names may be the one.
    void add(std::string_view initialiser) {
        const std::string_view body = functions_[initialiser];
        const std::size_t last = body.rfind("@llvm.invariant.start");
        const Names all =
            names_in(last == std::string_view::npos ? body : body.substr(last, body.find('\n', last) - last));
        for (const std::string_view name : all) {
            if (!variables_.contains(name)) continue;
            initialised_[initialiser].push_back(name);
            computed_.insert(name);
            needs_[name].push_back(initialiser);
        }
        initialisers_.push_back(initialiser);
        is_initialiser_.insert(initialiser);
    }

    bool visit(std::string_view root, Names &ordered) {
        if (states_[root] == State::done) return true;
        std::vector<Step> path = {{root, 0}};
        states_[root] = State::open;
        while (!path.empty()) {
            Step &step = path.back();
            const Names &needs = needs_[step.name];
            if (step.next == needs.size()) {
                states_[step.name] = State::done;
                if (is_initialiser_.contains(step.name)) ordered.push_back(step.name);
                path.pop_back();
                continue;
            }
            const std::string_view need = needs[step.next++];
            // An initialiser needs its variable, and the variable needs its initialiser.
            const auto own = initialised_.find(step.name);
            if (own != initialised_.end() &&
                std::find(own->second.begin(), own->second.end(), need) != own->second.end())
                continue;
            State &state = states_[need];
            if (state == State::open && !is_recursion(path, need)) return false;
            if (state != State::fresh) continue;
            state = State::open;
            path.push_back({need, 0});
        }
        return true;
    }

    // Functions may need each other, values may not.
    bool is_recursion(const std::vector<Step> &path, std::string_view need) const {
        for (std::size_t i = path.size(); i-- > 0;) {
            if (is_initialiser_.contains(path[i].name)) return false;
            if (path[i].name == need) return true;
        }
        return true;
    }

    std::string_view list_;
    std::map<std::string_view, std::string_view> functions_;
    std::set<std::string_view> variables_, is_initialiser_, computed_;
    std::map<std::string_view, Names> needs_, initialised_;
    std::map<std::string_view, State> states_;
    Names initialisers_;
};

// The list of symbols that are kept although nothing needs them.
void append_used(std::string &text, std::string_view line, const Module &module) {
    std::string kept;
    std::size_t count = 0;
    for (const std::string_view name : names_in(line)) {
        if (module.is_computed(name)) continue;
        kept += (count++ > 0 ? ", ptr " : "ptr ") + std::string(name);
    }
    if (count > 0)
        text += "@llvm.used = appending global [" + std::to_string(count) + " x ptr] [" + kept +
                "], section \"llvm.metadata\"\n";
}

// Makes the variables to be computed private to this module, which they are: the optimiser does not compute variables
// that several modules could have, such as those of templates.
void append_own(std::string &text, std::string_view code, const Module &module) {
    constexpr std::string_view assigned = " = ", global = " global ", used = "@llvm.used = ";
    bool initialising = false;
    while (!code.empty()) {
        const std::string_view line = take_line(code);
        if (line.starts_with(used)) {
            append_used(text, line, module);
            continue;
        }
        if (line.starts_with("define ")) initialising = module.is_initialiser(names_in(line).front());
        if (const std::size_t load = line.find(" = load i8, ptr " + std::string(guard));
            initialising && load != std::string_view::npos) {
            // Each runs once.
            (text += line.substr(0, load)) += " = add i8 0, 0\n";
            continue;
        }
        const std::size_t at = line.starts_with("@") ? line.find(assigned) : std::string_view::npos;
        if (at == std::string_view::npos || !module.is_computed(line.substr(0, at))) {
            text += line;
            continue;
        }
        (text += line.substr(0, at)) += " = internal global ";
        text += without_group(line.substr(line.find(global) + global.size()));
    }
}

}  // namespace

std::optional<std::string> order_initialisers(std::string_view code) {
    if (code.find("\n" + std::string(list_begin)) == std::string_view::npos) return std::string(code);
    Module module(code);
    const std::optional<Names> ordered = module.order();
    if (!ordered) return std::nullopt;
    if (ordered->empty()) return std::string(code);
    const std::string_view list = module.list();
    const auto begin = static_cast<std::size_t>(list.data() - code.data());
    std::string text;
    append_own(text, code.substr(0, begin), module);
    text += std::string(list_begin) + "appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr " +
            std::string(merged) + ", ptr null }]\n";
    append_own(text, code.substr(begin + list.size()), module);
    text += "\ndefine internal void " + std::string(merged) + "() " + std::string(module.attributes()) + " " +
            std::string(stores_apart) + " section \".text.startup\" {\n";
    for (const std::string_view initialiser : *ordered) text += "  call void " + std::string(initialiser) + "()\n";
    return text + "  ret void\n}\n";
}

}  // namespace smtl::msl
