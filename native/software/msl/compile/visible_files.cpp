#include "visible_files.h"

#include <algorithm>
#include <filesystem>

namespace smtl::msl {
namespace {

namespace fs = std::filesystem;

// Empty if there is nothing of that name.
std::string resolved(const fs::path &path) {
    std::error_code error;
    const fs::path result = fs::canonical(path, error);
    return error ? std::string() : result.string();
}

bool is_within(const std::string &path, const std::vector<std::string> &folders) {
    return std::any_of(folders.begin(), folders.end(), [&](const std::string &folder) {
        return path.starts_with(folder == "/" ? folder : folder + "/");
    });
}

std::vector<std::string> resolved(const std::vector<std::string> &folders) {
    std::vector<std::string> result;
    for (const std::string &folder : folders)
        if (std::string path = resolved(fs::path(folder)); !path.empty()) result.push_back(std::move(path));
    return result;
}

std::string json_string(std::string_view text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + '"';
}

// What cannot be written as a string stays out of sight.
bool is_printable(std::string_view name) {
    return std::none_of(name.begin(), name.end(),
                        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string entry(const char *type, const std::string &name, const std::string &at) {
    return std::string("{\"type\":\"") + type + "\",\"name\":" + json_string(name) +
           ",\"external-contents\":" + json_string(at) + "}";
}

// What a directive sees: a backslash at the end of a line joins it to the next, also with blanks between them.
std::string joined_lines(std::string_view source) {
    std::string text;
    for (std::size_t at = 0; at < source.size(); at++) {
        if (source[at] == '\\') {
            const std::size_t end = source.find_first_not_of(" \t\v\f\r", at + 1);
            if (end != std::string_view::npos && source[end] == '\n') {
                at = end;
                continue;
            }
        }
        text += source[at];
    }
    return text;
}

// Whether what follows `include` and the like is a name in none of the folders.
bool is_elsewhere(std::string_view operand, const std::vector<std::string> &folders) {
    const std::size_t start = operand.find_first_not_of(" \t");
    if (start == std::string_view::npos || (operand[start] != '"' && operand[start] != '<')) return false;
    const std::string_view rest = operand.substr(start + 1);
    const std::size_t end = rest.find_first_of(operand[start] == '<' ? ">\n" : "\"\n");
    if (end == std::string_view::npos || rest[end] == '\n') return false;
    const std::string name(rest.substr(0, end));
    if (name.starts_with("/") || name.find("..") != std::string::npos) return false;
    std::error_code error;
    return std::none_of(folders.begin(), folders.end(), [&](const std::string &folder) {
        return fs::symlink_status(fs::path(folder) / name, error).type() != fs::file_type::not_found;
    });
}

class Listing {
public:
    explicit Listing(const std::vector<std::string> &roots) : roots_(roots) {}

    // The folder `path`, called `name`: whole if it holds only files and folders, else what can be seen of it.
    std::string describe(const std::string &name, const std::string &path) const {
        std::string text;
        return list(path, text)
                   ? entry("directory-remap", name, path)
                   : "{\"type\":\"directory\",\"name\":" + json_string(name) + ",\"contents\":[" + text + "]}";
    }

private:
    // Fills `text` with what can be seen; whether that is everything.
    bool list(const std::string &path, std::string &text) const {
        bool whole = true;
        std::error_code error;
        for (fs::directory_iterator item(path, error), end; !error && item != end; item.increment(error)) {
            const std::string name = item->path().filename().string();
            std::error_code failure;
            const fs::file_type type = item->symlink_status(failure).type();
            std::string described;
            if (failure || !is_printable(name)) {
                whole = false;
            } else if (type == fs::file_type::directory) {
                described = describe(name, item->path().string());
                whole = whole && described.starts_with("{\"type\":\"directory-remap\"");
            } else if (type == fs::file_type::regular) {
                described = entry("file", name, item->path().string());
            } else {
                whole = false;
                const std::string target = type == fs::file_type::symlink ? resolved(item->path()) : "";
                if (is_within(target, roots_) && is_printable(target) && fs::is_regular_file(target, failure))
                    described = entry("file", name, target);
            }
            if (!described.empty()) text += (text.empty() ? "" : ",") + described;
        }
        return whole && !error;
    }

    const std::vector<std::string> &roots_;
};

}  // namespace

std::string describe_visible_files(const std::vector<std::string> &own, const std::vector<std::string> &named) {
    const std::vector<std::string> roots = resolved(named);
    const Listing listing(roots);
    std::string text;
    for (const std::string &folder : own) text += (text.empty() ? "" : ",") + entry("directory-remap", folder, folder);
    for (const std::string &folder : named) {
        std::error_code error;
        const std::string name = fs::absolute(folder, error).lexically_normal().string(),
                          path = resolved(fs::path(folder));
        if (error || !fs::is_directory(path, error) || !is_printable(name + path)) continue;
        // A folder is called by one name.
        text += "," +
                listing.describe(name.size() > 1 && name.ends_with("/") ? name.substr(0, name.size() - 1) : name, path);
    }
    return "{\"version\":0,\"redirecting-with\":\"redirect-only\",\"case-sensitive\":\"true\",\"roots\":[" + text +
           "]}\n";
}

bool may_reach(std::string_view source, const std::vector<std::string> &named) {
    const std::string text = joined_lines(source);
    const std::string_view all = text;
    // A pragma of this name asks for a file.
    if (all.find("dependency") != std::string_view::npos) return true;
    for (const std::string_view word : {"include", "import", "embed"}) {
        for (std::size_t at = all.find(word); at != std::string_view::npos; at = all.find(word, at + 1)) {
            const std::size_t before = at == 0 ? std::string_view::npos : all.find_last_not_of(" \t\v\f", at - 1);
            if (before == std::string_view::npos) continue;
            // A question, or a directive behind a comment.
            if (all[before] == '_' || all.substr(0, before + 1).ends_with("*/")) return true;
            std::string_view operand = all.substr(at + word.size());
            if (operand.starts_with("_next")) operand.remove_prefix(5);
            if (all[before] == '#' && !is_elsewhere(operand, named)) return true;
        }
    }
    return false;
}

bool is_visible(const std::string &path, const std::vector<std::string> &named) {
    std::error_code error;
    return is_within(resolved(fs::path(path)), resolved(named)) && fs::is_regular_file(path, error);
}

}  // namespace smtl::msl
