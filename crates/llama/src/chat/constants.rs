//! What the template engine computes of literals while it compiles a template: no step counts that, so its size is checked before.

use minijinja::machinery::ast::{self, BinOpKind, Expr, Stmt};
use minijinja::value::ValueKind;

use super::data::VALUE;
use super::error::{ChatError, MAX_MADE, MAX_OUTPUT};

/// Refuses a template whose literals are too much to compute.
pub(super) fn check(template: &Stmt<'_>) -> Result<(), ChatError> {
    Constants::default().statement(template)
}

/// The most that a constant can be.
#[derive(Clone, Copy, Default)]
struct Bounds {
    /// As a text or a list, printed, in bytes.
    bytes: u64,
    /// As a number, without its sign.
    number: u64,
}

/// The sum of all constants that have been looked at, each one as often as the engine computes it.
#[derive(Default)]
struct Constants {
    bytes: u64,
}

impl Constants {
    fn statements(&mut self, statements: &[Stmt<'_>]) -> Result<(), ChatError> {
        let mut all = statements.iter();
        all.try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Result<(), ChatError> {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitExpr(emit) => self.expression(&emit.expr),
            Stmt::ForLoop(each) => {
                self.expressions([&each.target, &each.iter])?;
                self.expressions(&each.filter_expr)?;
                self.statements(&each.body)?;
                self.statements(&each.else_body)
            }
            Stmt::IfCond(condition) => {
                self.expression(&condition.expr)?;
                self.statements(&condition.true_body)?;
                self.statements(&condition.false_body)
            }
            Stmt::WithBlock(with) => {
                for (target, value) in &with.assignments {
                    self.expressions([target, value])?;
                }
                self.statements(&with.body)
            }
            Stmt::Set(set) => self.expressions([&set.target, &set.expr]),
            Stmt::SetBlock(set) => {
                self.expression(&set.target)?;
                self.expressions(&set.filter)?;
                self.statements(&set.body)
            }
            Stmt::AutoEscape(escape) => {
                self.expression(&escape.enabled)?;
                self.statements(&escape.body)
            }
            Stmt::FilterBlock(filter) => {
                self.expression(&filter.filter)?;
                self.statements(&filter.body)
            }
            Stmt::Block(block) => self.statements(&block.body),
            Stmt::Extends(extends) => self.expression(&extends.name),
            Stmt::Include(include) => self.expression(&include.name),
            Stmt::Import(import) => self.expressions([&import.expr, &import.name]),
            Stmt::FromImport(import) => self.expression(&import.expr),
            Stmt::Macro(definition) => self.definition(definition),
            Stmt::CallBlock(block) => {
                self.call(&block.call)?;
                self.definition(&block.macro_decl)
            }
            Stmt::Do(action) => self.call(&action.call),
            Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => Ok(()),
        }
    }

    fn definition(&mut self, definition: &ast::Macro<'_>) -> Result<(), ChatError> {
        self.expressions(&definition.args)?;
        self.expressions(&definition.defaults)?;
        self.statements(&definition.body)
    }

    fn call(&mut self, call: &ast::Call<'_>) -> Result<(), ChatError> {
        self.expression(&call.expr)?;
        self.arguments(&call.args)
    }

    fn arguments(&mut self, arguments: &[ast::CallArg<'_>]) -> Result<(), ChatError> {
        self.expressions(arguments.iter().map(|argument| match argument {
            ast::CallArg::Pos(value)
            | ast::CallArg::Kwarg(_, value)
            | ast::CallArg::PosSplat(value)
            | ast::CallArg::KwargSplat(value) => value,
        }))
    }

    fn expressions<'a>(
        &mut self,
        expressions: impl IntoIterator<Item = &'a Expr<'a>>,
    ) -> Result<(), ChatError> {
        let mut all = expressions.into_iter();
        all.try_for_each(|expression| self.expression(expression))
    }

    fn expression(&mut self, expression: &Expr<'_>) -> Result<(), ChatError> {
        self.constant(expression, 1).map(drop)
    }

    /// What `expression` can be, which the engine tries to compute so many times; `None` if it is no constant.
    fn constant(&mut self, expression: &Expr<'_>, times: u64) -> Result<Option<Bounds>, ChatError> {
        let bounds = match expression {
            Expr::Const(constant) => Some(literal(constant)),
            Expr::List(list) => self.literals(&list.items)?,
            Expr::Map(map) => {
                let keys = self.literals(&map.keys)?;
                let values = self.literals(&map.values)?;
                keys.zip(values).map(|(keys, values)| Bounds {
                    bytes: keys.bytes.saturating_add(values.bytes),
                    number: 0,
                })
            }
            Expr::UnaryOp(operator) => {
                let inner = self.constant(&operator.expr, times + 1)?;
                inner.map(|inner| Bounds {
                    bytes: 0,
                    number: inner.number.max(1),
                })
            }
            Expr::BinOp(operator) => {
                // It computes one side even if the other one is no constant.
                let left = self.constant(&operator.left, times + 1)?;
                let right = self.constant(&operator.right, times + 1)?;
                left.zip(right)
                    .map(|(left, right)| operation(operator.op, left, right))
            }
            Expr::Compare(comparison) => {
                let mut is_constant = self.constant(&comparison.expr, times + 1)?.is_some();
                for operator in &comparison.ops {
                    is_constant &= self.constant(&operator.expr, times + 1)?.is_some();
                }
                is_constant.then_some(Bounds {
                    bytes: 0,
                    number: 1,
                })
            }
            other => {
                self.inside(other)?;
                None
            }
        };
        let bytes = bounds.map_or(0, |bounds| bounds.bytes);
        self.bytes = self.bytes.saturating_add(bytes.saturating_mul(times));
        match bytes > MAX_OUTPUT as u64 || self.bytes > MAX_MADE as u64 {
            true => Err(ChatError::TooLong),
            false => Ok(bounds),
        }
    }

    /// The elements of a list, which the engine computes only if all are literals.
    fn literals(&mut self, items: &[Expr<'_>]) -> Result<Option<Bounds>, ChatError> {
        let mut all = Some(Bounds {
            bytes: VALUE as u64,
            number: 0,
        });
        for item in items {
            self.expression(item)?;
            all = match (all, item) {
                (Some(all), Expr::Const(constant)) => Some(Bounds {
                    bytes: all.bytes + VALUE as u64 + literal(constant).bytes,
                    number: 0,
                }),
                _ => None,
            };
        }
        Ok(all)
    }

    /// What is in an expression that the engine does not compute.
    fn inside(&mut self, expression: &Expr<'_>) -> Result<(), ChatError> {
        match expression {
            Expr::Slice(slice) => {
                self.expression(&slice.expr)?;
                let bounds = [&slice.start, &slice.stop, &slice.step];
                self.expressions(bounds.into_iter().flatten())
            }
            Expr::IfExpr(either) => {
                self.expressions([&either.test_expr, &either.true_expr])?;
                self.expressions(&either.false_expr)
            }
            Expr::Filter(filter) => {
                self.expressions(&filter.expr)?;
                self.arguments(&filter.args)
            }
            Expr::Test(test) => {
                self.expression(&test.expr)?;
                self.arguments(&test.args)
            }
            Expr::GetAttr(attribute) => self.expression(&attribute.expr),
            Expr::GetItem(item) => self.expressions([&item.expr, &item.subscript_expr]),
            Expr::Call(call) => self.call(call),
            Expr::Var(_)
            | Expr::Const(_)
            | Expr::List(_)
            | Expr::Map(_)
            | Expr::UnaryOp(_)
            | Expr::BinOp(_)
            | Expr::Compare(_) => Ok(()),
        }
    }
}

fn literal(constant: &ast::Const) -> Bounds {
    let value = &constant.value;
    let bytes = value.as_str().map_or(0, str::len) as u64;
    let number = match value.kind() {
        ValueKind::Number | ValueKind::Bool => u64::try_from(value.clone()).unwrap_or(u64::MAX),
        _ => 0,
    };
    Bounds { bytes, number }
}

/// What an operator makes of two constants.
fn operation(operator: BinOpKind, left: Bounds, right: Bounds) -> Bounds {
    // A number as a text has some tens of digits.
    let text = |bounds: Bounds| bounds.bytes.max(VALUE as u64);
    let bytes = match operator {
        BinOpKind::Add => left.bytes.saturating_add(right.bytes),
        BinOpKind::Concat => text(left).saturating_add(text(right)),
        BinOpKind::Mul => {
            let product = left.bytes.saturating_mul(right.number);
            product.max(right.bytes.saturating_mul(left.number))
        }
        BinOpKind::ScAnd | BinOpKind::ScOr => left.bytes.max(right.bytes),
        _ => 0,
    };
    let number = match operator {
        BinOpKind::Add | BinOpKind::Sub => left.number.saturating_add(right.number),
        BinOpKind::Mul => left.number.saturating_mul(right.number),
        BinOpKind::FloorDiv | BinOpKind::Rem | BinOpKind::ScAnd | BinOpKind::ScOr => {
            left.number.max(right.number)
        }
        BinOpKind::Div | BinOpKind::Pow => u64::MAX,
        _ => 1,
    };
    Bounds { bytes, number }
}
