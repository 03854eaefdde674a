//! Choices, one after the other, out of an input's bytes.

/// What is left of an input. Past its end every choice is the first one, so that any input means something.
#[derive(Debug, Clone)]
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// All of an input.
    pub fn new(input: &'a [u8]) -> Self {
        Self(input)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// The next bytes as a number, the most significant first.
    pub fn number(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }

    /// A number below `most`, which is at least 1.
    pub fn below(&mut self, most: usize) -> usize {
        let drawn = if most <= 256 {
            usize::from(self.byte())
        } else {
            let [one, two, three] = self.array();
            u32::from_be_bytes([0, one, two, three]) as usize
        };
        drawn % most
    }

    /// One of several, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Up to `most` bytes.
    pub fn some(&mut self, most: usize) -> &'a [u8] {
        let count = self.below(most + 1).min(self.0.len());
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    /// A text of up to `most` bytes; what is no UTF-8 is replaced.
    pub fn text(&mut self, most: usize) -> String {
        String::from_utf8_lossy(self.some(most)).into_owned()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let count = N.min(self.0.len());
        let (taken, rest) = self.0.split_at(count);
        array[..count].copy_from_slice(taken);
        self.0 = rest;
        array
    }
}
