//! How often a function's instructions name a register: whether anybody reads what is written there.

use std::collections::HashMap;

use super::Context;
use ptx::ast::{AddressBase, Operand, Statement};

impl<'m> Context<'_, 'm> {
    /// Whether the register of an operand stands in this one instruction of the function only.
    pub(crate) fn is_mentioned_once(&mut self, operand: &Operand<'_>) -> bool {
        let Operand::Name(name) = operand else {
            return false;
        };
        let function = self.function;
        let mentions = self.mentions.get_or_insert_with(|| {
            let mut mentions = HashMap::new();
            for statement in function.body.iter().flatten() {
                of_statement(statement, &mut mentions);
            }
            mentions
        });
        mentions.get(name) == Some(&1)
    }
}

/// Scopes are taken together: a name that several declare is mentioned more often than each of them is.
fn of_statement<'m>(statement: &'m Statement<'m>, mentions: &mut HashMap<&'m str, u32>) {
    match statement {
        Statement::Instruction(inst) => {
            if let Some(guard) = &inst.guard {
                *mentions.entry(guard.register).or_default() += 1;
            }
            for operand in &inst.operands {
                of_operand(operand, mentions);
            }
        }
        Statement::Scope(statements) => {
            for statement in statements {
                of_statement(statement, mentions);
            }
        }
        _ => {}
    }
}

fn of_operand<'m>(operand: &'m Operand<'m>, mentions: &mut HashMap<&'m str, u32>) {
    let mut mention = |name: &'m str| {
        // `%r1.b0` is a part of `%r1`.
        let whole = name.split_once('.').map_or(name, |(whole, _)| whole);
        *mentions.entry(whole).or_default() += 1;
    };
    match operand {
        Operand::Name(name)
        | Operand::Not(name)
        | Operand::NameOffset(name, _)
        | Operand::Element(name, _)
        | Operand::Indexed(name, _)
        | Operand::Address {
            base: AddressBase::Name(name),
            ..
        } => mention(name),
        Operand::Pair(one, other) => {
            mention(one);
            mention(other);
        }
        Operand::Vector(all) | Operand::List(all) | Operand::Tuple(all) => {
            for operand in all {
                of_operand(operand, mentions);
            }
        }
        Operand::Number(_) | Operand::Address { .. } => {}
    }
}
