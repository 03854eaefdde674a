//! What settings come to, and what is said about them.

use super::*;

fn around(variables: &[(&str, &str)]) -> Surroundings {
    Surroundings {
        variables: variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        cwd: PathBuf::from("/projects/place"),
        home: Some(PathBuf::from("/home/me")),
        unreadable: Vec::new(),
    }
}

fn resolved(variables: &[(&str, &str)]) -> Config {
    Config::resolve(Flags::default(), &around(variables)).unwrap()
}

#[test]
fn s01_paths_are_expanded_and_absolute() {
    let db = |text| resolved(&[("MEMORY_DB", text), ("XDG_DATA_HOME", "/data")]).db;
    assert_eq!(db("~/m/mem.db"), Path::new("/home/me/m/mem.db"));
    assert_eq!(db("${HOME}/x.db"), Path::new("/home/me/x.db"));
    assert_eq!(db("./mem.db"), Path::new("/projects/place/./mem.db"));
    assert_eq!(db("  "), Path::new("/data/handoff-memory/memory.db"));
    assert!(Config::resolve(Flags::default(), &around(&[("MEMORY_DB", "${DATA}/x.db")])).is_err());
    let said = resolved(&[("MEMORY_DB", "mem.db")]).notices;
    assert!(said[0].contains("/projects/place/mem.db"), "{said:?}");
}

#[test]
fn s02_near_miss_names_are_pointed_out() {
    for name in [
        "MEMORY_FILE",
        "MEMORY_DB_PATH",
        "HANDOFF_MEMORY_DB",
        "MEMORY_BD",
        "memory_db",
    ] {
        let said = resolved(&[(name, "/x.db"), ("XDG_DATA_HOME", "/data")]).notices;
        assert!(
            said[0].contains(name) && said[0].contains("MEMORY_DB"),
            "{name}: {said:?}"
        );
    }
    for (name, meant) in [
        ("MEMORY_AGENT", "AGENT_ID"),
        ("MEMORY_AGENT_ID", "AGENT_ID"),
        ("MEMORY_SESSION", "SESSION_ID"),
        ("MEMORY_OWNERS", "MEMORY_OWNER"),
    ] {
        let said = resolved(&[(name, "x"), ("XDG_DATA_HOME", "/data")]).notices;
        assert!(said[0].ends_with(&format!("did you mean {meant}?")), "{name}: {said:?}");
    }
    assert!(
        resolved(&[("PATH", "/bin"), ("XDG_DATA_HOME", "/data"), ("AGENT_ID", "a")])
            .notices
            .is_empty()
    );
}

#[test]
fn a_flag_wins_over_a_variable() {
    let flags = Flags {
        db: Some("/flag.db".into()),
        agent: Some(" scout ".into()),
        ..Flags::default()
    };
    let config = Config::resolve(flags, &around(&[("MEMORY_DB", "/env.db"), ("AGENT_ID", "other")])).unwrap();
    assert_eq!((config.db_from, config.agent.unwrap().as_str()), ("--db", "scout"));
}

#[test]
fn wrong_settings_name_where_they_come_from() {
    for (name, value) in [
        ("MEMORY_HANDOFF_TTL", "soon"),
        ("MEMORY_CLAIM_LEASE", "-1h"),
        ("MEMORY_DURABILITY", "half"),
    ] {
        let refused = Config::resolve(Flags::default(), &around(&[(name, value)])).unwrap_err();
        assert_eq!(refused.field, name);
    }
}

#[test]
fn the_home_folder_says_nothing_about_the_work() {
    let mut place = around(&[("MEMORY_DB", "/x.db")]);
    assert_eq!(
        Config::resolve(Flags::default(), &place).unwrap().cwd.unwrap().as_str(),
        "/projects/place"
    );
    for nowhere in ["/", "/home/me"] {
        place.cwd = PathBuf::from(nowhere);
        assert!(Config::resolve(Flags::default(), &place).unwrap().cwd.is_none());
    }
}

#[test]
fn s17_synced_folders_are_pointed_out() {
    for path in [
        "/home/me/Dropbox/mem.db",
        "/home/me/OneDrive - Work/mem.db",
        "/m/Mobile Documents/mem.db",
    ] {
        assert!(
            resolved(&[("MEMORY_DB", path)]).notices[0].contains("copies between machines"),
            "{path}"
        );
    }
}

#[test]
fn a_setting_that_is_no_unicode_is_refused_and_not_left_out() {
    let around = Surroundings {
        unreadable: vec!["MEMORY_OWNER"],
        ..around(&[])
    };
    let refused = Config::resolve(Flags::default(), &around).unwrap_err();
    assert_eq!(refused.field, "MEMORY_OWNER");
}
