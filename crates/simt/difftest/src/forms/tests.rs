use super::*;

#[test]
fn there_are_many_forms_without_duplicates() {
    assert!(all().len() > 6000, "{}", all().len());
    let mut seen = std::collections::HashSet::new();
    let twice = all().iter().find(|form| !seen.insert(*form));
    assert_eq!(twice, None);
}

/// Other forms are generated from what `simt` supports, but chains are written by hand.
#[test]
fn every_form_with_a_carry_is_in_a_chain() {
    let chains = chains::forms();
    let known = table::run_by_simt();
    let carrying: Vec<&Form> = known.iter().filter(|form| table::has_carry(form)).collect();
    assert_eq!(carrying.len(), 48);
    for form in carrying {
        let name = format!("{} ", form.opcode);
        assert!(chains.iter().any(|chain| chain.opcode.contains(&name)), "{name}");
    }
}
