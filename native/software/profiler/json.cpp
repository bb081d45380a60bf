#include "json.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "msl/include/smtl/abi.h"

namespace smtl::profile {
namespace {

/* The bytes of the character that `text` begins with; 0 if it is not UTF-8. */
std::size_t character_size(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (size == 0 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    /* Shorter forms exist, surrogates are no characters, and there are none past U+10FFFF. */
    const unsigned char second = byte(1);
    const bool is_none = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
                         (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
    return is_none ? 0 : size;
}

/* Members and elements with commas between them. */
class writer {
public:
    void open(char bracket) {
        separate();
        text_ += bracket;
        first_ = true;
    }
    void close(char bracket) {
        text_ += bracket;
        first_ = false;
    }
    void name(std::string_view name) {
        separate();
        quote(name);
        text_ += ':';
        first_ = true;
    }
    void value(std::string_view text) {
        separate();
        quote(text);
    }
    void value(uint64_t number) { plain(std::to_string(number)); }
    void value(int64_t number) { plain(std::to_string(number)); }
    void value(uint32_t number) { plain(std::to_string(number)); }
    void value(bool is_true) { plain(is_true ? "true" : "false"); }
    template <class T> void member(std::string_view key, const T &of) {
        name(key);
        value(of);
    }
    void line() { text_ += '\n'; }
    std::string take() { return std::move(text_); }

private:
    void separate() {
        if (!first_) text_ += ',';
        first_ = false;
    }
    void plain(const std::string &text) {
        separate();
        text_ += text;
    }
    /* Names come from sources and may hold anything. Bytes that are not UTF-8 become replacement characters. */
    void quote(std::string_view text) {
        text_ += '"';
        while (!text.empty()) {
            const char c = text[0];
            const std::size_t size = character_size(text);
            if (c == '"' || c == '\\') text_ += '\\';
            if (static_cast<unsigned char>(c) < 0x20) {
                char escaped[8];
                std::snprintf(escaped, sizeof escaped, "\\u%04x", unsigned(c));
                text_ += escaped;
            } else {
                text_ += size == 0 ? std::string_view("\\ufffd") : text.substr(0, size);
            }
            text.remove_prefix(size == 0 ? 1 : size);
        }
        text_ += '"';
    }

    std::string text_;
    bool first_ = true;
};

void write_location(writer &out, const kernel_profile &profile, uint32_t offset) {
    const sanitize::location &where = profile.lines.at(offset);
    out.member("file", std::string_view(where.file));
    out.member("line", where.line);
    out.member("function", std::string_view(where.function));
    out.member("instruction", offset);
}

std::string_view name_of(space where) {
    static constexpr std::string_view names[] = {"buffer", "threadgroup", "constant_table", "elsewhere"};
    return names[size_t(where)];
}

void write_object(writer &out, const kernel_profile &profile, const object_key &key) {
    const auto found = profile.counts.objects.find(key);
    out.member("space", name_of(key.where));
    out.member("object", std::string_view(found != profile.counts.objects.end() ? found->second.name : ""));
    const bool is_argument = !key.is_variable && (key.where == space::buffer || key.where == space::threadgroup);
    out.name("argument");
    out.value(is_argument ? int64_t(key.index) : int64_t(-1));
}

void write_access(writer &out, const kernel_profile &profile, const access_site &site, const access_counts &counts) {
    out.open('{');
    write_location(out, profile, site.offset);
    write_object(out, profile, site.object);
    out.member("size", site.size);
    out.member("writes", (site.touch & SMTL_TOUCH_WRITE) != 0);
    out.member("atomic", (site.touch & SMTL_TOUCH_ATOMIC) != 0);
    out.member("collective", (site.touch & SMTL_TOUCH_COLLECTIVE) != 0);
    out.member("executions", counts.executions);
    out.member("lanes", counts.lanes);
    out.member("all_lanes", counts.all_lanes);
    out.member("bytes", counts.bytes);
    out.member("lines_of_64", counts.lines_of_64);
    out.member("lines_of_128", counts.lines_of_128);
    out.member("least_lines_of_128", counts.least_lines_of_128);
    out.member("misaligned", counts.misaligned);
    out.member("turns", counts.turns);
    out.member("least_turns", counts.least_turns);
    out.member("broadcast", counts.patterns[unsigned(pattern::broadcast)]);
    out.member("sequential", counts.patterns[unsigned(pattern::sequential)]);
    out.member("strided", counts.patterns[unsigned(pattern::strided)]);
    out.member("gathered", counts.patterns[unsigned(pattern::gathered)]);
    out.name("strides");
    out.open('[');
    for (const auto &[stride, times] : counts.strides) {
        out.open('[');
        out.value(stride);
        out.value(times);
        out.close(']');
    }
    out.close(']');
    out.member("unmatched", counts.unmatched);
    out.close('}');
    out.line();
}

void write_meetings(writer &out, const kernel_profile &profile, std::string_view name,
                    const std::map<uint32_t, meeting_counts> &meetings) {
    out.name(name);
    out.open('[');
    for (const auto &[offset, counts] : meetings) {
        out.open('{');
        write_location(out, profile, offset);
        out.member("executions", counts.executions);
        out.member("lanes", counts.lanes);
        out.member("all_lanes", counts.all_lanes);
        out.member("work", counts.work);
        out.member("full_work", counts.full_work);
        out.close('}');
        out.line();
    }
    out.close(']');
}

void write_operations(writer &out, const kernel_profile &profile) {
    static constexpr std::array<std::string_view, SMTL_OPERATION_KINDS> kinds = {"float", "half", "bfloat",
                                                                                 "int",   "long", "functions"};
    out.name("operations");
    out.open('[');
    for (const auto &[offset, counts] : profile.counts.operations) {
        out.open('{');
        write_location(out, profile, offset);
        for (size_t kind = 0; kind < kinds.size(); ++kind) out.member(kinds[kind], counts.by_kind[kind]);
        out.close('}');
        out.line();
    }
    out.close(']');
}

void write_branches(writer &out, const kernel_profile &profile) {
    out.name("branches");
    out.open('[');
    for (const auto &[byte, counts] : profile.counts.branches) {
        out.open('{');
        write_location(out, profile, counts.offset);
        out.member("executions", counts.executions);
        out.member("lanes", counts.lanes);
        out.member("all_lanes", counts.all_lanes);
        out.member("taken", counts.taken);
        out.member("diverged", counts.diverged);
        out.member("unmatched", counts.unmatched);
        out.close('}');
        out.line();
    }
    out.close(']');
}

void write_objects(writer &out, const kernel_profile &profile) {
    out.name("objects");
    out.open('[');
    for (const auto &[key, counts] : profile.counts.objects) {
        out.open('{');
        write_object(out, profile, key);
        out.member("launches", counts.launches);
        out.member("length", counts.length);
        out.member("asked_to_read", counts.asked_to_read);
        out.member("asked_to_write", counts.asked_to_write);
        out.member("read", counts.read);
        out.member("written", counts.written);
        out.member("lines_read", counts.lines_read);
        out.member("lines_written", counts.lines_written);
        out.member("complete", counts.complete);
        out.close('}');
        out.line();
    }
    out.close(']');
}

void write_extent(writer &out, std::string_view name, const uint32_t (&extent)[3]) {
    out.name(name);
    out.open('[');
    for (const uint32_t size : extent) out.value(size);
    out.close(']');
}

void write_kernel(writer &out, const named_profile &kernel) {
    const kernel_counts &counts = kernel.profile->counts;
    out.open('{');
    out.member("name", std::string_view(kernel.kernel));
    out.member("launches", counts.launches);
    out.member("threadgroups", counts.threadgroups);
    out.member("simdgroups", counts.simdgroups);
    out.member("threads", counts.threads);
    write_extent(out, "grid", counts.largest.grid);
    write_extent(out, "threads_per_threadgroup", counts.largest.threads_per_threadgroup);
    out.member("threadgroup_memory", counts.largest.threadgroup_memory);
    out.line();
    out.name("accesses");
    out.open('[');
    for (const auto &[site, site_counts] : counts.accesses) write_access(out, *kernel.profile, site, site_counts);
    out.close(']');
    write_meetings(out, *kernel.profile, "barriers", counts.barriers);
    write_meetings(out, *kernel.profile, "simd_functions", counts.simd_functions);
    write_operations(out, *kernel.profile);
    write_branches(out, *kernel.profile);
    write_objects(out, *kernel.profile);
    out.close('}');
    out.line();
}

}  // namespace

std::string to_json(const std::vector<named_profile> &kernels) {
    writer out;
    out.open('{');
    out.member("version", uint32_t{1});
    out.name("kernels");
    out.open('[');
    for (const named_profile &kernel : kernels) write_kernel(out, kernel);
    out.close(']');
    out.close('}');
    out.line();
    return out.take();
}

}  // namespace smtl::profile
