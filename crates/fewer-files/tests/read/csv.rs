use fewer::data::Table;
use fewer_files::{Format, Problem, ReadOptions};

use crate::{assert_numbers, assert_texts, problem, read_bytes, table};

const NAN: f64 = f64::NAN;

fn good(text: &str) -> Table {
    table(read_bytes("a.csv", text, &ReadOptions::default()))
}

fn bad(text: impl AsRef<[u8]>) -> Problem {
    problem(read_bytes("a.csv", text, &ReadOptions::default()))
}

#[test]
fn columns_are_numbers_or_text() {
    let t = good("a,b,c,d\n1, 2.5 ,x,true\n-3e2,\"4\",2,FALSE\n");
    assert_eq!(t.names(), ["a", "b", "c", "d"]);
    assert_numbers(&t, "a", &[1.0, -300.0]);
    assert_numbers(&t, "b", &[2.5, 4.0]);
    assert_texts(&t, "c", &["x", "2"]);
    assert_texts(&t, "d", &["true", "false"]);
}

#[test]
fn booleans_are_the_same_words_however_they_are_written() {
    let t = good("b\nTrue\nTRUE\n true \n\"False\"\nfalse\nuntrue\n");
    assert_texts(&t, "b", &["true", "true", "true", "false", "false", "untrue"]);
}

#[test]
fn missing_tokens_are_known_in_any_case() {
    for token in ["na", "Na", "n/a", "NAN", "-nan", "-NaN", "NULL", "Null", "none", "NONE", "<NA>"]
    {
        let t = good(&format!("n,t\n{token},{token}\n1,x\n"));
        assert_numbers(&t, "n", &[NAN, 1.0]);
        assert_texts(&t, "t", &["-", "x"]);
    }
}

#[test]
fn missing_tokens_are_missing_in_numbers_and_text() {
    let t = good(
        "n,t\n,\nNA,NA\nN/A, N/A \nNaN,NaN\nnan,nan\nnull,null\nNone,None\n?,?\n1,x\n\"\",\"\"\n",
    );
    let n = [&[NAN; 8][..], &[1.0, NAN]].concat();
    assert_numbers(&t, "n", &n);
    assert_texts(&t, "t", &["-", "-", "-", "-", "-", "-", "-", "-", "x", "-"]);
}

#[test]
fn a_column_of_missing_cells_is_numeric() {
    assert_numbers(&good("a,b\n,1\nNA,2\n"), "a", &[NAN, NAN]);
}

#[test]
fn infinities_and_huge_integers_are_numbers() {
    let t =
        good("a,b\ninf,9007199254740993\n-inf,123456789012345678901234567890\nInfinity,1e400\n");
    assert_numbers(&t, "a", &[f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY]);
    assert_numbers(&t, "b", &[9007199254740992.0, 123456789012345678901234567890.0, f64::INFINITY]);
}

#[test]
fn text_found_late_keeps_the_cells_before() {
    let mut text = String::from("a,b,c\n");
    for i in 0..100 {
        let a = if i == 70 { "x".to_string() } else { format!("0{i}") };
        let c = if i == 99 { "\"y\"\"z\"".to_string() } else { format!("\"{i}\"") };
        text.push_str(&format!("{a},{i},{c}\n"));
        if i % 10 == 0 {
            text.push('\n');
        }
    }
    let t = good(&text);
    let a: Vec<String> =
        (0..100).map(|i| if i == 70 { "x".into() } else { format!("0{i}") }).collect();
    let c: Vec<String> =
        (0..100).map(|i| if i == 99 { "y\"z".into() } else { i.to_string() }).collect();
    assert_texts(&t, "a", &a.iter().map(String::as_str).collect::<Vec<_>>());
    assert_numbers(&t, "b", &(0..100).map(f64::from).collect::<Vec<_>>());
    assert_texts(&t, "c", &c.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn forced_text_keeps_numbers_as_written() {
    let options = ReadOptions { text_columns: vec!["zip".into()], ..Default::default() };
    let t = table(read_bytes("a.csv", "zip,x\n01234,1\nNA,2\n", &options));
    assert_texts(&t, "zip", &["01234", "-"]);
    let found = problem(read_bytes("a.csv", "code,x\n01234,1\n", &options));
    assert_eq!(
        found.to_string(),
        "there is no column 'zip' to read as text; the columns are code, x"
    );
}

#[test]
fn quotes_protect_delimiters_quotes_and_line_ends() {
    let t = good("\"a\"\"b\",c\n\"x, \"\"y\"\"\", 5\" pipe \n\"two\r\nlines\",\" z \"\n");
    assert_texts(&t, "a\"b", &["x, \"y\"", "two\r\nlines"]);
    assert_texts(&t, "c", &["5\" pipe", " z "]);
}

#[test]
fn line_ends_may_be_of_any_kind() {
    for end in ["\n", "\r\n", "\r"] {
        for last in ["", end] {
            let t = good(&format!("a,b{end}1,2{end}3,{last}"));
            assert_numbers(&t, "a", &[1.0, 3.0]);
            assert_numbers(&t, "b", &[2.0, NAN]);
        }
    }
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert_numbers(&good("\u{feff}a\n1\n"), "a", &[1.0]);
    assert_numbers(&good("\u{feff}\"a\",b\n1,2\n"), "a", &[1.0]);
}

#[test]
fn blank_lines_are_skipped() {
    let t = good("\n \na,b\n\n1,2\r\n\r\n3,4\n\n  \n\n");
    assert_numbers(&t, "a", &[1.0, 3.0]);
    // In a single column they are missing values, save at the end.
    assert_numbers(&good("a\n1\n\n3\n\n\n"), "a", &[1.0, NAN, 3.0]);
    assert_numbers(&good("a\n1\n\"\"\n"), "a", &[1.0, NAN]);
}

#[test]
fn names_are_trimmed_or_made_up() {
    let t = good("a, b ,,\" d \"\n1,2,3,4\n");
    assert_eq!(t.names(), ["a", "b", "column3", " d "]);
}

#[test]
fn delimiters_are_chosen_or_recognised() {
    for (name, text) in [
        ("a.csv", "a;b\n1;2\n"),
        ("a.txt", "a\tb\n1\t2\n"),
        ("a.csv", "\"a\"|b\n1|2\n"),
        ("a.tsv", "a\tb\n1\t2\n"),
    ] {
        let t = table(read_bytes(name, text, &ReadOptions::default()));
        assert_numbers(&t, "b", &[2.0]);
    }
    let t = table(read_bytes("a.tsv", "a\tb,c\n\t\n", &ReadOptions::default()));
    assert_numbers(&t, "b,c", &[NAN]);
    let options =
        ReadOptions { format: Some(Format::Csv), delimiter: Some(b' '), ..Default::default() };
    assert_numbers(&table(read_bytes("a.dat", "a b\n1 2\n3 \n", &options)), "b", &[2.0, NAN]);
    for delimiter in [b'"', b'\n', 0xe9] {
        let options = ReadOptions { delimiter: Some(delimiter), ..Default::default() };
        let found = problem(read_bytes("a.csv", "a\n1\n", &options));
        assert!(matches!(found, Problem::Delimiter { .. }), "{found}");
    }
}

#[test]
fn files_without_data_are_refused() {
    for text in ["", "\n", " \r\n\n", "\u{feff}"] {
        assert!(matches!(bad(text), Problem::Empty), "{text:?}");
    }
    for text in ["a,b", "a,b\n", "a\n\n\n"] {
        assert!(matches!(bad(text), Problem::NoRows), "{text:?}");
    }
}

#[test]
fn rows_of_the_wrong_length_are_refused() {
    let found = bad("a,b\n\"1\n\n\",2\n3,4,5\n");
    assert!(matches!(found, Problem::Fields { line: 5, expected: 2, found: 3 }), "{found}");
    let found = bad("a,b\n1\n");
    assert_eq!(found.to_string(), "line 2: expected 2 fields as in the header, found 1");
}

#[test]
fn repeated_names_are_refused() {
    let found = bad("a,b, a\n1,2,3\n");
    assert_eq!(found.to_string(), "columns 1 and 3 are both named 'a'; expected different names");
    let found = bad("column2,\n1,2\n");
    assert!(matches!(found, Problem::DuplicateColumn { first: 1, second: 2, .. }), "{found}");
}

#[test]
fn bytes_that_are_not_utf8_are_refused() {
    let found = bad(b"a,b\n1,x\n2,caf\xe9\n");
    assert_eq!(
        found.to_string(),
        "line 3: the bytes at offset 13 are not UTF-8; save the file as UTF-8"
    );
    let utf16: Vec<u8> = "\u{feff}a\n1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(matches!(bad(utf16), Problem::NotUtf8 { line: 1, offset: 0 }));
}

#[test]
fn bad_quotes_are_refused() {
    let found = bad("a,b\n1,\"two\n3,4\n");
    assert!(matches!(found, Problem::UnclosedQuote { line: 2, column: 2 }), "{found}");
    let found = bad("a,b\n\"one\"s,2\n");
    assert!(matches!(&found, Problem::AfterQuote { line: 2, column: 1, found } if found == "s,2"));
    assert_numbers(&good("a,b\n\"1\" ,2\n"), "a", &[1.0]);
}

#[test]
fn characters_beyond_ascii_survive() {
    let t = good("größe,stadt\n1,Zürich\n2,東京\n");
    assert_texts(&t, "stadt", &["Zürich", "東京"]);
}
