//! What was chosen for a run without settings, and why.

use maud::html;

/// A decision.
#[derive(Debug, Clone)]
pub struct Choice {
    /// What was to be decided.
    pub what: String,
    /// What was decided.
    pub chosen: String,
    /// The reason.
    pub why: String,
}

/// The table of decisions, or nothing.
pub fn table(choices: &[Choice]) -> String {
    html! {
        @if !choices.is_empty() {
            table {
                thead { tr { th { "what" } th { "chosen" } th { "why" } } }
                tbody { @for Choice { what, chosen, why } in choices {
                    tr { td { (what) } td { (chosen) } td { (why) } }
                } }
            }
        }
    }
    .into_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    #[test]
    fn decisions_are_rows() {
        assert_eq!(table(&[]), "");
        let html = table(&[Choice { what: "radius".into(), chosen: "0.1".into(), why: "1.5 < 2 spacings".into() }]);
        assert_well_formed(&html);
        assert!(html.contains("<td>radius</td><td>0.1</td><td>1.5 &lt; 2 spacings</td>"), "{html}");
    }
}
