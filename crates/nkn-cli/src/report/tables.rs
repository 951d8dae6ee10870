//! The parts that are text: facts, tables and notes.

use maud::html;

/// Names and values under the title; long values, such as commands, get a line of their own.
pub fn facts(facts: &[(String, String)]) -> String {
    let is_wide = |value: &str| value.chars().count() > 32;
    html! {
        @if !facts.is_empty() { dl {
            @for (name, value) in facts {
                div class=[is_wide(value).then_some("wide")] { dt { (name) } dd { @if is_wide(value) { code { (value) } } @else { (value) } } }
            }
        } }
    }
    .into_string()
}

/// The remarks at the end.
pub fn notes(notes: &[String]) -> String {
    html! { @if !notes.is_empty() { ul { @for note in notes { li { (note) } } } } }.into_string()
}

/// The names in the order in which they first occur.
pub fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut result = Vec::new();
    for name in names {
        if !result.contains(&name) {
            result.push(name);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    #[test]
    fn facts_are_escaped_and_long_ones_get_a_line() {
        assert_eq!(facts(&[]), "");
        let html = facts(&[("<n>".into(), "a & \"b\"".into()), ("command".into(), "x".repeat(33))]);
        assert_well_formed(&html);
        assert!(html.contains("<dt>&lt;n&gt;</dt><dd>a &amp; &quot;b&quot;</dd>"), "{html}");
        assert_eq!((html.matches("class=\"wide\"").count(), html.matches("<code>").count()), (1, 1));
    }

    #[test]
    fn notes_are_a_list_or_nothing() {
        assert_eq!(notes(&[]), "");
        assert_eq!(notes(&["1 < 2".into(), "b".into()]), "<ul><li>1 &lt; 2</li><li>b</li></ul>");
    }

    #[test]
    fn names_keep_their_first_place() {
        assert_eq!(unique(["b", "a", "b", "c", "a"].into_iter()), ["b", "a", "c"]);
    }
}
