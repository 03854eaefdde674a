//! How sure we were of a record over time, as a small drawing: a step for each version, a mark for each outcome, one beside
//! the other in the order in which they happened, as most of them come in bursts.

use maud::{Markup, html};

use super::look::visible;
use crate::domain::Time;
use crate::domain::outcome::Reported;
use crate::domain::record::Version;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 170.0;
/// Room for the scale on the left and below, and on each other side.
const LEFT: f64 = 34.0;
const BELOW: f64 = 26.0;
const EDGE: f64 = 10.0;

/// Something that set the confidence.
struct Point {
    at: i64,
    share: f64,
    mark: Mark,
    words: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Version,
    Success,
    Failure,
}

/// The drawing, with the same as a table for who does not see it. `versions` may come in any order.
pub fn confidence(versions: &[Version], reported: &[Reported]) -> Markup {
    let points = points(versions, reported);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return html! {};
    };
    let step = (WIDTH - LEFT - EDGE) / points.len() as f64;
    let x = |index: usize| LEFT + (index as f64 + 0.5) * step;
    let y = |share: f64| EDGE + (1.0 - share.clamp(0.0, 1.0)) * (HEIGHT - EDGE - BELOW);
    let mut path = String::new();
    for (index, point) in points.iter().enumerate() {
        let (px, py) = (x(index), y(point.share));
        if index == 0 {
            path.push_str(&format!("M{px:.1} {py:.1}"));
        } else {
            path.push_str(&format!("H{px:.1}V{py:.1}"));
        }
    }
    // What is current stays so.
    path.push_str(&format!("H{:.1}", WIDTH - EDGE));
    let label = format!(
        "Confidence from {:.2} to {:.2} over {} versions and {} outcomes",
        first.share,
        last.share,
        versions.len(),
        reported.len()
    );
    html! {
        figure.chart {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(label) {
                @for share in [0.0, 0.5, 1.0] {
                    line.grid x1=(LEFT) x2=(WIDTH - EDGE) y1=(y(share)) y2=(y(share)) {}
                    text.scale x=(LEFT - 6.0) y=(y(share) + 4.0) text-anchor="end" { (format!("{share:.1}")) }
                }
                text.scale x=(LEFT) y=(HEIGHT - 6.0) { (day(first)) }
                text.scale x=(WIDTH - EDGE) y=(HEIGHT - 6.0) text-anchor="end" { (day(last)) }
                path.line d=(path) fill="none" {}
                @for (index, point) in points.iter().enumerate() {
                    @let (px, py) = (format!("{:.1}", x(index)), format!("{:.1}", y(point.share)));
                    @match point.mark {
                        Mark::Version => circle.version cx=(px) cy=(py) r="4" { title { (point.words) } },
                        Mark::Success => path.success d={ "M" (px) " " (py) "m-5 4l5 -9l5 9z" } { title { (point.words) } },
                        Mark::Failure => path.failure d={ "M" (px) " " (py) "m-5 -4l5 9l5 -9z" } { title { (point.words) } },
                    }
                }
            }
            figcaption {
                span.key.version { "● version" } " " span.key.success { "▲ went well" } " " span.key.failure { "▼ went badly" }
            }
        }
        details {
            summary { "The same as a list" }
            ul.texts { @for point in &points { li { (point.words) } } }
        }
    }
}

fn day(point: &Point) -> String {
    let at = Time::from_millis(point.at).to_string();
    at.chars().take(10).collect()
}

/// What set the confidence of the version that was current then, in the order in which it happened.
fn points(versions: &[Version], reported: &[Reported]) -> Vec<Point> {
    let mut points: Vec<Point> = versions
        .iter()
        .map(|version| Point {
            at: version.created_at.millis(),
            share: version.base_confidence.get(),
            mark: Mark::Version,
            words: format!(
                "version {} by {} at {}: {:.2}",
                version.version,
                visible(version.author.as_str()),
                version.created_at,
                version.base_confidence.get()
            ),
        })
        .collect();
    points.extend(reported.iter().filter_map(|one| {
        let well = one.outcome == "success";
        Some(Point {
            at: Time::parse(&one.at)?.millis(),
            share: one.after,
            mark: if well { Mark::Success } else { Mark::Failure },
            words: format!(
                "{} of version {} ({}) by {} at {}: {:.2} became {:.2}",
                one.outcome,
                one.version,
                visible(&one.outcome_ref),
                visible(&one.author),
                one.at,
                one.before,
                one.after
            ),
        })
    }));
    points.sort_by_key(|point| point.at);
    points
}
