use fewer_files::{Problem, ReadOptions, Records};

use crate::{gzip, problem, read_bytes};

type Columns = Vec<Vec<(usize, f64)>>;

fn good_with(text: impl AsRef<[u8]>, options: &ReadOptions) -> (Columns, Vec<f64>) {
    match read_bytes("a.svm", text, options) {
        Ok(Records::Sparse { features, target, .. }) => {
            let view = features.view();
            assert_eq!(view.rows(), target.len());
            ((0..view.columns()).map(|j| view.column(j).collect()).collect(), target)
        }
        other => panic!("expected sparse records, found {other:?}"),
    }
}

fn good(text: impl AsRef<[u8]>) -> (Columns, Vec<f64>) {
    good_with(text, &ReadOptions::default())
}

fn bad(text: &str) -> String {
    problem(read_bytes("a.svm", text, &ReadOptions::default())).to_string()
}

#[test]
fn lines_become_rows() {
    let text = "# comment\n+1 3:0.5 1:2 # in any order\r\n\n-1\n2.5\t2:-1e3\n";
    let expected = (vec![vec![(0, 2.0)], vec![(2, -1000.0)], vec![(0, 0.5)]], vec![1.0, -1.0, 2.5]);
    assert_eq!(good(text), expected);
    assert_eq!(good(gzip(text.as_bytes())), expected);
}

#[test]
fn index_0_makes_the_whole_file_count_from_0() {
    assert_eq!(good("1 1:5\n2 0:7\n").0, [vec![(1, 7.0)], vec![(0, 5.0)]]);
}

#[test]
fn the_base_may_be_given_and_is_told() {
    let with = |text: &str, zero_based| {
        let options = ReadOptions { zero_based, ..Default::default() };
        match read_bytes("a.svm", text, &options) {
            Ok(Records::Sparse { features, zero_based, .. }) => {
                (features.view().columns(), zero_based)
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(with("1 2:5\n", None), (2, false));
    assert_eq!(with("1 0:1 2:5\n", None), (3, true));
    assert_eq!(with("1 2:5\n", Some(true)), (3, true));
    assert_eq!(with("1 2:5\n", Some(false)), (2, false));
    let options = ReadOptions { zero_based: Some(false), ..Default::default() };
    let found = problem(read_bytes("a.svm", "1 1:5\n1 0:5\n", &options));
    assert!(matches!(found, Problem::ZeroIndex { line: 2 }), "{found}");
}

#[test]
fn columns_are_at_least_as_many_as_asked_for() {
    let with = |columns| ReadOptions { columns: Some(columns), ..Default::default() };
    assert_eq!(good_with("1 2:5\n", &with(4)).0.len(), 4);
    assert_eq!(good_with("1 2:5\n", &with(1)).0.len(), 2);
    assert_eq!(good_with("1\n", &with(0)).0.len(), 0);
    let found = problem(read_bytes("a.svm", "1 2:5\n", &with(usize::MAX)));
    assert!(matches!(found, Problem::Columns { .. }), "{found}");
}

#[test]
fn bad_lines_are_refused() {
    assert_eq!(bad("1 1:2\nx 1:2\n"), "line 2, the label: found 'x', expected a number");
    assert_eq!(bad("1:2 2:3\n"), "line 1, the label: found '1:2', expected a number");
    assert_eq!(bad("1 5\n"), "line 1, an entry: found '5', expected index:value");
    assert_eq!(bad("1 3:a\n"), "line 1, the value of index 3: found 'a', expected a number");
    for index in ["-1", "1.5", "", "99999999999", "99999999999999999999999999"] {
        assert_eq!(
            bad(&format!("1 {index}:2\n")),
            format!("line 1, an index: found '{index}', expected a whole number up to 100000000")
        );
    }
    assert!(bad("1 qid:3 1:2\n").starts_with("line 1: found 'qid:3', but ranking"));
    assert_eq!(bad("1 4:1 2:3 4:1\n"), "line 1: index 4 occurs twice, expected each index once");
}

#[test]
fn files_without_lines_are_refused() {
    let found = |text: &str| problem(read_bytes("a.svm", text, &ReadOptions::default()));
    assert!(matches!(found(""), Problem::Empty));
    assert!(matches!(found(" \n"), Problem::Empty));
    assert!(matches!(found("# nothing\n"), Problem::NoRows));
}

#[test]
fn text_columns_are_refused() {
    let options = ReadOptions { text_columns: vec!["a".into()], ..Default::default() };
    let found = problem(read_bytes("a.svm", "1 1:2\n", &options));
    assert!(matches!(found, Problem::UnknownColumn { .. }), "{found}");
}
