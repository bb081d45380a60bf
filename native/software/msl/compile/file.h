// Small files and folders of the cache.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtl::msl {

std::optional<std::string> read_file(const std::string &path,
                                     std::size_t most = std::numeric_limits<std::size_t>::max());
// A new file readable by its owner alone; an existing one is an error.
bool write_file(const std::string &path, std::string_view bytes);
// Whether nothing has that name; false if that cannot be told.
bool is_missing(const std::string &path);
// The folders of a list with colons between them, as PATH is one.
std::vector<std::string> folders_of(std::string_view list);
// The folder and those above it, for this user alone; false, with `errno`, if it is not there then.
bool make_folders(const std::string &path);
void remove_tree(const std::string &path) noexcept;

// What a name stands for, opened: never a link, and the same file whatever happens to the name.
class Descriptor {
public:
    // With O_CREAT among `flags` a file that is made is the owner's alone.
    Descriptor(const std::string &path, int flags);
    Descriptor(const Descriptor &folder, const std::string &name, int flags);
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;
    ~Descriptor();

    int number() const { return number_; }  // negative if it could not be opened
    bool is_file() const;
    bool is_folder() const;
    // What is in a folder, in no order.
    std::vector<std::string> names() const;
    // What is in a file, from its beginning.
    std::optional<std::string> read(std::size_t most = std::numeric_limits<std::size_t>::max()) const;
    // The same in pieces, each but the last of them of a power of two bytes; false if the file cannot be read.
    bool read_in_pieces(const std::function<void(std::string_view)> &take) const;

private:
    int number_;
};

// Makes a folder whose name begins so; empty if that cannot be.
std::string make_unique_folder(std::string name);

// What names of temporary folders begin with. A user's own folder has another name.
constexpr const char *temporary_prefix = "software-metal-tmp-";

// A folder with an unpredictable name in `parent`, removed with all that is in it at the end.
class TemporaryFolder {
public:
    explicit TemporaryFolder(const std::string &parent);
    TemporaryFolder(const TemporaryFolder &) = delete;
    TemporaryFolder &operator=(const TemporaryFolder &) = delete;
    ~TemporaryFolder();

    bool made() const { return !path_.empty(); }
    const std::string &path() const { return path_; }
    // How many of this thread's folders were gone when their end came.
    static std::size_t lost();

    // Gives the folder its lasting name, unless that is taken.
    bool rename_to(const std::string &path);

private:
    std::string path_;
};

// Why a process cannot write to a folder, as the end of a message; empty if it can.
std::string why_not_written(const std::string &folder);
// The same for a disk that is nearly full; empty if it is not.
std::string little_room(const std::string &folder);

}  // namespace smtl::msl
