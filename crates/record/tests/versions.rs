//! Documents of every version that was ever written can be read.

use record::{Doctor, Gate};

#[test]
fn version_1_of_the_doctor() {
    let text = include_str!("fixtures/doctor-1.json");
    let doctor = Doctor::from_json(text).expect("it can be read");
    assert_eq!(doctor.version, 1);
    assert_eq!(doctor.to_json(), text, "nothing is lost or changed");
}

#[test]
fn version_1_of_the_gate() {
    let text = include_str!("fixtures/gate-1.json");
    let gate = Gate::from_json(text).expect("it can be read");
    assert_eq!(gate.version, 1);
    assert_eq!(gate.to_json(), text, "nothing is lost or changed");
    let newer = text.replacen("\"version\": 1", "\"version\": 2", 1);
    assert!(Gate::from_json(&newer).is_err_and(|error| error.to_string().contains("newer than 1")));
}

#[test]
fn fields_of_a_later_program_do_no_harm() {
    let text = include_str!("fixtures/doctor-1.json").replacen("\"quick\"", "\"something_new\": [1],\n  \"quick\"", 1);
    assert!(Doctor::from_json(&text).is_ok());
    assert!(Doctor::from_json("{}").is_err());
}
