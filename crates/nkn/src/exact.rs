//! Floating point numbers in JSON that come back to the bit: as text. (The fast reader of numbers may be off by one unit in the last place.) Plain numbers, as older files
//! have them, are read too.

use serde::{Deserialize, Deserializer, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Number(f64),
}

impl Written {
    fn value<E: serde::de::Error>(self) -> Result<f64, E> {
        match self {
            Written::Text(text) => text.parse().map_err(|_| E::custom(format!("{text:?} is not a number"))),
            Written::Number(value) => Ok(value),
        }
    }
}

pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:?}"))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Written::deserialize(deserializer)?.value()
}

/// The same for numbers that may be missing.
pub(crate) mod option {
    use super::Written;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => super::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Option::<Written>::deserialize(deserializer)?.map(Written::value).transpose()
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Pair {
        #[serde(with = "super")]
        one: f64,
        #[serde(with = "super::option")]
        other: Option<f64>,
    }

    #[test]
    fn there_and_back() {
        // The first comes back as another number when it is read as one.
        for one in [2.2968840312957766, 0.1, 1e-300, f64::MIN_POSITIVE / 8.0, f64::INFINITY, -0.0] {
            for other in [None, Some(one / 3.0)] {
                let text = serde_json::to_string(&Pair { one, other }).unwrap();
                let back: Pair = serde_json::from_str(&text).unwrap();
                assert_eq!(back.one.to_bits(), one.to_bits());
                assert_eq!(back.other.map(f64::to_bits), other.map(f64::to_bits));
            }
        }
        let old: Pair = serde_json::from_str(r#"{"one":0.5,"other":2.25}"#).unwrap();
        assert_eq!(old, Pair { one: 0.5, other: Some(2.25) });
        assert!(serde_json::from_str::<Pair>(r#"{"one":"half","other":null}"#).is_err());
    }
}
