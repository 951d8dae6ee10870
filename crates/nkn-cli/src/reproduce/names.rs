//! How networks are called and coloured.

/// The model whose numbers the paper quotes.
pub const QUOTED: &str = "multiscale-cnn-haber";

/// Models that were trained from random weights at every depth, to compare: they are no row of the paper's tables.
pub const RANDOM: &str = "-random";

/// Networks with fewer features and smaller kernel networks than the paper's: rows of their own beside its numbers.
pub const SMALL: &str = "-small";

/// A model without its radius: its kind.
pub fn kind(model: &str) -> &str {
    radius(model).map_or(model, |(kind, _)| kind)
}

/// Splits "nkn-r3" into "nkn" and 3.
fn radius(model: &str) -> Option<(&str, usize)> {
    let (kind, radius) = model.rsplit_once("-r")?;
    Some((kind, radius.parse().ok()?))
}

/// Kinds, their names, and the CSS classes that set their colours; style.css holds these.
const KINDS: [(&str, &str, &str); 10] = [
    ("nkn", "NKN", "nkn"),
    ("nkn-small", "NKN, small", "nkn"),
    ("gkn", "GKN", "gkn"),
    ("gkn-small", "GKN, small", "gkn"),
    ("fno", "FNO", "fno"),
    ("nnn", "NNN", "nnn"),
    ("cnn", "CNN", "cnn"),
    ("preresnet20", "Baseline (PreResNet-20)", "cnn"),
    ("multiscale-cnn", "Multiscale CNN", "multiscale"),
    (QUOTED, "Multiscale CNN* (Haber et al.)", "multiscale"),
];

/// Name and class of a kind; what is not known is its own name.
fn known(model: &str) -> (&str, &'static str) {
    let is_it = |(name, ..): &&(&str, &str, &str)| *name == kind(model);
    KINDS.iter().find(is_it).map_or((kind(model), "other"), |&(_, name, class)| (name, class))
}

/// The name of a kind, as in "NKN".
pub fn kind_name(model: &str) -> String {
    known(model).0.to_owned()
}

/// The CSS class of a kind.
pub fn class(model: &str) -> &'static str {
    known(model).1
}

/// Radius and depth, as in "r = 3, L = 2".
pub fn details(model: &str, depth: Option<usize>) -> String {
    let radius = radius(model).map(|(_, radius)| format!("r = {radius}"));
    let depth = depth.map(|depth| format!("L = {depth}"));
    radius.into_iter().chain(depth).collect::<Vec<_>>().join(", ")
}

/// A network as the paper writes it, as in "NKN, r = 3, L = 2".
pub fn network(model: &str, depth: Option<usize>) -> String {
    let details = details(model, depth);
    if details.is_empty() { kind_name(model) } else { format!("{}, {details}", kind_name(model)) }
}

/// The shape of a model's markers, so that they differ without colour too; networks of one kind differ by their radius.
pub fn shape(model: &str) -> usize {
    match (class(model), radius(model)) {
        ("gkn", _) if model.ends_with(SMALL) => 5,
        ("nkn", _) if model.ends_with(SMALL) => 4,
        ("nkn", Some((_, 2))) => 4,
        ("nkn", Some((_, 4))) => 6,
        ("nkn", _) => 0,
        ("gkn" | "nnn", _) => 1,
        ("fno" | "cnn", _) => 3,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_named_as_in_the_paper() {
        let networks = [("nkn", Some(4)), ("nkn-r3", Some(2)), ("multiscale-cnn", Some(1)), (QUOTED, None)];
        assert_eq!(
            networks.map(|(model, depth)| network(model, depth)),
            ["NKN, L = 4", "NKN, r = 3, L = 2", "Multiscale CNN, L = 1", "Multiscale CNN* (Haber et al.)"]
        );
        assert_eq!(network("preresnet20", None), "Baseline (PreResNet-20)");
        // What does not follow the pattern is its own name.
        assert_eq!((network("vit-rx", None), class("vit-rx")), ("vit-rx".into(), "other"));
        assert_eq!((kind("nkn-r12"), class("nkn-r12")), ("nkn", "nkn"));
    }
}
