use super::*;

#[test]
fn forms_are_many_and_each_stands_once() {
    assert!(all().len() > 6000, "{}", all().len());
    let mut seen = std::collections::HashSet::new();
    let twice = all().iter().find(|form| !seen.insert(*form));
    assert_eq!(twice, None);
}

/// The others are made from what `simt` runs; chains are written by hand.
#[test]
fn whatever_has_a_carry_stands_in_a_chain() {
    let chains = chains::forms();
    let known = table::run_by_simt();
    let carrying: Vec<&Form> = known.iter().filter(|form| table::has_carry(form)).collect();
    assert_eq!(carrying.len(), 48);
    for form in carrying {
        let name = format!("{} ", form.opcode);
        assert!(chains.iter().any(|chain| chain.opcode.contains(&name)), "{name}");
    }
}
