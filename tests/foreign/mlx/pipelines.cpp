// Compiles kernels.txt: every section as one library, every kernel of it to a pipeline.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "pipelines.h"

namespace {

// Each choice of {a,b,...} in the text, the first brace first.
std::vector<std::string> expand(const std::string &text) {
    const std::size_t open = text.find('{');
    if (open == std::string::npos) return {text};
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) throw std::runtime_error("a brace without its end: " + text);
    std::vector<std::string> all;
    std::istringstream choices(text.substr(open + 1, close - open - 1));
    for (std::string choice; std::getline(choices, choice, ',');)
        for (std::string &each : expand(text.substr(0, open) + choice + text.substr(close + 1)))
            all.push_back(std::move(each));
    return all;
}

struct Kernel {
    std::string instance;
    Constants constants;
};
struct Section {
    std::string name;
    std::vector<std::string> headers;
    std::vector<Kernel> kernels;
};

Constants read_constants(const std::string &text) {
    Constants constants;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        constants[unsigned(std::stoul(word.substr(0, equals)))] = std::stoi(word.substr(equals + 1));
    }
    return constants;
}

std::vector<Section> read_sections(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("no file " + path);
    std::vector<Section> sections;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        if (line[0] == '[') {
            Section section{line.substr(1, line.find(']') - 1), {}, {}};
            std::istringstream headers(line.substr(line.find(']') + 1));
            for (std::string header; headers >> header;) section.headers.push_back(header);
            sections.push_back(std::move(section));
            continue;
        }
        const std::size_t at = line.find('@');
        const Constants constants = at == std::string::npos ? Constants() : read_constants(line.substr(at + 1));
        for (std::string &instance : expand(line.substr(0, at))) {
            instance.erase(instance.find_last_not_of(' ') + 1);
            sections.back().kernels.push_back({std::move(instance), constants});
        }
    }
    return sections;
}

}  // namespace

Counts make_pipelines(MTL::Device *device, const std::string &headers, const std::string &table,
                      const std::string &only) {
    Counts counts;
    for (const Section &section : read_sections(table)) {
        if (section.name.find(only) == std::string::npos) continue;
        const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        Source source(headers);
        for (const std::string &header : section.headers) source.include(header);
        for (std::size_t i = 0; i < section.kernels.size(); ++i) {
            const std::string &instance = section.kernels[i].instance;
            source.add("template [[host_name(\"k" + std::to_string(i) + "\")]] [[kernel]] decltype(" + instance + ") " +
                       instance + ";");
        }
        std::size_t made = 0;
        try {
            const Library library(device, source.text());
            for (std::size_t i = 0; i < section.kernels.size(); ++i) {
                try {
                    library.pipeline("k" + std::to_string(i), section.kernels[i].constants);
                    ++made;
                } catch (const std::exception &problem) {
                    std::printf("%s: %s: %s\n", section.name.c_str(), section.kernels[i].instance.c_str(),
                                problem.what());
                }
            }
            ++counts.libraries;
        } catch (const std::exception &problem) {
            std::printf("%s: %.3000s\n", section.name.c_str(), problem.what());
        }
        std::printf("%-16s %4zu of %4zu pipelines\n", section.name.c_str(), made, section.kernels.size());
        std::fflush(stdout);
        ++counts.sections;
        counts.kernels += section.kernels.size();
        counts.pipelines += made;
    }
    return counts;
}
