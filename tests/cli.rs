//! The command line: what the README shows, and what bad input of every kind gets.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn bbkit(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bbkit"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The words of a command line, of which some are in quotes.
fn words(command: &str) -> Vec<String> {
    let quoted = command.split('\'').enumerate();
    let parts = quoted.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().map(str::to_string).collect::<Vec<_>>(),
        _ => vec![part.to_string()],
    });
    parts.collect()
}

/// Runs a command as a shell does that keeps files in a folder, and gives what it prints.
fn in_console(command: &str, folder: &Path) -> String {
    let (command, file) = command.split_once(" > ").map_or((command, None), |(command, file)| (command, Some(file)));
    let kept = |word: String| match folder.join(&word) {
        path if path.is_file() => path.to_str().unwrap().to_string(),
        _ => word,
    };
    let words: Vec<String> = words(command).into_iter().map(kept).collect();
    let output = bbkit(&words.iter().map(String::as_str).collect::<Vec<_>>(), b"");
    assert!(output.status.success(), "{command}: {}", stderr(&output));
    match file {
        Some(file) => fs::write(folder.join(file), &output.stdout).map(|()| stderr(&output)).unwrap(),
        None => stdout(&output),
    }
}

#[test]
fn pages_show_what_is_printed() {
    let folder = Folder::new("console");
    let mut shown = 0;
    for page in [include_str!("../README.md"), include_str!("../docs/scope.md")] {
        for console in page.split("```console\n").skip(1) {
            let console = console.split("```").next().unwrap();
            for part in console.split("$ bbkit ").filter(|part| !part.is_empty()) {
                let (command, expected) = part.split_once('\n').unwrap();
                assert_eq!(in_console(command, &folder.0), expected, "{command}");
                shown += 1;
            }
        }
    }
    assert_eq!(shown, 6);
}

/// A dump of BBCode is shown, verified and worked on as it is, with its switches and its numbers.
#[test]
fn a_dump_of_bbcode_keeps_its_switches_and_numbers() {
    let dump = |result: &str| {
        let returns = |value: &str| {
            format!("{{\"statements\": [{{\"stmt\": {{\"return\": {{\"value\": {value}}}}}, \"type\": \"Any\"}}]}}")
        };
        let switch = "{\"statements\": [{\"stmt\": {\"switch\": {\"conds\": [{\"arg\": 2}], \"dests\": [2], \"fallthrough_dest\": 3}}, \"type\": \"Any\"}]}";
        let blocks = [switch.to_string(), returns("{\"constant\": {\"Float64\": 1.0}}"), returns(result)].join(", ");
        let function = format!(
            "{{\"name\": \"f\", \"parameters\": [\"x\"], \"result\": \"Float64\", \"body\": {{\"argtypes\": [\"typeof(f)\", \"Bool\"], \"blocks\": [{blocks}]}}}}"
        );
        format!("{{\"bbkit\": 1, \"representation\": \"bbcode\", \"functions\": [{function}]}}").into_bytes()
    };
    let valid = dump("{\"constant\": {\"Float64\": 2.0}}");
    let shown = stdout(&bbkit(&["show", "-", "--as", "bbcode"], &valid));
    assert!(shown.contains("%1 = switch") && shown.lines().count() == 5, "{shown}");
    let again = bbkit(&["show", "-", "--as", "bbcode-json"], &valid);
    assert_eq!(stdout(&bbkit(&["show", "-", "--as", "bbcode"], &again.stdout)), shown);
    let passed = bbkit(&["opt", "-", "--passes", "dead-code", "--as", "bbcode"], &valid);
    assert_eq!(stdout(&passed), shown, "{}", stderr(&passed));
    assert_eq!(stdout(&bbkit(&["run", "-", "--args", "[false]"], &valid)), "1.0\n");
    // What is made of the switch is another program, in whose names it is told.
    let folder = Folder::new("switches");
    let lowered = stdout(&bbkit(&["opt", "-", "--passes", "lower-switch", "--as", "bbcode-json"], &valid));
    let switches = folder.file("switches.json", std::str::from_utf8(&valid).unwrap());
    let branches = folder.file("branches.json", &lowered);
    let difference = bbkit(&["diff", &switches, &branches], b"");
    assert!(stdout(&difference).contains("switch"), "{}", stdout(&difference));
    assert_eq!(bbkit(&["diff", &switches, &switches], b"").status.code(), Some(0));
    let invalid = bbkit(&["verify", "-"], &dump("{\"arg\": 7}"));
    assert!(stderr(&invalid).contains("error[IR33]: -: f, block #3, %3:"), "{}", stderr(&invalid));
    // A switch that does not end its block cannot be lowered, so that there is no IRCode of it.
    let inside = String::from_utf8(dump("{\"arg\": 2}")).unwrap();
    let follows =
        "\"fallthrough_dest\": 3}}, \"type\": \"Any\"}, {\"stmt\": {\"goto\": {\"label\": 2}}, \"type\": \"Any\"}";
    let inside = inside.replace("\"fallthrough_dest\": 3}}, \"type\": \"Any\"}", follows);
    let said = stderr(&bbkit(&["verify", "-"], inside.as_bytes()));
    assert!(said.contains("error[IR21]: -: f, block #1, %1: it ends a block, but statements follow"), "{said}");
}

/// Code of Julia around a listing is cut nowhere, also where a string in it looks like the line before a block.
#[test]
fn functions_of_julia_around_a_listing_are_no_functions() {
    let text = "# 1 ─     return nothing\nfunction rule(n)\n    println(\"─\"^n)\nend\n\nx = 1\n";
    let shown = bbkit(&["show", "-"], text.as_bytes());
    let verified = bbkit(&["verify", "-"], text.as_bytes());
    assert_eq!((stdout(&shown).as_str(), stderr(&shown).as_str()), ("1 ─     return nothing\n", ""));
    assert_eq!((stdout(&verified).as_str(), stderr(&verified).as_str()), ("-: 1 function, valid\n", ""));
}

/// Behind the end of a function there may be a comment, as behind other lines.
#[test]
fn a_comment_may_stand_behind_the_end() {
    let text = format!("{}{}", F.replace("end\n", "end # of f\n"), F.replace("function f", "function g"));
    assert_eq!(stdout(&bbkit(&["verify", "-"], text.as_bytes())), "-: 2 functions, valid\n");
    assert_eq!(stdout(&bbkit(&["run", "-", "--fn", "f", "--args", "[3.0]"], text.as_bytes())), "9.0\n");
}

/// What a pass does not change is called as it was, also where what stood before it is gone.
#[test]
fn passes_leave_names_of_statements() {
    let unused = F.replace("%1 = ", "%1 = Base.neg_float(x)::Float64\n│ %2 = ").replace("return %1", "return %2");
    let passed = bbkit(&["opt", "-", "--passes", "dead-code", "--as", "bbcode"], unused.as_bytes());
    let expected =
        "function f(x::Float64)::Float64\n1 ─ %2 = Base.mul_float(_2, _2)::Float64\n└── %3 = return %2\nend\n";
    assert_eq!(stdout(&passed), expected, "{}", stderr(&passed));
}

#[test]
fn listings_print_back_byte_for_byte() {
    for (name, listing) in [
        ("straight", include_str!("listings/straight.txt")),
        ("branch", include_str!("listings/branch.txt")),
        ("loop", include_str!("listings/loop.txt")),
        ("inserted_block", include_str!("listings/inserted_block.txt")),
        ("recursion", include_str!("listings/recursion.txt")),
    ] {
        let output = bbkit(&["show", "-"], listing.as_bytes());
        assert_eq!(stdout(&output), listing, "{name}: {}", stderr(&output));
        let output = bbkit(&["roundtrip", "-"], listing.as_bytes());
        assert!(stdout(&output).ends_with(" 0 mismatches\n"), "{name}: {}", stderr(&output));
    }
}

#[test]
fn the_inserted_block_prints_what_the_documentation_shows() {
    let output = bbkit(&["run", "-", "--args", "[1000]"], include_bytes!("listings/inserted_block.txt"));
    assert_eq!(stdout(&output), "2\n12\n58\n248\n1014\n2037\n");
}

const F: &str = "function f(x::Float64)::Float64\n1 ─ %1 = Base.mul_float(x, x)::Float64\n└── return %1\nend\n";

const TRY: &str = "\
function f(x::Float64)::Float64
1 ─ %1 = enter #4
2 ─ %2 = Base.sqrt(x)::Float64
└──      $(Expr(:leave, :(%1)))
3 ─      return %2
4 ┄      $(Expr(:pop_exception, :(%1)))::Any
└──      return x
end
";

/// Every way to ask for something impossible: one error that says what, no panic, no half of a result.
#[test]
fn bad_input_gets_one_clear_error() {
    let json = |text: &str| text.to_string().into_bytes();
    let deep = |open: &str, close: &str| {
        format!("1 ─ %1 = foo({}1{})::Any\n└── return %1\n", open.repeat(50_000), close.repeat(50_000))
    };
    let cases: Vec<(&[&str], Vec<u8>, &str)> = vec![
        (&["show", "-"], vec![], "there is no function here"),
        (&["show", "-"], b"hello world\n".to_vec(), "no statement of a listing"),
        (&["show", "-"], vec![0xff, 0xfe, 0x00], "UTF-8"),
        (&["show", "no/such/file"], vec![], "no/such/file"),
        (&["show", "src"], vec![], "src"),
        (&["show", "-"], F.replace("mul_float(x, x)", "mul_float(x, ").into(), "expected"),
        (&["show", "-"], F.replace("end\n", "").into(), "end"),
        (&["show", "-"], format!("{F}{F}").into(), "twice"),
        (&["show", "-"], "1 ─ %1 = φ (#1 => \n".into(), "expected"),
        (&["show", "-"], "1 ─ π (\n".into(), "expected an operand"),
        (&["show", "-"], deep("$(Expr(:new, ", "))").into(), "nest"),
        (&["verify", "-"], F.replace("return %1", "return %7").into(), "IR26"),
        (&["verify", "-"], F.replace("return %1", "goto #9").into(), "IR32"),
        (&["verify", "-"], F.replace("mul_float(x, x)", "mul_float(%1, x)").into(), "IR27"),
        (&["verify", "-"], "1 ─ goto #2\n2 ─ nothing\n".into(), "IR14"),
        (&["show", "-"], json("{}"), "`bbkit` is missing"),
        (&["show", "-"], json("{\"bbkit\": 2, \"representation\": \"ircode\", \"functions\": []}"), "version 2"),
        // What is wrong with the whole of a dump is at no text.
        (&["show", "-"], json("{}"), "`bbkit` is missing\n--> -:1\n"),
        // The blocks hold the first statement alone.
        (
            &["show", "-"],
            json(
                "{\"bbkit\": 1, \"representation\": \"ircode\", \"functions\": [{\"name\": \"f\", \"parameters\": [], \
                 \"body\": {\"argtypes\": [\"typeof(f)\"], \"blocks\": [{\"statements\": [1, 1], \"preds\": [], \"succs\": []}], \
                 \"statements\": [{\"stmt\": {\"return\": {\"value\": {\"arg\": 1}}}, \"type\": \"Any\"}, \
                 {\"stmt\": {\"return\": {\"value\": {\"arg\": 1}}}, \"type\": \"Any\"}]}}]}",
            ),
            "in `f`: the blocks do not hold each statement once",
        ),
        (&["show", "-"], json("{\"bbkit\": 1, \"representation\": \"other\", \"functions\": []}"), "other"),
        (&["show", "-"], json("{\"bbkit\": 1, \"representation\": \"ircode\", \"functions\": [3]}"), "^"),
        (&["show", "-"], json(&"[".repeat(100_000)), "is a JSON object"),
        (&["show", "-"], json(&"{\"bbkit\": ".repeat(100_000)), "ends in the middle"),
        (&["show", "-"], json("{\"bbkit\": 1,"), "ends in the middle"),
        (&["run", "-", "--args", "[1.0, 2.0]"], F.into(), "takes 1 argument"),
        (&["run", "-", "--args", "[]"], F.into(), "takes 1 argument"),
        (&["run", "-", "--args", "[\"a\"]"], F.into(), "_2"),
        (&["run", "-", "--args", "[1.0"], F.into(), "no JSON"),
        (&["run", "-", "--args", "7"], F.into(), "must be a JSON array"),
        (&["run", "-", "--args", "{\"y\": 1.0}"], F.into(), "no argument `y`"),
        (&["run", "-", "--fn", "g", "--args", "[1.0]"], F.into(), "no function `g`"),
        (
            &["run", "-", "--args", "[1.0]"],
            F.replace("Base.mul_float", "Main.nowhere").into(),
            "`Main.nowhere` is called",
        ),
        (&["run", "-", "--args", "[1.0]"], F.replace("Base.mul_float(x, x)", "Main.f(x)").into(), "call"),
        (
            &["run", "-", "--args", "[1.0]", "--max-steps", "1000"],
            "function f(x::Float64)\n1 ─ nothing\n2 ┄ goto #2\nend\n".into(),
            "1000",
        ),
        (&["grad", "-", "--args", "[1.0]"], F.replace("Base.mul_float", "Main.nowhere").into(), "nowhere"),
        (
            &["grad", "-", "--args", "[1.0]"],
            F.replace("Base.mul_float(x, x)", "Base.fptosi(Int64, x)").into(),
            "it declares Float64, but gives Int64",
        ),
        (&["opt", "-", "--passes", "no-such-pass"], F.into(), "there is no pass `no-such-pass`; there are"),
        (&["opt", "-", "--passes", "dead_code"], F.into(), "there is no pass `dead_code`; it is called `dead-code`"),
        (&["run", "-", "--args", "[1e39]"], F.replace("Float64", "Float32").into(), "1e+39 is no Float32"),
        (&["run", "-", "--args", "[18446744073709551616]"], F.replace("Float64", "UInt128").into(), "as strings"),
        (&["show", "-", "--activity"], TRY.into(), "lower-exceptions"),
        (&["opt", "-", "--passes", "mem2reg", "--fn", "g"], F.into(), "no function `g`"),
        (&["show", "-", "--as", "html", "--style", "bbkit"], F.into(), "no place"),
        (&["show", "-", "--as", "json", "--style", "1.5"], F.into(), "this form has none"),
        (&["grad", "-", "--args", "[2.0]", "--wrt", "x,_2"], F.into(), "_2: it is named twice"),
        (&["grad", "-", "--args", "[1.0]", "--show=html"], F.into(), "invalid value 'html'"),
        (&["verify", "-"], format!("{F}{F}").into(), "the second function of that name"),
        (&["verify", "-"], json("{\"bbkit\": 1, \"representation\": \"ircode\"}"), "`functions` is missing"),
        (
            &["verify", "-"],
            json(
                "{\"bbkit\": 1, \"representation\": \"ircode\", \"functions\": [{\"name\": \"f\", \"parameters\": [\"x\", \"x\"], \
                 \"result\": \"Int64\", \"body\": {\"argtypes\": [\"typeof(f)\", \"Int64\", \"Int64\"], \"blocks\": [], \"statements\": []}}]}",
            ),
            "`x of f` is defined twice",
        ),
        (&["reduce", "-", "--test", "no-such-command {}", "--fails"], F.into(), "the command cannot be run"),
        (&["reduce", "-", "--test", "false {}", "--fails", "-o", "no/such/x"], F.into(), "there is no folder no/such"),
        (&["frobnicate"], vec![], "frobnicate"),
        (&["grad"], vec![], "required"),
    ];
    for (args, input, expected) in cases {
        let output = bbkit(args, &input);
        let (out, err) = (stdout(&output), stderr(&output));
        let about = format!(
            "{args:?} on {:?} gave {out:?} and {}",
            String::from_utf8_lossy(&input[..input.len().min(200)]),
            &err[..err.len().min(2000)]
        );
        let about: String = about.chars().take(3000).collect();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{about}");
        assert!(err.contains(expected), "no {expected:?}: {about}");
        assert!(err.starts_with("error"), "{about}");
        assert_eq!(err.matches("\nerror").count(), 0, "more than one error: {about}");
        // What verify finds is a result.
        assert!(out.is_empty() || args[0] == "verify", "half a result: {about}");
    }
}

/// A file that is cut off anywhere is read as what it is then, or refused.
#[test]
fn truncated_files_are_refused_or_read() {
    let listing = include_str!("listings/loop.txt");
    let dump = stdout(&bbkit(&["show", "-", "--as", "json"], listing.as_bytes()));
    for text in [listing, dump.as_str()] {
        for end in (0..text.len()).step_by(37) {
            let output = bbkit(&["verify", "-"], &text.as_bytes()[..end]);
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!err.contains("panicked"), "cut at {end}: {err}");
            assert!(output.status.success() || err.contains("error"), "cut at {end}: {err}");
        }
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let output = Command::new(env!("CARGO_BIN_EXE_bbkit"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["show", "examples/power.ir"])
        .stdout(Stdio::from(full))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("standard output"));
}

#[test]
fn standard_input_is_read_once() {
    let rules = "grad - --args [3.0] --rules -";
    for command in ["verify - -", "roundtrip - -", "diff - -", rules] {
        let output = bbkit(&command.split(' ').collect::<Vec<_>>(), F.as_bytes());
        assert!(stderr(&output).contains("standard input can be read only once"), "{command}: {}", stderr(&output));
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{command}");
    }
}

#[test]
fn pages_are_written() {
    let output = bbkit(&["show", "examples/power.ir", "--as", "html"], b"");
    assert!(stdout(&output).starts_with("<!doctype html>") && stdout(&output).ends_with("</html>\n"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, args) in [
        ("opt.html", &["opt", "examples/power.ir", "--passes", "dead-code"][..]),
        ("grad.html", &["grad", "examples/power.ir", "--args", "[1.5, 3]"]),
    ] {
        let path = folder.join(name).to_string_lossy().into_owned();
        let (with, without) = (bbkit(&[args, &["--html", &path]].concat(), b""), bbkit(args, b""));
        assert!(with.status.success(), "{}", stderr(&with));
        // What is printed stays the same.
        assert_eq!(stdout(&with), stdout(&without));
        assert!(fs::read_to_string(&path).unwrap().starts_with("<!doctype html>"));
        let output = bbkit(&[args, &["--html", "no/such/folder/page.html"]].concat(), b"");
        assert!(stderr(&output).starts_with("error: no/such/folder/page.html") && stdout(&output).is_empty());
    }
}

#[test]
fn a_bisection_finds_the_step() {
    let run = |limit: &str| {
        let args = ["opt", "examples/power.ir", "--passes", "constant-folding,dead-code", "--opt-bisect-limit", limit];
        let output = bbkit(&args, b"");
        assert!(output.status.success());
        stderr(&output)
    };
    assert_eq!(run("1").matches("not running").count(), 1, "{}", run("1"));
    assert_eq!(run("2").matches("not running").count(), 0);
}

/// Whatever the option: where the mistake is, on which line, and that the command line is not understood.
#[test]
fn mistakes_in_json_are_shown_where_they_are() {
    let in_options = [
        (vec!["run", "-", "--args", "[\n  x]"], "\n2 |   x]\n  |   ^ here\n"),
        (vec!["jvp", "-", "--args", "[3.0]", "--tangents", "[{\"a\": 1, \"a\": 2}]"], "the member `a` is there twice"),
        (vec!["jvp", "-", "--args", "[3.0]", "--tangents", "[1"], "\n1 | [1\n"),
        (vec!["hvp", "-", "--args", "[3.0]", "--vector", "[1"], "\n1 | [1\n"),
        (vec!["vjp", "-", "--args", "[3.0]", "--seed", "[1"], "\n1 | [1\n"),
        (vec!["hvp", "-", "--args", "[3.0]", "--vector", "3"], "--vector must be a JSON array, not 3"),
        (vec!["run", "-", "--args", "3"], "--args must be a JSON array"),
    ];
    for (args, shown) in in_options {
        let output = bbkit(&args, F.as_bytes());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(shown), "{args:?}: {}", stderr(&output));
    }
}

/// A list of texts is one of strings where no type says what it is, one with numbers holds anything.
#[test]
fn lists_without_a_type_are_of_what_is_in_them() {
    let of_type = "function f(given::Any)\n1 ─ %1 = Core.typeof(given)::Any\n└──      return %1\nend\n";
    for (given, ty) in [
        (r#"["a", "b"]"#, "Vector{String}"),
        (r#"[1, "a"]"#, "Vector{Any}"),
        (r#"[1, "NaN"]"#, "Vector{Float64}"),
        ("[1, 2]", "Vector{Int64}"),
        ("[]", "Vector{Float64}"),
    ] {
        let output = bbkit(&["run", "-", "--args", &format!("[{given}]")], of_type.as_bytes());
        assert_eq!(stdout(&output).trim(), ty, "{given}: {}", stderr(&output));
    }
}

#[test]
fn json_results_are_for_machines() {
    let output = bbkit(&["grad", "-", "--args", "[3.0]", "--json"], F.as_bytes());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json, serde_json::json!({"value": 9.0, "gradient": [6.0]}));
    let output = bbkit(&["grad", "examples/power.ir", "--args", "[1.5, 3]", "--json"], b"");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json, serde_json::json!({"value": 3.375, "gradient": [6.75, null]}));
}

#[test]
fn files_of_many_functions_are_read_piece_by_piece() {
    let f = "# the first\nfunction f(x::Float64)::Float64\n1 ─ %1 = Base.mul_float(x, x)::Float64\n└──      return %1\nend\n";
    let output = bbkit(&["roundtrip", "-"], format!("{f}\n{}# the end\n", f.replace(" f(", " g(")).as_bytes());
    assert_eq!(stdout(&output), "2 functions, 4 statements, 0 mismatches\n");
    // An error in a later piece knows its line in the file; what came before was read.
    let wrong = format!("{f}{}", f.replace(" f(", " g(").replace("%1 = ", "%1 = ,"));
    let output = bbkit(&["verify", "-"], wrong.as_bytes());
    assert!(stderr(&output).contains("-:8:"), "{}", stderr(&output));
    let output = bbkit(&["verify", "-"], format!("{f}{f}").as_bytes());
    assert!(stderr(&output).contains("`f` is defined twice"), "{}", stderr(&output));
    // Violations are drawn on their lines.
    let invalid = format!("{f}{}", f.replace(" f(", " g(").replace("return %1", "return %7"));
    let output = bbkit(&["verify", "-"], invalid.as_bytes());
    assert!(stderr(&output).contains("-:9:"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "-: 2 functions, 1 not valid\n");
}

#[test]
fn a_function_is_known_by_the_end_of_its_path() {
    let text = F.replace("function f(", "function var\"Main.Models.f(::Float64)\"(");
    let twice = format!("{text}{}", text.replace("Models", "Others"));
    let run = |text: &str, name: &str| bbkit(&["run", "-", "--fn", name, "--args", "[3.0]"], text.as_bytes());
    assert_eq!(stdout(&run(&text, "f")), "9.0\n");
    assert_eq!(stdout(&run(&twice, "Main.Models.f")), "9.0\n");
    assert!(stderr(&run(&twice, "f")).contains("there is no function `f`"));
}

#[test]
fn a_program_around_a_listing_is_no_piece_of_its_own() {
    let page = format!("{}function g(x)\n    x\nend\n", include_str!("listings/program.txt"));
    for command in ["verify", "roundtrip"] {
        let output = bbkit(&[command, "-"], page.as_bytes());
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn styles_are_those_of_versions() {
    let listing = "1 ─ %1 = enter #3\n2 ─ %2 = Base.getindex(_2, 1)::Vector{Float64}\n└──      unreachable\n3 ─ %4 = Base.tuple(1)::Tuple{Int64}\n└──      return %4\n";
    for (style, expected) in [
        ("1.5", ["$(Expr(:enter, #3))", "Base.getindex(_2, 1)::Array{Float64,1}", "$(Expr(:unreachable))::Union{}"]),
        ("1.10", ["$(Expr(:enter, #3))", "Base.getindex(_2, 1)::Vector{Float64}", "unreachable"]),
        ("1.12", ["enter #3", "  dynamic Base.getindex(_2, 1)::Vector{Float64}", "unreachable"]),
    ] {
        let output = bbkit(&["show", "-", "--style", style], listing.as_bytes());
        for part in expected {
            assert!(stdout(&output).contains(part), "{style}: no {part} in\n{}", stdout(&output));
        }
    }
    let output = bbkit(&["show", "-", "--style", "0.7"], listing.as_bytes());
    assert!(stderr(&output).contains("a version of Julia such as 1.5"), "{}", stderr(&output));
}

/// As of diff(1): 0, 1 and 2, and nothing printed of what is equal.
#[test]
fn a_difference_is_no_failure() {
    let status = |args: &[&str], input: &str| {
        let output = bbkit(args, input.as_bytes());
        (output.status.code(), stdout(&output).is_empty(), stderr(&output).is_empty())
    };
    assert_eq!(status(&["diff", "examples/power.ir", "examples/power.ir"], ""), (Some(0), true, true));
    assert_eq!(status(&["diff", "examples/power.ir", "-"], F), (Some(1), false, true));
    assert_eq!(status(&["diff", "examples/power.ir", "no/such/file"], ""), (Some(2), true, false));
    assert_eq!(status(&["diff", "examples/power.ir", "-"], "hello"), (Some(2), true, false));
    assert_eq!(status(&["diff", "examples/power.ir", "-", "--fn", "f"], F), (Some(2), true, false));
    assert_eq!(status(&["diff", "examples/power.ir"], ""), (Some(2), true, false));
    // The forms make no difference.
    for form in ["json", "bbcode-json"] {
        let dump = stdout(&bbkit(&["show", "examples/power.ir", "--as", form], b""));
        assert_eq!(status(&["diff", "examples/power.ir", "-", "--all"], &dump), (Some(0), true, true), "{form}");
    }
    let output = bbkit(&["diff", "-", "examples/power.ir", "--json"], F.as_bytes());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["equal"], false);
    assert_eq!(json["functions"][0]["rows"][0]["change"], "removed");
    // Flags count if asked.
    let dump = stdout(&bbkit(&["show", "-", "--as", "json"], F.as_bytes()));
    let flagged = dump.replacen("\"type\":\"Float64\"", "\"type\":\"Float64\",\"flag\":8", 1);
    assert_ne!(flagged, dump);
    let folder = Folder::new("diff");
    let path = folder.file("f.ir", F);
    assert_eq!(status(&["diff", &path, "-"], &flagged), (Some(0), true, true));
    assert_eq!(status(&["diff", &path, "-", "--all"], &flagged), (Some(1), false, true));
}

/// A folder of a test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn programs_are_reduced_by_a_command() {
    // The folder for candidates has a name that the shell would take apart.
    let folder = Folder::new("with a 'quote");
    let bbkit = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_bbkit"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("TMPDIR", &folder.0)
            .args(args)
            .output()
            .unwrap()
    };
    let output = bbkit(&["reduce", "examples/power.ir", "--test", "grep -q div_float {}"]);
    assert_eq!(
        stdout(&output),
        "function power()::Float64\n1 ─ %1 = Base.div_float(0.0, 0.0)::Float64\n└── %2 = return 0.0\nend\n"
    );
    // The least loop that does not end: a command that fails in a way of its own.
    let endless =
        folder.file("endless.ir", &F.replace("└── return %1", "└── goto #2\n2 ┄ %3 = sin(%1)::Float64\n└── goto #2"));
    let test = format!("'{}' run {{}} --args '[1.0]' --max-steps 100", env!("CARGO_BIN_EXE_bbkit"));
    let result = folder.0.join("result.json").display().to_string();
    let options = ["--fails", "--expect", "100 statements", "--as", "json", "-o", &result];
    let output = bbkit(&[&["reduce", &endless, "--test", &test], options.as_slice()].concat());
    assert!(output.status.success() && stdout(&output).is_empty(), "{}", stderr(&output));
    let shown = stdout(&bbkit(&["show", &result]));
    assert!(shown.contains("goto #2") && !shown.contains("sin") && !shown.contains("mul_float"), "{shown}");
    for (options, status, expected) in [
        (["--test", "echo out; echo err >&2; false {}"], 1, "the command fails. It prints:\nout\nerr"),
        (["--test", "echo {}"], 1, "does not print `nothing of the kind`"),
        (["--test", "sleep 10; echo {}"], 1, "ran for more than 0.2 seconds"),
        (["--test", "true"], 2, "by `{}`"),
    ] {
        let more = ["--expect", "nothing of the kind", "--timeout", "0.2"];
        let more = if options[1].contains("false") { &more[2..] } else { &more };
        let output = bbkit(&[&["reduce", "examples/power.ir"], options.as_slice(), more].concat());
        assert_eq!(output.status.code(), Some(status));
        assert!(stderr(&output).contains(expected) && stdout(&output).is_empty(), "{}", stderr(&output));
    }
    let left: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn the_cost_of_a_gradient_is_counted() {
    let output = bbkit(&["grad", "-", "--args", "[3.0]", "--stats"], F.as_bytes());
    let text = stdout(&output);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["value:", "9.0"], "{}", stderr(&output));
    assert_eq!(lines[2], ["function", "gradient", "ratio"]);
    // The product and the return.
    assert_eq!(lines[3][..3], ["statements", "executed", "2"]);
    let executed: u64 = lines[3][3].parse().unwrap();
    assert!(executed > 4);
    // The argument, which the pullback needs, is at hand: there is no trace.
    assert_eq!(lines[4], ["values", "saved", "0", "0"]);
    let output = bbkit(&["grad", "-", "--args", "[3.0]", "--stats", "--json"], F.as_bytes());
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["statistics"]["primal"]["statements"], 2);
    assert_eq!(json["statistics"]["gradient"]["statements"], executed);
}

#[test]
fn a_guess_at_the_order_of_arguments_is_told() {
    let two = "CodeInfo(\n1 ─ %1 = Base.sitofp(Float64, n)::Float64\n│   %2 = Base.mul_float(_2, %1)::Float64\n└──      return %2\n) => Float64\n";
    let output = bbkit(&["opt", "-", "--passes", "dead-code"], two.as_bytes());
    assert!(stderr(&output).contains("taken are n for _2"), "{}", stderr(&output));
    // Of one argument there is no order.
    let one = two.replace("_2", "n");
    let output = bbkit(&["opt", "-", "--passes", "dead-code"], one.as_bytes());
    assert_eq!(stderr(&output), "");
}

#[test]
fn declarations_go_there_and_back_too() {
    let text = "class Shape\n    scale::Float64\nend\nclass Circle <: Shape\n    r::Float64\nend\n";
    assert!(bbkit(&["roundtrip", "-"], text.as_bytes()).status.success());
    let output = bbkit(&["roundtrip", "-"], text.replace("class Shape", "class Form").as_bytes());
    assert_eq!(stdout(&output), "0 functions, 0 statements, 1 mismatch\n");
    assert!(stderr(&output).contains("no class `Shape` is declared before it"), "{}", stderr(&output));
}
