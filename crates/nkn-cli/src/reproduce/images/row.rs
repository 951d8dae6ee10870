//! Rows: what the key of a network says.

/// A network, by its key, as in "nkn-r3-l2".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: String,
    /// The key without the depth, as in "nkn-r3".
    pub model: String,
    /// The number of layers, if the key has one.
    pub depth: Option<usize>,
}

/// The row with numbers that the paper quotes.
pub const QUOTED: &str = "multiscale-cnn-haber";

impl Row {
    /// Reads a key. One that does not end with a depth is a model of its own.
    pub fn new(key: &str) -> Self {
        let (model, depth) = number_after(key, "-l");
        Self { key: key.to_owned(), model: model.to_owned(), depth }
    }

    /// As the paper writes it, as in "NKN, r = 3, L = 2"; a key that does not follow the pattern is its own name.
    pub fn name(&self) -> String {
        let details = self.details();
        let Some(family) = self.family_name() else { return self.key.clone() };
        if details.is_empty() { family.to_owned() } else { format!("{family}, {details}") }
    }

    /// The name of the kind of network; none if the key does not follow the pattern.
    pub fn family_name(&self) -> Option<&'static str> {
        match number_after(&self.model, "-r").0 {
            "cnn" => Some("CNN"),
            "multiscale-cnn" => Some("Multiscale CNN"),
            QUOTED => Some("Multiscale CNN* (Haber et al.)"),
            "nnn" => Some("NNN"),
            "nkn" => Some("NKN"),
            "preresnet20" => Some("Baseline (PreResNet-20)"),
            _ => None,
        }
    }

    /// Radius and depth, as in "r = 3, L = 2".
    pub fn details(&self) -> String {
        let radius = number_after(&self.model, "-r").1.map(|radius| format!("r = {radius}"));
        let depth = self.depth.map(|depth| format!("L = {depth}"));
        radius.into_iter().chain(depth).collect::<Vec<_>>().join(", ")
    }

    /// The CSS class that sets the colour of its kind; style.css holds them.
    pub fn class(&self) -> &'static str {
        let kinds =
            [("multiscale-cnn", "multiscale"), ("cnn", "cnn"), ("preresnet", "cnn"), ("nnn", "nnn"), ("nkn", "nkn")];
        kinds.iter().find(|(start, _)| self.key.starts_with(start)).map_or("other", |(_, class)| class)
    }

    /// Whether its numbers are those of others, which the paper quotes.
    pub fn is_quoted(&self) -> bool {
        self.key == QUOTED
    }
}

/// Splits "nkn-r3" at "-r" into "nkn" and 3; all of the text and nothing if no number follows.
fn number_after<'a>(text: &'a str, mark: &str) -> (&'a str, Option<usize>) {
    let split = text.rsplit_once(mark).and_then(|(start, number)| Some((start, number.parse().ok()?)));
    split.map_or((text, None), |(start, number)| (start, Some(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read() {
        let names = ["cnn-l1", "multiscale-cnn-l4", QUOTED, "nkn-r3-l2", "preresnet20"].map(|key| Row::new(key).name());
        assert_eq!(
            names,
            [
                "CNN, L = 1",
                "Multiscale CNN, L = 4",
                "Multiscale CNN* (Haber et al.)",
                "NKN, r = 3, L = 2",
                "Baseline (PreResNet-20)"
            ]
        );
        let row = Row::new("nkn-r3-l2");
        assert_eq!((row.model.as_str(), row.depth, row.class()), ("nkn-r3", Some(2), "nkn"));
        assert_eq!(Row::new("preresnet20").depth, None);
    }

    #[test]
    fn other_keys_are_their_own_names() {
        let row = Row::new("nkn-r3-l2-overlap");
        assert_eq!((row.name().as_str(), row.depth, row.class()), ("nkn-r3-l2-overlap", None, "nkn"));
        assert_eq!(Row::new("vit-large").class(), "other");
    }
}
