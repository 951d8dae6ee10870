//! Pivots and ratios by hand.

use super::super::problem::tests::request;
use super::super::row::tests::{function, image, seeds};
use super::*;
use Data::{Normalised, Original};

/// Rows of Poisson at L = 2 with all models, of Darcy with one, and of a depth that the paper does not have.
pub fn function_rows() -> Vec<Row> {
    let test = |model, data, depth| function("poisson", model, data, depth, Some(101));
    let darcy = |side| function("darcy", "nkn", Normalised, 2, Some(side));
    [
        seeds(&test("gkn", Normalised, 2), &[3e-2, 5e-2]),
        seeds(&test("fno", Normalised, 2), &[8e-3, 9e-3]),
        seeds(&test("nkn", Normalised, 2), &[9e-3, 10e-3]),
        seeds(&test("nkn", Original, 2), &[1e-3, 2e-3]),
        seeds(&test("nkn-random", Original, 2), &[1e-4]),
        seeds(&test("gkn", Normalised, 4), &[f64::INFINITY, 1.0]),
        seeds(&test("fno", Normalised, 4), &[0.99, 1.0]),
        seeds(&test("nkn", Normalised, 64), &[8e-3]),
        seeds(&darcy(16), &[7e-2, 8e-2]),
        seeds(&darcy(31), &[14e-2]),
    ]
    .concat()
}

/// Rows of MNIST: a CNN that wins at its own resolution and guesses at the other, an NKN with two seeds that wins there, others
/// on their own, official images, and a network that the paper does not have.
pub fn digit_rows() -> Vec<Row> {
    [
        seeds(&image("nkn-r9", Some(7), 28, 28), &[0.05]),
        seeds(&image("nkn-r3", Some(2), 28, 28), &[0.03, 0.04]),
        seeds(&image("nkn-r3", Some(2), 28, 14), &[0.045, 0.08]),
        seeds(&image("cnn", Some(1), 28, 28), &[0.02]),
        seeds(&image("cnn", Some(1), 28, 14), &[0.9]),
        seeds(&image("nkn-r4", Some(1), 14, 14), &[0.06]),
        seeds(&Key { split: "official".into(), ..image("nkn-r3", Some(2), 28, 28) }, &[0.031]),
    ]
    .concat()
}

fn of(problem: &str, rows: &[Row]) -> Vec<Row> {
    rows.iter().filter(|row| row.key.problem == problem).cloned().collect()
}

/// The tables of the rows above.
pub fn functions(problem: &str) -> Vec<Table> {
    let example = request(problem).problem;
    tables(example, &errors(example, &of(problem, &function_rows())))
}

/// The tables of errors on digits.
pub fn digits() -> Vec<Table> {
    let mnist = request("mnist").problem;
    tables(mnist, &errors(mnist, &digit_rows()))
}

fn line<'a>(table: &'a Table, group: usize, name: &str) -> &'a Line {
    table.groups[group].lines.iter().find(|line| line.name() == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_table_of_functions_has_the_papers_lines_and_the_union_of_the_depths() {
    let table = &functions("poisson")[0];
    assert_eq!((table.title.as_str(), table.label.as_str()), ("1D Poisson, 101 points", "poisson-101-test"));
    let heads: Vec<_> = table.columns.iter().map(|column| column.head.as_str()).collect();
    assert_eq!(heads, ["L = 1", "L = 2", "L = 4", "L = 8", "L = 16", "L = 32", "L = 64"]);
    let names: Vec<_> = table.groups[0].lines.iter().map(Line::name).collect();
    assert_eq!(names, ["GKN, train", "GKN, test", "FNO, train", "FNO, test", "NKN, train", "NKN, test"]);
    let deepest = &line(table, 0, "NKN, test").cells[6];
    assert_eq!((deepest.is_run(), deepest.paper), (true, None));
    let darcy = functions("darcy");
    assert_eq!((darcy.len(), darcy[0].title.as_str()), (1, "2D Darcy, trained at s = 16"));
    assert_eq!(darcy[0].groups[0].lines[1].name(), "GKN, test s′ = 16");
    assert_eq!(darcy[0].groups.iter().map(Group::is_run).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_table_of_images_has_the_papers_lines_and_pairs_of_resolutions() {
    let tables = digits();
    assert_eq!(tables.len(), 2);
    let names: Vec<_> = tables[0].groups[0].lines.iter().map(Line::name).collect();
    assert_eq!(
        (names.len(), names[3].as_str(), names[18].as_str()),
        (19, "Multiscale CNN* (Haber et al.)", "NKN, r = 4, L = 4")
    );
    let columns: Vec<_> = tables[0].columns.iter().map(|column| column.short.as_str()).collect();
    assert_eq!(columns, ["fine → fine", "fine → coarse", "coarse → fine", "coarse → coarse"]);
    assert_eq!(tables[0].columns[2].over, "trained on coarse images");
    // A network that the paper does not have is set apart; on the official images there is nothing to set apart from.
    assert_eq!(tables[0].groups[1].title, "Not in the paper");
    assert_eq!(line(&tables[0], 1, "NKN, r = 9, L = 7").cells[0].paper_text(), "");
    assert_eq!(tables[1].groups.iter().map(|group| (group.title, group.lines.len())).collect::<Vec<_>>(), [("", 1)]);
    let nkn = &line(&tables[0], 0, "NKN, r = 3, L = 2").cells;
    assert_eq!([nkn[0].mean_text(), nkn[0].error_text(), nkn[0].paper_text()], ["3.50 %", "±0.50", "3.20 %"]);
    assert_eq!([nkn[2].mean_text(), nkn[2].paper_text()], ["–", "4.02 %"]);
}

#[test]
fn other_resolutions_get_columns_of_their_own() {
    let mnist = request("mnist").problem;
    let tables = tables(mnist, &errors(mnist, &seeds(&image("cnn", Some(1), 28, 56), &[0.5])));
    let columns: Vec<_> = tables[0].columns.iter().map(|column| column.short.as_str()).collect();
    assert_eq!(columns, ["fine → fine", "fine → coarse", "fine → 56 × 56", "coarse → fine", "coarse → coarse"]);
}

#[test]
fn the_best_network_is_marked_among_its_equals_and_in_the_table() {
    let table = &functions("poisson")[0];
    let marks = |group, name, column: usize| {
        let cell = &line(table, group, name).cells[column];
        (cell.is_best, cell.leads)
    };
    assert_eq!(marks(0, "FNO, test", 1), (false, true));
    assert_eq!(marks(0, "NKN, test", 1), (false, false));
    assert_eq!(marks(1, "NKN, test", 1), (true, false));
    // Blown up and collapsed: nobody wins. Alone: neither.
    assert_eq!([marks(0, "GKN, test", 2), marks(0, "FNO, test", 2), marks(0, "NKN, test", 6)], [(false, false); 3]);
    let digits = &digits()[0];
    assert!(line(digits, 0, "CNN, L = 1").cells[0].is_best && line(digits, 0, "NKN, r = 3, L = 2").cells[1].is_best);
    assert!(!line(digits, 0, "NKN, r = 4, L = 1").cells[3].is_best);
}

#[test]
fn costs_are_ratios_seed_by_seed() {
    let mnist = request("mnist").problem;
    let table = &tables(mnist, &costs(mnist, &digit_rows()))[0];
    assert_eq!(table.title, "MNIST, images held out as in the paper: what another resolution costs");
    let columns: Vec<_> = table.columns.iter().map(|column| column.short.as_str()).collect();
    assert_eq!(columns, ["fine → coarse", "coarse → fine"]);
    let nkn = &line(table, 0, "NKN, r = 3, L = 2").cells[0];
    assert_eq!((nkn.ours.as_slice(), nkn.mean_text()), (&[0.045 / 0.03, 0.08 / 0.04][..], "1.75".into()));
    assert_eq!(nkn.paper_text(), "1.52");
    assert_eq!(line(table, 0, "Multiscale CNN* (Haber et al.)").cells[1].paper_text(), "5.80");
    // The second seed was not tested elsewhere; an error of nothing has no ratio.
    let darcy = request("darcy").problem;
    let table = &tables(darcy, &costs(darcy, &of("darcy", &function_rows())))[0];
    assert_eq!(line(table, 0, "NKN, test s′ = 31").cells[1].ours, [2.0]);
    let perfect =
        [seeds(&image("cnn", Some(1), 28, 28), &[0.0]), seeds(&image("cnn", Some(1), 28, 14), &[0.5])].concat();
    assert!(tables(mnist, &costs(mnist, &perfect)).is_empty());
}

#[test]
fn nothing_measured_is_no_table() {
    let poisson = request("poisson").problem;
    assert!(tables(poisson, &errors(poisson, &[])).is_empty());
    assert!(tables(poisson, &costs(poisson, &of("poisson", &function_rows()))).is_empty());
}

#[test]
fn a_pivot_orders_lines_and_columns_and_leaves_gaps() {
    let (columns, lines) = pivot([("b", 2, 'x'), ("a", 10, 'y'), ("b", 1, 'z')]);
    assert_eq!(columns, [1, 2, 10]);
    assert_eq!(lines, [("a", vec![None, None, Some('y')]), ("b", vec![Some('z'), Some('x'), None])]);
}

/// Whatever was measured stands in one cell, every line has a cell per column, and a column has one best network.
#[test]
fn every_number_has_its_place() {
    for (name, rows) in [("poisson", function_rows()), ("darcy", function_rows()), ("mnist", digit_rows())] {
        let (example, rows) = (request(name).problem, of(name, &rows));
        let mut shown = Vec::new();
        for table in tables(example, &errors(example, &rows)) {
            let lines: Vec<&Line> = table.groups.iter().flat_map(|group| &group.lines).collect();
            assert!(lines.iter().all(|line| line.cells.len() == table.columns.len()));
            for column in 0..table.columns.len() {
                let best = lines.iter().filter(|line| line.cells[column].is_best);
                let samples: Vec<_> = best.clone().map(|line| line.samples).collect();
                assert_eq!(samples.iter().collect::<BTreeSet<_>>().len(), samples.len(), "{}", table.title);
                assert!(best.into_iter().all(|line| line.cells[column].learned().is_some()));
            }
            shown.extend(lines.iter().flat_map(|line| &line.cells).flat_map(|cell| cell.ours.clone()));
        }
        let mut measured: Vec<f64> =
            rows.iter().filter(|row| !row.key.model.ends_with(RANDOM)).map(|row| row.value).collect();
        shown.sort_by(f64::total_cmp);
        measured.sort_by(f64::total_cmp);
        assert_eq!(shown, measured, "{name}");
    }
}
