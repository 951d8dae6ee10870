//! What is there is used, what is missing comes, in every form.

use super::fixtures::{Fixture, all, gzip, script};
use super::*;
use crate::problem::images::read_idx;

#[test]
fn a_set_is_fetched_checked_and_put_into_place() {
    for fixture in [Fixture::idx(), Fixture::debian(), Fixture::cifar()] {
        let prepared = fixture.prepare(&fixture.tools()).unwrap();
        let places: Vec<PathBuf> = fixture.contents.iter().map(|(name, _)| fixture.folder.join(name)).collect();
        assert_eq!(prepared, Prepared { found: vec![], fetched: places.clone() });
        fixture.assert_complete(&[]);
        // The second time nothing is fetched.
        let prepared = fixture.prepare(&all(&script("exit 1"))).unwrap();
        assert_eq!(prepared, Prepared { found: places, fetched: vec![] });
    }
}

#[test]
fn fetched_files_can_be_read() {
    let fixture = Fixture::debian();
    let fetched = fixture.prepare(&fixture.tools()).unwrap().fetched;
    assert_eq!(read_idx(&fetched[0], &fetched[1]).unwrap().labels, [7, 9]);
}

#[test]
fn what_a_user_has_is_used_and_the_rest_is_fetched() {
    let fixture = Fixture::idx();
    fs::create_dir_all(&fixture.folder).unwrap();
    let own = fixture.folder.join("small-images-idx3-ubyte.gz");
    let compressed = gzip(&fixture.contents[0].1);
    fs::write(&own, &compressed).unwrap();
    let prepared = fixture.prepare(&fixture.tools()).unwrap();
    assert_eq!(prepared.found, [own.as_path()]);
    assert_eq!(prepared.fetched, [fixture.folder.join("small-labels-idx1-ubyte")]);
    assert_eq!(fs::read(&own).unwrap(), compressed);
    assert_eq!(fs::read_dir(&fixture.folder).unwrap().count(), 2);
}

#[test]
fn an_archive_in_the_folder_is_used_and_stays() {
    for fixture in [Fixture::idx(), Fixture::debian()] {
        let name = fixture.archive.file_name().unwrap().to_str().unwrap();
        fs::create_dir_all(&fixture.folder).unwrap();
        fs::copy(&fixture.archive, fixture.folder.join(name)).unwrap();
        let mut tools = fixture.tools();
        (tools.npm, tools.apt_get) = (script("exit 1"), script("exit 1"));
        fixture.prepare(&tools).unwrap();
        fixture.assert_complete(&[name]);
    }
}

#[test]
fn the_programs_are_called_as_documented() {
    // The arguments, one per line, go where the messages of a failure come from.
    let tools = all(&script("printf '%s\n' \"$0\" \"$@\" | head -n 4 >&2; exit 3"));
    let message = Fixture::idx().refused(&tools);
    assert!(message.contains("| pack\n    | small@1.0.0\n    | --ignore-scripts"), "{message}");
    let message = Fixture::debian().refused(&tools);
    assert!(message.contains("| -q\n    | download\n    | small\n"), "{message}");
}

#[test]
fn progress_goes_through_every_step_to_its_end() {
    let fixture = Fixture::cifar();
    let mut seen: Vec<Progress> = Vec::new();
    let mut watch = |progress| {
        seen.push(progress);
        ControlFlow::Continue(())
    };
    fixture.prepare_and_watch(&mut watch).unwrap();
    let mut steps: Vec<Step> = seen.iter().map(|progress| progress.step).collect();
    steps.dedup();
    assert_eq!(steps, [Step::Fetch, Step::Check, Step::Unpack]);
    assert!(seen.iter().all(|progress| progress.done <= progress.total));
    for step in [Step::Check, Step::Unpack] {
        let last = seen.iter().rfind(|progress| progress.step == step).unwrap();
        assert_eq!(last.done, last.total);
    }
}

#[test]
fn what_a_killed_run_left_is_removed() {
    let fixture = Fixture::idx();
    let left = fixture.folder.join(".nkn-fetch/ready");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("small-images-idx3-ubyte"), b"half").unwrap();
    fixture.prepare(&fixture.tools()).unwrap();
    fixture.assert_complete(&[]);
}

#[test]
fn a_folder_that_cannot_be_written_serves_what_it_holds() {
    let fixture = Fixture::idx();
    fixture.prepare(&fixture.tools()).unwrap();
    let mut permissions = fs::metadata(&fixture.folder).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&fixture.folder, permissions.clone()).unwrap();
    let prepared = fixture.prepare(&all(&script("exit 1")));
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&fixture.folder, permissions).unwrap();
    assert_eq!(prepared.unwrap().found.len(), 2);
}

#[test]
fn tables_are_sound() {
    for set in ImageSet::ALL {
        let table = set.table();
        let hashes = table.files.iter().map(|entry| entry.sha256).chain(table.archive.sha256);
        assert!(hashes.into_iter().all(|hash| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit())));
        let archive = table.archive.name;
        assert!(table.files.iter().all(|entry| !entry.name.contains('/') && !entry.name.starts_with(archive)));
        assert_eq!(table.files.len(), if table.layout == Layout::Idx { 4 } else { 6 });
    }
}
