// Statements about structures, whose members lie as Metal lays them out, and about matrices.
#include "program.h"

namespace fuzz {

void Program::make_structures() {
    for (unsigned i = 0; i < 2; ++i) {
        Structure made;
        made.name = fresh("S");
        std::string text = "struct " + made.name + " {\n";
        unsigned alignment = 1;
        for (unsigned n = 1 + below(5); n > 0; --n) {
            Member member{any_type(), fresh("m"), false, 0};
            member.packed = member.type.n > 1 && member.type.kind != Kind::boolean && chance(2);
            const unsigned component = size_of(member.type.kind),
                           size = member.packed ? component * member.type.n : member.type.size(),
                           aligned = member.packed ? component : size;
            alignment = std::max(alignment, aligned);
            member.offset = (made.size + aligned - 1) / aligned * aligned;
            made.size = member.offset + size;
            text += (member.packed ? "packed_" + member.type.name() : spell(member.type)) + " " + member.name + ";\n";
            made.members.push_back(member);
        }
        made.size = (made.size + alignment - 1) / alignment * alignment;
        text_ += text + "};\n";
        structures_.push_back(std::move(made));
    }
}

// The members of a variable of that type; `to` leads to them.
std::vector<Variable> Program::instance(const Structure &structure, const std::string &name, const std::string &to,
                                        unsigned count, Variable like) {
    std::vector<Variable> all;
    for (const Member &member : structure.members) {
        Variable made = like;
        made.type = member.type, made.packed = member.packed, made.count = count;
        made.name = count ? name : name + to + member.name;
        made.suffix = count ? to + member.name : "";
        made.base = allocate(std::max(count, 1u), like.shared);
        all.push_back(std::move(made));
    }
    return all;
}

Statement Program::structure() {
    const Structure &structure = structures_[below(unsigned(structures_.size()))];
    const std::string name = fresh("s");
    const unsigned count = chance(3) ? 2 : 0;
    std::vector<Variable> made = instance(structure, name, ".", count, {});
    std::vector<Expression> values;
    std::string text = structure.name + " " + name + (count ? "[2] = {" : " = ");
    for (unsigned i = 0; i < std::max(count, 1u); ++i) {
        text += i ? ", {" : "{";
        for (const Member &member : structure.members) {
            values.push_back(expression(member.type, 1));
            text += (&member == structure.members.data() ? "" : ", ") + values.back().text;
        }
        text += "}";
    }
    text += count ? "};\n" : ";\n";
    std::vector<Variable> copied;
    if (chance(2)) {
        const std::string copy = fresh("s");
        text += structure.name + " " + copy + " = " + name + (count ? "[1]" : "") + ";\n";
        copied = instance(structure, copy, ".", 0, {});
    }
    const std::vector<Variable> members = made;
    if (count == 0 && chance(2)) {
        // Another name for it.
        const bool reference = chance(2);
        const std::string alias = fresh("r");
        text += "thread " + structure.name + (reference ? " &" : " *") + alias + (reference ? " = " : " = &") + name +
                ";\n";
        for (std::size_t i = 0; i < made.size(); ++i)
            made[i].name = alias + (reference ? "." : "->") + structure.members[i].name;
    }
    scope_.insert(scope_.end(), made.begin(), made.end());
    scope_.insert(scope_.end(), copied.begin(), copied.end());
    return {text, [=, this](Mask mask) {
                each(mask, [&](unsigned thread) {
                    for (std::size_t i = 0; i < values.size(); ++i)
                        memory_[members[i % members.size()].at(thread, unsigned(i / members.size()))] =
                            values[i].at(thread);
                    for (std::size_t i = 0; i < copied.size(); ++i)
                        memory_[copied[i].at(thread)] = memory_[members[i].at(thread, count ? 1 : 0)];
                });
                return mask;
            }};
}

namespace {

// Column by column.
using Matrix = std::array<Value, 4>;
struct Made {
    unsigned columns, rows;
    std::string text;
    std::function<Matrix(unsigned)> at;
};

double element(const Matrix &m, unsigned column, unsigned row) { return real(m[column][row]); }

template <class F> Matrix filled(unsigned columns, unsigned rows, F &&f) {
    Matrix result{};
    for (unsigned i = 0; i < columns; ++i)
        for (unsigned j = 0; j < rows; ++j) result[i][j] = std::bit_cast<Number>(double(f(i, j)) + 0.0);
    return result;
}

Made product_of(const Made &a, const Made &b) {
    return {b.columns, a.rows, a.text + " * " + b.text, [=](unsigned thread) {
                const Matrix x = a.at(thread), y = b.at(thread);
                return filled(b.columns, a.rows, [&](unsigned i, unsigned j) {
                    double sum = 0;
                    for (unsigned k = 0; k < a.columns; ++k) sum += element(x, k, j) * element(y, i, k);
                    return sum;
                });
            }};
}

}  // namespace

// A matrix of small integers, of which every operation leaves exact ones. What it gives is there as its columns.
Statement Program::matrix() {
    const Kind kind = pick({Kind::f32, Kind::f16});
    const auto name_of_matrix = [&](unsigned columns, unsigned rows) {
        return std::string(name_of(kind)) + std::to_string(columns) + "x" + std::to_string(rows);
    };
    const auto make = [&](unsigned columns, unsigned rows) {
        std::vector<Expression> parts;
        const unsigned form = below(columns == rows ? 3 : 2);
        const unsigned n = form == 0 ? columns * rows : form == 1 ? columns : 1;
        std::string text = name_of_matrix(columns, rows);
        for (unsigned i = 0; i < n; ++i) {
            parts.push_back(exact({kind, form == 1 ? rows : 1}, chance(3) ? 1 : 0));
            text += (i ? ", " : "(") + parts.back().text;
        }
        return Made{columns, rows, text + ")", [=](unsigned thread) {
                        return filled(columns, rows, [&](unsigned i, unsigned j) {
                            if (form == 2 && i != j) return 0.0;
                            return real(form == 0   ? parts[i * rows + j].at(thread)[0]
                                        : form == 1 ? parts[i].at(thread)[j]
                                                    : parts[0].at(thread)[0]);
                        });
                    }};
    };
    const unsigned columns = 2 + below(3), rows = 2 + below(3);
    const Made first = make(columns, rows);
    std::string before;
    Made result;
    switch (below(8)) {
    case 0: result = first; break;
    case 1: result = product_of(first, make(2 + below(3), columns)); break;
    case 2:
        result = {rows, columns, "transpose(" + first.text + ")", [=](unsigned thread) {
                      const Matrix m = first.at(thread);
                      return filled(rows, columns, [&](unsigned i, unsigned j) { return element(m, j, i); });
                  }};
        break;
    case 3: {
        const Made second = make(columns, rows);
        const bool minus = chance(2);
        result = {columns, rows, first.text + (minus ? " - " : " + ") + second.text, [=](unsigned thread) {
                      const Matrix a = first.at(thread), b = second.at(thread);
                      return filled(columns, rows, [&](unsigned i, unsigned j) {
                          return element(a, i, j) + (minus ? -1 : 1) * element(b, i, j);
                      });
                  }};
        break;
    }
    case 4: {
        const Expression factor = exact({kind, 1}, 1);
        const bool before_it = chance(2);
        result = {columns, rows,
                  before_it ? factor.in(product) + " * " + first.text : first.text + " * " + factor.in(unary),
                  [=](unsigned thread) {
                      const Matrix a = first.at(thread);
                      const double by = real(factor.at(thread)[0]);
                      return filled(columns, rows, [&](unsigned i, unsigned j) { return element(a, i, j) * by; });
                  }};
        break;
    }
    case 5: {
        // A product and another one.
        const Made second = make(3, columns);
        result = product_of({3, rows, "(" + first.text + " * " + second.text + ")", product_of(first, second).at},
                            make(2, 3));
        break;
    }
    default: {
        // With a vector, on either side.
        const bool left = chance(2);
        const Expression vector = exact({kind, left ? rows : columns}, 1);
        const Variable made{{kind, left ? columns : rows}, fresh("v"), allocate(1, false)};
        scope_.push_back(made);
        const std::string product = left ? vector.text + " * " + first.text : first.text + " * " + vector.text;
        return {declared(made.type, made.name) + " = " + product + " + " + number({kind, 1}, 0).text + ";\n",
                [=, this](Mask mask) {
                    each(mask, [&](unsigned thread) {
                        const Matrix m = first.at(thread);
                        const Value v = vector.at(thread);
                        const unsigned n = left ? rows : columns;
                        memory_[made.at(thread)] = filled(1, made.type.n, [&](unsigned, unsigned j) {
                            double sum = 0;
                            for (unsigned k = 0; k < n; ++k)
                                sum += real(v[k]) * (left ? element(m, j, k) : element(m, k, j));
                            return sum;
                        })[0];
                    });
                    return mask;
                }};
    }
    }
    const std::string name = fresh("a");
    std::vector<Variable> made;
    for (unsigned i = 0; i < result.columns; ++i) {
        made.push_back({{kind, result.rows}, name + "[" + std::to_string(i) + "]", allocate(1, false)});
        scope_.push_back(made.back());
    }
    // Adding to nothing takes the sign of zeros.
    const std::string type = name_of_matrix(result.columns, result.rows);
    return {type + " " + name + " = " + result.text + " + " + type + "(" +
                [&] {
                    std::string zeros;
                    for (unsigned i = 0; i < result.columns * result.rows; ++i) zeros += i ? ", 0" : "0";
                    return zeros;
                }() +
                ");\n",
            [=, this](Mask mask) {
                each(mask, [&](unsigned thread) {
                    const Matrix value = result.at(thread);
                    for (std::size_t i = 0; i < made.size(); ++i) memory_[made[i].at(thread)] = value[i];
                });
                return mask;
            }};
}

}  // namespace fuzz
