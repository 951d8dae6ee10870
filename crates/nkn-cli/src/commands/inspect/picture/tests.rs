use super::*;
use crate::report::tests::assert_well_formed;
use nkn::domain::PointCloud;

fn sketch(domain: &Domain, components: usize) -> Drawing {
    let nodes = domain.len();
    let field = |name: &str, components: usize| {
        let mut values: Vec<f64> = (0..nodes * components).map(|k| (k as f64).sin()).collect();
        values[0] = f64::NAN;
        Field { name: name.into(), components, values }
    };
    draw("a <b>", domain, &[(Role::Input, field("f & g", 1)), (Role::Output, field("u", components))])
}

#[test]
fn every_kind_of_domain_is_drawn() {
    let grids = [vec![9], vec![4, 5], vec![3, 4, 2]].map(|shape| Domain::from(Grid::unit(&shape).unwrap()));
    let clouds = [1, 2, 3].map(|dim| {
        let coordinates = (0..7 * dim).map(|k| (k as f64).cos()).collect();
        Domain::from(PointCloud::new(dim, coordinates, 1.0).unwrap())
    });
    let single = Domain::from(PointCloud::new(2, vec![0.5, 0.5], 1.0).unwrap());
    for domain in grids.iter().chain(&clouds).chain([&single]) {
        let drawing = sketch(domain, 3);
        let (page, file) = (page("a <b>", &drawing, "1 < 2"), drawing.standalone());
        for text in [&page, &file] {
            assert_well_formed(text);
            assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        }
        assert!(file.starts_with("<svg xmlns") && file.contains("output u[2]") && file.contains("input f &amp; g"));
        assert_eq!(file.matches("class=\"strong\"").count(), 4);
    }
}

#[test]
fn gaps_are_grey_and_of_a_grid_in_space_the_middle_is_drawn() {
    let cloud = Domain::from(PointCloud::new(2, vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0], 1.0).unwrap());
    assert!(sketch(&cloud, 1).content.contains("rgb(128,128,128)"));
    let grid = Grid::unit(&[2, 2, 3]).unwrap();
    let values: Vec<f64> = (0..12).map(f64::from).collect();
    assert_eq!(slice(&grid, &values), [1.0, 4.0, 7.0, 10.0]);
}
