use super::*;

#[test]
fn forms_are_many_and_each_stands_once() {
    let mut texts: Vec<String> = all()
        .iter()
        .map(|form| format!("{} {:?} {:?} {}", form.opcode, form.to, form.from, form.and_predicate))
        .collect();
    assert!(texts.len() > 4000, "{}", texts.len());
    texts.sort();
    let twice = texts.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None);
}
