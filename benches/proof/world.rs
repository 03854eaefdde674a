//! Records from a fixed seed.

/// What one `remember` brings.
pub struct Record {
    pub scope: String,
    pub key: String,
    pub tags: String,
    pub body: String,
    pub private_to: Option<String>,
}

/// Makes records: words by Zipf's law, paths, identifiers, one in ten with Chinese.
pub struct World {
    state: u64,
}

impl World {
    /// The same world every time.
    pub fn new() -> Self {
        Self {
            state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// A number below `end` (xorshift64).
    pub fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % end
    }

    /// A number below `end`, small ones far likelier.
    fn zipf(&mut self, end: u64) -> u64 {
        let unit = self.below(1 << 30) as f64 / (1u64 << 30) as f64;
        ((end as f64).powf(unit) - 1.0) as u64
    }

    /// The record with this number.
    pub fn record(&mut self, id: i64) -> Record {
        let scope = format!("team{}/repo{}/area{}", self.below(20), self.below(10), self.below(10));
        let tags: Vec<String> = (0..self.below(4)).map(|_| format!("tag{}", self.zipf(200))).collect();
        let mut text = String::from("common ");
        text.push_str(if self.below(2) == 0 { "half " } else { "other " });
        for _ in 0..15 + self.below(30) {
            text.push_str(&format!("w{} ", self.zipf(50_000)));
        }
        if self.below(20) == 0 {
            text.push_str("the blue green db we monitor ");
        }
        if self.below(10) == 0 {
            const CHINESE: [&str; 6] = [
                "缓存失效的原因",
                "用户身份验证",
                "已经修复",
                "数据库迁移",
                "重新部署",
                "测试环境",
            ];
            for _ in 0..3 {
                text.push_str(CHINESE[self.below(6) as usize]);
            }
        }
        // About ten records each, whatever the size.
        text.push_str(&format!(" needle{}", id / 10));
        let file = format!("src/module{}/file_{}.rs", self.below(50), self.below(400));
        let symbol = format!("getValue{}", self.zipf(5_000));
        Record {
            scope,
            key: format!("note-{id}"),
            tags: serde_json::to_string(&tags).expect("tags"),
            body: serde_json::json!({"text": text, "file": file, "symbol": symbol, "line": id % 500}).to_string(),
            private_to: (self.below(50) == 0).then(|| "bob".to_owned()),
        }
    }
}
