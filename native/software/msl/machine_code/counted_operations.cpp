#include "counted_operations.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "text/lines.h"
#include "msl/compile/diagnostics.h"
#include "operation_costs.h"

namespace smtl::msl {
namespace {

// The text behind `mark` up to one of `ends`; empty without the mark.
std::string_view between(std::string_view line, std::string_view mark, std::string_view ends) {
    const std::size_t at = line.find(mark);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = line.substr(at + mark.size());
    return rest.substr(0, rest.find_first_of(ends));
}

std::string_view debug_location(std::string_view line) { return between(line, "!dbg !", ",\n {"); }
// Of a definition or a call.
std::string_view function_name(std::string_view line) { return between(line, "@", "("); }

bool is_definition(std::string_view line) { return line.starts_with("define "); }

// What the code says behind its functions, by number.
class DebugInformation {
public:
    explicit DebugInformation(std::string_view code) {
        std::map<std::string_view, std::string_view> files, subprograms;
        while (!code.empty()) {
            const std::string_view line = take_line(code);
            if (!line.starts_with('!')) continue;
            const std::string_view entry = line.substr(1, line.find(' ') - 1);
            if (line.find("!DILocation(") != std::string_view::npos)
                lines_[entry] = {between(line, "line: ", ",)"), between(line, "scope: !", ",)")};
            else if (line.find("!DIFile(") != std::string_view::npos)
                files[entry] = between(line, "filename: \"", "\"");
            else if (line.find("!DISubprogram(") != std::string_view::npos)
                subprograms[entry] = between(line, "file: !", ",)");
        }
        for (const auto &[entry, file] : subprograms)
            if (const auto found = files.find(file); found != files.end() && is_program(found->second))
                functions_.insert(entry);
    }

    bool is_program_function(std::string_view definition) const {
        return functions_.contains(debug_location(definition));
    }
    // Equal for two instructions of one line.
    std::pair<std::string_view, std::string_view> line_of(std::string_view location) const {
        const auto found = lines_.find(location);
        return found != lines_.end() ? found->second : std::pair(std::string_view(), std::string_view());
    }

private:
    // Not the library, nor the few lines around a kernel.
    static bool is_program(std::string_view file) {
        return !file.starts_with("smtl/") && !file.starts_with("msl/") && file != "-" && file != surroundings_name;
    }

    std::unordered_map<std::string_view, std::pair<std::string_view, std::string_view>> lines_;
    std::set<std::string_view> functions_;
};

class Counter {
public:
    explicit Counter(std::string_view code) : code_(code), information_(code) {
        for (std::string_view rest = code; !rest.empty();) {
            const std::string_view line = take_line(rest);
            if (is_definition(line) && information_.is_program_function(line)) program_.insert(function_name(line));
        }
    }

    std::string count() {
        text_.reserve(code_.size() + code_.size() / 8);
        bool counts = false, is_defined = false;
        while (!code_.empty()) {
            const std::string_view line = take_line(code_);
            if (is_definition(line)) counts = information_.is_program_function(line);
            if (is_definition(line) && line.find("@smtl_count_branch(") != line.npos) is_defined = true;
            if (line.starts_with("}")) counts = false;
            if (counts && line.starts_with("  ")) count_line(line.substr(2));
            text_ += line;
        }
        // Beside the kernel; not beside functions that are linked with it.
        if (!is_defined)
            text_ += "declare hidden void @smtl_count_operations(i64)\n"
                     "declare hidden void @smtl_count_branch(ptr, i32)\n";
        if (branches_ != 0)
            text_ += std::string(branch_bytes) + " = internal constant [" + std::to_string(branches_) +
                     " x i8] zeroinitializer, no_sanitize_address\n";
        text_ += "\nattributes #" + std::string(attribute_group) +
                 " = { nounwind willreturn nocallback nofree nosync memory(inaccessiblemem: readwrite) }\n";
        return std::move(text_);
    }

private:
    // No other group has so high a number.
    static constexpr std::string_view attribute_group = "4000000000";
    // A byte for each branch, whose address tells the branch from all others: those of functions too that are linked
    // with the kernel, and that know nothing of its branches.
    static constexpr std::string_view branch_bytes = "@smtl.branches";

    using Counts = std::array<unsigned, SMTL_OPERATION_KINDS>;
    struct Pending {
        std::string_view location;
        Counts counts{};
    };

    void count_line(std::string_view line) {
        if (const std::string_view location = debug_location(line); !location.empty()) location_ = location;
        if (line.starts_with("br ") || line.starts_with("switch ") || line.starts_with("ret ") ||
            line.starts_with("unreachable")) {
            write_pending();
            if (line.starts_with("br i1 %")) count_sides(line);
            if (line.starts_with("switch ")) count_cases(line);
            return;
        }
        const std::size_t equals = line.find(" = ");
        const std::string_view instruction =
            line.starts_with('%') && equals != std::string_view::npos ? line.substr(equals + 3) : line;
        if (const auto cost = cost_of_instruction(instruction)) add(*cost);
        if (!instruction.starts_with("call ") && !instruction.starts_with("tail call ")) return;
        const std::string_view callee = function_name(instruction);
        if (program_.contains(callee)) return;
        const auto [known, is_new] = costs_.try_emplace(std::string(callee));
        if (is_new) known->second = cost_of_call(known->first);
        if (known->second) add(*known->second);
    }

    void add(const OperationCost &cost) {
        const auto [found, is_new] = pending_.try_emplace(information_.line_of(location_));
        if (is_new) found->second.location = location_;
        found->second.counts[cost.kind] += cost.arithmetic;
        found->second.counts[SMTL_OPERATIONS_FUNCTIONS] += cost.functions;
    }

    // Where a call returns to says which line it belongs to, so that it is none of a tail.
    void call(std::string_view function, const std::string &argument, std::string_view location) {
        if (location.empty()) return;
        (((((text_ += "  notail call void @") += function) += "(") += argument) += ") #") += attribute_group;
        ((text_ += ", !dbg !") += location) += "\n";
    }

    // A field holds so many; a line with more has several calls.
    void write_pending() {
        constexpr unsigned most = (1u << SMTL_OPERATION_BITS) - 1;
        for (auto &[line, pending] : pending_) {
            for (;;) {
                std::uint64_t word = 0;
                for (unsigned kind = 0; kind < SMTL_OPERATION_KINDS; ++kind) {
                    const unsigned now = std::min(pending.counts[kind], most);
                    pending.counts[kind] -= now;
                    word |= std::uint64_t(now) << kind * SMTL_OPERATION_BITS;
                }
                if (word == 0) break;
                call("smtl_count_operations", "i64 " + std::to_string(word), pending.location);
            }
        }
        pending_.clear();
    }

    std::string new_value() { return "%smtl.side." + std::to_string(values_++); }

    void call_branch(const std::string &side, std::string_view location) {
        // Without a line there is no call.
        if (location.empty()) return;
        const std::string at = std::string(branch_bytes) + ", i64 " + std::to_string(branches_++);
        call("smtl_count_branch", "ptr getelementptr (i8, ptr " + at + "), i32 " + side, location);
    }

    // "br i1 %condition, label %then, label %else"
    void count_sides(std::string_view line) {
        const std::string side = new_value();
        ((((text_ += "  ") += side) += " = zext i1 ") += between(line, "br i1 ", ",")) += " to i32\n";
        call_branch(side, location_);
    }

    // "switch i32 %value, label %default [", then the cases, "i32 1, label %case", one a line. Its sides are the
    // blocks; the default's is 0.
    void count_cases(std::string_view line) {
        const std::string_view type = between(line, "switch ", " "),
                               rest = line.substr(line.find(type) + type.size() + 1);
        const std::string_view value = rest.substr(0, rest.find(','));
        std::map<std::string_view, unsigned> sides = {{between(rest, "label %", " "), 0}};
        std::string side = "0";
        std::string_view location = debug_location(line);
        for (std::string_view cases = code_; !cases.empty();) {
            const std::string_view one = take_line(cases);
            if (one.find(']') != std::string_view::npos) {
                location = debug_location(one);
                break;
            }
            const std::string_view number = between(one, std::string(type) + " ", ","),
                                   to = between(one, "label %", " \n");
            const unsigned taken = sides.try_emplace(to, unsigned(sides.size())).first->second;
            const std::string equal = new_value(), chosen = new_value();
            (((((((text_ += "  ") += equal) += " = icmp eq ") += type) += " ") += value) += ", ") += number;
            ((((text_ += "\n  ") += chosen) += " = select i1 ") += equal) += ", i32 " + std::to_string(taken);
            ((text_ += ", i32 ") += side) += "\n";
            side = chosen;
        }
        call_branch(side, location.empty() ? location_ : location);
    }

    std::string_view code_;
    const DebugInformation information_;
    std::set<std::string_view> program_;  // its functions
    std::map<std::string, std::optional<OperationCost>, std::less<>> costs_;
    std::map<std::pair<std::string_view, std::string_view>, Pending> pending_;  // of the block, by line
    std::string_view location_;
    std::uint64_t values_ = 0, branches_ = 0;
    std::string text_;
};

}  // namespace

std::string count_operations(std::string_view code) { return Counter(code).count(); }

}  // namespace smtl::msl
