//! Which crate may use which, and which may use `unsafe`; how long files are; that all tests run.

use cargo_metadata::{DependencyKind, MetadataCommand};

/// The crates of the workspace, each with those that it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("ircode", &[]),
    ("bbcode", &["ircode"]),
    ("passes", &["bbcode", "ircode"]),
    ("exec", &["ircode"]),
    ("bbkit", &["bbcode", "exec", "ircode", "passes"]),
    ("kit", &["bbcode", "bbkit", "exec", "ircode", "passes"]),
];

#[test]
fn crates_use_only_those_below() {
    let metadata = MetadataCommand::new().no_deps().exec().unwrap();
    let mut packages: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let mut layers: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    packages.sort_unstable();
    layers.sort_unstable();
    assert_eq!(packages, layers);
    for package in &metadata.packages {
        let (_, allowed) = LAYERS.iter().find(|(name, _)| *name == package.name.as_str()).unwrap();
        for dependency in package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal) {
            let name = dependency.name.as_str();
            let own = layers.contains(&name);
            assert!(!own || allowed.contains(&name), "{} must not use {name}", package.name);
        }
    }
}

#[test]
fn unsafe_code_is_forbidden() {
    let root = env!("CARGO_MANIFEST_DIR");
    let workspace = std::fs::read_to_string(format!("{root}/Cargo.toml")).unwrap();
    assert!(workspace.contains("unsafe_code = \"forbid\""));
    // exec has lints of its own: it is where native code is made and run.
    for folder in ["ircode", "bbcode", "passes", "tests/kit", "."] {
        let manifest = std::fs::read_to_string(format!("{root}/{folder}/Cargo.toml")).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{folder} does not take the lints of the workspace");
    }
}

/// A file is one concept.
#[test]
fn no_file_is_long() {
    let mut folders = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                seen += 1;
                let lines = std::fs::read_to_string(&path).unwrap().lines().count();
                assert!(lines <= 800, "{} has {lines} lines", path.display());
            }
        }
    }
    assert!(seen > 50);
}

/// A file of tests that is no module of `suite.rs`, and no program of its own, would never run.
#[test]
fn all_tests_run() {
    let root = env!("CARGO_MANIFEST_DIR");
    let read = |file: &str| std::fs::read_to_string(format!("{root}/{file}")).unwrap();
    let (suite, manifest) = (read("tests/suite.rs"), read("Cargo.toml"));
    for entry in std::fs::read_dir(format!("{root}/tests")).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".rs")) else { continue };
        let runs =
            suite.contains(&format!("\nmod {name};")) || manifest.contains(&format!("[[test]]\nname = \"{name}\""));
        assert!(runs, "tests/{name}.rs is in neither tests/suite.rs nor Cargo.toml");
    }
}
