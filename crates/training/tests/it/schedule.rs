//! Learning rates, against values computed by hand.

use training::{LearningRate, Schedule, ScheduleState, Span};

const SPAN: Span = Span { steps: 110, steps_per_epoch: 10 };

#[track_caller]
fn check(schedule: Schedule, warmup_steps: u64, wanted: &[(u64, f64)]) {
    let rate = LearningRate::new(schedule, 0.8, warmup_steps, SPAN).unwrap();
    for &(step, wanted) in wanted {
        let got = rate.rate(step);
        assert!((got - wanted).abs() < 1e-12, "{schedule:?} at {step}: {got} instead of {wanted}");
    }
}

#[test]
fn a_constant_stays_behind_its_warm_up() {
    check(Schedule::Constant, 0, &[(0, 0.8), (109, 0.8), (1000, 0.8)]);
    check(Schedule::Constant, 3, &[(0, 0.2), (1, 0.4), (2, 0.6), (3, 0.8), (4, 0.8)]);
}

#[test]
fn a_line_reaches_the_least_rate_with_the_end() {
    let way = [(0, 0.4), (1, 0.8), (21, 0.7), (61, 0.5), (101, 0.3), (111, 0.3), (500, 0.3)];
    let span = Span { steps: 101, ..SPAN };
    let rate = LearningRate::new(Schedule::Linear { min_lr: 0.3 }, 0.8, 1, span).unwrap();
    for (step, wanted) in way {
        assert!((rate.rate(step) - wanted).abs() < 1e-12, "{step}: {}", rate.rate(step));
    }
}

#[test]
fn a_cosine_goes_down_by_half_in_the_middle() {
    // cos 60° is one half, cos 90° nothing, cos 120° minus one half.
    let rate = LearningRate::new(Schedule::Cosine { min_lr: 0.2 }, 0.8, 50, SPAN).unwrap();
    for (step, wanted) in [(50, 0.8), (70, 0.65), (80, 0.5), (90, 0.35), (110, 0.2), (999, 0.2)] {
        assert!((rate.rate(step) - wanted).abs() < 1e-12, "{step}: {}", rate.rate(step));
    }
    let ends = LearningRate::new(Schedule::Cosine { min_lr: 0.0 }, 1.0, 20, Span { steps: 10, steps_per_epoch: 10 });
    assert!(ends.unwrap().rate(9).is_finite(), "a warm-up longer than the training");
}

#[test]
fn waves_begin_again_and_become_longer() {
    // Waves of 2, 4 and 8 epochs: epochs 0–1, 2–5, 6–13.
    let waves = Schedule::CosineWarmRestarts { first: 2, growth: 2.0, min_lr: 0.0 };
    let quarter = 0.4 * (1.0 + (std::f64::consts::PI / 4.0).cos());
    check(
        waves,
        0,
        &[(0, 0.8), (9, 0.8), (10, 0.4), (19, 0.4), (20, 0.8), (30, quarter), (40, 0.4), (60, 0.8), (100, 0.4)],
    );
    // 3 · 1.5 is cut off to 4, 4 · 1.5 = 6.
    let waves = Schedule::CosineWarmRestarts { first: 3, growth: 1.5, min_lr: 0.0 };
    check(waves, 0, &[(29, 0.8 * 0.25), (30, 0.8), (50, 0.4), (70, 0.8), (100, 0.4)]);
    // A growth that is cut off to nothing leaves the waves as they are.
    let waves = Schedule::CosineWarmRestarts { first: 1, growth: 1.9, min_lr: 0.1 };
    check(waves, 1, &[(0, 0.4), (1, 0.8), (10, 0.8), (100_000_000_000, 0.8)]);
}

#[test]
fn steps_down_come_every_so_many_epochs() {
    let steps = Schedule::Step { step_size: 3, gamma: 0.5, min_lr: 0.15 };
    check(steps, 0, &[(0, 0.8), (29, 0.8), (30, 0.4), (59, 0.4), (60, 0.2), (90, 0.15), (u64::MAX / 2, 0.15)]);
}

#[test]
fn a_plateau_leads_down_when_patience_ends() {
    let plateau = Schedule::Plateau { factor: 0.5, patience: 2, threshold: 0.1, min_lr: 0.3 };
    let mut rate = LearningRate::new(plateau, 0.8, 0, SPAN).unwrap();
    // 1.95 is not better by 0.1 and 1.85 is; then two that are not, and a rate that cannot become less.
    let losses = [(2.0, 0.8), (1.95, 0.8), (1.85, 0.8), (1.8, 0.8), (f64::NAN, 0.4), (1.9, 0.4), (1.9, 0.3)];
    for (i, (loss, wanted)) in losses.into_iter().enumerate() {
        rate.validated(loss);
        assert!((rate.rate(5) - wanted).abs() < 1e-12, "{i}: {}", rate.rate(5));
    }
    // A checkpoint in between changes nothing.
    let kept: ScheduleState = serde_json::from_str(&serde_json::to_string(&rate.state).unwrap()).unwrap();
    let mut again = LearningRate::new(plateau, 0.8, 0, SPAN).unwrap();
    again.state = kept;
    assert_eq!(again, rate);
}

#[test]
fn other_schedules_do_not_listen_to_losses() {
    let mut rate = LearningRate::new(Schedule::Constant, 0.8, 0, SPAN).unwrap();
    rate.validated(1.0);
    assert_eq!(rate.state, ScheduleState::default());
}

#[test]
fn schedules_are_read_by_the_names_of_their_keys() {
    let read = |text: &str| serde_json::from_str::<Schedule>(text);
    let waves = read(r#"{"strategy": "cosine_warm_restarts", "T_0": 5, "T_mult": 2.0, "min_lr": 1e-6}"#).unwrap();
    assert_eq!(waves, Schedule::CosineWarmRestarts { first: 5, growth: 2.0, min_lr: 1e-6 });
    let plateau = read(r#"{"strategy": "plateau"}"#).unwrap();
    assert_eq!(plateau, Schedule::Plateau { factor: 0.5, patience: 5, threshold: 1e-4, min_lr: 0.0 });
    assert!(read(r#"{"strategy": "plateau", "patients": 3}"#).unwrap_err().to_string().contains("patients"));
    assert!(read(r#"{"strategy": "sideways"}"#).is_err());
}

#[test]
fn nonsense_is_refused_by_its_key() {
    let refused = |schedule, initial| LearningRate::new(schedule, initial, 0, SPAN).unwrap_err().to_string();
    assert!(refused(Schedule::Constant, 0.0).contains("learning_rate = 0"));
    assert!(refused(Schedule::Constant, f64::NAN).contains("learning_rate = NaN"));
    assert!(refused(Schedule::Linear { min_lr: 1.0 }, 0.5).contains("min_lr = 1"));
    assert!(refused(Schedule::Cosine { min_lr: -1.0 }, 0.5).contains("min_lr = -1"));
    let waves = |first, growth| Schedule::CosineWarmRestarts { first, growth, min_lr: 0.0 };
    assert!(refused(waves(0, 1.0), 0.5).contains("T_0 = 0"));
    assert!(refused(waves(1, 0.5), 0.5).contains("T_mult = 0.5"));
    let step = |step_size, gamma| Schedule::Step { step_size, gamma, min_lr: 0.0 };
    assert!(refused(step(0, 0.5), 0.5).contains("step_size = 0"));
    assert!(refused(step(1, 0.0), 0.5).contains("gamma = 0"));
    let plateau = |factor, patience, threshold| Schedule::Plateau { factor, patience, threshold, min_lr: 0.0 };
    assert!(refused(plateau(1.5, 1, 0.0), 0.5).contains("factor = 1.5"));
    assert!(refused(plateau(0.5, 0, 0.0), 0.5).contains("patience = 0"));
    assert!(refused(plateau(0.5, 1, -0.1), 0.5).contains("threshold = -0.1"));
}
