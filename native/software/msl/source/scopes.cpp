#include "scopes.h"

#include <utility>

namespace smtl::msl {

void Scopes::forget(Names &names) {
    for (const std::string_view name : std::exchange(names, {})) visible_.erase(visible_.find(name));
}

void Scopes::pass(std::size_t i, bool declares) {
    const Token &token = tokens_[i], &before = tokens_[i - 1];
    if (token.is("(") || token.is("[") || token.is("{")) {
        const bool type = token.is("{") && std::exchange(type_follows_, false);
        types_ += type;
        open_.push_back({.at = i, .type = type, .names = {}, .parameters = {}});
    } else if (token.is(")") || token.is("]") || token.is("}")) {
        if (open_.size() > 1) close(i);
    } else if (token.is(";")) {
        forget(open_.back().parameters);
        type_follows_ = false;
    } else if (token.is("<") && (template_angles_ > 0 || before.is("template"))) {
        ++template_angles_;
    } else if (token.is(">") && template_angles_ > 0) {
        --template_angles_;
    } else if (template_angles_ == 0 && (token.is("struct") || token.is("class") || token.is("union"))) {
        type_follows_ = true;
    }
    if (!declares) return;
    visible_.insert(token.text);
    Open &around = open_.back();
    (template_angles_ > 0 ? around.parameters : around.names).push_back(token.text);
}

void Scopes::close(std::size_t i) {
    Open closed = std::move(open_.back());
    open_.pop_back();
    types_ -= closed.type;
    Open &around = open_.back();
    if (tokens_[i].is(")")) {
        for (Names *names : {&closed.names, &closed.parameters}) {
            if (names->size() > around.parameters.size()) names->swap(around.parameters);  // each moves only seldom
            around.parameters.insert(around.parameters.end(), names->begin(), names->end());
        }
        return;
    }
    forget(closed.names);
    forget(closed.parameters);
    if (!tokens_[i].is("}")) return;
    // A constructor's `: member{value}, other{value} {`
    const Token &name = tokens_[closed.at - 1], &behind = tokens_[i + 1];
    const bool initialises = (name.is_identifier() || name.is(">")) && (behind.is(",") || behind.is("{"));
    if (!initialises) forget(around.parameters);
}

}  // namespace smtl::msl
