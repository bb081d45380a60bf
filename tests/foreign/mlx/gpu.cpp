#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include "gpu.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace {

NS::String *string(const std::string &text) { return NS::String::string(text.c_str(), NS::UTF8StringEncoding); }

std::string describe(NS::Error *error) {
    return error == nullptr ? "no error given" : error->localizedDescription()->utf8String();
}

MTL::Size size(Threads threads) { return MTL::Size::Make(threads.x, threads.y, threads.z); }

}  // namespace

Source &Source::include(const std::string &header) {
    inline_file("mlx/backend/metal/kernels/" + header);
    return *this;
}

Source &Source::add(const std::string &text) {
    text_ += text + '\n';
    return *this;
}

void Source::inline_file(const std::string &path) {
    if (!included_.insert(path).second) return;
    std::ifstream file(folder_ + "/" + path);
    if (!file) throw std::runtime_error("no file " + folder_ + "/" + path);
    text_ += "#line 1 \"" + path + "\"\n";
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        const std::string directive = "#include \"mlx/";
        if (line.starts_with("#pragma once")) line.clear();
        if (line.starts_with(directive)) {
            const std::size_t begin = directive.size() - 4;
            inline_file(line.substr(begin, line.find('"', begin) - begin));
            text_ += "#line " + std::to_string(number + 1) + " \"" + path + "\"\n";
            continue;
        }
        text_ += line + '\n';
    }
}

Library::Library(MTL::Device *device, const std::string &source) : device_(device) {
    const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    options->setFastMathEnabled(false);
    options->setLanguageVersion(MTL::LanguageVersion3_2);
    NS::Error *error = nullptr;
    library_ = NS::TransferPtr(device->newLibrary(string(source), options.get(), &error));
    if (!library_) throw std::runtime_error(describe(error));
}

std::vector<std::string> Library::kernels() const {
    std::vector<std::string> names;
    NS::Array *found = library_->functionNames();
    for (NS::UInteger i = 0; i < found->count(); ++i) names.emplace_back(found->object<NS::String>(i)->utf8String());
    return names;
}

NS::SharedPtr<MTL::ComputePipelineState> Library::pipeline(const std::string &kernel,
                                                           const Constants &constants) const {
    const auto general = NS::TransferPtr(library_->newFunction(string(kernel)));
    if (!general) throw std::runtime_error("no kernel " + kernel);
    const auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    NS::Dictionary *wanted = general->functionConstantsDictionary();
    NS::Enumerator<NS::Object> *names = wanted->keyEnumerator<NS::Object>();
    while (NS::Object *name = names->nextObject()) {
        const auto *constant = wanted->object<MTL::FunctionConstant>(name);
        const auto given = constants.find(unsigned(constant->index()));
        const int number = given == constants.end() ? 0 : given->second;
        const bool flag = number != 0;
        const bool is_bool = constant->type() == MTL::DataTypeBool;
        values->setConstantValue(is_bool ? static_cast<const void *>(&flag) : &number, constant->type(),
                                 constant->index());
    }
    NS::Error *error = nullptr;
    const auto function = NS::TransferPtr(library_->newFunction(string(kernel), values.get(), &error));
    if (!function) throw std::runtime_error(describe(error));
    auto pipeline = NS::TransferPtr(device_->newComputePipelineState(function.get(), &error));
    if (!pipeline) throw std::runtime_error(describe(error));
    return pipeline;
}

Launch::Launch(MTL::Device *device, NS::SharedPtr<MTL::ComputePipelineState> pipeline)
    : device_(device), pipeline_(std::move(pipeline)) {}

Launch &Launch::bind(unsigned index, const std::vector<std::byte> &bytes) {
    buffers_[index] = NS::TransferPtr(device_->newBuffer(bytes.data(), bytes.size(), MTL::ResourceStorageModeShared));
    if (!buffers_[index]) throw std::runtime_error("no buffer of " + std::to_string(bytes.size()) + " bytes");
    return *this;
}

Launch &Launch::threadgroup_memory(unsigned index, std::size_t bytes) {
    threadgroup_[index] = bytes;
    return *this;
}

void Launch::threads(Threads grid, Threads group) {
    run([=](MTL::ComputeCommandEncoder *encoder) { encoder->dispatchThreads(size(grid), size(group)); });
}

void Launch::groups(Threads groups, Threads group) {
    run([=](MTL::ComputeCommandEncoder *encoder) { encoder->dispatchThreadgroups(size(groups), size(group)); });
}

void Launch::run(const std::function<void(MTL::ComputeCommandEncoder *)> &dispatch) {
    const auto queue = NS::TransferPtr(device_->newCommandQueue());
    MTL::CommandBuffer *commands = queue->commandBufferWithUnretainedReferences();
    MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
    encoder->setComputePipelineState(pipeline_.get());
    for (const auto &[index, buffer] : buffers_) encoder->setBuffer(buffer.get(), 0, index);
    for (const auto &[index, bytes] : values_) encoder->setBytes(bytes.data(), bytes.size(), index);
    for (const auto &[index, bytes] : threadgroup_) encoder->setThreadgroupMemoryLength(bytes, index);
    dispatch(encoder);
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    if (commands->status() != MTL::CommandBufferStatusCompleted) throw std::runtime_error(describe(commands->error()));
}
