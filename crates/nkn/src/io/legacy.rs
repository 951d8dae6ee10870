//! What earlier versions wrote, in today's words. Networks on images once had configuration files, model files and checkpoints of their own; functions had
//! a `dim` where now the space stands.

use serde_json::{Map, Value, json};

/// Renames a key of a table; what is there under the new name wins.
fn rename(table: &mut Map<String, Value>, old: &str, new: &str) -> bool {
    let Some(value) = table.remove(old) else { return false };
    table.entry(new).or_insert(value);
    true
}

/// The `[data]`, `[model]` and `[train]` tables of an image run. Tells whether there was something to change.
pub fn upgrade_config(config: &mut Value) -> bool {
    let Some(tables) = config.as_object_mut() else { return false };
    let mut changed = false;
    if let Some(data) = tables.get_mut("data").and_then(Value::as_object_mut) {
        for (old, new) in [("side", "resolution"), ("train_images", "train_samples"), ("test_images", "test_samples")] {
            changed |= rename(data, old, new);
        }
    }
    let mut depth = None;
    if let Some(model) = tables.get_mut("model").and_then(Value::as_object_mut) {
        changed |= rename(model, "architecture", "kind");
        depth = model.remove("depth");
        changed |= depth.is_some();
    }
    let decay = tables.get_mut("train").and_then(|train| train.as_object_mut()?.remove("decay"));
    if depth.is_none() && decay.is_none() {
        return changed;
    }
    let Some(train) = tables.entry("train").or_insert_with(|| json!({})).as_object_mut() else { return changed };
    if let Some(depth) = depth {
        train.entry("depths").or_insert(json!([depth]));
    }
    if let Some(decay) = decay {
        let kind = if decay == "steps" { json!("milestones") } else { decay };
        train.entry("schedule").or_insert(json!({ "kind": kind, "by_step": true }));
    }
    true
}

/// What a header describes that cannot be said in today's words: with one feature, dissipative networks were others.
pub fn lost_form(header: &Value, version: u64) -> Option<&'static str> {
    let network = &header["model"];
    let sees_fields = network["kernel_fields"].as_array().is_some_and(|fields| !fields.is_empty());
    let is_other = version < if sees_fields { 3 } else { 4 };
    let is_lost = is_other && network["stability"] == "dissipative" && network["width"] == 1;
    is_lost.then_some("has a dissipative network of one feature in the form that it had before format version 4")
}

/// The header of a model file or a checkpoint of version 1. `defaults` are the `[train]` settings that images had without saying so.
pub fn upgrade_header(header: &mut Value, defaults: Value) {
    let Some(table) = header.as_object_mut() else { return };
    if let Some(dim) = table.remove("dim") {
        table.insert("space".into(), json!({ "functions": { "dim": dim } }));
    }
    let Some(model) = table.remove("classifier") else { return };
    let train = table.remove("train");
    let mut config = json!({ "model": model, "train": train.clone().unwrap_or_else(|| json!({})) });
    upgrade_config(&mut config);
    let depth = config["train"]["depths"][0].clone();
    let images = table.remove("images");
    table.insert("model".into(), config["model"].clone());
    table.insert("depth".into(), depth);
    table.insert("space".into(), json!({ "images": images }));
    if train.is_some() {
        let mut all = defaults;
        merge(&mut all, &config["train"]);
        table.insert("train".into(), all);
        rename(table, "optimiser_steps", "steps");
    }
}

/// Finished depths, which had named errors of functions instead of measures; the resolution was not named.
pub fn upgrade_depths(depths: Option<&mut Value>) {
    let depths = depths.and_then(Value::as_array_mut).into_iter().flatten();
    for depth in depths.filter_map(Value::as_object_mut) {
        let mut measures = Vec::new();
        for (split, squared) in [("train", false), ("train", true), ("test", false), ("test", true)] {
            let (name, metric) = if squared { ("_squared", "relative_l2_squared") } else { ("", "relative_l2") };
            if let Some(value) = depth.remove(&format!("{split}{name}")).filter(Value::is_number) {
                measures.push(json!({ "split": split, "resolution": 0, "metric": metric, "value": value }));
            }
        }
        depth.entry("measures").or_insert(measures.into());
    }
}

/// What results.json said: of functions, see [`upgrade_depths`]; of images, one depth and what was tested.
pub fn upgrade_results(results: &mut Value, run: &str, depth: usize) {
    upgrade_depths(results.get_mut("depths"));
    let Some(table) = results.as_object_mut() else { return };
    let Some(Value::Array(mut tests)) = table.remove("tests") else { return };
    for test in tests.iter_mut().filter_map(Value::as_object_mut) {
        for (old, new) in [("set", "split"), ("side", "resolution"), ("error_rate", "value")] {
            rename(test, old, new);
        }
        test.insert("metric".into(), json!("error_rate"));
    }
    rename(table, "trained_at", "resolution");
    let (epochs, seconds) = (table.remove("epochs"), table.remove("seconds"));
    table.insert("depths".into(), json!([{ "depth": depth, "epochs": epochs, "seconds": seconds, "measures": tests }]));
    table.insert("run".into(), run.into());
}

/// Puts the entries of one table over those of another, table by table.
pub fn merge(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                merge(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dissipative_networks_of_one_feature_were_others() {
        let network = |width: usize, sees: &[&str]| json!({ "model": { "stability": "dissipative", "width": width, "kernel_fields": sees } });
        let is_lost = |header, version| lost_form(&header, version).is_some();
        assert!(is_lost(network(1, &[]), 3) && is_lost(network(1, &["f"]), 2));
        assert!(!is_lost(network(1, &[]), 4) && !is_lost(network(1, &["f"]), 3) && !is_lost(network(2, &[]), 2));
    }

    #[test]
    fn an_image_configuration() {
        let mut config = json!({
            "data": { "problem": "mnist", "side": 28, "train_images": 100 },
            "model": { "architecture": "cnn", "depth": 2, "width": 16 },
            "train": { "epochs": 3, "decay": "steps" },
        });
        assert!(upgrade_config(&mut config));
        let expected = json!({
            "data": { "problem": "mnist", "resolution": 28, "train_samples": 100 },
            "model": { "kind": "cnn", "width": 16 },
            "train": { "epochs": 3, "depths": [2], "schedule": { "kind": "milestones", "by_step": true } },
        });
        assert_eq!(config, expected);
        assert!(!upgrade_config(&mut config));
        let mut mixed = json!({ "model": { "depth": 2 }, "train": { "depths": [4] } });
        assert!(upgrade_config(&mut mixed));
        assert_eq!(mixed["train"]["depths"], json!([4]), "today's word wins");
    }

    #[test]
    fn headers() {
        let mut functions = json!({ "version": 1, "dim": 2, "depth": 4, "model": { "kind": "gkn" } });
        upgrade_header(&mut functions, json!({}));
        assert_eq!(functions["space"], json!({ "functions": { "dim": 2 } }));
        let mut images = json!({
            "classifier": { "architecture": "nkn", "depth": 2 }, "images": { "side": 28 },
            "train": { "decay": "cosine", "seed": 7 }, "optimiser_steps": 12,
        });
        upgrade_header(&mut images, json!({ "seed": 0, "keep": "last", "schedule": { "floor": 0.0 } }));
        assert_eq!(images["depth"], 2);
        assert_eq!(images["steps"], 12);
        let schedule = json!({ "floor": 0.0, "kind": "cosine", "by_step": true });
        assert_eq!(images["train"], json!({ "seed": 7, "keep": "last", "depths": [2], "schedule": schedule }));
    }

    #[test]
    fn results_of_images() {
        let confusion = json!([[3, 1], [0, 2]]);
        let mut results = json!({
            "model": "cnn", "trained_at": 28, "seed": 7, "parameters": 99, "epochs": 5, "seconds": 1.5,
            "tests": [{ "set": "official", "side": 14, "error_rate": 0.25, "confusion": confusion }],
        });
        upgrade_results(&mut results, "old", 2);
        let measure = json!({
            "split": "official", "resolution": 14, "metric": "error_rate", "value": 0.25, "confusion": confusion,
        });
        let expected = json!({
            "run": "old", "model": "cnn", "resolution": 28, "seed": 7, "parameters": 99,
            "depths": [{ "depth": 2, "epochs": 5, "seconds": 1.5, "measures": [measure] }],
        });
        assert_eq!(results, expected);
        // What is of today stays as it is.
        upgrade_results(&mut results, "new", 4);
        assert_eq!(results, expected);
    }

    #[test]
    fn results_of_functions() {
        let measure =
            |split, metric, value| json!({ "split": split, "resolution": 0, "metric": metric, "value": value });
        let today = json!({ "depth": 4, "measures": [measure("test", "relative_l2", 0.125)] });
        let mut results = json!({ "depths": [
            { "depth": 1, "epochs": 9, "train": 0.5, "train_squared": 0.25, "test": null },
            { "depth": 2, "train": 0.5, "test": 0.75, "test_squared": 0.5625 },
            today,
        ] });
        upgrade_results(&mut results, "old", 1);
        let (first, second) = (measure("train", "relative_l2", 0.5), measure("train", "relative_l2_squared", 0.25));
        assert_eq!(results["depths"][0], json!({ "depth": 1, "epochs": 9, "measures": [first, second] }));
        let last = &results["depths"][1]["measures"][2];
        assert_eq!(*last, measure("test", "relative_l2_squared", 0.5625));
        assert_eq!(results["depths"][2], today);
    }
}
