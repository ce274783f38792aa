//! The flame graph.

use super::{SELF_SUM_NS, named, sample, text};

/// What an attribute of an element says.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let (_, rest) = element.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("no {name} in {element}"));
    rest.split_once('"').expect("it ends").0
}

/// Start, length, x, y and width of each part, and its name.
fn frames(svg: &str) -> Vec<(String, [f64; 5])> {
    let frame = |part: &str| {
        let number = |name| attribute(part, name).parse().expect("a number");
        let rect = part.split_once("<rect").expect("it is drawn").1;
        let of_rect = |name| attribute(rect, name).parse().expect("a number");
        let numbers = [number("data-s"), number("data-l"), of_rect("x"), of_rect("y"), of_rect("width")];
        (attribute(part, "data-n").to_owned(), numbers)
    };
    svg.split("<g class=\"f\"").skip(1).map(frame).collect()
}

#[test]
fn widths_are_times() {
    let svg = text(&sample::with_timeline(), named("svg"));
    let frames = frames(&svg);
    let (_, [_, all, _, _, width]) = &frames[0];
    assert_eq!(*all, SELF_SUM_NS as f64);
    for (name, [start, length, x, _, own]) in &frames {
        assert!((own / width - length / all).abs() < 1e-4, "{name}");
        assert!(((x - 10.0) / width - start / all).abs() < 1e-4, "{name}");
    }
    let of = |name: &str| frames.iter().find(|frame| frame.0 == name).map(|frame| frame.1).expect("it is there");
    assert_eq!(of("forward")[1], 80_000.0);
    assert!(of("forward")[3] < of("main")[3], "callees lie above their callers");
    // What has no length is not drawn, and that is said.
    assert!(!frames.iter().any(|frame| frame.0 == "flush"));
    assert!(svg.contains("2 scopes too narrow to draw"), "{svg}");
}

#[test]
fn it_is_whole_and_needs_nothing_else() {
    for run in [sample::with_timeline(), sample::empty()] {
        let svg = text(&run, named("svg"));
        assert!(svg.starts_with("<?xml") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("http").count(), 1, "the namespace is the only address");
        assert!(!svg.contains("<b>") && !svg.chars().any(|c| c.is_control() && c != '\n'), "names are escaped");
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    }
    assert!(text(&sample::empty(), named("svg")).contains("no time was recorded"));
}
