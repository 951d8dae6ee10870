//! Numbers sorted into groups.

use std::ops::Range;

/// The members of group g are `members[offsets[g]..offsets[g + 1]]`, in the order in which they came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Groups {
    offsets: Vec<usize>,
    members: Vec<u32>,
}

impl Groups {
    /// So many groups from pairs of group and member.
    pub fn new(count: usize, pairs: impl Iterator<Item = (usize, u32)> + Clone) -> Self {
        let mut offsets = vec![0usize; count + 1];
        pairs.clone().for_each(|(group, _)| offsets[group + 1] += 1);
        for group in 0..count {
            offsets[group + 1] += offsets[group];
        }
        let mut next = offsets.clone();
        let mut members = vec![0u32; offsets[count]];
        pairs.for_each(|(group, member)| {
            members[next[group]] = member;
            next[group] += 1;
        });
        Self { offsets, members }
    }

    /// The members of a group.
    pub fn of(&self, group: usize) -> &[u32] {
        self.of_all(group..group + 1)
    }

    /// The members of some groups, one group after the other.
    pub fn of_all(&self, groups: Range<usize>) -> &[u32] {
        &self.members[self.offsets[groups.start]..self.offsets[groups.end]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Nothing is lost, nothing is in two groups, and the order within a group is that of the pairs.
        #[test]
        fn groups_are_what_a_filter_finds(of in prop::collection::vec(0usize..7, 0..60), empty in 0usize..3) {
            let pairs = of.iter().copied().zip((0..).map(|member| 3 * member));
            let groups = Groups::new(7 + empty, pairs.clone());
            for group in 0..7 + empty {
                let found: Vec<u32> = pairs.clone().filter(|pair| pair.0 == group).map(|pair| pair.1).collect();
                prop_assert_eq!(groups.of(group), found);
            }
        }
    }
}
