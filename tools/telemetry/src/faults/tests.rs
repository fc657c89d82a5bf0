//! Settings, as they are written and read.

use super::*;

const PAGE: &str = include_str!("../../../../docs/FAULTS.md");

#[test]
fn every_setting_is_read_as_it_is_written() {
    for setting in SETTINGS {
        let written = format!("{}={}", setting.name, setting.example());
        let faults: Faults = written.parse().unwrap();
        assert_eq!((faults.to_string(), faults.is_off()), (written, setting.name == "seed"));
        let wrong = format!("{}=x", setting.name).parse::<Faults>().unwrap_err().to_string();
        assert!(wrong.contains(setting.expected()), "{wrong}");
    }
    assert_eq!(Faults::default().to_string(), "");
}

#[test]
fn shares_stay_what_they_are() {
    for tenths in 0..=1_000 {
        let faults: Faults = format!("errors={}%", f64::from(tenths) / 10.0).parse().unwrap();
        assert_eq!(faults.to_string().parse(), Ok(faults));
    }
}

#[test]
fn all_is_each_that_leaves_the_stack_usable() {
    let faults: Faults = "all=1%,seed=7".parse().unwrap();
    assert_eq!(
        faults.to_string(),
        "throttles=1%,leftovers=1%,errors=1%,resets=1%,lost-answers=1%,cuts=1%,hangs=0.1%,queue-errors=1%,\
         queue-resets=1%,table-limits=1%,table-resets=1%,keepers=1%,duplicates=1%,late=1%,expiries=1%,lost-deletes=1%,seed=7"
    );
    assert_eq!(faults.to_string().parse(), Ok(faults));
}

#[test]
fn unknown_settings_are_told_what_there_is() {
    let unknown = "hang=1%".parse::<Faults>().unwrap_err().to_string();
    assert!(
        unknown.starts_with("\"hang\" is not a fault; there are all, throttles, "),
        "{unknown}"
    );
    assert!("all".parse::<Faults>().unwrap_err().to_string().contains("such as all=1%"));
}

#[test]
fn the_documentation_names_every_setting() {
    for setting in SETTINGS {
        let named = [format!("`{}`", setting.name), format!("`{}=", setting.name)];
        assert!(named.iter().any(|name| PAGE.contains(name)), "{}", setting.name);
    }
}
