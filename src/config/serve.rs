//! Settings of `serve`: where it listens, whom it lets in.

use std::net::{IpAddr, SocketAddr};

use super::Surroundings;
use crate::domain::Invalid;
use crate::domain::invalid::shown;

/// Every variable that `serve` or the log alone reads.
pub const VARIABLES: [&str; 6] = [
    "MEMORY_LOG_FORMAT",
    "MEMORY_LISTEN",
    "MEMORY_ALLOW_HOST",
    "MEMORY_ALLOW_ORIGIN",
    "MEMORY_ROOT_ONLY",
    "MEMORY_RATE_LIMIT",
];

/// How many names a machine has for itself.
pub const LOCAL_HOSTS: usize = 3;

/// The settings of `serve` as they were given by flags; what is absent comes from the environment.
#[derive(Debug, Clone, Default)]
pub struct ServeFlags {
    /// `--listen`.
    pub listen: Option<String>,
    /// `--allow-host`, each as often as it was given.
    pub allow_host: Vec<String>,
    /// `--allow-origin`, each as often as it was given.
    pub allow_origin: Vec<String>,
    /// `--root-only`.
    pub root_only: bool,
    /// `--rate-limit`.
    pub rate_limit: Option<String>,
}

/// Checked settings of `serve`.
#[derive(Debug, Clone)]
pub struct ServeConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Names, without ports, under which it may be asked; lowercase.
    pub hosts: Vec<String>,
    /// Other origins whose pages may ask it: `https://host` or `https://host:port`; lowercase.
    pub origins: Vec<String>,
    /// Whether every packet counts as owned, so that none is anybody's.
    pub root_only: bool,
    /// Requests that a token may make in a second; zero: any number.
    pub rate_limit: u32,
}

impl ServeConfig {
    /// Resolves the settings.
    ///
    /// # Errors
    /// Names the flag or variable that cannot be taken.
    pub fn resolve(flags: ServeFlags, around: &Surroundings) -> Result<Self, Invalid> {
        let pick = |flag: Option<String>, name: &'static str, variable: &'static str| match flag
            .filter(|value| !value.trim().is_empty())
        {
            Some(value) => Some((value, name)),
            None => around.variable(variable).map(|value| (value.to_owned(), variable)),
        };
        let listen = match pick(flags.listen, "--listen", "MEMORY_LISTEN") {
            None => SocketAddr::from(([127, 0, 0, 1], 7766)),
            Some((text, from)) => address(text.trim()).ok_or_else(|| {
                Invalid::new(
                    from,
                    shown(&text),
                    "an address and a port, such as 127.0.0.1:7766 or [::1]:7766",
                )
            })?,
        };
        let list = |given: Vec<String>, name: &'static str, variable: &'static str| -> (Vec<String>, &'static str) {
            let split = |text: &str| -> Vec<String> {
                let parts = text.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty());
                parts.map(str::to_lowercase).collect()
            };
            if given.iter().all(|value| value.trim().is_empty()) {
                (around.variable(variable).map(split).unwrap_or_default(), variable)
            } else {
                (given.iter().flat_map(|value| split(value)).collect(), name)
            }
        };
        let (named, from) = list(flags.allow_host, "--allow-host", "MEMORY_ALLOW_HOST");
        let itself: [&str; LOCAL_HOSTS] = ["localhost", "127.0.0.1", "[::1]"];
        let mut hosts: Vec<String> = itself.map(str::to_owned).to_vec();
        if !listen.ip().is_unspecified() {
            hosts.push(host_of(listen.ip()));
        }
        for name in named {
            if !is_host(&name) {
                return Err(Invalid::new(
                    from,
                    shown(&name),
                    "a host name without scheme and port, such as memory.example.org",
                ));
            }
            hosts.push(name);
        }
        let (origins, from) = list(flags.allow_origin, "--allow-origin", "MEMORY_ALLOW_ORIGIN");
        if let Some(wrong) = origins.iter().find(|origin| !is_origin(origin)) {
            return Err(Invalid::new(
                from,
                shown(wrong),
                "a scheme and a host, such as https://board.example.org",
            ));
        }
        let root_only = flags.root_only
            || match around
                .variable("MEMORY_ROOT_ONLY")
                .map(|text| text.trim().to_lowercase())
            {
                None => false,
                Some(text) if ["1", "true", "yes", "on"].contains(&text.as_str()) => true,
                Some(text) if ["0", "false", "no", "off"].contains(&text.as_str()) => false,
                Some(text) => return Err(Invalid::new("MEMORY_ROOT_ONLY", shown(&text), "true or false")),
            };
        let rate_limit = match pick(flags.rate_limit, "--rate-limit", "MEMORY_RATE_LIMIT") {
            None => 100,
            Some((text, from)) => text.trim().parse().map_err(|_| {
                Invalid::new(
                    from,
                    shown(&text),
                    "requests in a second, a whole number; 0 for no limit",
                )
            })?,
        };
        Ok(Self {
            listen,
            hosts,
            origins,
            root_only,
            rate_limit,
        })
    }

    /// Whether only programs of this machine can reach it.
    pub fn is_local(&self) -> bool {
        self.listen.ip().is_loopback()
    }
}

/// An address with its port; a port alone is one of this machine.
fn address(text: &str) -> Option<SocketAddr> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Some(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    text.parse().ok()
}

/// An address as it stands in a `Host` header.
fn host_of(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn is_host(name: &str) -> bool {
    let named = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    named
        || name
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .is_some_and(|ip| ip.parse::<IpAddr>().is_ok())
}

fn is_origin(origin: &str) -> bool {
    let rest = origin
        .strip_prefix("https://")
        .or_else(|| origin.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (rest, None),
        };
        is_host(host) && port.is_none_or(|port| port.parse::<u16>().is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(flags: ServeFlags, variables: &[(&str, &str)]) -> Result<ServeConfig, Invalid> {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ServeConfig::resolve(
            flags,
            &Surroundings {
                variables: variables.collect(),
                ..Surroundings::default()
            },
        )
    }

    fn listening(text: &str) -> Result<ServeConfig, Invalid> {
        let listen = Some(text.to_owned());
        resolved(
            ServeFlags {
                listen,
                ..ServeFlags::default()
            },
            &[],
        )
    }

    #[test]
    fn it_listens_on_this_machine_unless_told_otherwise() {
        assert!(resolved(ServeFlags::default(), &[]).unwrap().is_local());
        for (text, listen) in [
            ("8080", "127.0.0.1:8080"),
            (":0", "127.0.0.1:0"),
            ("localhost:9", "127.0.0.1:9"),
            ("[::1]:7", "[::1]:7"),
        ] {
            assert_eq!(listening(text).unwrap().listen.to_string(), listen);
        }
        assert!(!listening("0.0.0.0:80").unwrap().is_local());
        for wrong in ["host:80", "1.2.3.4", "70000", "https://x"] {
            assert_eq!(listening(wrong).unwrap_err().field, "--listen", "{wrong}");
        }
    }

    #[test]
    fn names_and_origins_are_checked_and_a_flag_goes_before_a_variable() {
        let around = [
            ("MEMORY_ALLOW_HOST", "a.example, B.example"),
            ("MEMORY_ALLOW_ORIGIN", "https://c.example:8443"),
        ];
        let config = resolved(ServeFlags::default(), &around).unwrap();
        assert!(config.hosts.contains(&"b.example".to_owned()));
        assert_eq!(config.origins, ["https://c.example:8443"]);
        let flags = ServeFlags {
            allow_host: vec!["d.example".to_owned()],
            ..ServeFlags::default()
        };
        let config = resolved(flags, &around).unwrap();
        assert!(config.hosts.contains(&"d.example".to_owned()) && !config.hosts.contains(&"a.example".to_owned()));
        for (name, wrong) in [
            ("MEMORY_ALLOW_HOST", "https://a.example"),
            ("MEMORY_ALLOW_HOST", "a.example:80"),
            ("MEMORY_ALLOW_HOST", "*"),
            ("MEMORY_ALLOW_ORIGIN", "*"),
            ("MEMORY_ALLOW_ORIGIN", "a.example"),
            ("MEMORY_ALLOW_ORIGIN", "https://a.example/path"),
            ("MEMORY_ROOT_ONLY", "maybe"),
            ("MEMORY_RATE_LIMIT", "-1"),
        ] {
            assert_eq!(
                resolved(ServeFlags::default(), &[(name, wrong)]).unwrap_err().field,
                name,
                "{wrong}"
            );
        }
    }
}
