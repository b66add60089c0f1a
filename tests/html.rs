//! The pages: that they hold together, that they say what the listings say, and that a browser shows what they promise.
//!
//! Without a browser (see `scripts/browser`) the test that needs one is skipped, and says so.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop"
)]

#[path = "html/reader.rs"]
mod reader;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bbcode::BBCode;
use bbkit::html::{PipelineRecorder, derivative_page, module_page};
use bbkit::{Input, to_bbcode};
use exec::Value;
use ircode::{Body, Function, IRCode, Module, Style, parse_module};
use libtest_mimic::{Arguments, Failed, Trial};
use passes::reverse_mode::DerivativeNames;
use passes::{PassManager, find_pass};

use reader::{Element, Node, parse};

type Outcome = Result<(), Failed>;

fn main() {
    let args = Arguments::from_args();
    let browser = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/browser");
    let found = Command::new(&browser).arg("--found").output().is_ok_and(|output| output.status.success());
    if !found {
        println!("no browser was found: the test that needs one is skipped; scripts/browser --install gets one");
    }
    let trials = vec![
        Trial::test("pages_hold_together", pages_hold_together),
        Trial::test("a_broken_link_is_found", a_broken_link_is_found),
        Trial::test("listings_of_a_page_are_those_that_are_printed", listings_are_those_that_are_printed),
        Trial::test("edges_of_a_drawing_are_those_of_the_graph", edges_are_those_of_the_graph),
        Trial::test("hostile_names_stay_text", hostile_names_stay_text),
        Trial::test("a_pipeline_shows_what_each_step_changed", a_pipeline_shows_what_changed),
        Trial::test("a_change_by_hand_is_shown_as_one_of_a_pass_is", a_change_by_hand_is_shown),
        Trial::test(
            "a_pipeline_shows_headers_declarations_and_failures",
            a_pipeline_shows_headers_declarations_and_failures,
        ),
        Trial::test("derived_statements_name_those_they_come_from", derived_statements_name_their_origins),
        Trial::test("the_same_input_gives_the_same_bytes", the_same_bytes),
        Trial::test("a_large_function_is_listed_and_not_drawn", a_large_function_is_not_drawn),
        Trial::test("a_browser_lights_up_what_is_pointed_at", move || in_a_browser(&browser)).with_ignored_flag(!found),
    ];
    libtest_mimic::run(&args, trials).exit();
}

/// Programs of this repository, each with its file.
fn programs() -> Vec<(String, Module<IRCode>)> {
    let mut programs = Vec::new();
    for folder in ["examples", "tests/grad", "tests/listings", "tests/julia/modules", "tests/run"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut paths: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|ext| ext == "ir" || ext == "txt")) {
            let Ok(mut input) = Input::read(&path.to_string_lossy()) else { continue };
            if input.compact().is_ok() && to_bbcode(&input.module).is_ok() {
                programs.push((path.file_name().unwrap().to_string_lossy().into_owned(), input.module));
            }
        }
    }
    assert!(programs.len() > 40, "only {} programs were read", programs.len());
    programs
}

fn module_of(text: &str) -> Module<IRCode> {
    parse_module(text).unwrap().module
}

fn power() -> Module<IRCode> {
    module_of(include_str!("../examples/power.ir"))
}

/// The page of these passes on a program.
fn pipeline_page(module: &Module<IRCode>, passes: &[&str]) -> String {
    let mut module = to_bbcode(module).unwrap();
    let mut recorder = PipelineRecorder::new("a program", &module);
    let passes = passes.iter().map(|pass| find_pass(pass).unwrap());
    PassManager::new(passes).on_step(|step, module| recorder.record(step, module)).run(&mut module, None).unwrap();
    recorder.finish()
}

fn power_gradient() -> (Module<IRCode>, String) {
    let args = [Value::from(1.5), Value::from(3i64)];
    let result = bbkit::gradient(&power(), "power", &args, Default::default()).unwrap();
    let page = derivative_page("power.ir", "its gradient", &result.module, "power").unwrap();
    (result.module, page)
}

fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = programs()
        .into_iter()
        .map(|(name, module)| (name.clone(), module_page(&name, &module, Style::Julia).unwrap()))
        .collect();
    pages.push(("pipeline".into(), pipeline_page(&power(), &["reverse-mode", "simplify-cfg", "dead-code"])));
    pages.push(("derivative".into(), power_gradient().1));
    pages
}

/// What is wrong with a page: tags that do not nest, names that lead nowhere, anything from elsewhere.
fn problems(page: &str) -> Vec<String> {
    let root = match parse(page) {
        Ok(root) => root,
        Err(problem) => return vec![problem],
    };
    let mut problems = Vec::new();
    for elsewhere in ["http", "src=", "@import", "url("] {
        if page.contains(elsewhere) {
            problems.push(format!("it has {elsewhere}"));
        }
    }
    let mut ids = BTreeSet::new();
    root.each(&mut |element| {
        if let Some(id) = element.attribute("id")
            && !ids.insert(id.to_string())
        {
            problems.push(format!("the id {id} is there twice"));
        }
    });
    root.each(&mut |element| {
        if let Some(target) = element.attribute("href")
            && !target.strip_prefix('#').is_some_and(|id| ids.contains(id))
        {
            problems.push(format!("{target} leads nowhere"));
        }
    });
    for section in root.find_all("section") {
        let keys = |name: &str| -> BTreeSet<String> {
            let mut keys = BTreeSet::new();
            section.each(&mut |element| keys.extend(element.attribute(name).map(str::to_string)));
            keys
        };
        let statements = keys("data-s");
        let blocks = keys("data-b");
        section.each(&mut |element| {
            let mut check = |name: &str, known: &dyn Fn(&str) -> bool| {
                if let Some(key) = element.attribute(name)
                    && !key.split(' ').all(known)
                {
                    problems.push(format!("{name}={key} leads nowhere"));
                }
            };
            // An argument of a listing without a header is declared nowhere.
            let known_value = |key: &str| statements.contains(key) || key.contains('a');
            check("data-u", &known_value);
            check("data-d", &known_value);
            check("data-k", &|key| blocks.contains(key));
            check("data-in", &|key| blocks.contains(key));
            check("data-e", &|key| blocks.contains(key));
            check("data-o", &|key| statements.contains(key));
        });
        // Every name of a value is a link.
        section.each(&mut |element| {
            let is_value = element.has_class("v");
            let linked = element.attribute("data-u").or(element.attribute("data-d")).is_some();
            if is_value && !linked {
                problems.push(format!("{} is no link", element.text()));
            }
        });
    }
    problems
}

fn pages_hold_together() -> Outcome {
    for (name, page) in pages() {
        let problems = problems(&page);
        assert!(problems.is_empty(), "{name}: {problems:?}");
    }
    Ok(())
}

fn a_broken_link_is_found() -> Outcome {
    let page = module_page("power.ir", &power(), Style::Julia)?;
    for (from, to) in [
        ("data-s=\"5\"", "data-s=\"55\""),
        ("data-b=\"2\"", "data-b=\"22\""),
        ("</section>", "</section></div>"),
        ("href=\"#s0\"", "href=\"#s9\""),
        ("<svg ", "<svg style=\"background: url(x)\" "),
    ] {
        assert!(page.contains(from), "{from}");
        assert!(!problems(&page.replace(from, to)).is_empty(), "{from} → {to}");
    }
    Ok(())
}

/// The texts of the listings of a section, without the rows that only make room.
fn listings(section: &Element) -> Vec<String> {
    let mut texts = Vec::new();
    section.each(&mut |element| {
        if element.has_class("rows") {
            let rows = element.children.iter().filter_map(Node::element).filter(|row| !row.has_class("gap"));
            texts.push(rows.map(|row| row.text() + "\n").collect());
        }
    });
    texts
}

fn listings_are_those_that_are_printed() -> Outcome {
    for style in [Style::Julia, "1.5".parse().map(Style::Version)?, "1.12".parse().map(Style::Version)?] {
        for (name, module) in programs() {
            let root = parse(&module_page(&name, &module, style)?)?;
            let keyed = to_bbcode(&module)?;
            for ((section, function), keyed) in
                root.find_all("section").iter().zip(module.functions()).zip(keyed.functions())
            {
                let (position, id) = match function.name.is_empty() {
                    true => (ircode::print_body(&function.body, style), keyed.body.to_string()),
                    false => (ircode::print_function(function, style), bbcode::print_function(keyed)),
                };
                assert_eq!(listings(section), [position, id], "{name}: {}", function.name);
            }
            let declared: Vec<String> =
                module.declarations().map(|one| ircode::text::print_declaration(&one)).collect();
            let shown: Vec<Vec<String>> = root
                .find_all("section")
                .iter()
                .skip(module.functions().len())
                .map(|section| listings(section))
                .collect();
            match declared.as_slice() {
                [] => assert_eq!(shown, Vec::<Vec<String>>::new(), "{name}"),
                declared => assert_eq!(shown, [[declared.join("\n")]], "{name}"),
            }
        }
    }
    Ok(())
}

fn edges_are_those_of_the_graph() -> Outcome {
    for (name, module) in programs() {
        let root = parse(&module_page(&name, &module, Style::Julia)?)?;
        for (section, function) in root.find_all("section").iter().zip(module.functions()) {
            let mut drawn: Vec<String> = Vec::new();
            let (mut boxes, mut dead) = (0, 0);
            section.each(&mut |element| {
                drawn.extend(element.attribute("data-e").map(str::to_string));
                boxes += usize::from(element.has_class("box"));
                dead += usize::from(element.has_class("box") && element.has_class("dead"));
            });
            let mut edges: Vec<String> = Vec::new();
            for (from, block) in function.body.cfg.blocks.iter().enumerate() {
                edges.extend(block.succs.iter().map(|to| format!("{} {}", from + 1, to.0)));
            }
            drawn.sort();
            edges.sort();
            assert_eq!(drawn, edges, "{name}: {}", function.name);
            assert_eq!(boxes, function.body.cfg.blocks.len(), "{name}: {}", function.name);
            let reachable = function.body.view().graph().reachable();
            assert_eq!(dead, reachable.iter().filter(|reachable| !**reachable).count(), "{name}: {}", function.name);
        }
    }
    Ok(())
}

fn hostile_names_stay_text() -> Outcome {
    let text = "function f(x::Float64)::Float64\n1 ─ %1 = Main.g(\"</script><script>alert(1)</script>%1 <!--\", x)::Float64\n\
                │   %2 = Main.:(var\"<img onerror='x'>\")(%1, :h)::Any\n└──      return %1\nend\n";
    let mut module = module_of(text);
    module.rename_function("f", "<script>\"'&\u{1}")?;
    let keyed = to_bbcode(&module)?;
    let pages = [
        module_page("</title><script>", &module, Style::Julia)?,
        PipelineRecorder::new("</title><script>", &keyed).finish(),
        pipeline_page(&module, &["dead-code"]),
    ];
    for page in pages {
        assert_eq!(problems(&page), Vec::<String>::new());
        let root = parse(&page)?;
        assert_eq!(root.find_all("script").len(), 1);
        assert!(root.find_all("img").is_empty());
        let listing = &listings(root.find_all("section")[0])[0];
        assert!(listing.starts_with("function var\"<script>"), "{listing}");
    }
    // What looks like a value in a string is none: the first line uses nothing but the argument.
    let root = parse(&module_page("f", &module, Style::Julia)?)?;
    let mut uses = Vec::new();
    root.each(&mut |element| {
        if element.has_class("row") && element.attribute("data-s") == Some("1") {
            element.each(&mut |inner| uses.extend(inner.attribute("data-u").map(str::to_string)));
        }
    });
    assert_eq!(uses, ["a2", "a2"]);
    Ok(())
}

/// Statements by name, with their texts.
fn statements(function: &Function<BBCode>) -> BTreeMap<String, String> {
    let insts = function.body.all_insts();
    insts.map(|(id, inst)| (id.to_string()[1..].to_string(), format!("{:?} {}", inst.stmt, inst.ty))).collect()
}

fn a_pipeline_shows_what_changed() -> Outcome {
    let module = module_of(
        "function f(x::Float64, flag::Bool)::Float64\n1 ─      goto #3 if not true\n2 ─      goto #4\n3 ─      goto #4\n\
         4 ┄ %4 = φ (#2 => x, #3 => 0.0)::Float64\n│   %5 = Base.add_int(1, 2)::Int64\n└──      goto #6 if not flag\n\
         5 ─      goto #7\n6 ─      goto #7\n7 ┄ %9 = φ (#5 => 1.0, #6 => 2.0)::Float64\n\
         │   %10 = Base.mul_float(%4, %9)::Float64\n└──       return %10\nend\n",
    );
    let passes = ["constant-folding", "simplify-cfg", "dead-code", "mem2reg"];
    let root = parse(&pipeline_page(&module, &passes))?;
    let sections = root.find_all("section");
    assert_eq!(sections.len(), passes.len() + 1);
    let mut before = to_bbcode(&module)?;
    for (pass, section) in passes.iter().zip(&sections[1..]) {
        let mut after = before.clone();
        let changed = PassManager::new([find_pass(pass)?]).run(&mut after, None)?;
        let (old, new) = (statements(&before.functions()[0]), statements(&after.functions()[0]));
        let marked = |class: &str| -> BTreeSet<String> {
            let mut keys = BTreeSet::new();
            section.each(&mut |element| {
                if element.has_class("row") && element.has_class(class) {
                    keys.extend(element.attribute("data-s").map(str::to_string));
                }
            });
            keys
        };
        let gone = old.keys().filter(|key| !new.contains_key(*key)).cloned().collect();
        let added = new.keys().filter(|key| !old.contains_key(*key)).cloned().collect();
        let other = old.iter().filter(|(key, text)| new.get(*key).is_some_and(|new| new != *text));
        assert_eq!(marked("gone"), gone, "{pass}");
        assert_eq!(marked("added"), added, "{pass}");
        assert_eq!(marked("changed"), other.map(|(key, _)| key.clone()).collect(), "{pass}");
        let expected = match changed {
            true => vec![bbcode::print_function(&before.functions()[0]), bbcode::print_function(&after.functions()[0])],
            false => Vec::new(),
        };
        assert_eq!(listings(section), expected, "{pass}");
        before = after;
    }
    Ok(())
}

fn a_change_by_hand_is_shown() -> Outcome {
    let mut module = to_bbcode(&power())?;
    let other = "function other()::Int64\n1 ─ return 1\nend\n";
    module.add_function(to_bbcode(&module_of(other))?.functions()[0].clone())?;
    let before = module.clone();
    let mut recorder = PipelineRecorder::new("a program", &module);
    recorder.record_change("nothing yet", &module);
    let body = module.body_mut("power").unwrap();
    let terminators: Vec<_> = body.blocks().filter_map(|block| body.last_inst(block)).collect();
    for terminator in terminators {
        body.split_block(terminator)?;
    }
    recorder.record_change("split", &module);
    module.add_function(Function { name: "new".into(), ..module.function("other").unwrap().clone() })?;
    recorder.record_change("a function more", &module);
    let root = parse(&recorder.finish())?;
    let sections = root.find_all("section");
    let shown: Vec<Vec<String>> = sections[1..].iter().map(|section| listings(section)).collect();
    let print = |module: &Module<BBCode>, name: &str| bbcode::print_function(module.function(name).unwrap());
    let split = vec![print(&before, "power"), print(&module, "power")];
    assert_eq!(shown, [Vec::new(), split, vec![print(&module, "new")]]);
    Ok(())
}

fn derived_statements_name_their_origins() -> Outcome {
    let (module, page) = power_gradient();
    let root = parse(&page)?;
    let names = DerivativeNames::of("power");
    let mut derived = 0;
    for (section, name) in
        root.find_all("section")[1..].iter().zip([&names.forward, &names.pullback, &names.value_and_gradient])
    {
        let body = &module.function(name).unwrap().body;
        let mut shown = BTreeMap::new();
        section.each(&mut |element| {
            if let (Some(origin), Some(statement)) = (element.attribute("data-o"), element.attribute("data-s")) {
                assert_eq!(element.attribute("data-from"), Some(origin.replace('p', "%").as_str()));
                shown.insert(statement.to_string(), origin.to_string());
            }
        });
        let mut expected = BTreeMap::new();
        for statement in body.view().statements {
            // What was inlined comes from the functions that were, and those from this one.
            let origins = body.debuginfo.origins(statement.line);
            if let Some(origin) = origins.iter().find(|origin| origin.def.as_ref().is_some_and(|def| *def == "power")) {
                expected.insert(statement.name.0.to_string(), format!("p{}", origin.statement));
            }
        }
        assert_eq!(shown, expected, "{name}");
        derived += shown.len();
    }
    assert!(derived > 30, "{derived}");
    Ok(())
}

fn the_same_bytes() -> Outcome {
    assert!(pages() == pages());
    Ok(())
}

fn a_large_function_is_not_drawn() -> Outcome {
    let blocks = 5_000;
    let mut text = String::from("function f(x::Bool)::Float64\n");
    for block in 1..=blocks {
        text += &format!("{block} ─ goto #{} if not x\n", blocks + 1);
    }
    text += &format!("{} ─ return 1.0\nend\n", blocks + 1);
    let page = module_page("large", &module_of(&text), Style::Julia)?;
    assert!(page.contains("The drawing is left out: 5001 blocks and 9999 edges"));
    assert!(!page.contains("<svg"));
    assert_eq!(problems(&page), Vec::<String>::new());
    Ok(())
}

/// A page as the browser has it when its script has run, with what the script's check of itself says.
fn dom_after_selftest(browser: &Path, page: &Path) -> Result<Element, Failed> {
    let address = format!("file://{}#selftest", page.display());
    let output = Command::new(browser).arg("--window-size=1600,1000").arg("--dump-dom").arg(address).output()?;
    let text = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(parse(&text)?)
}

fn in_a_browser(browser: &Path) -> Outcome {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("html");
    fs::create_dir_all(&folder)?;
    let try_catch = Input::parse("try_catch.txt", include_str!("listings/try_catch.txt"), &[])?.module;
    let pages = [
        ("power", module_page("power.ir", &power(), Style::Julia)?),
        ("try_catch", module_page("try_catch.txt", &try_catch, Style::Julia)?),
        ("pipeline", pipeline_page(&power(), &["reverse-mode", "simplify-cfg", "dead-code"])),
        ("derivative", power_gradient().1),
    ];
    for (name, page) in pages {
        let path = folder.join(format!("{name}.html"));
        fs::write(&path, &page)?;
        let picture = folder.join(format!("{name}.png"));
        let _ = fs::remove_file(&picture);
        let output = Command::new(browser)
            .arg("--window-size=1600,1000")
            .arg(format!("--screenshot={}", picture.display()))
            .arg(format!("file://{}", path.display()))
            .output()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(fs::metadata(&picture)?.len() > 10_000, "{name}: the picture is empty");
        let root = dom_after_selftest(browser, &path)?;
        let html = root.find_all("html")[0];
        let said = |what: &str| html.attribute(&format!("data-test-{what}")).unwrap_or_default().to_string();
        let sections = root.find_all("section");
        let section = sections.iter().find(|section| section.attribute("id") == Some(&said("section"))).unwrap();
        let count = |name: &str, key: &str| {
            let mut count = 0;
            section.each(&mut |element| count += usize::from(element.attribute(name) == Some(key)));
            count.to_string()
        };
        let key = said("key");
        assert_ne!(count("data-u", &key), "0", "{name}");
        assert_eq!(said("uses"), count("data-u", &key), "{name}");
        assert_eq!(said("definitions"), count("data-d", &key), "{name}");
        assert_eq!(said("rows"), count("data-s", &key), "{name}");
        // A click keeps it, and Escape lets go.
        assert_eq!(said("pinned"), said("uses"), "{name}");
        assert_eq!(said("released"), "0", "{name}");
        assert_eq!(said("block-rows"), count("data-in", &said("block")), "{name}");
        assert_eq!(said("boxes"), "1", "{name}");
    }
    Ok(())
}

/// What a listing shows beside statements, what comes and goes with the functions, and the step that fails.
fn a_pipeline_shows_headers_declarations_and_failures() -> Outcome {
    let page = |module: &Module<IRCode>, change: &dyn Fn(&mut Module<BBCode>)| -> Result<String, Failed> {
        let mut module = to_bbcode(module)?;
        let mut recorder = PipelineRecorder::new("a program", &module);
        change(&mut module);
        recorder.record_change("by hand", &module);
        Ok(recorder.finish())
    };
    let module = module_of("struct S\n    x::Float64\nend\n\nfunction f(x)\n1 ─      return x\nend\n");
    assert!(page(&module, &|_| {})?.contains("nothing changed"));
    let result = page(&module, &|module| {
        module.edit_function("f", |function| function.result = ircode::Type::FLOAT64);
    })?;
    assert!(!result.contains("nothing changed"), "{result}");
    let argument = page(&module, &|module| {
        module.edit_function("f", |function| function.body.argtypes[1] = ircode::Type::FLOAT64);
    })?;
    assert!(!argument.contains("nothing changed"), "{argument}");
    assert!(page(&module, &|module| module.retain(|_| false, |_| true))?.contains("removed: f"));
    assert!(page(&module, &|module| module.retain(|_| true, |_| false))?.contains("no longer declared: S"));
    let declared = ircode::TypeDef::structure("T", [("y".into(), ircode::Type::INT64)]);
    assert!(page(&module, &|module| module.add_type(declared.clone()).unwrap())?.contains("declared: T"));

    let mut module = to_bbcode(&module)?;
    let mut recorder = PipelineRecorder::new("a program", &module);
    let mut manager = PassManager::new([find_pass("dead-code")?])
        .function_pass("breaks", |body, _| {
            let last = body.entry().and_then(|entry| body.last_inst(entry));
            body.replace(last.ok_or("it is empty").unwrap(), ircode::Stmt::nothing()).unwrap();
            Ok(false)
        })
        .verify_each(true)
        .on_step(|step, module| recorder.record(step, module));
    let error = manager.run(&mut module, None).unwrap_err();
    assert!(error.to_string().contains("not valid after this"), "{error}");
    let steps: Vec<(usize, bool)> = manager.steps().iter().map(|step| (step.number, step.failed)).collect();
    assert_eq!(steps, [(1, false), (2, true)]);
    drop(manager);
    let page = recorder.finish();
    assert_eq!(page.matches("<section ").count(), 3);
    assert!(page.contains("failed · 1 statement"), "{page}");
    // What was not valid from the start, no pass has broken.
    let error = PassManager::new([find_pass("dead-code")?]).verify_each(true).run(&mut module, None).unwrap_err();
    assert!(error.to_string().contains("not valid before any pass"), "{error}");
    Ok(())
}
