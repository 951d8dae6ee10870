//! The lists of trainings: complete, distinct, valid, and under the names of their folders.

use super::super::paper;
use super::*;

/// All of an example.
pub fn request(name: &str) -> Request {
    Request {
        problem: PROBLEMS.into_iter().find(|problem| problem.name == name).unwrap(),
        budget: Budget::Full,
        models: Vec::new(),
        depths: Vec::new(),
        radii: Vec::new(),
        seeds: vec![0],
        trained_at: Vec::new(),
        tested_at: Vec::new(),
        data: None,
        epochs: None,
        images: None,
        join: Vec::new(),
        out: None,
    }
}

fn names(request: &Request) -> BTreeSet<String> {
    request.jobs().iter().map(Job::name).collect()
}

#[test]
fn every_job_has_a_folder_and_a_valid_configuration() {
    for (name, count) in [("poisson", 13), ("darcy", 21), ("mnist", 2 * 2 * 18), ("cifar", 2 * 14)] {
        for budget in [Budget::Quick, Budget::Full] {
            let request = Request { budget, seeds: vec![0, 1], ..request(name) };
            request.check().unwrap();
            assert_eq!((request.jobs().len(), names(&request).len()), (count, count), "{name}");
            for job in request.jobs() {
                (request.problem.config)(&job, &request).unwrap();
            }
        }
    }
}

/// The names that version 0.1 gave: its runs are found again.
#[test]
fn folders_keep_their_names() {
    let has = |problem: &str, folders: &[&str]| {
        let names = names(&request(problem));
        folders.iter().for_each(|&folder| assert!(names.contains(folder), "{folder} is not in {names:?}"));
    };
    has("poisson", &["nkn-s101-normalised-seed0", "fno-s101-original-seed0", "nkn-s101-original-seed0-random"]);
    has("darcy", &["gkn-s16-normalised-seed0"]);
    has("mnist", &["nkn-r3-l2-at14-seed0", "multiscale-cnn-l4-at28-seed0", "nnn-l1-at28-seed0"]);
    has("cifar", &["preresnet20-at32-seed0", "nnn-l5-at32-seed0", "nkn-r4-l2-at32-seed0"]);
}

/// Every row of the paper is trained, except those that it quotes.
#[test]
fn every_row_of_the_paper_has_a_training() {
    for problem in ["mnist", "cifar"] {
        let jobs = request(problem).jobs();
        for key in paper::keys(problem, "error_rate").filter(|key| key.model != super::super::names::QUOTED) {
            let trains = |job: &Job| job.model == key.model && job.depths == Vec::from_iter(key.depth);
            assert!(jobs.iter().any(|job| trains(job) && job.trained_at == key.trained_at), "{key:?}");
        }
    }
}

/// The Darcy ladders of both sizes are those of the configuration files as far as these go, so that a run of them counts as a
/// cell.
#[test]
fn the_nkn_ladders_are_the_configuration_files() {
    let request = request("darcy");
    let jobs = request.jobs();
    let files =
        [include_str!("../../../../../configs/darcy.toml"), include_str!("../../../../../configs/darcy-paper.toml")];
    for (text, (job, name)) in
        files.into_iter().zip(jobs.iter().zip(["nkn-small-s16-normalised-seed0", "nkn-s16-normalised-seed0"]))
    {
        assert_eq!((job.name().as_str(), job.depths.as_slice()), (name, &[1, 2, 4, 8, 16, 32, 64][..]));
        let config = (request.problem.config)(job, &request).unwrap();
        let file = nkn::run::RunConfig::parse(text, std::path::Path::new("darcy.toml"), &[]).unwrap();
        assert_eq!((&config.model, config.data.smoothing), (&file.model, file.data.smoothing));
        for rung in 0..5 {
            assert_eq!(config.train.epochs.at(rung), file.train.epochs.at(rung));
            assert_eq!(config.train.learning_rate.at(rung), file.train.learning_rate.at(rung));
        }
        let original = jobs.iter().find(|one| one.model == job.model && one.data == Some(Data::Original)).unwrap();
        let original = (request.problem.config)(original, &request).unwrap();
        assert_eq!(original.model.normalise_output, nkn::field::NormaliserKind::None);
    }
}

/// On the finer grid every depth begins with the coarse training's weights of that depth; Fourier layers start anew.
#[test]
fn a_finer_grid_begins_with_the_coarse_weights() {
    let part = Request {
        models: vec!["nkn".into(), "fno".into()],
        depths: vec![8, 16],
        trained_at: vec![16, 31],
        data: Some("normalised".into()),
        ..request("darcy")
    };
    let jobs = part.jobs();
    let expected = [
        "nkn-s16-normalised-seed0",
        "fno-s16-normalised-seed0",
        "nkn-s31-normalised-seed0-l8",
        "nkn-s31-normalised-seed0-l16",
        "fno-s31-normalised-seed0",
    ];
    assert_eq!(jobs.iter().map(Job::name).collect::<Vec<_>>(), expected);
    assert_eq!(jobs[3].coarse().unwrap().name(), jobs[0].name());
    assert!(jobs[4].coarse().is_none() && jobs[0].coarse().is_none());
    let (fine, coarse) = [&jobs[3], &jobs[0]].map(|job| (part.problem.config)(job, &part).unwrap()).into();
    assert_eq!((fine.data.resolution, fine.train.depths.as_slice()), (Some(31), &[16][..]));
    assert!(fine.train.epochs.at(0) < coarse.train.epochs.at(1));
    assert_eq!(fine.model, coarse.model);
    assert!(names(&part).is_subset(&names(&part.everything())));
}

/// Shallow-to-deep is compared with random weights on the small network, no deeper than 16.
#[test]
fn darcy_compares_initialisations() {
    let jobs = request("darcy").jobs();
    let random = jobs.iter().find(|job| job.name() == "nkn-small-s16-normalised-seed0-random").unwrap();
    assert_eq!(random.depths, [1, 2, 4, 8, 16]);
    let config = (request("darcy").problem.config)(random, &request("darcy")).unwrap();
    assert_eq!(config.train.initialisation, nkn::train::Initialisation::Random);
    assert_eq!(config.model.width, 32);
    // The small GKN takes the steps of the small NKN.
    let jobs = ["gkn-small", "nkn-small"].map(|model| jobs.iter().find(|job| job.model == model).unwrap());
    let [gkn, small] = jobs.map(|job| (request("darcy").problem.config)(job, &request("darcy")).unwrap());
    assert_eq!((gkn.model.kind, gkn.model.width), (nkn::model::Kind::Gkn, small.model.width));
    assert!((0..5).all(|rung| gkn.train.epochs.at(rung) == small.train.epochs.at(rung)));
}

#[test]
fn parts_can_be_asked_for() {
    let part =
        Request { models: vec!["nkn".into()], depths: vec![2], radii: vec![4], epochs: Some(200), ..request("cifar") };
    assert_eq!(names(&part), BTreeSet::from(["nkn-r4-l2-at32-seed0".to_owned()]));
    let config = (part.problem.config)(&part.jobs()[0], &part).unwrap();
    assert_eq!((config.train.epochs.at(0), config.model.radius, config.train.depths), (200, Some(4.0), vec![2]));
    assert!(names(&part).is_subset(&names(&part.everything())));
    let half =
        Request { data: Some("original".into()), models: vec!["fno".into(), "fno".into()], ..request("poisson") };
    assert_eq!(names(&half), BTreeSet::from(["fno-s101-original-seed0".to_owned()]));
}

#[test]
fn what_an_example_does_not_have_is_refused() {
    let message = |request: Request| request.check().unwrap_err().to_string();
    assert!(
        message(Request { models: vec!["gkn".into()], ..request("mnist") }).contains("cnn, multiscale-cnn, nnn, nkn")
    );
    assert!(message(Request { depths: vec![4, 2], ..request("poisson") }).contains("rising numbers"));
    Request { depths: vec![4, 2], ..request("mnist") }.check().unwrap();
    assert!(message(Request { depths: vec![0], ..request("mnist") }).contains("--depths"));
    assert!(message(Request { radii: vec![0], ..request("mnist") }).contains("--radii"));
    assert!(message(Request { epochs: Some(0), ..request("darcy") }).contains("--epochs"));
    assert!(message(Request { tested_at: vec![18], ..request("darcy") }).contains("241 x 241"));
    assert!(message(Request { tested_at: vec![1000], ..request("cifar") }).contains("512"));
}
